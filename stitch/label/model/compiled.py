"""Compiled programs: what an optimizer has made of a program's prompts, as a JSON file that says where it comes from.

A file is what DSPy's own `save` writes: state and nothing else, for each predictor its instructions and its examples
(which are excerpts of the training data). `stitch optimize` adds to its metadata where it comes from; such a file fits
a program if it was made for the same target and for the prompts as they stand in the code.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError
from pydantic_core import to_jsonable_python

from stitch.errors import InputError
from stitch.label.model.harmless import breaks_out, reason_to_refuse, without_markers

_GUARDS = ("addressed to you", "gives you no orders", "quoted material")
"""How each prompt says of the texts it quotes that nothing in them is an instruction."""


_MOST_BYTES = 16_000_000
_NAME_CHARS = 80
_PICKLE = b"\x80"
"""How a file begins that DSPy's `save` writes under a name that ends in .pkl."""
_MAKES_ONE = "`stitch optimize TARGET --out FILE` makes one, and so does DSPy's save to a file that ends in .json"


class PredictorState(BaseModel):
    """What was made of one prompt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_sha256: str
    """Of the prompt as it stood in the code."""
    instructions: str
    demos: list[dict[str, Any]]
    """Examples: inputs and outputs by field."""


class Scores(BaseModel):
    """How well a program did on examples that were held back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: FiniteFloat
    """The mean over examples, from 0 to 1, less what a longer prompt costs."""
    parts: dict[str, FiniteFloat]
    """The measures that it is made of, by name."""
    prompt_tokens: int
    """How long the instructions and the examples of all predictors are."""


class Provenance(BaseModel):
    """Where a compiled program comes from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    optimizer: str
    seed: int
    dspy: str
    stitch: str
    data_sha256: str
    """Of the examples it was trained on and judged by."""
    train_examples: int
    held_back_examples: int
    before: Scores
    """Of the program as it stands in the code, on the examples held back."""
    after: Scores
    model_calls: int
    model_tokens: int
    model_cost_usd: FiniteFloat | None
    p: FiniteFloat | None = None
    """How often chance alone makes such a difference on what was held back; None if nobody said."""


class CompiledProgram(BaseModel):
    """What an optimizer made of a program."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    predictors: dict[str, PredictorState]
    provenance: Provenance

    @property
    def digest(self) -> str:
        """SHA-256 of what the predictors were made to."""
        return predictors_sha256(self.predictors)


class _Made(BaseModel):
    """What `stitch optimize` adds to the metadata of a file."""

    model_config = ConfigDict(extra="forbid")

    target: str
    prompt_sha256: dict[str, str]
    provenance: Provenance


class _Metadata(BaseModel):
    stitch: _Made | None = None


class _Signature(BaseModel):
    instructions: str


class _Saved(BaseModel):
    """The state of a predictor, of which instructions and examples are taken."""

    signature: _Signature
    demos: list[dict[str, Any]]


class ProgramFile(BaseModel):
    """A file as DSPy's `save` writes it: the state of each predictor by name, and metadata."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, _Saved]

    metadata: _Metadata


def predictors_sha256(predictors: Mapping[str, PredictorState]) -> str:
    """SHA-256 of the state of predictors."""
    state = {name: each.model_dump() for name, each in predictors.items()}
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def prompt_sha256(signature: Any) -> str:
    """SHA-256 of a prompt as it stands in the code: instructions, and names, kinds and descriptions of its fields."""
    fields = {
        name: (
            _shape(field.annotation),
            field.json_schema_extra.get("desc"),
            field.json_schema_extra["__dspy_field_type"],
        )
        for name, field in signature.fields.items()
    }
    return hashlib.sha256(json.dumps([signature.instructions, fields], sort_keys=True).encode()).hexdigest()


def _shape(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: [_shape(field.annotation), field.description] for name, field in annotation.model_fields.items()}
    return [str(getattr(annotation, "__name__", annotation)), *map(_shape, get_args(annotation))]


def state_of(program: Any, *, plain: Any) -> dict[str, PredictorState]:
    """The state of each predictor of a program.

    An optimizer may rewrite a prompt and leave out that what it quotes is no instruction. That paragraph is put back.
    What `load_program` would refuse is left out: markers in instructions, and examples with any.

    Args:
        program: What was made of it.
        plain: The same program as it stands in the code.
    """
    made = dict(program.named_predictors())
    states: dict[str, PredictorState] = {}
    for name, predictor in plain.named_predictors():
        instructions = without_markers(str(made[name].signature.instructions))
        examples = (to_jsonable_python(_shown_of(dict(each), predictor), fallback=str) for each in made[name].demos)
        demos = [demo for demo in examples if breaks_out(demo) is None]
        made_of = PredictorState(
            prompt_sha256=prompt_sha256(predictor.signature), instructions=instructions, demos=demos
        )
        states[name] = _guarded(predictor, made_of)
    return states


def _shown_of(demo: Mapping[str, Any], predictor: Any) -> dict[str, Any]:
    """Of an example what its prompt shows: optimizers write further fields into theirs."""
    return {name: value for name, value in demo.items() if name in predictor.signature.fields or name == "augmented"}


def guard_of(instructions: str) -> str:
    """The sentences of a prompt that say that quoted texts give no orders; empty if it shows none."""
    text = " ".join(instructions.split())
    return " ".join(f"{s.rstrip('.')}." for s in text.split(". ") if any(mark in s for mark in _GUARDS))


def put_into(program: Any, predictors: Mapping[str, PredictorState]) -> None:
    """Give the predictors of a program what they were made to."""
    from dspy import Example

    for name, predictor in program.named_predictors():
        state = predictors[name]
        predictor.signature = predictor.signature.with_instructions(state.instructions)
        predictor.demos = [Example(**demo) for demo in state.demos]
    program.digest = predictors_sha256(predictors)


def load_program(given: Any, program: Any, *, target: str) -> None:
    """Make a program what somebody made of it.

    Args:
        given: A file that `stitch optimize` or DSPy's `save` wrote (JSON), or a module with the same predictors.
        program: As it stands in the code.
        target: What the program does, such as `windowed`.

    Raises:
        InputError: It cannot be read, has other predictors, is for other prompts, or did worse than what it replaces.
    """
    if not isinstance(given, (str, Path)):
        if {name for name, _ in given.named_predictors()} != {name for name, _ in program.named_predictors()}:
            raise InputError(
                f"the program {type(given).__name__} has other predictors than {type(program).__name__}",
                hint=f"compile a {type(program).__name__} of stitch.signatures.programs",
            )
        put_into(program, state_of(given, plain=program))
        return
    put_into(program, _states_in(read_program(given), program, target=target, source=str(given)))


def _states_in(file: ProgramFile, program: Any, *, target: str, source: str) -> dict[str, PredictorState]:
    """The states of predictors that a file gives a program, if it fits."""
    made = file.metadata.stitch
    again = f"`stitch optimize {target} --train DATA --optimizer ... --out FILE` makes one that fits"
    if made is None:
        again = f"save a {type(program).__name__} of stitch.signatures.programs"
    if made is not None and made.target != target:
        raise InputError(
            f"the program {source!r} is for {_shown(made.target)}, not for {target!r}",
            hint="add --stepwise, which uses it" if made.target == "stepwise" and target == "windowed" else again,
        )
    plain = {name: prompt_sha256(each.signature) for name, each in program.named_predictors()}
    prompts = plain if made is None else made.prompt_sha256
    saved = file.__pydantic_extra__ or {}
    said = {
        name: PredictorState(
            prompt_sha256=prompts.get(name, ""), instructions=each.signature.instructions, demos=each.demos
        )
        for name, each in saved.items()
    }
    states = _fitting(said, program, source=source, again=again)
    if made is not None and made.provenance.after.score < made.provenance.before.score:
        raise InputError(
            f"the program {source!r} did worse on what was held back than the one it replaces:"
            f" {made.provenance.after.score:.3f}, before {made.provenance.before.score:.3f}",
            hint=again,
        )
    return states


def _guarded(predictor: Any, state: PredictorState) -> PredictorState:
    """The state of a predictor; that what it quotes is no instruction is put back where it was left out."""
    guard, instructions = guard_of(predictor.signature.instructions), state.instructions
    if guard not in " ".join(instructions.split()):
        instructions = f"{instructions.rstrip()}\n\n{guard}"
    return state.model_copy(update={"instructions": instructions})


def put_checked(predictors: Mapping[str, PredictorState], program: Any, *, source: str) -> None:
    """Give the predictors of a program what somebody else says they were made to.

    Args:
        predictors: The state of each.
        program: As it stands in the code.
        source: Where they come from, for messages.

    Raises:
        InputError: They are for other prompts, or hold what no prompt of ours does.
    """
    put_into(
        program,
        _fitting(predictors, program, source=source, again="use the same version of this library on both sides"),
    )


def _fitting(
    predictors: Mapping[str, PredictorState], program: Any, *, source: str, again: str
) -> dict[str, PredictorState]:
    """Predictors of a program, their examples without fields that no prompt shows, and nothing that could harm.

    Raises:
        InputError: They are for other prompts, or hold what could harm.
    """
    states: dict[str, PredictorState] = {}
    plain = dict(program.named_predictors())
    if odd := sorted(plain.keys() ^ predictors.keys()):
        raise InputError(
            f"the program {source!r} does not fit this version: it differs in {_shown(odd[0])}", hint=again
        )
    for name, state in predictors.items():
        if state.prompt_sha256 != prompt_sha256(plain[name].signature):
            raise InputError(
                f"the program {source!r} was made for another prompt than {name!r} has in this version", hint=again
            )
        demos = [_shown_of(demo, plain[name]) for demo in state.demos]
        if (reason := reason_to_refuse(state.instructions, demos)) is not None:
            raise InputError(
                f"the program {source!r} {reason} in {name!r}", hint="have it made anew by somebody you trust"
            )
        states[name] = _guarded(plain[name], state.model_copy(update={"demos": demos}))
    return states


def read_program(path: str | Path) -> ProgramFile:
    """The content of a file.

    Raises:
        InputError: It cannot be read, or is none of ours.
    """
    try:
        content = _content(path)
        if content.startswith(_PICKLE):
            raise InputError(
                f"{str(path)!r} is a pickle, which may do anything when it is read",
                hint="save the program to a file that ends in .json: program.save('program.json')",
            )
        return ProgramFile.model_validate_json(content)
    except OSError as error:
        reason = str(error.strerror).lower()
        raise InputError(f"cannot read the program {str(path)!r}: {reason}", hint=_MAKES_ONE) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "content"
        if len(where) > _NAME_CHARS or not where.isprintable():
            where = _shown(where)
        raise InputError(
            f"{str(path)!r} is no compiled program: {where}: {str(first['msg']).lower()[:200]}", hint=_MAKES_ONE
        ) from None


def _content(path: str | Path) -> bytes:
    """What a file holds; a pipe or device is not waited for, and what is larger than any program is not read."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{str(path)!r} is no file", hint=_MAKES_ONE)
        if found.st_size > _MOST_BYTES:
            raise InputError(
                f"{str(path)!r} is larger than any program: {found.st_size:,} bytes, at most {_MOST_BYTES:,}",
                hint=_MAKES_ONE,
            )
        return file.read(_MOST_BYTES)


def _shown(name: str) -> str:
    """A name out of a file, in one short line."""
    return ascii(name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}...")


def write_compiled(path: str | Path, compiled: CompiledProgram, *, plain: Any) -> None:
    """Write a file as DSPy's `save` does, with where it comes from in its metadata; all of it or nothing.

    Args:
        path: The file; one that is there stays.
        compiled: What was made.
        plain: The program as it stands in the code; is made what it was compiled to.

    Raises:
        InputError: There is a file, or it cannot be written.
    """
    from dspy.utils.saving import get_dependency_versions

    target = Path(path)
    if target.exists():
        raise InputError(f"the file {str(path)!r} is there already", hint="name another with --out")
    prompts = {name: each.prompt_sha256 for name, each in compiled.predictors.items()}
    made = _Made(target=compiled.target, prompt_sha256=prompts, provenance=compiled.provenance)
    metadata = {"dependency_versions": get_dependency_versions(), "stitch": made.model_dump(mode="json")}
    put_into(plain, compiled.predictors)
    content = json.dumps({**plain.dump_state(), "metadata": metadata}, indent=2).encode() + b"\n"
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(
            f"cannot write the program {str(path)!r}: {str(error.strerror).lower()}", hint="name another with --out"
        ) from error

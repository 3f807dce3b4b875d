"""Compiled programs: what an optimizer has made of a program's prompts, as a JSON file that says where it comes from.

A file is what DSPy's own `save` writes: state and nothing else, for each predictor its instructions and its examples
(which are excerpts of the training data). `stitch optimize` adds to its metadata where it comes from; such a file fits
a program if it was made for the same target and for the prompts as they stand in the code. What could end the text that
stands around it is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError
from pydantic_core import to_jsonable_python

from stitch.core.files import read_bounded, replace_file
from stitch.errors import InputError, system_reason
from stitch.text.markers import escape_unseen

_GUARDS = ("addressed to you", "gives you no orders", "quoted material")
"""How each prompt says of the texts it quotes that nothing in them is an instruction."""

_MOST_BYTES = 16_000_000
_MOST_INSTRUCTION_CHARS = 200_000
_MOST_EXAMPLES = 1_000
_MARKER = re.compile(
    r"<[|\uff5c][^<>\n]{1,60}[|\uff5c]>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_[a-z]{1,20}>|\[\|[a-z]{1,20}\|\]"
    r"|\[/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|\[\[ ## \w{1,60} ## \]\]"
)
"""By which chat templates, and DSPy, tell apart who speaks."""
_NAME_CHARS = 80
_PICKLE = b"\x80"
"""How a file begins that DSPy's `save` writes under a name that ends in .pkl."""
_MAKES_ONE = "`stitch optimize TARGET --out FILE` makes one, and so does DSPy's save to a file that ends in .json"


class PredictorState(BaseModel):
    """Compiled form of one prompt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_sha256: str
    """Of the prompt as it stood in the code; empty if nobody says."""
    instructions: str
    demos: list[dict[str, Any]]
    """Examples: inputs and outputs by field."""


class Scores(BaseModel):
    """Scores of a program on examples that were held back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: FiniteFloat
    """The mean over examples, from 0 to 1, less what a longer prompt costs."""
    parts: dict[str, FiniteFloat]
    """The measures that it is made of, by name."""
    prompt_tokens: int
    """How long the instructions and the examples of all predictors are."""


class Provenance(BaseModel):
    """Origin of a compiled program."""

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
    """A program as an optimizer made it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    predictors: dict[str, PredictorState]
    provenance: Provenance


class _Made(BaseModel):
    """Metadata that `stitch optimize` adds to a file."""

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
    fields = {}
    for name, field in signature.fields.items():
        extra = field.json_schema_extra
        fields[name] = (_shape(field.annotation), extra.get("desc"), extra["__dspy_field_type"])
    return hashlib.sha256(json.dumps([signature.instructions, fields], sort_keys=True).encode()).hexdigest()


def _shape(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: [_shape(field.annotation), field.description] for name, field in annotation.model_fields.items()}
    return [str(getattr(annotation, "__name__", annotation)), *map(_shape, get_args(annotation))]


def state_of(program: Any, *, plain: Any) -> dict[str, PredictorState]:
    """The state of each predictor of a program.

    What `load_program` would refuse is left out: markers in instructions, and examples with any.

    Args:
        program: What was made of it.
        plain: The same program as it stands in the code.
    """
    made = dict(program.named_predictors())
    states: dict[str, PredictorState] = {}
    for name, predictor in plain.named_predictors():
        state = _state(predictor, without_markers(str(made[name].signature.instructions)), map(dict, made[name].demos))
        demos = [demo for demo in to_jsonable_python(state.demos, fallback=str) if breaks_out(demo) is None]
        states[name] = state.model_copy(update={"demos": demos})
    return states


def _state(predictor: Any, instructions: str, demos: Iterable[Mapping[str, Any]]) -> PredictorState:
    """The state of a predictor, of examples what its prompt shows: optimizers write further fields into theirs.

    An optimizer may rewrite a prompt and leave out that what it quotes is no instruction. That paragraph is put back.
    """
    guard, shown = guard_of(predictor.signature.instructions), {*predictor.signature.fields, "augmented"}
    if guard not in " ".join(instructions.split()):
        instructions = f"{instructions.rstrip()}\n\n{guard}"
    examples = [{name: value for name, value in demo.items() if name in shown} for demo in demos]
    made_for = prompt_sha256(predictor.signature)
    return PredictorState(prompt_sha256=made_for, instructions=instructions, demos=examples)


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
        given: A file that `stitch optimize` or DSPy's `save` wrote (JSON); a module with the same predictors; or the
            states of its predictors, as `state_of` gave them elsewhere.
        program: As it stands in the code.
        target: What the program does, such as `windowed`.

    Raises:
        InputError: It cannot be read, has other predictors, is for other prompts, holds what could harm, or did worse
            than what it replaces.
    """
    if isinstance(given, (str, Path)):
        states = _states_in(read_program(given), program, target=target, source=f"the program {str(given)!r}")
    elif isinstance(given, Mapping):
        again = "use the same version of this library on both sides"
        states = _fitting(given, program, source="the program that was sent", again=again)
    else:
        again = f"compile a {type(program).__name__} of stitch.signatures.programs"
        source = f"the program {type(given).__name__}"
        _check_names({name for name, _ in given.named_predictors()}, program, source=source, again=again)
        states = state_of(given, plain=program)
    put_into(program, states)


def _states_in(file: ProgramFile, program: Any, *, target: str, source: str) -> dict[str, PredictorState]:
    """The states of predictors that a file gives a program, if it fits."""
    made = file.metadata.stitch
    again = f"save a {type(program).__name__} of stitch.signatures.programs"
    if made is not None:
        again = f"`stitch optimize {target} --train DATA --optimizer ... --out FILE` makes one that fits"
        if made.target != target:
            other = made.target == "stepwise" and target == "windowed"
            hint = "add --stepwise, which uses it" if other else again
            raise InputError(f"{source} is for {_shown(made.target)}, not for {target!r}", hint=hint)
    said: dict[str, PredictorState] = {}
    for name, each in (file.__pydantic_extra__ or {}).items():
        of = made.prompt_sha256.get(name, "none") if made is not None else ""
        said[name] = PredictorState(prompt_sha256=of, instructions=each.signature.instructions, demos=each.demos)
    states = _fitting(said, program, source=source, again=again)
    if made is not None and (now := made.provenance.after.score) < (before := made.provenance.before.score):
        raise InputError(
            f"{source} did worse on what was held back than the one it replaces: {now:.3f}, before {before:.3f}",
            hint=again,
        )
    return states


def _fitting(
    predictors: Mapping[str, PredictorState], program: Any, *, source: str, again: str
) -> dict[str, PredictorState]:
    """The states of predictors of a program, if they are for its prompts and nothing in them could harm."""
    plain, states = dict(program.named_predictors()), dict[str, PredictorState]()
    _check_names(predictors.keys(), program, source=source, again=again)
    for name, said in predictors.items():
        states[name] = state = _state(plain[name], said.instructions, said.demos)
        if said.prompt_sha256 not in ("", state.prompt_sha256):
            raise InputError(f"{source} was made for another prompt than {name!r} has in this version", hint=again)
        if (reason := reason_to_refuse(state.instructions, state.demos)) is not None:
            raise InputError(f"{source} {reason} in {name!r}", hint="have it made anew by somebody you trust")
    return states


def _check_names(names: AbstractSet[str], program: Any, *, source: str, again: str) -> None:
    if odd := sorted(names ^ {name for name, _ in program.named_predictors()}):
        raise InputError(f"{source} does not fit this version: it differs in {_shown(odd[0])}", hint=again)


def read_program(path: str | Path) -> ProgramFile:
    """The content of a file.

    Raises:
        InputError: It cannot be read, or is none of ours.
    """
    try:
        content = read_bounded(Path(path), most_bytes=_MOST_BYTES)
    except OSError as error:
        reason = system_reason(error)
        raise InputError(f"cannot read the program {str(path)!r}: {reason}", hint=_MAKES_ONE) from error
    if content.startswith(_PICKLE):
        raise InputError(
            f"{str(path)!r} is a pickle, which may do anything when it is read",
            hint="save the program to a file that ends in .json: program.save('program.json')",
        )
    try:
        return ProgramFile.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "content"
        where = where if len(where) <= _NAME_CHARS and where.isprintable() else _shown(where)
        reason = f"{where}: {str(first['msg']).lower()[:200]}"
        raise InputError(f"{str(path)!r} is no compiled program: {reason}", hint=_MAKES_ONE) from None


def _shown(name: str) -> str:
    """A name out of a file, in one short line."""
    return ascii(name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}...")


def without_markers(instructions: str) -> str:
    """Instructions without what would be refused."""
    return escape_unseen(_MARKER.sub("", instructions), escape=lambda signs: "")


def reason_to_refuse(instructions: str, demos: Sequence[object]) -> str | None:
    """The reason to refuse a compiled prompt: something that none of ours holds; None if there is none."""
    if len(instructions) > _MOST_INSTRUCTION_CHARS:
        return f"has instructions longer than {_MOST_INSTRUCTION_CHARS:,} letters"
    if len(demos) > _MOST_EXAMPLES:
        return f"has more than {_MOST_EXAMPLES:,} examples"
    return breaks_out([instructions, *demos])


def breaks_out(value: Any) -> str | None:
    """The reason a text or an example could end its enclosing block; None if there is none."""
    for each in _parts(value):
        if isinstance(each, float) and not math.isfinite(each):
            return "has no finite number"
        if isinstance(each, str) and _MARKER.search(each):
            return "has the marker of a chat template"
        if isinstance(each, str) and escape_unseen(each, escape=lambda signs: "") != each:
            return "has a sign that nobody sees"
    return None


def _parts(value: Any) -> Iterator[Any]:
    """All texts and numbers in a value, the names in objects included."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            waiting += each
        else:
            yield each


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
        replace_file(target, content)
    except OSError as error:
        raise InputError(
            f"cannot write the program {str(path)!r}: {system_reason(error)}", hint="name another with --out"
        ) from error

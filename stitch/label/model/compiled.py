"""Compiled programs: what an optimizer has made of a program's prompts, as a JSON file that says where it comes from.

A file holds state and nothing else: for each predictor its instructions and its examples (which are excerpts of the
training data). It fits a program if it was made for the same target and for the prompts as they stand in the code.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from stitch.errors import InputError

FORMAT = "stitch program 1"

_GUARDS = ("addressed to you", "gives you no orders", "quoted material")
"""How each prompt says of the texts it quotes that nothing in them is an instruction."""


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

    score: float
    """The mean over examples, from 0 to 1, less what a longer prompt costs."""
    parts: dict[str, float]
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
    model_cost_usd: float | None


class CompiledProgram(BaseModel):
    """The content of a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["stitch program 1"] = "stitch program 1"
    target: str
    predictors: dict[str, PredictorState]
    provenance: Provenance

    @property
    def digest(self) -> str:
        """SHA-256 of what the predictors were made to."""
        return predictors_sha256(self.predictors)


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

    Args:
        program: What was made of it.
        plain: The same program as it stands in the code.
    """
    made = dict(program.named_predictors())
    states: dict[str, PredictorState] = {}
    for name, predictor in plain.named_predictors():
        instructions, guard = str(made[name].signature.instructions), guard_of(predictor.signature.instructions)
        if guard not in " ".join(instructions.split()):
            instructions = f"{instructions.rstrip()}\n\n{guard}"
        demos = [_as_json(dict(demo)) for demo in made[name].demos]
        states[name] = PredictorState(
            prompt_sha256=prompt_sha256(predictor.signature), instructions=instructions, demos=demos
        )
    return states


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


def load_compiled(path: str | Path, program: Any, *, target: str) -> None:
    """Make a program what a file says.

    Args:
        path: The file.
        program: As it stands in the code.
        target: What the program does, such as `windowed`.

    Raises:
        InputError: The file cannot be read, is for another target or other prompts, or did worse than what it replaces.
    """
    again = f"`stitch optimize {target} --train DATA --optimizer ... --out FILE` makes one that fits"
    compiled = read_compiled(path)
    if compiled.target != target:
        raise InputError(
            f"the program {str(path)!r} is for {compiled.target!r}, not for {target!r}",
            hint="add --stepwise, which uses it" if compiled.target == "stepwise" and target == "windowed" else again,
        )
    plain = dict(program.named_predictors())
    if odd := sorted(plain.keys() ^ compiled.predictors.keys()):
        raise InputError(f"the program {str(path)!r} does not fit this version: it differs in {odd[0]!r}", hint=again)
    for name, state in compiled.predictors.items():
        if state.prompt_sha256 != prompt_sha256(plain[name].signature):
            raise InputError(
                f"the program {str(path)!r} was made for another prompt than {name!r} has in this version", hint=again
            )
        guard = guard_of(plain[name].signature.instructions)
        if guard not in " ".join(state.instructions.split()):
            raise InputError(
                f"the program {str(path)!r} lets quoted texts give orders in {name!r}",
                hint=f"its instructions have to say: {guard}",
            )
        if unknown := {field for demo in state.demos for field in demo} - {*plain[name].signature.fields, "augmented"}:
            raise InputError(f"an example in {str(path)!r} has an unknown field {sorted(unknown)[0]!r}", hint=again)
    before, after = compiled.provenance.before.score, compiled.provenance.after.score
    if after < before:
        raise InputError(
            f"the program {str(path)!r} did worse on what was held back than the one it replaces:"
            f" {after:.3f}, before {before:.3f}",
            hint=again,
        )
    put_into(program, compiled.predictors)


def read_compiled(path: str | Path) -> CompiledProgram:
    """The content of a file.

    Raises:
        InputError: It cannot be read, or is none of ours.
    """
    try:
        return CompiledProgram.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        reason = str(error.strerror).lower()
        raise InputError(
            f"cannot read the program {str(path)!r}: {reason}", hint="`stitch optimize TARGET --out FILE` makes one"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "content"
        raise InputError(
            f"{str(path)!r} is no compiled program: {where}: {str(first['msg']).lower()}",
            hint="`stitch optimize TARGET --out FILE` makes one",
        ) from None


def write_compiled(path: str | Path, compiled: CompiledProgram) -> None:
    """Write a file, all of it or nothing; a file that is there stays.

    Raises:
        InputError: There is a file, or it cannot be written.
    """
    target = Path(path)
    if target.exists():
        raise InputError(f"the file {str(path)!r} is there already", hint="name another with --out")
    content = compiled.model_dump_json(indent=2).encode() + b"\n"
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


def _as_json(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(name): _as_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)

"""Labels that stand in a file, a line of JSON a step: what a model or a person wrote without being asked.

A line is `{"trajectory", "id", "scope", "event_types", "entity_types", "references": [{"phrase", "means"}], "summary",
"asks", "words"}`; all but the first two may be missing, and several lines of one step add up. `asks` are questions that
the step answers in other words than its own, `words` words to search it by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from stitch.core import Labeler, Step, StepLabels
from stitch.errors import ReplyError
from stitch.label.model.session import ModelSession, asks_of
from stitch.lm import LanguageModel, Ledger
from stitch.signatures import Reference
from stitch.signatures.windows import AskingReading


class WrittenStep(BaseModel):
    """Labels of one step in a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trajectory: str
    id: str
    scope: str = ""
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    summary: str = ""
    asks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def found_by(self) -> tuple[str, ...]:
        """Other wordings under which the step is found, held to what a model may say."""
        return asks_of(self.asks, self.words)


WrittenSteps = Mapping[tuple[str, str], WrittenStep]
"""By trajectory and step."""


def written_in(line: bytes) -> WrittenStep | None:
    """Read labels of a step from a line; None if it is another line.

    Raises:
        ReplyError: It tells of one, in another format; the message says how.
    """
    try:
        given = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(given, dict) or "trajectory" not in given or "messages" in given or "reply" in given:
        return None
    try:
        return WrittenStep.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ReplyError(f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}") from None


def added_up(told: Iterable[WrittenStep]) -> dict[tuple[str, str], WrittenStep]:
    """Written labels by step; of a field that several lines of a step give, the last counts."""
    steps: dict[tuple[str, str], WrittenStep] = {}
    for said in told:
        before = steps.get((said.trajectory, said.id), said)
        given = {name: getattr(said, name) for name in said.model_fields_set}
        steps[said.trajectory, said.id] = before.model_copy(update=given)
    return steps


def read_written(lines: Iterable[bytes]) -> dict[tuple[str, str], WrittenStep]:
    """Read lines of written labels.

    Raises:
        ReplyError: A line is not in the format; the message says which and why.
    """
    told: list[WrittenStep] = []
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip() and (said := written_in(line)) is None:
                raise ReplyError("it tells of no step")
        except ReplyError as error:
            raise ReplyError(f"line {number}: {error.message}") from None
        told += [said] if line.strip() and said else []
    return added_up(told)


class WrittenLabeler:
    """Gives each step the labels that were written for it, held to the same checks as a model's reply.

    A step for which no labels were written gets local ones.

    Args:
        written: The labels.
        name: Who wrote them; by default a name made of what they say.
        fallback: Labels the other steps, and keeps the label space.
    """

    def __init__(self, written: WrittenSteps, *, name: str | None = None, fallback: Labeler) -> None:
        told = "\n".join(each.model_dump_json() for each in written.values())
        self.name = name or f"written-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
        self._written, self._fallback = written, fallback
        self._model = LanguageModel(self.name, ledger=Ledger())

    def begin(self, trajectory: str, saved: bytes | None = None) -> ModelSession:
        """Start labeling a trajectory, or continue from a saved session."""
        told = {"name": self.name, "model": self._model, "fallback": self._fallback}
        return _WrittenSession(self._written, **told, trajectory=trajectory, saved=saved)


class _WrittenSession(ModelSession):
    def __init__(self, written: WrittenSteps, **given: Any) -> None:
        super().__init__(**given)
        self._written = written

    def _label(self, steps: list[Step]) -> list[StepLabels]:
        return [self._labels_of(step) for step in steps]

    def _labels_of(self, step: Step) -> StepLabels:
        said = self._written.get((self._trajectory, str(step.id)))
        if said is None or not (self._scope_of(said.scope) and said.event_types):
            asks = said.found_by() if said else ()
            return self._label_locally([step])[0].model_copy(update={"asks": asks})
        names = {"events": list(said.event_types), "entities": list(said.entity_types), "words": list(said.words)}
        reading = AskingReading(n=0, scope=said.scope, summary=said.summary, asks=list(said.asks), **names)
        return self._made(step, reading, references=self._located(step, said.references))

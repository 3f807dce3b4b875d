"""The default way to label with a model: one call for several steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import dspy

from stitch.core import ContextualIntent, Labeler, LabelKind, Step, StepLabels
from stitch.errors import CutReplyError, ModelError, ReplyError
from stitch.label.curation import MERGE_EVERY_STEPS
from stitch.label.model.gists import Gist
from stitch.label.model.matching import clean_name_of, match_name
from stitch.label.model.quoting import quote_step, quote_window, shorten
from stitch.label.model.session import (
    ENTITIES_A_STEP,
    EVENTS_A_STEP,
    MAX_ENTITY_NAMES,
    MAX_EVENT_NAMES,
    SUMMARY_CHARS,
    Estimate,
    ModelSession,
    Past,
    clean_label_text,
    quote_past,
)
from stitch.lm import CHARS_PER_TOKEN, LanguageModel, Purpose
from stitch.lm.reading import whole_items
from stitch.signatures import ConsolidateLabels, StepReading
from stitch.signatures.programs import WindowProgram

WINDOW_STEPS = 24
"""How many steps one call labels at most."""
WINDOW_TOKENS = 3_000
"""How long the steps of one call may be together, as far as they are shown."""
PATIENCE_S = 60.0
"""How long an accepted step waits for its window to fill."""

_VERSION = "windowed-2"
_SHOWN_PAST = 3
_OTHER_SCOPES = 4
"""Of how many other scopes that were open lately the last step is shown."""
_PAST_CHARS = 240
_FIXED_TOKENS = 1_000
_GROWN_TOKENS = (60, 10)
"""What scopes and names add with each of the first windows."""
_READING_TOKENS = 48
_CONSOLIDATING_TOKENS = 1_000


class WindowedLabeler:
    """Labels several steps with one call, in order; labels each, resolves its references and summarizes it.

    What of a reply can be used is kept, and only the steps that are missing are asked for again. A reply of which
    nothing can be used is asked for again with half of the window, then for single steps, then these are labeled
    locally; so is everything while the model is down or its budget is spent. Within a window the model sees all steps
    of it; it sees nothing behind it. Every 50 steps it is asked which names mean the same.

    Args:
        model: The model.
        fallback: Makes the labels that stand in.
        program: Its prompt, if it was compiled.
        window_steps: How many steps one call labels at most.
        patience_s: How long a stream lets a step wait for its window to fill.
    """

    consolidates = True
    """Whether it asks, every 50 steps, which names mean the same."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        fallback: Labeler,
        program: WindowProgram | None = None,
        window_steps: int = WINDOW_STEPS,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.model = model
        self.window_steps = window_steps
        self.patience_s = patience_s
        self._fallback = fallback
        self.program = program or WindowProgram()

    @property
    def name(self) -> str:
        """The model's name, the way of labeling, and which compiled program if any."""
        return " ".join(filter(None, (self.model.name, _VERSION, self.program.digest[:8])))

    def begin(self, trajectory: str, saved: bytes | None = None) -> ModelSession:
        """Start labeling a trajectory, or continue from a saved session."""
        return WindowedSession(self, self._fallback, trajectory, saved)

    def ready(self, steps: Sequence[Step], *, waited_s: float) -> int:
        """How many of the steps that wait fill whole windows; all, if the first has waited long enough."""
        if waited_s >= self.patience_s:
            return len(steps)
        full = 0
        for window in self.windows(steps):
            if len(window) == self.window_steps or full + len(window) < len(steps):
                full += len(window)
        return full

    def windows(self, steps: Sequence[Step]) -> Iterator[list[Step]]:
        """Cut steps into windows: by number and by length."""
        window: list[Step] = []
        tokens = 0
        for step in steps:
            size = len(quote_step(step)) // CHARS_PER_TOKEN
            if window and (len(window) == self.window_steps or tokens + size > WINDOW_TOKENS):
                yield window
                window, tokens = [], 0
            window.append(step)
            tokens += size
        if window:
            yield window

    def estimate(self, steps: Sequence[Step]) -> Estimate:
        """About what labeling these steps of one trajectory will cost."""
        calls = sum(1 for _ in self.windows(steps))
        shown = sum(len(quote_step(step)) for step in steps) // CHARS_PER_TOKEN
        grown = sum(_GROWN_TOKENS[0] * min(place, _GROWN_TOKENS[1]) for place in range(calls))
        asked = max(0, len(steps) - 1) // MERGE_EVERY_STEPS if self.consolidates else 0
        return Estimate(
            calls + asked,
            shown + calls * _FIXED_TOKENS + grown + asked * _CONSOLIDATING_TOKENS,
            len(steps) * _READING_TOKENS,
        )


class WindowedSession(ModelSession):
    """The labeling of a trajectory, a window at a time."""

    _extra: ClassVar[tuple[str, ...]] = ("_consolidated", "_misread")

    def __init__(self, labeler: WindowedLabeler, fallback: Labeler, trajectory: str, saved: bytes | None) -> None:
        self._consolidated = 0
        """At which step the names were looked after last."""
        self._misread: dict[str, dict[str, Any]] = {}
        """What earlier steps are about, as is known now, by their ids; until it is settled."""
        self._labeler = labeler
        super().__init__(name=labeler.name, model=labeler.model, fallback=fallback, trajectory=trajectory, saved=saved)

    def _label(self, steps: list[Step]) -> list[StepLabels]:
        return [labels for window in self._labeler.windows(steps) for labels in self._label_window(window)]

    def _label_window(self, window: list[Step]) -> list[StepLabels]:
        if not self._down:
            self._consolidate()
        if not self._down:
            try:
                readings = self._ask(window)
            except ModelError as error:
                self._note_failure(error, steps=len(window))
            else:
                self._failed = 0
                return self._label_by(readings, window)
        if self._down or len(window) == 1:
            return self._label_locally(window)
        half = (len(window) + 1) // 2
        return self._label_window(window[:half]) + self._label_window(window[half:])

    def _consolidate(self) -> None:
        """Every so many steps, let the model say which names mean the same; it is no matter if it cannot."""
        if not self._labeler.consolidates or self._position - self._consolidated < MERGE_EVERY_STEPS:
            return
        self._consolidated = self._position
        kinds = (LabelKind.EVENT_TYPE, LabelKind.ENTITY_TYPE)
        known = {kind: [own.name for own in self._names.known(kind)] for kind in kinds}
        known[LabelKind.SCOPE] = list(self._gists)
        try:
            said = self._model.run(
                dspy.Predict(ConsolidateLabels),
                purpose=Purpose("consolidation", self._trajectory, self._position),
                scopes="\n".join(self._known_scopes()),
                **{f"{kind.value}s": ", ".join(map(str, self._names.known(kind))) for kind in kinds},
            )
        except ModelError as error:
            self._note_failure(error, steps=0)
            return
        for synonym in said.synonyms:
            for kind, names in known.items():
                alias = match_name(clean_name_of(synonym.name), names)
                into = match_name(clean_name_of(synonym.read_as), names)
                if alias is None or into is None:
                    continue
                if kind is LabelKind.SCOPE:
                    self.rename(alias, into)
                else:
                    self._names.merge(kind, alias, into, position=self._position)

    def _label_by(self, readings: Mapping[int, StepReading], window: Sequence[Step]) -> list[StepLabels]:
        """The labels of a window; steps that a reply left out are asked for again, in their places."""
        labels: list[StepLabels] = []
        left_out: list[Step] = []
        for n, step in enumerate(window, start=1):
            if (reading := readings.get(n)) is None:
                left_out.append(step)
                continue
            if left_out:
                labels += self._label_window(left_out)
                left_out = []
            labels.append(self.accept(step, reading))
        return labels + (self._label_window(left_out) if left_out else [])

    def read(self, window: list[Step]) -> list[StepReading]:
        """What the model says of the next steps, one reading a step.

        Raises:
            ModelError: It does not answer, or the reply cannot be used, or leaves out a step.
        """
        readings = self._ask(window, whole=True)
        return [readings[n] for n in range(1, len(window) + 1)]

    def _ask(self, window: Sequence[Step], *, whole: bool = False) -> dict[int, StepReading]:
        """What the model says of the next steps, by their numbers from 1; at least of one, and if `whole` of all.

        Raises:
            ModelError: It does not answer, or nothing of the reply can be used.
        """
        purpose = Purpose("window", self._trajectory, self._position, len(window))
        earlier = self._shown_past(_SHOWN_PAST, others=_OTHER_SCOPES)
        said, counted = self._said(window, purpose, earlier)
        readings = numbered((reading for reading in said if reading.n >= 0), count=len(window))
        if problem := self._problem(readings, window, whole=whole):
            if counted:
                self._model.note_use(purpose, steps=-counted, used=False)
            raise ReplyError(f"model {self._model.name!r} {problem}")
        if len(readings) != counted:
            self._model.note_use(purpose, steps=len(readings) - counted)
        for reading in said:
            if -len(earlier) <= reading.n < 0:
                self._read_again(earlier[reading.n], reading)
        return readings

    def _read_again(self, past: Past, reading: StepReading) -> None:
        """Take note of what an earlier step is about after all, unless a person, or another model, has said it."""
        if past.step is None or past.made_by not in self._ours:
            return
        scope = self._named_scope(reading.scope) or past.scope
        events = self._canonical(LabelKind.EVENT_TYPE, reading.events, MAX_EVENT_NAMES, EVENTS_A_STEP)
        entities = self._canonical(LabelKind.ENTITY_TYPE, reading.entities, MAX_ENTITY_NAMES, ENTITIES_A_STEP)
        summary = shorten(clean_label_text(reading.summary), limit=SUMMARY_CHARS)
        self._misread[past.step] = {"scope": scope, "events": events, "entities": entities, "summary": summary}
        past.scope, past.events = scope, events or past.events  # what is shown next is what is known now
        self._gists.setdefault(scope, Gist())

    def unsettled(self) -> list[str]:
        """The ids of the earlier steps that it misread, as it knows now."""
        return list(self._misread)

    def settle(self, step: str, labels: StepLabels | None) -> StepLabels | None:
        """The labels that an earlier step is to have; see `RevisingSession.settle`."""
        said = self._misread.pop(step, None)
        if said is None or labels is None or labels.made_by not in self._ours:
            return None
        had = labels.intent
        intent = ContextualIntent(
            scope=said["scope"],
            event_types=tuple(said["events"]) or had.event_types,
            entity_types=tuple(said["entities"]) or had.entity_types,
        )
        if intent == had:
            return None
        summary = said["summary"] or labels.summary
        return labels.model_copy(update={"intent": intent, "summary": summary, "made_by": self._name})

    def _said(self, window: Sequence[Step], purpose: Purpose, earlier: Sequence[Past]) -> tuple[list[StepReading], int]:
        """The readings of a reply, of a cut one those that are whole; and of how many steps the ledger has it."""
        before = self._past[-1] if self._past else None
        session, time = (None, "") if before is None else (before.session, before.time)
        numbers = range(-len(earlier), 0)
        try:
            prediction = self._model.run(
                self._prompt,
                purpose=purpose,
                known_scopes="\n".join(self._known_scopes(window)),
                known_events=", ".join(self._names.shown(LabelKind.EVENT_TYPE, position=self._position)),
                known_entities=", ".join(self._names.shown(LabelKind.ENTITY_TYPE, position=self._position)),
                earlier_steps="\n".join(
                    quote_past(past, chars=_PAST_CHARS, n=n) for n, past in zip(numbers, earlier, strict=True)
                ),
                steps=self._quoted(window, session=session, time=time),
            )
        except CutReplyError as error:
            if said := self._whole_readings(error.said):
                return said, 0
            raise
        for old, new in filter(None, map(_renamed, prediction.renames)):
            self.rename(old, new)
        return self._readings(prediction), len(window)

    @property
    def _prompt(self) -> Any:
        return self._labeler.program.label_window

    def _quoted(self, window: Sequence[Step], *, session: str | None, time: str) -> str:
        """The steps of a window as the prompt shows them, behind a step of that session and time."""
        return quote_window(window, session=session, time=time)

    def _readings(self, prediction: Any) -> list[StepReading]:
        """What a whole reply says of steps."""
        readings: list[StepReading] = prediction.readings
        return readings

    def _whole_readings(self, said: str) -> list[StepReading]:
        """What of a cut reply is whole."""
        return whole_items(said, StepReading)

    def _problem(self, readings: dict[int, StepReading], window: Sequence[Step], *, whole: bool) -> str:
        """Why readings cannot be used; a first one without a scope is left out of them where no scope was before."""
        if not readings or (whole and len(readings) < len(window)):
            return f"labeled other steps than the {len(window)} it was given"
        if not self._scope and 1 in readings and not self._scope_of(readings[1].scope):
            del readings[1]
            if whole or not readings:
                return "gave the first step no scope"
        return ""

    def accept(self, step: Step, reading: StepReading) -> StepLabels:
        """The labels of the next step, from what the model said of it."""
        return self._made(
            step,
            scope=reading.scope,
            events=reading.events,
            entities=reading.entities,
            references=self._located(step, reading.references),
            summary=reading.summary,
        )


_AS_IN = re.compile(
    r"\W*(?:same|as|see|ditto)(?: scope)?(?: as| in)*\W*(?:step|no|n)?\W*(?P<n>\d{1,4})\W*", re.IGNORECASE
)
"""A scope that is said by the number of a step that has it."""


def _renamed(said: str) -> tuple[str, str] | None:
    """The names in "old = new"; None if they are not two."""
    names = [part.strip() for part in re.split("=>|->|→|=", said) if part.strip()]
    return (names[0], names[1]) if len(names) == 2 else None


def numbered(readings: Iterable[StepReading], *, count: int) -> dict[int, StepReading]:
    """Readings by the numbers of their steps, from 1; of two of one step the first, none of steps that there are not.

    A reply that counts from 0, or from where the window stands in its log, is read as if it counted from 1.
    """
    found: dict[int, StepReading] = {}
    for reading in readings:
        found.setdefault(reading.n, reading)
    for reading in found.values():  # "same as step 2"
        if (as_in := _AS_IN.fullmatch(reading.scope)) and (other := found.get(int(as_in["n"]))) is not None:
            reading.scope = other.scope
    first = min(found, default=1)
    if (first == 0 and count not in found) or (first > count and sorted(found) == list(range(first, first + count))):
        found = {n - first + 1: reading for n, reading in found.items()}
    return {n: reading for n, reading in found.items() if 1 <= n <= count}

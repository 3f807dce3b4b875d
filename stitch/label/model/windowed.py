"""The default way to label with a model: one call for several steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from math import ceil
from typing import Any, ClassVar

from stitch.core import ContextualIntent, Labeler, LabelKind, Step, StepLabels
from stitch.errors import CutReplyError, ModelError, ReplyError
from stitch.label.model.gists import Gist
from stitch.label.model.matching import clean_name_of, match_name
from stitch.label.model.quoting import quote_step, quote_window
from stitch.label.model.session import Estimate, ModelSession, Past, quote_past, summary_of
from stitch.lm import CHARS_PER_TOKEN, LanguageModel, Purpose
from stitch.lm.reading import whole_items
from stitch.signatures import StepReading
from stitch.signatures.programs import WindowProgram, asking
from stitch.signatures.windows import AskingReading

WINDOW_STEPS = 80
"""Number of steps one call labels at most."""
WINDOW_TOKENS = 8_000
"""About how long the steps of one call may be together, as far as they are shown; 6,000 in the middle."""
PATIENCE_S = 60.0
"""How long an accepted step waits for its window to fill."""

_VERSION = "windowed-3"
_SHOWN_PAST = 4
_PAST_CHARS = 200
_SMALLEST_REST = 4
"""A window waits until behind it there is one in so many of its steps: so few are not left alone at the end."""
_FIXED_TOKENS = 1_100
"""Of prompt and schema, and of the names and earlier steps that are shown when there are some."""
_GROWN_TOKENS = (120, 6)
"""What scopes and names add with each of the first windows."""
_READING_TOKENS, _ASKS_TOKENS = 75, 33


class WindowedLabeler:
    """Labels several steps with one call, in order; labels each, resolves its references and summarizes it.

    What of a reply can be used is kept, and only the steps that are missing are asked for again. A reply of which
    nothing can be used is asked for again with half of the window, then for single steps, then these are labeled
    locally; so is everything while the model is down or its budget is spent. Within a window the model sees all steps
    of it; it sees nothing behind it. A reply may also say which names mean the same: recorded merges.

    Args:
        model: The model.
        fallback: Makes the labels that stand in.
        program: Its prompt, if it was compiled.
        window_steps: How many steps one call labels at most.
        patience_s: How long a stream lets a step wait for its window to fill.
        asks: Whether it also asks for what a step is found by in other words.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        fallback: Labeler,
        program: WindowProgram | None = None,
        window_steps: int = WINDOW_STEPS,
        patience_s: float = PATIENCE_S,
        asks: bool = True,
    ) -> None:
        self.model = model
        self.window_steps = window_steps
        self.patience_s = patience_s
        self.asks = asks
        self._fallback = fallback
        self.program = program or WindowProgram()
        self.prompt = asking(self.program.label_window, asks=asks)
        self.reading = AskingReading if asks else StepReading

    @property
    def name(self) -> str:
        """The model's name, the way of labeling, and which compiled program if any."""
        way = _VERSION if self.asks else f"{_VERSION}-plain"
        return " ".join(filter(None, (self.model.name, way, self.program.digest[:8])))

    def begin(self, trajectory: str, saved: bytes | None = None) -> ModelSession:
        """Start labeling a trajectory, or continue from a saved session."""
        return WindowedSession(self, self._fallback, trajectory, saved)

    def ready(self, steps: Sequence[Step], *, waited_s: float) -> int:
        """Number of waiting steps that fill whole windows; all, if the first has waited long enough.

        The last window is whole when so much stands behind it that it will not be left alone at the end.
        """
        if waited_s >= self.patience_s:
            return len(steps)
        filled = list(accumulate(map(self._share, steps)))
        whole = int(max(0.0, filled[-1] - 1 / _SMALLEST_REST)) if steps else 0
        return sum(fill <= whole + 1e-9 for fill in filled) if whole else 0

    def windows(self, steps: Sequence[Step]) -> Iterator[list[Step]]:
        """Cut steps into windows of about the same size: as few as their number and length allow."""
        filled = list(accumulate(map(self._share, steps)))
        if not filled:
            return
        count = max(-(-len(steps) // self.window_steps), ceil(filled[-1] - 1 / _SMALLEST_REST))
        size, start = filled[-1] / count, 0
        for place in range(1, count + 1):
            end = sum(fill <= place * size + 1e-9 for fill in filled)
            if end > start:
                yield list(steps[start:end])
            start = max(start, end)

    def _share(self, step: Step) -> float:
        """The share of a window that a step fills."""
        return max(1 / self.window_steps, min(1.0, len(quote_step(step)) / CHARS_PER_TOKEN / WINDOW_TOKENS))

    def estimate(self, steps: Sequence[Step]) -> Estimate:
        """About what labeling these steps of one trajectory will cost."""
        calls = sum(1 for _ in self.windows(steps))
        shown = sum(len(quote_step(step)) for step in steps) // CHARS_PER_TOKEN
        grown = sum(_GROWN_TOKENS[0] * min(place, _GROWN_TOKENS[1]) for place in range(calls))
        replied = len(steps) * (_READING_TOKENS + _ASKS_TOKENS * self.asks)
        return Estimate(calls, shown + calls * _FIXED_TOKENS + grown, replied)


class WindowedSession(ModelSession):
    """The labeling of a trajectory, a window at a time."""

    _extra: ClassVar[tuple[str, ...]] = ("_misread",)

    def __init__(self, labeler: WindowedLabeler, fallback: Labeler, trajectory: str, saved: bytes | None) -> None:
        self._misread: dict[str, dict[str, Any]] = {}
        """New labels of earlier steps, by their ids; until they are settled."""
        self._labeler = labeler
        super().__init__(name=labeler.name, model=labeler.model, fallback=fallback, trajectory=trajectory, saved=saved)

    def _label(self, steps: list[Step]) -> list[StepLabels]:
        return [labels for window in self._labeler.windows(steps) for labels in self._label_window(window)]

    def _label_window(self, window: list[Step]) -> list[StepLabels]:
        if not self._down:
            try:
                readings = self._ask(window)
            except ModelError as error:
                self._note_failure(error, steps=len(window))
            else:
                self._note_use()
                return self._label_by(readings, window)
        if self._down or len(window) == 1:
            return self._label_locally(window)
        half = (len(window) + 1) // 2
        return self._label_window(window[:half]) + self._label_window(window[half:])

    def _label_by(self, readings: Mapping[int, StepReading], window: Sequence[Step]) -> list[StepLabels]:
        """The labels of a window; steps that a reply left out are asked for again, in their places."""
        labels: list[StepLabels] = []
        for is_read, steps in groupby(enumerate(window, start=1), key=lambda own: own[0] in readings):
            if is_read:
                labels += [self.accept(step, readings[n]) for n, step in steps]
            else:
                labels += self._label_window([step for _, step in steps])
        return labels

    def _ask(self, window: Sequence[Step], *, whole: bool = False) -> dict[int, StepReading]:
        """Ask the model about the next steps: readings by number from 1; at least one, and if `whole` all.

        Raises:
            ModelError: It does not answer, or nothing of the reply can be used.
        """
        purpose = Purpose("window", self._trajectory, self._position, len(window))
        earlier = self._past[-_SHOWN_PAST:]
        said, counted = self._said(window, purpose)
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
        scope, summary = self._named_scope(reading.scope) or past.scope, summary_of(reading)
        intent = self._intent(reading, scope=scope)
        events, entities = list(intent.event_types), list(intent.entity_types)
        self._misread[past.step] = {"scope": scope, "events": events, "entities": entities, "summary": summary}
        past.scope, past.events = scope, events or past.events  # what is shown next is what is known now
        past.summary = summary or past.summary
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

    def shown(self, window: Sequence[Step]) -> dict[str, str]:
        """The fields of the prompt for the next steps."""
        before, earlier = (self._past[-1] if self._past else None), self._past[-_SHOWN_PAST:]
        session, time = (None, "") if before is None else (before.session, before.time)
        number = {name: n for n, name in enumerate(self._gists, start=1)}
        return {
            "known_scopes": "\n".join(self._known_scopes(window)),
            "known_events": self._names.shown(LabelKind.EVENT_TYPE, position=self._position),
            "known_entities": self._names.shown(LabelKind.ENTITY_TYPE, position=self._position),
            "earlier_steps": "\n".join(
                quote_past(past, chars=_PAST_CHARS, scope=number.get(past.scope, ""), n=n)
                for n, past in enumerate(earlier, start=-len(earlier))
            ),
            "steps": quote_window(window, session=session, time=time),
        }

    def _said(self, window: Sequence[Step], purpose: Purpose) -> tuple[list[StepReading], int]:
        """The readings of a reply, of a cut one those that are whole; and of how many steps the ledger has it."""
        known = list(self._gists)
        try:
            prediction = self._model.run(self._labeler.prompt, purpose=purpose, **self.shown(window))
        except CutReplyError as error:
            if said := _by_scope_names(whole_items(error.said, self._labeler.reading), known):
                return said, 0
            raise
        said = _by_scope_names(prediction.readings, known)
        for old, new in filter(None, map(_renamed, prediction.renames)):
            self._rename(old, new)
        return said, len(window)

    def _rename(self, old: str, new: str) -> None:
        """Read a listed name as another: a scope as any, an event or entity type as a listed one of its kind."""
        if self.rename(old, new):
            return
        for kind in (LabelKind.EVENT_TYPE, LabelKind.ENTITY_TYPE):
            self._names.merge_known(kind, old, new, position=self._position)

    def _problem(self, readings: dict[int, StepReading], window: Sequence[Step], *, whole: bool) -> str:
        """The reason readings cannot be used; one without a scope at the start is dropped where no scope was before."""
        if not readings or (whole and len(readings) < len(window)):
            return f"labeled other steps than the {len(window)} it was given"
        if not self._scope and 1 in readings and not self._scope_of(readings[1].scope):
            del readings[1]
            if whole or not readings:
                return "gave the first step no scope"
        return ""

    def accept(self, step: Step, reading: StepReading) -> StepLabels:
        """The labels of the next step, from what the model said of it."""
        return self._made(step, reading, references=self._located(step, reading.references))


_AS_IN = re.compile(
    r"\W*(?:same|as|see|ditto)(?: scope)?(?: as| in)*\W*(?:step|no|n)?\W*(?P<n>\d{1,4})\W*", re.IGNORECASE
)
"""A scope that is said by the number of a step that has it."""
_SCOPE_NUMBER = re.compile(r"\W*(?:scope )?#?(\d{1,3})\W*", re.IGNORECASE)


def _renamed(said: str) -> tuple[str, str] | None:
    """The names in "old = new"; None if they are not two."""
    names = [part.strip() for part in re.split("=>|->|→|=", said) if part.strip()]
    return (names[0], names[1]) if len(names) == 2 else None


def _by_scope_names(readings: Sequence[StepReading], known: Sequence[str]) -> list[StepReading]:
    """Readings with the names of scopes that are said by number: of the list, or counted on with the new ones."""
    names = list(known)
    for reading in readings:
        number = _SCOPE_NUMBER.fullmatch(reading.scope)
        if number is None or reading.scope in known:
            if reading.scope and match_name(clean_name_of(reading.scope), names) is None:
                names.append(reading.scope)
        else:
            reading.scope = names[int(number[1]) - 1] if 0 < int(number[1]) <= len(names) else ""
    return list(readings)


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

"""Labels without a model: contextual intent (§2.2) from the steps of a trajectory alone, knowing only the past."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import orjson

from stitch.core.intent import (
    GOAL_OPENED,
    SETUP_SCOPE,
    ContextualIntent,
    LabelKind,
    LabelMerge,
    LabelVocabulary,
    clean_label,
)
from stitch.core.snippets import LabelInventory, ScopeSummary, StepLabels
from stitch.core.steps import Step
from stitch.core.summaries import head_of
from stitch.label.curation import read_through
from stitch.label.local.acts import acts_by_structure, acts_in_words, cues_of
from stitch.label.local.calls import deeds_of
from stitch.label.local.context import StepBefore
from stitch.label.local.entities import EntityValues, kinds_of
from stitch.label.local.names import NO_NAME, ScopeNames
from stitch.label.local.reading import CALL, INSTRUCTIONS, RESULT, WORDS, Before, StepFeatures, read_step
from stitch.label.local.scope_state import Scope
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.weights import NAME, vectors_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_AT_ONCE = 256
"""For so many steps vectors are made at once."""
_MAX_SUMMARY_CHARS = 160
_SHORT_SENTENCE_CHARS = 25


class LocalLabelSession:
    """The labeling of one trajectory. Deterministic: the labels of a step depend on it and on earlier steps alone."""

    def __init__(self, trajectory: str) -> None:
        self._trajectory = trajectory
        self._before = Before()
        self._scopes = ScopeTracker()
        self._names = ScopeNames()
        self._entities = EntityValues()
        self._context = StepBefore()
        self._events: dict[str, int] = {}
        """Number of steps with each event type."""
        self._deed = ""
        """What the last call did."""
        self._is_run = False
        """Whether instructions, calls or results came: then a scope that words open is a task."""
        self._merges: list[LabelMerge] = []
        """Of scopes that were renamed."""
        self._steps = 0

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        """Label the next steps of the trajectory."""
        return [self._take(reading, vector, known=None) for reading, vector in self._read(steps)]

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        """Take in steps whose labels are known, as if `label` had just returned them.

        Labels that `label` would make now leave the session exactly as `label` leaves it.
        """
        for (reading, vector), known in zip(self._read(steps), labels, strict=True):
            self._take(reading, vector, known=known)

    def _read(self, steps: Sequence[Step]) -> Iterable[tuple[StepFeatures, NDArray[np.float32]]]:
        """Steps with their vectors, which cost less when many are made at once."""
        for start in range(0, len(steps), _AT_ONCE):
            readings = []
            for step in steps[start : start + _AT_ONCE]:
                readings.append(reading := read_step(step, self._before))
                self._before = self._before.after(reading)
            yield from zip(readings, vectors_of([reading.text for reading in readings]), strict=True)

    def _take(self, reading: StepFeatures, vector: NDArray[np.float32], *, known: StepLabels | None) -> StepLabels:
        """Label a step, or take in the labels that it has."""
        events = self._acts(reading, vector) if known is None else []
        is_setup = reading.kind == INSTRUCTIONS if known is None or known.made_by == NAME else False
        if is_setup:
            self._scopes.instruct(reading)
            scope_name = SETUP_SCOPE
        else:
            scope_name, is_new = self._place(reading, vector, known=known)
            if is_new and reading.kind == WORDS and self._is_run:
                events = [GOAL_OPENED]
        self._is_run = self._is_run or reading.kind in (INSTRUCTIONS, CALL, RESULT)
        if reading.kind == CALL:
            self._deed = next(iter(deeds_of(reading.calls)), "")
        context = self._context.lend(reading.step)
        if known is None:
            kinds = kinds_of(reading)
            known = StepLabels(
                intent=ContextualIntent(scope=scope_name, event_types=tuple(events), entity_types=kinds.types),
                made_by=NAME,
                summary=_summarize(reading, scope_name, events),
                mentions=kinds.mentions,
                context=context,
            )
        self._count(known.intent.event_types, by=1)
        self._entities.take(known.intent.entity_types, known.mentions)
        self._steps += 1
        return known

    def _acts(self, reading: StepFeatures, vector: NDArray[np.float32]) -> list[str]:
        """The event types of a step: those that its form tells, else those of its words."""
        if events := acts_by_structure(reading, deed=self._deed):
            return events
        cues = cues_of(reading, self._scopes.turn_cues(reading, takes_turns=True))
        return [act for act, _ in acts_in_words(cues, vector)]

    def _place(
        self, reading: StepFeatures, vector: NDArray[np.float32], *, known: StepLabels | None
    ) -> tuple[str, bool]:
        """Put a step into its scope, that of its labels if they are known; the scope's name, and whether it is new."""
        given = clean_label(known.intent.scope or "") if known is not None else ""
        by_others = bool(given) and known is not None and known.made_by != NAME
        chosen = self._scope_called(given, by_others=by_others) if given else self._scopes.choose(reading, vector)
        scope = self._scopes.assign(reading, vector, chosen)
        scope.given = scope.given or by_others
        home = self._scopes.waits_in(scope)
        if chosen is None:
            otherwise = NO_NAME if home is None else self._names.of(home.number)
            self._names.open(reading, scope.gist, called=given, given=by_others, otherwise=otherwise)
        else:
            self._names.extend(reading, scope.number)
            if by_others:
                self._names.give(scope.number)
        name = given or self._names.of(scope.number)
        if home is None:
            self._rename(scope)
        self._rejoin()
        return name, chosen is None and home is None

    def _scope_called(self, name: str, *, by_others: bool) -> Scope | None:
        """The scope that has or had a name; one that has been renamed takes the name back that somebody else uses."""
        number = self._names.scope_called(name)
        if number is None or not by_others or self._names.of(number).lower() == name.lower():
            return None if number is None else self._scopes.scope(number)
        if self._names.is_given(number):
            self._forget_alias(name)
            return None
        self._call(number, name)
        return self._scopes.scope(number)

    def _rejoin(self) -> None:
        """Join a young scope to an earlier one that it turns out to continue; recorded as a merge."""
        if (joined := self._scopes.rejoin()) is not None:
            self._merges.append(self._merge(*joined))
            self._names.join(*(scope.number for scope in joined))

    def _merge(self, young: Scope, home: Scope) -> LabelMerge:
        alias, into = (self._names.of(scope.number) for scope in (young, home))
        return LabelMerge(kind=LabelKind.SCOPE, alias=alias, into=into, position=self._steps)

    def _rename(self, scope: Scope) -> None:
        """Call a scope that has grown by a better name from now on; recorded as a merge."""
        better = self._names.reconsider(scope.number, scope.gist, steps=scope.steps)
        if better is None:
            return
        self._call(scope.number, better)

    def _call(self, number: int, better: str) -> None:
        self._forget_alias(better)  # a former name comes back
        merge = LabelMerge(kind=LabelKind.SCOPE, alias=self._names.of(number), into=better, position=self._steps)
        self._merges.append(merge)
        self._names.rename(number, better)

    def _forget_alias(self, name: str) -> None:
        self._merges = [merge for merge in self._merges if merge.alias.lower() != name.lower()]

    def correct(self, position: int, *, before: tuple[Step, StepLabels], after: tuple[Step, StepLabels]) -> bool:
        """Take in that an earlier step says something else, or has other labels; see `CorrectableSession.correct`.

        What words stood for, and what followed what, stays as it was heard.
        """
        (was, had), (step, has) = before, after
        old, new = (labels.intent.scope or "" for labels in (had, has))
        if old != new or was.content != step.content:
            self._move(position, was, step, old=old, new=new)
        if has.made_by != NAME and (number := self._names.scope_called(new)) is not None:
            self._names.give(number)
            self._scopes.scope(number).given = True
        self._count(had.intent.event_types, by=-1)
        self._count(has.intent.event_types, by=1)
        self._entities.correct(had, has)
        return True

    def _move(self, position: int, was: Step, step: Step, *, old: str, new: str) -> None:
        """Take a step out of a scope and into another, or into the same with other words."""
        left = self._names.scope_called(old)
        if left is not None:
            self._scopes.history.take_out(read_step(was), self._scopes.scope(left), position=position)
        joined, reading = self._names.scope_called(new), read_step(step)
        if joined is None:
            joined = self._scopes.begin().number
            self._names.open(reading, None, called=new, given=True)
        self._scopes.scopes[joined].into = None  # one that was emptied by a correction has steps again
        self._scopes.history.put_in(reading, self._scopes.scope(joined), position=position)
        if left is not None and not self._scopes.scope(left).steps:
            self._scopes.scope(left).into = joined

    def _count(self, events: Iterable[str], *, by: int) -> None:
        for event in events:
            if (count := self._events.get(event, 0) + by) > 0:
                self._events[event] = count
            else:
                self._events.pop(event, None)

    def inventory(self) -> LabelInventory:
        """The label space so far, merges applied."""
        waiting = [(scope, home) for scope in self._scopes.scopes if (home := self._scopes.waits_in(scope)) is not None]
        merges = [*self._merges, *(self._merge(*each) for each in waiting)]
        names = LabelVocabulary(merges)
        summaries = [self._summary(scope, names) for scope in self._scopes.scopes if scope.into is None]
        if (setup := self._scopes.setup).steps:
            spans = tuple((first, last) for first, last in setup.spans)
            summaries.append(
                ScopeSummary(name=SETUP_SCOPE, trajectory=self._trajectory, spans=spans, steps=setup.steps)
            )
        inventory = LabelInventory(
            scopes=tuple(summaries),
            event_types=dict(sorted(self._events.items(), key=lambda item: (-item[1], item[0]))),
            entity_types=self._entities.summaries(),
            merges=tuple(merges),
            steps=self._steps,
        )
        return read_through(inventory, names.canonical) if waiting else inventory

    def _summary(self, scope: Scope, names: LabelVocabulary) -> ScopeSummary:
        name = names.canonical(LabelKind.SCOPE, self._names.of(scope.number))
        values = sorted(scope.keys.items(), key=lambda item: -item[1])
        return ScopeSummary(
            name=name,
            trajectory=self._trajectory,
            spans=tuple((first, last) for first, last in scope.spans),
            steps=scope.steps,
            summary=f"{name}: " + ", ".join(value for value, _ in values[:5]) if values else name,
            terms=self._scopes.typical_terms(scope),
            values=dict(values),
        )

    def save(self) -> bytes:
        """Everything this session remembers, as compact JSON."""
        return orjson.dumps(
            {
                "labeler": NAME,
                "before": asdict(self._before),
                "scopes": self._scopes.save(),
                "names": self._names.save(),
                "entities": self._entities.save(),
                "context": self._context.save(),
                "events": self._events,
                "deed": self._deed,
                "is_run": self._is_run,
                "merges": [merge.model_dump(mode="json") for merge in self._merges],
                "steps": self._steps,
            }
        )

    @classmethod
    def load(cls, trajectory: str, saved: bytes) -> LocalLabelSession:
        """Continue from what `save` returned."""
        data: dict[str, Any] = orjson.loads(saved)
        session = cls(trajectory)
        before = data["before"]
        lists = {name: tuple(before[name]) for name in ("speakers", "openings")}
        session._before = Before(**{**before, **lists})
        session._scopes = ScopeTracker.load(data["scopes"])
        session._names = ScopeNames.load(data["names"])
        session._entities = EntityValues.load(data["entities"])
        session._context = StepBefore(*data["context"])
        session._events = dict(data["events"])
        session._deed, session._is_run = data["deed"], data["is_run"]
        session._merges = [LabelMerge(**merge) for merge in data["merges"]]
        session._steps = data["steps"]
        return session


def _summarize(reading: StepFeatures, scope: str, events: Iterable[str]) -> str:
    """One line: who does what in which scope, and the sentence that carries it."""
    said = ""
    if reading.kind == WORDS:
        parts = [reading.text[start:end].strip() for start, end in reading.spans]
        said = next((part for part in parts if len(part) > _SHORT_SENTENCE_CHARS), parts[0] if parts else "")
    elif reading.kind == CALL or not reading.pairs:
        said = " ".join(next((line for line in reading.step.content.splitlines() if line.strip()), "").split())
    line = head_of(reading.step.role, events=events, scope=scope)
    return f"{line}: {said}"[:_MAX_SUMMARY_CHARS] if said else line[:_MAX_SUMMARY_CHARS]

"""Labels without a model: all cues of contextual intent (§2.2) from structure alone, knowing only the past.

More than 400 lines because dialogues and runs of agents share one session: its scopes, names and merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from stitch.core.intent import ContextualIntent, LabelKind, LabelMerge, LabelVocabulary, clean_label
from stitch.core.snippets import LabelInventory, ScopeSummary, StepLabels
from stitch.core.steps import Step
from stitch.label.curation import MERGE_EVERY_STEPS
from stitch.label.local.context import StepBefore
from stitch.label.local.entities import EntityTyper
from stitch.label.local.events import EventTyper
from stitch.label.local.evidence import Scope
from stitch.label.local.naming import (
    EXPLICIT,
    MADE_UP,
    SPOKEN,
    InWords,
    distinct_name,
    named_scope,
    propose_name,
    topic_of,
    turned_to,
    turns,
)
from stitch.label.local.reading import Reading, breaks_off_at_once, read_step, skim_step
from stitch.label.local.run_labels import acts_in_run
from stitch.label.local.runs import RunTracker
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.turns import ASKS, CALLS, RESULT, SAYS, Turn
from stitch.text.words import MAX_READ_CHARS

NAME = "local-25"
"""Changes whenever the same steps would get other labels."""

_MAX_SUMMARY_CHARS = 160
_AT_ONCE = 256
"""For so many steps vectors are made at once."""
_RENAME_WITHIN_STEPS = 12
_NO_NAME = "conversation"
_MOST_SAID_CHARS = 1_500
"""Of words in a run so much is read."""
_MOST_HANDLES = 32
_MOST_TURNING_CHARS = 300
_TELLING = ("place", "name", "organization", "person", "date", "day", "file", "identifier", "function", "error")


class _Naming(NamedTuple):
    """What a scope is called once a step belongs to it."""

    name: str
    wished: str
    """The name wished for, before it was made distinct."""
    quality: int
    """Of the wish, see `naming`."""
    given: bool = False
    """Whoever made the labels of the step gave the name: it is never changed, and the scope never joined to another."""


class LocalLabeler:
    """The default labeler: needs no model, no network and no training."""

    @property
    def name(self) -> str:
        """Who makes the labels."""
        return NAME

    def begin(self, trajectory: str, saved: bytes | None = None) -> LocalLabelSession:
        """Start labeling a trajectory, or continue from what a session saved."""
        return LocalLabelSession(trajectory) if saved is None else LocalLabelSession.load(trajectory, saved)


class LocalLabelSession:
    """The labeling of one trajectory. Deterministic: the labels of a step depend on it and on earlier steps alone."""

    def __init__(self, trajectory: str) -> None:
        self._trajectory = trajectory
        self._scopes = ScopeTracker()
        self._events = EventTyper()
        self._entities = EntityTyper()
        self._before = StepBefore()
        self._runs = RunTracker()
        self._names: list[str] = []
        """The label of each scope, by its number."""
        self._wishes: list[tuple[str, int]] = []
        """The name wished for each scope, before it was made distinct, with its quality."""
        self._merges: list[LabelMerge] = []
        """Of scopes: renamed, or joined to what they continue."""
        self._taken: dict[str, int] = {}
        self._steps = 0
        self._language: str | None = None
        """That of the last step that tells one."""

    def label(self, steps: Sequence[Step]) -> list[StepLabels]:
        """Label the next steps of the trajectory."""
        labels = []
        for start in range(0, len(steps), _AT_ONCE):
            window = steps[start : start + _AT_ONCE]
            self._look_ahead(window)
            labels += [self._label(step) for step in window]
        self._scopes.look_ahead(())
        return labels

    def _look_ahead(self, window: Sequence[Step]) -> None:
        if not self._runs.active and not any(step.tool_calls or step.tool_name for step in window):
            self._scopes.look_ahead([step.content for step in window])

    def replay(self, steps: Sequence[Step], labels: Sequence[StepLabels]) -> None:
        """Take in steps whose labels are known, as if `label` had just returned them.

        Labels that `label` would make now leave the session exactly as `label` leaves it.
        """
        for place, (step, known) in enumerate(zip(steps, labels, strict=True)):
            if place % _AT_ONCE == 0:
                self._look_ahead(steps[place : place + _AT_ONCE])
            if (turn := self._runs.hear(step)) is not None:
                self._label_in_run(step, turn, known=known)
                continue
            self._runs.heard(step)
            reading = self._read(step)
            unit, given = turned_to(reading), known.intent.scope or ""
            if given and known.made_by != NAME:  # a model's label, or a person's, is no matter of choice
                scope, naming = self._given(reading, given, unit=unit)
            else:
                scope = self._choose(reading, unit=unit)
                naming = self._naming(reading, scope, unit=unit)
                if known.made_by != NAME or clean_label(naming.name) != given:
                    scope, naming = self._given(reading, given, unit=unit)
            self._take(reading, scope, naming, unit=unit, known=known)
        self._scopes.look_ahead(())

    def _given(self, reading: Reading, given: str, *, unit: str) -> tuple[Scope | None, _Naming]:
        """The scope that somebody else has named, None if it is new, and what it is called."""
        scope = self._scope_called(given)
        return scope, self._naming(reading, scope, unit=unit, given=given)

    def correct(self, position: int, *, before: tuple[Step, StepLabels], after: tuple[Step, StepLabels]) -> bool:
        """Take in that an earlier step says something else, or has other labels; see `CorrectableSession.correct`.

        What words stood for, and what followed what, stays as it was heard.
        """
        (was, had), (step, has) = before, after
        old, new = (labels.intent.scope or "" for labels in (had, has))
        if old != new or was.content != step.content:
            self._move(position, was, step, old=old, new=new)
        if has.made_by != NAME and (named := self._scope_called(new)) is not None:
            named.given = True
        self._keep(has)
        self._events.vocabulary.recount(had.intent.event_types, has.intent.event_types)
        self._entities.correct(had, has)
        return True

    def _move(self, position: int, was: Step, step: Step, *, old: str, new: str) -> None:
        """Take a step out of a scope and into another, or into the same with other words."""
        scopes = self._scopes
        left, joined = self._scope_called(old), self._scope_called(new)
        if left is not None:
            scopes.take_out(read_step(was, speakers=scopes.speakers), left, position=position)
        if joined is None:
            joined = scopes.begin(given=True)
            self._names.append(new)
            self._wishes.append((new, EXPLICIT))
            self._taken[new.lower()] = joined.number
        scopes.put_in(read_step(step, speakers=scopes.speakers), joined, position=position)
        if left is not None and not left.steps:
            left.into = joined.number

    def _scope_called(self, name: str) -> Scope | None:
        number = self._taken.get(name.lower())
        return None if number is None else self._scopes.scope(number)

    def _label_in_run(self, step: Step, turn: Turn, *, known: StepLabels | None = None) -> StepLabels:
        """Label a step of a run; with labels that are `known`, take it in with these."""
        runs = self._runs
        if not runs.active and self._scopes.current is not None:
            self._adopt(self._scopes.current)
        if turn.kind in (ASKS, SAYS):
            reading = self._read(step, most_chars=_MOST_SAID_CHARS)
        else:
            values = dict.fromkeys(turn.handles[:_MOST_HANDLES], "identifier")
            reading = skim_step(step, turn.text, values=values, stems=turn.stems, is_result=turn.kind == RESULT)
        named, subject = self._turns_to(step, reading) if turn.kind in (ASKS, CALLS) else (None, "")
        place = runs.place(step, turn, named=named, subject=subject)
        opened = place.goal is None and not place.setup
        label = runs.label_of(place, turn, taken=self._taken, subject=subject)
        if known is not None and clean_label(label) != (given := known.intent.scope or ""):
            label = given
            place = runs.place_named(given)
        goal = runs.take(step, turn, place, label=label)
        naming = _Naming(label, label, EXPLICIT, given=True)
        after = "" if goal is None else goal.last_act
        acts = acts_in_run(turn, step=step, after=after, opens=opened, setup=place.setup)
        return self._take(reading, self._scope_called(label), naming, unit="", known=known, acts=acts, turn=turn)

    def _turns_to(self, step: Step, reading: Reading) -> tuple[int | None, str]:
        """The goal that somebody turns to in so many words, or a subject that is none yet."""
        if reading.skimmed:  # an agent says it beside its call, in a sentence
            if not turns(step.content[:_MOST_TURNING_CHARS]):
                return None, ""
            said = read_step(step, most_chars=_MOST_TURNING_CHARS)
            return named_scope(said, [goal.label for goal in self._runs.goals]), ""
        named = named_scope(reading, [goal.label for goal in self._runs.goals])
        if named is not None or not self._runs.goals or not (reading.breaks_off or reading.returns):
            return named, ""
        proposed = propose_name(reading)
        return None, proposed.text if reading.breaks_off and proposed.quality == EXPLICIT else ""

    def _adopt(self, scope: Scope) -> None:
        """Go on with a dialogue that turns out to be a run: it is named by what was stated first, if that is all."""
        title = clean_label(self._runs.first_title)
        if len(self._scopes.scopes) == 1 and not scope.given and title and title.lower() not in self._taken:
            self._rename(scope, _Naming(title, title, EXPLICIT))
        scope.given = True
        self._runs.adopt(self._names[scope.number])

    def _label(self, step: Step) -> StepLabels:
        if (turn := self._runs.hear(step)) is not None:
            return self._label_in_run(step, turn)
        self._runs.heard(step)
        reading = self._read(step)
        unit = turned_to(reading)
        scope = self._choose(reading, unit=unit)
        return self._take(reading, scope, self._naming(reading, scope, unit=unit), unit=unit)

    def _read(self, step: Step, *, most_chars: int = MAX_READ_CHARS) -> Reading:
        """Take a step apart, in the language of what was said before if it does not tell its own."""
        reading = read_step(step, speakers=self._scopes.speakers, most_chars=most_chars, language=self._language)
        self._language = reading.language
        return reading

    def _choose(self, reading: Reading, *, unit: str) -> Scope | None:
        named = named_scope(reading, self._names)
        subject = ""
        if reading.breaks_off and named is None:
            proposed = propose_name(reading)
            subject = proposed.text if proposed.quality == EXPLICIT or breaks_off_at_once(reading) else ""
        said = InWords(unit, None if unit else named, topic_of(reading), subject)
        return self._scopes.choose(reading, said)

    def _naming(self, reading: Reading, scope: Scope | None, *, unit: str, given: str = "") -> _Naming:
        """What a scope is called if the step belongs to it; a new one if None. Changes nothing."""
        if scope is not None:
            before = _Naming(self._names[scope.number], *self._wishes[scope.number])
            return before._replace(given=True) if given else self._better(reading, scope, before)
        if given:
            return _Naming(given, given, EXPLICIT, given=True)
        proposed = propose_name(reading, unit=unit, siblings=self._names)
        wished = proposed.text or _NO_NAME
        return _Naming(distinct_name(wished, taken=self._taken, values=_telling(reading)), wished, proposed.quality)

    def _better(self, reading: Reading, scope: Scope, before: _Naming) -> _Naming:
        """A better name for a scope with a poor one, if this step says what the scope is about."""
        name, wished, quality, _ = before
        if scope.given or scope.steps >= _RENAME_WITHIN_STEPS or reading.answers_tool:
            return before
        if quality == MADE_UP and (proposed := propose_name(reading)).quality >= SPOKEN and proposed.text:
            wished, quality = proposed
            better = distinct_name(wished, taken=self._taken, values=_telling(reading))
        elif quality > MADE_UP and name.removeprefix(wished)[1:].isdigit() and (values := _telling(reading)):
            better = distinct_name(wished, taken=self._taken, values=values)
        else:
            return before
        if better.lower() in self._taken or better.removeprefix(wished)[1:].isdigit():
            better = name
        return _Naming(better, wished, quality)

    def _take(
        self,
        reading: Reading,
        scope: Scope | None,
        naming: _Naming,
        *,
        unit: str,
        known: StepLabels | None = None,
        acts: Sequence[str] = (),
        turn: Turn | None = None,
    ) -> StepLabels:
        current = self._scopes.current
        open_move = current.opens if current is not None and current.last_role != reading.role else ""
        by_opener = self._scopes.is_opener(reading.role)
        is_new = scope is None
        scope = self._scopes.assign(reading, scope, unit=unit)
        scope.given = scope.given or naming.given
        if is_new:
            self._names.append(naming.name)
            self._wishes.append((naming.wished, naming.quality))
            self._taken.setdefault(naming.name.lower(), scope.number)
        else:
            self._rename(scope, naming)
        label = self._names[scope.number]
        if (joined := self._scopes.reconsider()) is not None:
            alias, into = (self._names[each.number] for each in joined)
            self._merges.append(LabelMerge(kind=LabelKind.SCOPE, alias=alias, into=into, position=self._steps))
        if turn is None or turn.kind in (ASKS, SAYS):
            context = self._before.lend(reading.step)
        else:
            context = self._runs.leans_on(turn, reading.step)
        kinds = self._entities.type(reading) if turn is None else self._entities.of_run(reading, turn)
        if known is None:
            if acts:
                events = self._events.admit(acts)
            else:
                events = self._events.type(reading, open_move=open_move, by_opener=by_opener)
            known = StepLabels(
                intent=ContextualIntent(scope=label, event_types=tuple(events), entity_types=tuple(kinds.types)),
                made_by=NAME,
                summary=_summarize(reading, label, events),
                mentions=kinds.mentions,
                context=context,
            )
        self._keep(known)
        self._events.vocabulary.count(known.intent.event_types)
        self._entities.take(known.intent.entity_types, known.mentions)
        self._steps += 1
        if self._steps % MERGE_EVERY_STEPS == 0:
            self._events.vocabulary.curate(self._steps)
            self._entities.curate(self._steps)
        return known

    def _keep(self, labels: StepLabels) -> None:
        """Leave the names that a model or a person gave as they are."""
        if labels.made_by != NAME:
            self._events.vocabulary.keep(labels.intent.event_types)
            self._entities.vocabulary.keep(labels.intent.entity_types)

    def _rename(self, scope: Scope, naming: _Naming) -> None:
        """Call a scope by a better name from now on; recorded as a merge."""
        name, self._wishes[scope.number] = self._names[scope.number], (naming.wished, naming.quality)
        if naming.name != name:
            self._merges.append(LabelMerge(kind=LabelKind.SCOPE, alias=name, into=naming.name, position=self._steps))
            self._names[scope.number] = naming.name
            self._taken[naming.name.lower()] = scope.number

    def inventory(self) -> LabelInventory:
        """The label space so far, merges applied."""
        events, entities = self._events.vocabulary, self._entities
        merges = (*self._merges, *events.merges, *entities.vocabulary.merges)
        names = LabelVocabulary(self._merges)
        return LabelInventory(
            scopes=tuple(self._summary(scope, names) for scope in self._scopes.scopes if scope.into is None),
            event_types=events.canonical_counts(),
            entity_types=entities.summaries(),
            merges=merges,
            steps=self._steps,
        )

    def _summary(self, scope: Scope, names: LabelVocabulary) -> ScopeSummary:
        name = names.canonical(LabelKind.SCOPE, self._names[scope.number])
        terms = self._scopes.typical_terms(scope)
        values = sorted(scope.values.items(), key=lambda item: -item[1])
        return ScopeSummary(
            name=name,
            trajectory=self._trajectory,
            spans=tuple((first, last) for first, last in scope.spans),
            steps=scope.steps,
            summary=f"{name}: " + ", ".join(value for value, _ in values[:5]) if values else name,
            terms=terms,
            values=dict(values),
        )

    def save(self) -> bytes:
        """Everything this session remembers, as compact JSON."""
        return orjson.dumps(
            {
                "labeler": NAME,
                "scopes": self._scopes.save(),
                "events": self._events.save(),
                "entities": self._entities.save(),
                "before": self._before.save(),
                "runs": self._runs.save(),
                "names": self._names,
                "wishes": self._wishes,
                "merges": [merge.model_dump(mode="json") for merge in self._merges],
                "taken": self._taken,
                "steps": self._steps,
                "language": self._language,
            }
        )

    @classmethod
    def load(cls, trajectory: str, saved: bytes) -> LocalLabelSession:
        """Continue from what `save` returned."""
        data: dict[str, Any] = orjson.loads(saved)
        session = cls(trajectory)
        session._scopes = ScopeTracker.load(data["scopes"])
        session._events = EventTyper.load(data["events"])
        session._entities = EntityTyper.load(data["entities"])
        session._before = StepBefore(*data["before"])
        session._runs = RunTracker.load(data["runs"])
        session._names = list(data["names"])
        session._wishes = [(wished, quality) for wished, quality in data["wishes"]]
        session._merges = [LabelMerge(**merge) for merge in data["merges"]]
        session._taken = dict(data["taken"])
        session._steps = data["steps"]
        session._language = data["language"]
        return session


def _telling(reading: Reading) -> list[str]:
    """Values of the step that can tell a scope from others of the same kind, as they are written."""
    found = [mention for mention in reading.found if mention.entity_type in _TELLING]
    return [mention.value for mention in sorted(found, key=lambda m: _TELLING.index(m.entity_type))]


def _summarize(reading: Reading, scope: str, events: Iterable[str]) -> str:
    """One line: who does what in which scope, and the sentence that carries it."""
    act = " and ".join(events)
    said = ""
    if reading.skimmed:
        said = " ".join(next((line for line in reading.text.splitlines() if line.strip()), "").split())
    elif not reading.data.results:
        parts = [reading.text[start:end].strip() for start, end in reading.spans if start < 600]
        said = next((part for part in parts if len(part) > 25), parts[0] if parts else "")
    line = f"{reading.step.role}: {act} ({scope})"
    return f"{line}: {said}"[:_MAX_SUMMARY_CHARS] if said else line[:_MAX_SUMMARY_CHARS]

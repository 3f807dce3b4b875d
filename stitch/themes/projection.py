"""The hierarchy of one tenant, which follows the journal.

Statements and episodes are derived from steps; which statement is in which theme is derived from the events of
`grouping`, which are records of the journal. So whatever is lost with a process is found again, and is the same.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from stitch.core import Embedder, Moment, Statement, StepState
from stitch.journal import DamagedRecordError, Entry, Journal, NewRecord, Record
from stitch.text.sentences import sentence_spans
from stitch.themes.grouping import ATTACHED, KIND, Event, Kept, decode, encode, without
from stitch.themes.holding import Derived, Holding
from stitch.themes.model_records import ModelStatements, Named, ReadWindow, ThemeNames
from stitch.themes.statements import READ_CHARS, statement_id
from stitch.themes.upkeep import Upkeep

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_log = logging.getLogger(__name__)
_KEY_DIGITS = 12
_BATCH = 1_024
"""So many statements are embedded at a time."""


class ThemeProjection:
    """Episodes, statements and themes of a tenant.

    Nothing is read before it is brought up: it costs nothing where themes are not used.
    """

    def __init__(self, *, journal: Journal, tenant: str, embedder: Embedder) -> None:
        self.tenant, self.embedder = tenant, embedder
        self._journal = journal
        self._applied: int | None = None
        """The last change that it holds; None if it does not hold everything up to one."""
        self._records = 0
        self.version = 0
        """Another number whenever something has changed."""
        self.model_statements = ModelStatements(journal, tenant=tenant)
        """Statements of a model."""
        self.names = ThemeNames(journal, tenant=tenant)
        """Names that a model gave to themes."""
        self._clear()

    def _clear(self) -> None:
        self.holding = Holding(self._journal, tenant=self.tenant, model_statements=self.model_statements)
        self.upkeep = Upkeep(self.embedder.dimension)

    def bring_up(self) -> None:
        """Hold what the journal has now."""
        applied, reached = self._applied, self._journal.last_change()
        if applied == reached:
            return
        if applied is None:
            self._clear()
            trajectories = self._journal.trajectories(self.tenant)
            derived = [each for name in trajectories for each in self.holding.read(name)]
            self._settle(derived, self._recall())
            self._place(derived)
        else:
            changes = self._journal.changes(after=applied, tenant=self.tenant)
            self._read_again(self._journal.entries_of(sorted({seq for each in changes for seq in each.steps})))
        self._write()
        self._applied = reached

    def _read_again(self, entries: Iterable[Entry], *, but: Collection[str] = ()) -> None:
        """Derive again what trajectories say from the first of some steps on."""
        applied, self._applied = self._applied, None  # whoever is interrupted reads all again
        since: dict[str, int] = {}
        for entry in entries:
            if entry.tenant == self.tenant:
                since[entry.trajectory] = min(entry.position, since.get(entry.trajectory, entry.position))
        self._place(each for name, start in since.items() for each in self.holding.read(name, since=start, but=but))
        self._applied = applied

    def erase(self, trajectory: str, steps: Collection[str]) -> None:
        """Remove all that was made from steps, from the events too; called before the journal forgets them."""
        erased = self._found((trajectory, step) for step in steps)
        said = self.model_statements
        dropped = said.drop(trajectory, steps)
        untold = {(each.trajectory, step): said.ids_in(each, step) for each in dropped for step in each.read}
        gone = frozenset(self._said_by(erased)).union(*(untold.get((trajectory, step), ()) for step in steps))
        self.names.drop(gone.union(*untold.values()))
        if self._applied is not None:
            held = list(dict.fromkeys(name for step in steps for name in self.holding.of_step(trajectory, step)))
            self.holding.remove(held)
            self.upkeep.forget(held)
            self.upkeep.events = without(self.upkeep.events, gone)
            self._read_again([*erased, *self._found(untold)], but=steps)
        self._write()
        self._erase_events(gone)

    def tell(self, reading: ReadWindow) -> None:
        """Keep what a model said of steps: it stands in the place of what they say without one."""
        self.model_statements.take(reading)
        self._read_again(self._found((reading.trajectory, step) for step in reading.read))
        self._write()

    def call(self, names: Iterable[tuple[int, Named]]) -> None:
        """Keep what a model called themes."""
        self.names.take(names)
        self.version += 1

    def _found(self, places: Iterable[tuple[str, str]]) -> list[Entry]:
        entries = (self._journal.entry(self.tenant, trajectory, step) for trajectory, step in places)
        return [entry for entry in entries if entry is not None]

    def at(self, moment: Moment) -> tuple[Holding, Upkeep]:
        """Statements as they were said at a moment, in the themes in which they were; reads everything."""
        past = ThemeProjection(journal=self._journal, tenant=self.tenant, embedder=self.embedder)
        derived = list(self._derived_at(past.holding, moment))
        past._settle(derived, [each for each in self.events() if each.at <= moment.recorded])
        past._place(derived)
        return past.holding, past.upkeep

    def _derived_at(self, holding: Holding, moment: Moment) -> Iterator[Derived]:
        was = self._journal.as_they_were(self.tenant, at=moment.recorded)
        for trajectory in self._journal.trajectories(self.tenant):
            yield from holding.take(
                entry._replace(state=StepState.ACCEPTED)
                if (then := was.get(entry.seq)) is None
                else entry._replace(state=StepState.ACCEPTED, step=then.step, labels=then.labels)
                for entry in self._journal.entries(self.tenant, trajectory)
                if entry.recorded <= moment.recorded
                and not (trajectory == moment.trajectory and entry.position > moment.position)
                and not entry.was_retired(moment.recorded)
            )

    def _settle(self, derived: Sequence[Derived], events: Sequence[Event]) -> None:
        """Place statements as written events tell."""
        came = {name for event in events if event.kind == ATTACHED for name in event.statements}
        vectors = self._embedded(one for each in derived for one in each.new if one.id in came)
        self.upkeep.settle(events, {one.id: vector for one, vector in vectors})

    def _place(self, derived: Iterable[Derived]) -> None:
        """Take erased statements out of their themes, and place new ones."""
        changed = sorted((each for each in derived if each.new or each.gone), key=lambda each: each.entry.seq)
        past = self._journal.revisions([each.entry.seq for each in changed])
        times = {seq: each[-1].replaced for seq, each in past.items()}
        new: dict[str, Statement] = {}
        at: dict[str, float] = {}
        for entry, said, gone in changed:
            time = times.get(entry.seq, entry.recorded)
            for name in gone:
                self.upkeep.detach(name, at=time if entry.retired_at is None else entry.retired_at)
            new.update((one.id, one) for one in said if one.id not in self.upkeep.grouping.theme_of)
            at.update((one.id, time) for one in said)
        for one, vector in self._embedded(new.values()):
            self.upkeep.attach(one.id, vector, at=at[one.id])
        self.version += 1

    def _embedded(self, statements: Iterable[Statement]) -> Iterator[tuple[Statement, Vectors]]:
        waiting = iter(statements)
        while batch := list(islice(waiting, _BATCH)):
            yield from zip(batch, self.embedder.embed([each.text for each in batch]), strict=True)

    def came_to(self) -> dict[str, int]:
        """The theme to which each statement came, splits and merges apart."""
        return {name: each.theme for each in self.events() if each.kind == ATTACHED for name in each.statements}

    def events(self) -> list[Event]:
        """All that happened to themes so far, in order."""
        return [event for _, read in self._kept() for event in read.events] + self.upkeep.events

    def _kept(self) -> list[tuple[Record, Kept]]:
        try:
            records = sorted(self._journal.records(self.tenant, kind=KIND), key=lambda record: record.key)
            if not all(len(each.key) == _KEY_DIGITS and each.key.isdecimal() for each in records):
                raise DamagedRecordError("a record of themes has another's name")
            return [(record, decode(record.payload)) for record in records]
        except DamagedRecordError as error:  # which statements are in which theme can be found anew
            _log.warning("%s; themes are made anew", error.message)
            self._journal.erase_records(self.tenant, kind=KIND)
            return []

    def _recall(self) -> list[Event]:
        """All events that are written down; the upkeep goes on with the measures that were written with them."""
        kept = self._kept()
        self._records = int(kept[-1][0].key) + 1 if kept else 0
        if kept:
            self.upkeep.recall(kept[-1][1].measures, next_theme=kept[-1][1].next)
        return [event for _, read in kept for event in read.events]

    def _write(self) -> None:
        """Write down the events that are not written down yet."""
        if self.upkeep.events:
            self._journal.append_records(self.tenant, [self._record(self.upkeep.events)])
            self.upkeep.events = []

    def _record(self, events: Sequence[Event]) -> NewRecord:
        key = f"{self._records:0{_KEY_DIGITS}d}"
        self._records += 1
        next_theme, measures = self.upkeep.grouping.next, self.upkeep.measures()
        return NewRecord(KIND, key, encode(events, next_theme=next_theme, measures=measures))

    def _erase_events(self, gone: frozenset[str]) -> None:
        """Take statements out of the events that are written down; where none is left, erase all."""
        events = self._recall()
        left = without(events, gone)
        if left == events:
            return
        keys, self._records = self._journal.record_keys(self.tenant, kind=KIND), 0
        if any(each.kind == ATTACHED for each in left):
            self._journal.append_records(self.tenant, [self._record(left)], instead_of=keys)
        else:
            self._journal.erase_records(self.tenant, kind=KIND)

    def _said_by(self, entries: Iterable[Entry]) -> Iterator[str]:
        """The ids of all statements that steps say, or said before they were corrected."""
        found = list(entries)
        past = self._journal.revisions([entry.seq for entry in found])
        for entry in found:
            texts = [entry.step.content, *(each.step.content for each in past.get(entry.seq, ()))]
            for number in range(max(len(sentence_spans(text[:READ_CHARS])) for text in texts)):
                yield statement_id(self.tenant, entry.trajectory, entry.id, number=number)

"""The hierarchy of one tenant, which follows the journal; a `Projection`.

Statements and episodes are derived from steps; which statement is in which theme is derived from the events of
`grouping`, which are records of the journal. So whatever is lost with a process is found again, and is the same.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from stitch.core import Change, Embedder, Moment, Statement
from stitch.journal import DamagedRecordError, Entry, Journal, NewRecord, Record
from stitch.text.sentences import sentence_spans
from stitch.themes.grouping import ATTACHED, KIND, Event, Kept, decode, encode, without
from stitch.themes.holding import Derived, Holding
from stitch.themes.statements import READ_CHARS, statement_id
from stitch.themes.told import Named, Reading, ThemeNames, Told
from stitch.themes.upkeep import Upkeep

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_log = logging.getLogger(__name__)
_KEY = re.compile("[0-9]{12}")
_BATCH = 1_024
"""So many statements are embedded at a time."""
_ATTACHED = f'"{ATTACHED}"'.encode()


class ThemeProjection:
    """Episodes, statements and themes of a tenant.

    Nothing is read before something is asked of it: it costs nothing where themes are not used.
    """

    def __init__(self, *, journal: Journal, tenant: str, embedder: Embedder) -> None:
        self.name = f"themes {hashlib.blake2b(tenant.encode(), digest_size=8).hexdigest()}"
        self.tenant, self.embedder = tenant, embedder
        self._journal = journal
        self._applied = self.position()
        self._records = 0
        self.loaded = False
        """Whether anything has been read."""
        self.version = 0
        """Another number whenever something has changed."""
        self.told = Told(journal, tenant=tenant)
        """Statements of a model."""
        self.names = ThemeNames(journal, tenant=tenant)
        """Names that a model gave to themes."""
        self._clear()

    def _clear(self) -> None:
        self.holding = Holding(self._journal, tenant=self.tenant, told=self.told)
        self.upkeep = Upkeep(self.embedder.dimension)

    def position(self) -> int:
        """The number of the last change that it holds durably."""
        return self._journal.projected(self.name)

    def bring_up(self) -> None:
        """Hold what the journal has now."""
        self.load()
        if self._journal.last_change() != self._applied:
            changes = self._journal.changes(after=self._applied)
            while batch := list(islice(changes, _BATCH)):
                self.apply(batch)
                self.checkpoint()

    def load(self) -> None:
        """Read everything, if nothing has been read yet."""
        if not self.loaded:
            self.rebuild()
            self.checkpoint()

    def apply(self, changes: Sequence[Change]) -> None:
        """Take in what the steps of changes say now, and place it among themes."""
        self.load()
        derived, changed_at = self._taken(changes)
        self._place(derived, changed_at=changed_at)
        self._applied = max(self._applied, changes[-1].number)

    def _taken(self, changes: Iterable[Change]) -> tuple[list[Derived], dict[int, float]]:
        """The steps of changes as they are now, and the times of their corrections."""
        seqs = sorted({seq for each in changes if each.tenant == self.tenant for seq in each.steps})
        if not seqs:
            return [], {}
        entries = [entry for entry in self._journal.entries_of(seqs) if entry.tenant == self.tenant]
        corrected = self._journal.revisions([entry.seq for entry in entries])
        return self.holding.take(entries), {seq: past[-1].replaced for seq, past in corrected.items() if past}

    def erase(self, tenant: str, *, trajectory: str, steps: Sequence[str]) -> None:
        """Remove all that was made from steps, from the events too; called before the journal forgets them."""
        if tenant != self.tenant:
            return
        gone = frozenset([*self._said_by(trajectory, steps), *self.told.ids_of(trajectory, steps)])
        dropped = self.told.drop(trajectory, steps)
        others = {(each.trajectory, step) for each in dropped for step in each.read if step not in steps}
        unsaid = {each for one in dropped for step in one.read for each in self.told.ids_in(one, step)}
        self.names.drop(gone | unsaid)
        again: list[Derived] = []
        if self.loaded:
            held, again = self.holding.leave_out(trajectory, steps)
            self.upkeep.forget(held)
            self.upkeep.events = without(self.upkeep.events, gone)
            again += self.holding.take(self._found(sorted(others)))
        self._erase_events(gone)
        self._place(again)
        self._write()

    def tell(self, reading: Reading) -> None:
        """Keep what a model said of steps: it stands in the place of what they say without one."""
        self.load()
        self.told.take(reading)
        self._place(self.holding.take(self._found((reading.trajectory, step) for step in reading.read)))
        self._write()

    def call(self, names: Iterable[tuple[int, Named]]) -> None:
        """Keep what a model called themes."""
        self.names.take(names)
        self.version += 1

    def _found(self, places: Iterable[tuple[str, str]]) -> list[Entry]:
        entries = (self._journal.entry(self.tenant, trajectory, step) for trajectory, step in places)
        return [entry for entry in entries if entry is not None]

    def checkpoint(self) -> None:
        """Write down what happened to themes, and how far the journal was followed."""
        self._write()
        if self._applied > self.position():
            self._journal.record_projected(self.name, self._applied)

    def rebuild(self) -> int:
        """Derive everything from the journal; return how many statements there are."""
        reached = self._journal.last_change()
        self._clear()
        self.loaded = True
        self._place(self.holding.read_all(), events=self._recall())
        self._applied = reached
        self.version += 1
        return len(self.holding.statements)

    def at(self, moment: Moment) -> tuple[Holding, Upkeep]:
        """Statements as they were said at a moment, in the themes in which they were; reads everything."""
        past = ThemeProjection(journal=self._journal, tenant=self.tenant, embedder=self.embedder)
        past.loaded = True
        events = [each for each in self.events() if each.at <= moment.recorded]
        past._place(self._derived_at(past.holding, moment), events=events)
        return past.holding, past.upkeep

    def _derived_at(self, holding: Holding, moment: Moment) -> Iterator[Derived]:
        was = self._journal.as_they_were(self.tenant, at=moment.recorded)
        for trajectory in self._journal.trajectories(self.tenant):
            yield from holding.read(
                entry if (then := was.get(entry.seq)) is None else entry._replace(step=then.step, labels=then.labels)
                for entry in self._journal.entries(self.tenant, trajectory)
                if entry.recorded <= moment.recorded
                and not (trajectory == moment.trajectory and entry.position > moment.position)
                and not entry.was_retired(moment.recorded)
            )

    def _place(
        self, derived: Iterable[Derived], *, events: Sequence[Event] = (), changed_at: Mapping[int, float] | None = None
    ) -> None:
        """Let what is gone leave its themes, and place what is new: as written events tell, or anew.

        `changed_at` has the times of corrections by the numbers of steps.
        """
        new, gone = _new_and_gone(derived, changed_at=changed_at or {})
        if events:
            came = {name for event in events if event.kind == ATTACHED for name in event.statements}
            vectors = self._embedded(one for one, _ in new if one.id in came)
            self.upkeep.settle(events, {one.id: vector for one, vector in vectors})
        for name, at in gone:
            self.upkeep.detach(name, at=at)
        self._attach([(one, at) for one, at in new if one.id not in self.upkeep.grouping.theme_of])
        self.version += 1

    def _attach(self, new: Sequence[tuple[Statement, float]]) -> None:
        times = dict(zip((one.id for one, _ in new), (at for _, at in new), strict=True))
        for one, vector in self._embedded(one for one, _ in new):
            self.upkeep.attach(one.id, vector, at=times[one.id])

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
            found = self._journal.records(self.tenant, kind=KIND)
            records = sorted(found, key=lambda record: record.key)
            if not all(_KEY.fullmatch(record.key) for record in records):
                raise DamagedRecordError("a record of themes has another's name")
            return [(record, decode(record.payload)) for record in records]
        except DamagedRecordError as error:  # which statements are in which theme can be found anew
            _log.warning("%s; themes are made anew", error.message)
            self._journal.erase_records(self.tenant, kind=KIND)
            return []

    def _recall(self) -> list[Event]:
        """All events that are written down; the upkeep goes on with the measures that were written with them."""
        self._records = 0
        events: list[Event] = []
        for record, read in self._kept():
            events += read.events
            self.upkeep.recall(read.measures, next_theme=read.next_theme)
            self._records = int(record.key) + 1
        return events

    def _write(self) -> None:
        """Write down the events that are not written down yet."""
        if self.upkeep.events:
            payload = encode(self.upkeep.events, next_theme=self.upkeep.grouping.next, measures=self.upkeep.measures())
            key = f"{self._records:012d}"
            self._journal.append_record(self.tenant, kind=KIND, key=key, payload=payload)
            self._records += 1
            self.upkeep.events = []

    def _erase_events(self, gone: Collection[str]) -> None:
        """Take statements out of the events that are written down; of a tenant without statements, erase them all."""
        names, marks = frozenset(gone), [name.encode() for name in gone]
        kept = self._kept()
        changed: dict[str, bytes] = {}
        for record, read in kept:
            if any(mark in record.payload for mark in marks):
                changed[record.key] = encode(
                    without(read.events, names), next_theme=read.next_theme, measures=read.measures
                )
        if not any(_ATTACHED in changed.get(record.key, record.payload) for record, _ in kept):
            self._journal.erase_records(self.tenant, kind=KIND)
        elif changed:
            # Interrupted between the two, the statements of these events are without a theme until all is read again.
            self._journal.erase_records(self.tenant, kind=KIND, key=list(changed))
            records = [NewRecord(KIND, key, payload) for key, payload in changed.items()]
            self._journal.append_records(self.tenant, records)

    def _said_by(self, trajectory: str, steps: Iterable[str]) -> Iterator[str]:
        """The ids of all statements that steps say, or said before they were corrected."""
        entries = [self._journal.entry(self.tenant, trajectory, step) for step in steps]
        found = [entry for entry in entries if entry is not None]
        past = self._journal.revisions([entry.seq for entry in found])
        for entry in found:
            texts = [entry.step.content, *(each.step.content for each in past.get(entry.seq, ()))]
            for number in range(max(len(sentence_spans(text[:READ_CHARS])) for text in texts)):
                yield statement_id(self.tenant, trajectory, entry.id, number=number)


def _new_and_gone(
    derived: Iterable[Derived], *, changed_at: Mapping[int, float]
) -> tuple[list[tuple[Statement, float]], list[tuple[str, float]]]:
    """New statements in the order of their steps, and those that are gone; each with the time of that."""
    new: list[tuple[int, float, Statement]] = []
    gone: list[tuple[str, float]] = []
    for entry, said, unsaid in derived:
        at = changed_at.get(entry.seq, entry.recorded)
        gone += ((name, at if entry.retired_at is None else entry.retired_at) for name in unsaid)
        new += ((entry.seq, at, one) for one in said)
    new.sort(key=lambda each: each[0])
    return [(one, at) for _, at, one in new], gone

"""A memory as it was: its label space and its snippets at a moment of the past."""

from __future__ import annotations

import dataclasses
import heapq
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import timezone
from math import isnan
from typing import NamedTuple, Protocol, runtime_checkable

from stitch.core import (
    DensityQuery,
    LabelInventory,
    MemorySnippet,
    Moment,
    Retriever,
    SnippetRecord,
    SnippetStore,
    StepState,
    StoreHit,
    WordCounts,
)
from stitch.core.cancellation import check_canceled
from stitch.errors import InputError, SettingsError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.inventories import of_these, unite
from stitch.ingest.records import make_records
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Entry, Journal
from stitch.lifecycle.overlay import in_order, rank_beside
from stitch.text.dates import read_timestamp

_UNIX_SECONDS = re.compile(r"\d{9,11}|-?\d{1,17}\.\d+")
"""In a text, as a number comes over HTTP; few digits alone may be a year."""


def moment_of(journal: Journal, as_of: float | str, *, tenant: str, trajectory: str | None) -> Moment:
    """The moment that is meant by Unix seconds, by a time as ISO 8601 writes it (UTC if it says no zone), or by a step.

    Args:
        journal: Of the memory.
        as_of: A step is named by its id: what was known when it had just been stored.
        tenant: Whose memory.
        trajectory: Of the step.

    Raises:
        InputError: It is no time, and no step of the trajectory.
    """
    if isinstance(as_of, int | float) and not isinstance(as_of, bool) and not isnan(as_of):
        return Moment(float(as_of))
    if not isinstance(as_of, str):
        raise InputError(f"{as_of!r} is no time", hint="give Unix seconds, or a time as 2026-03-01T12:00")
    if trajectory is not None:
        entry = journal.entry(tenant, trajectory, as_of)
        if entry is not None:
            return Moment(entry.recorded, trajectory, entry.position)
    if _UNIX_SECONDS.fullmatch(as_of.strip()):
        return Moment(float(as_of))
    time = read_timestamp(as_of)
    if time is None:
        raise InputError(
            f"{as_of!r} is no time, and no step of the trajectory that is searched",
            hint="write a time as 2026-03-01T12:00, or name a step and its trajectory",
        )
    return Moment((time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp())


class Then(NamedTuple):
    """In what a tenant's steps were otherwise at a moment than they are now; what is erased was never there."""

    changed: dict[int, Entry]
    """Those that were there and have been corrected or retired since, as they were, by `Entry.seq`."""
    gone: Mapping[int, str]
    """Those that had been retired by then, each with its trajectory."""
    corrected: frozenset[int]
    """Those of `changed` that were corrected."""


def then(journal: Journal, moment: Moment, *, tenant: str) -> Then:
    """What of a tenant has been corrected or retired since a moment."""
    before = journal.as_they_were(tenant, at=moment.recorded)
    retired = {entry.seq: entry for entry in journal.every_entry(tenant, state=StepState.RETIRED)}
    gone = {seq: entry.trajectory for seq, entry in retired.items() if entry.was_retired(moment.recorded)}
    changed: dict[int, Entry] = {}
    for entry in journal.entries_of(sorted((before.keys() | retired.keys()) - gone.keys())):
        if not _was_there(entry, moment):
            continue
        if entry.seq in retired:
            entry = entry._replace(state=StepState.STORED, reason="", retired_at=None)
        if entry.seq in before:
            entry = entry._replace(step=before[entry.seq].step, labels=before[entry.seq].labels)
        changed[entry.seq] = entry
    return Then(changed, gone, frozenset(before.keys() & changed.keys()))


def inventory_at(ingestor: Ingestor, moment: Moment, *, tenant: str, trajectory: str | None) -> LabelInventory:
    """The label space of a trajectory, or of all, at a moment: with the merges and labels of then, and none made since.

    A trajectory that has gone on since, or of which steps were corrected since, is read again from the journal up to
    the moment.
    """
    was = then(ingestor.journal, moment, tenant=tenant)
    corrected = {was.changed[seq].trajectory for seq in was.corrected}
    retired = {entry.trajectory for entry in was.changed.values()}
    parts = []
    lengths = ingestor.journal.lengths_at(moment, tenant=tenant, trajectory=trajectory)
    for name, (steps, known) in lengths.items():
        check_canceled()
        if known == steps and name not in retired:
            parts.append((name, ingestor.inventory(tenant, name)))
        elif known == steps and name not in corrected:
            parts.append((name, _without_gone(ingestor, was, tenant=tenant, trajectory=name)))
        elif known:
            parts.append((name, _replayed(ingestor, moment, was, tenant=tenant, trajectory=name)))
    return unite(part for _, part in sorted(parts, key=lambda part: part[0]))


@runtime_checkable
class MovableRetriever(Protocol):
    """A retriever that can be put over another store."""

    def over(self, store: SnippetStore, *, inventories: Callable[[str, str | None], LabelInventory]) -> Retriever:
        """The same retriever over another store and label space."""


def in_the_past(retriever: Retriever, *, ingestor: Ingestor, moment: Moment) -> Retriever:
    """A retriever that answers as it would have at a moment; the requests it is given name the same moment.

    Raises:
        SettingsError: It cannot be put over another store.
    """
    if not isinstance(retriever, MovableRetriever):
        raise SettingsError(f"retriever {retriever.mode!r} cannot answer as of the past", hint="use intent")

    def inventories(tenant: str, trajectory: str | None) -> LabelInventory:
        return inventory_at(ingestor, moment, tenant=tenant, trajectory=trajectory)

    return retriever.over(PastStore(ingestor.store, ingestor=ingestor, moment=moment), inventories=inventories)


class PastStore:
    """A store as it was at a moment: what was corrected or retired since is ranked as it was then.

    That is ranked beside the store (`rank_beside`), and embedded for it: about as long as it took to put it.

    Args:
        store: The store of today.
        ingestor: Its journal keeps what was corrected and retired.
        moment: When.
    """

    def __init__(self, store: SnippetStore, *, ingestor: Ingestor, moment: Moment) -> None:
        self._store, self._ingestor, self._moment = store, ingestor, moment
        self._changed: dict[str, dict[str, MemorySnippet]] = {}
        self._records: dict[str, SnippetRecord] = {}

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """Rank what was there; see `SnippetStore.rank`."""
        changed = self._changed_of(query.tenant)
        if not changed or query.k < 1:
            return self._store.rank(query)
        today = self._store.rank(dataclasses.replace(query, k=query.k + len(changed)))
        hits = [hit for hit in today if hit.snippet.id not in changed]
        seen = [snippet for snippet in changed.values() if query.sees(snippet)]
        hits += rank_beside(query, self._made(seen), store=self._store)
        return in_order(hits)[: query.k]

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Return snippets by id, those that were there."""
        changed = self._changed_of(tenant)
        held = {snippet.id: snippet for snippet in self._store.get(tenant, ids) if self._moment.knows(snippet)}
        return [found for name in ids if (found := changed.get(name) or held.get(name)) is not None]

    def near(self, query: DensityQuery, snippets: Sequence[MemorySnippet], *, reach: int) -> list[MemorySnippet]:
        """Return what stood beside these snippets; see `SnippetStore.near`."""
        changed = self._changed_of(query.tenant)
        today = self._store.near(query, snippets, reach=reach)
        there = [each for each in today if each.id not in changed]
        given = {snippet.id for snippet in snippets}
        there += [
            each
            for each in changed.values()
            if query.sees(each)
            and each.id not in given
            and any(
                each.trajectory == own.trajectory and abs(each.position - own.position) <= reach for own in snippets
            )
        ]
        return sorted(there, key=_place)

    def word_counts(
        self, tenant: str, words: Collection[int], *, trajectory: str | None = None, ids: Sequence[str] = ()
    ) -> WordCounts:
        """Count words as today; of what read otherwise, tell the words of then."""
        changed = self._changed_of(tenant)
        unchanged = [name for name in ids if name not in changed]
        today = self._store.word_counts(tenant, words, trajectory=trajectory, ids=unchanged)
        then = self._made([changed[name] for name in ids if name in changed])
        own = {record.snippet.id: frozenset(words) & record.words.keys() for record in then}
        return today._replace(carried={**today.carried, **own})

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        """Iterate over the snippets that were there."""
        changed = self._changed_of(tenant)
        mine = sorted((each for each in changed.values() if trajectory in (None, each.trajectory)), key=_place)
        today = self._store.scroll(tenant, trajectory)
        same = (each for each in today if self._moment.knows(each) and each.id not in changed)
        return heapq.merge(same, mine, key=_place)

    def count(self, tenant: str | None = None) -> int:
        """No fewer than the snippets that were there."""
        return self._store.count(tenant) + (len(self._changed_of(tenant)) if tenant is not None else 0)

    def put(self, records: Sequence[SnippetRecord]) -> None:
        """Refuse: the past is not written."""
        raise InputError("the past cannot be changed")

    def delete(self, tenant: str, ids: Sequence[str]) -> int:
        """Refuse: the past is not written."""
        raise InputError("the past cannot be changed")

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: the store is another's."""

    def _changed_of(self, tenant: str) -> dict[str, MemorySnippet]:
        """The snippets that read otherwise now, or are not found any more, as they were then, by id."""
        if tenant not in self._changed:
            entries = then(self._ingestor.journal, self._moment, tenant=tenant).changed.values()
            self._changed[tenant] = {snippet.id: snippet for snippet in (entry.snippet() for entry in entries)}
        return self._changed[tenant]

    def _made(self, snippets: Sequence[MemorySnippet]) -> list[SnippetRecord]:
        if missing := [snippet for snippet in snippets if snippet.id not in self._records]:
            made = make_records(missing, embedder=self._ingestor.embedder, lexical=self._ingestor.lexical)
            self._records.update((record.snippet.id, record) for record in made)
        return [self._records[snippet.id] for snippet in snippets]


def _place(snippet: MemorySnippet) -> tuple[str, int, str]:
    return snippet.trajectory, snippet.position, snippet.step


def _was_there(entry: Entry, moment: Moment) -> bool:
    later = entry.trajectory == moment.trajectory and entry.position > moment.position
    return entry.recorded <= moment.recorded and not later


def _without_gone(ingestor: Ingestor, was: Then, *, tenant: str, trajectory: str) -> LabelInventory:
    inventory = ingestor.inventory_with_retired(tenant, trajectory)
    if trajectory not in was.gone.values():
        return inventory
    left = (entry for entry in ingestor.journal.entries(tenant, trajectory) if entry.seq not in was.gone)
    return of_these(inventory, left)


def _replayed(ingestor: Ingestor, moment: Moment, was: Then, *, tenant: str, trajectory: str) -> LabelInventory:
    session = ingestor.labeler.begin(trajectory)
    gone = False

    def labeled() -> Iterator[Entry]:
        for entry in ingestor.journal.entries(tenant, trajectory):
            if _was_there(entry, moment) and (now := was.changed.get(entry.seq, entry)).labels is not None:
                yield now

    for chunk in chunks(labeled(), BATCH_STEPS):
        session.replay([entry.step for entry in chunk], [entry.labels for entry in chunk if entry.labels])
        gone = gone or any(entry.seq in was.gone for entry in chunk)
    inventory = session.inventory()
    return of_these(inventory, (entry for entry in labeled() if entry.seq not in was.gone)) if gone else inventory

"""A memory as it was: its label space and its snippets at a moment of the past."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timezone
from operator import attrgetter
from typing import NamedTuple, Protocol, runtime_checkable

from stitch.core import (
    DensityQuery,
    LabelInventory,
    MemorySnippet,
    Moment,
    Retriever,
    SnippetReader,
    SnippetRecord,
    StepState,
    StoreHit,
    WordCounts,
    density,
)
from stitch.core.cancellation import check_canceled
from stitch.core.times import Time, moment_said
from stitch.errors import InputError, SettingsError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.inventories import of_these, unite
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import Entry, Journal
from stitch.journal.entries import retirements
from stitch.store.similarity import Similarity, as_kept, halved, informativeness, words_as_kept
from stitch.text.dates import read_timestamp

_YEAR_1, _YEAR_10000 = -62_135_596_800, 253_402_300_800
"""Their first moments, in Unix seconds: no other time can be written down."""
_UNIX_SECONDS = re.compile(r"\d{9,11}|-?\d{1,17}\.\d+")
"""In a text, as a number comes over HTTP; few digits alone may be a year."""
_place = attrgetter("trajectory", "position", "step")
_DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}")


def end_of_day(as_of: str) -> datetime | None:
    """The end of a day in the time zone of the machine, of a date alone; None of anything else."""
    time = read_timestamp(as_of) if _DATE.fullmatch(as_of.strip()) else None
    return None if time is None else time.replace(hour=23, minute=59, second=59, microsecond=999_999).astimezone()


def moment_of(journal: Journal, as_of: Time, *, tenant: str, trajectory: str | None) -> Moment:
    """The moment that is meant by a time of Python, Unix seconds, ISO 8601 (UTC if it says no zone), or a step.

    A date alone is the end of that day in the time zone of the machine. A step is named by its id and `trajectory`:
    what was known when it had just been stored.

    Raises:
        InputError: It is no time, and no step of the trajectory.
    """
    as_of = moment_said(as_of)
    if not isinstance(as_of, str):
        return _moment_at(as_of)
    if trajectory is not None:
        entry = journal.entry(tenant, trajectory, as_of)
        if entry is not None:
            return Moment(entry.recorded, trajectory, entry.position)
    if _UNIX_SECONDS.fullmatch(as_of.strip()):
        return _moment_at(float(as_of))
    time = read_timestamp(as_of)
    if time is None:
        raise InputError(
            f"{as_of!r} is no time, and no step of the trajectory that is searched",
            hint="write a time as 2026-03-01T12:00, or name a step and its trajectory",
        )
    if (end := end_of_day(as_of)) is not None:
        return Moment(end.timestamp())
    return Moment((time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp())


def _moment_at(seconds: float) -> Moment:
    """The moment of Unix seconds, which have to be of a time that can be written down as a date."""
    if not _YEAR_1 <= seconds < _YEAR_10000:
        raise InputError(f"{seconds!r} is no time", hint="give Unix seconds, or a time as 2026-03-01T12:00")
    return Moment(float(seconds))


class Then(NamedTuple):
    """Steps of a tenant that were otherwise at a moment; what is erased was never there."""

    changed: dict[int, Entry]
    """Those that were there and have been corrected or retired since, as they were, by `Entry.seq`."""
    gone: frozenset[int]
    """Those that were retired then."""
    back: tuple[Entry, ...]
    """Those of them that are found again now."""
    corrected: frozenset[str]
    """Trajectories of which steps were corrected since."""


def then(journal: Journal, moment: Moment, *, tenant: str) -> Then:
    """Steps of a tenant that were corrected or retired since a moment."""
    before = journal.as_they_were(tenant, at=moment.recorded)
    retired = {entry.seq: entry for entry in journal.every_entry(tenant, state=StepState.RETIRED)}
    meanwhile = {
        seq
        for seq, past in journal.revisions(sorted(before)).items()
        if any(since <= moment.recorded < until for since, until in retirements(past).values())
    }
    gone = frozenset(seq for seq, entry in retired.items() if entry.was_retired(moment.recorded)) | meanwhile
    changed: dict[int, Entry] = {}
    for entry in journal.entries_of(sorted((before.keys() | retired.keys()) - gone)):
        if not _was_there(entry, moment):
            continue
        if entry.seq in retired:
            entry = entry._replace(state=StepState.STORED, reason="", retired_at=None)
        if entry.seq in before:
            entry = entry._replace(step=before[entry.seq].step, labels=before[entry.seq].labels)
        changed[entry.seq] = entry
    back = tuple(journal.entries_of(sorted(meanwhile - retired.keys())))
    return Then(changed, gone, back, frozenset(changed[seq].trajectory for seq in before.keys() & changed.keys()))


def inventory_at(ingestor: Ingestor, moment: Moment, *, tenant: str, trajectory: str | None) -> LabelInventory:
    """The label space of a trajectory, or of all, at a moment: with the merges and labels of then, and none made since.

    A trajectory that has gone on since, or of which steps were corrected since, is read again from the journal up to
    the moment.
    """
    was = then(ingestor.journal, moment, tenant=tenant)
    touched = {entry.trajectory for entry in (*was.changed.values(), *was.back)}
    parts = []
    lengths = ingestor.journal.lengths_at(moment, tenant=tenant, trajectory=trajectory)
    for name, (steps, known) in sorted(lengths.items()):
        check_canceled()
        if known == steps and name not in touched:
            parts.append(ingestor.inventory(tenant, name))
        elif known:
            there = (each for each in ingestor.journal.entries(tenant, name) if _was_there(each, moment))
            entries = [now for each in there if (now := was.changed.get(each.seq, each)).labels is not None]
            if known == steps and name not in was.corrected:
                inventory = ingestor.states.with_retired(tenant, name)
            else:
                inventory = _replayed(ingestor, name, entries)
            left = [each for each in entries if each.seq not in was.gone]
            parts.append(inventory if len(left) == len(entries) else of_these(inventory, left))
    return unite(parts)


def _was_there(entry: Entry, moment: Moment) -> bool:
    later = entry.trajectory == moment.trajectory and entry.position > moment.position
    return entry.recorded <= moment.recorded and not later


def _replayed(ingestor: Ingestor, trajectory: str, entries: Sequence[Entry]) -> LabelInventory:
    session = ingestor.labeler.begin(trajectory)
    for chunk in chunks(entries, BATCH_STEPS):
        session.replay([entry.step for entry in chunk], [entry.labels for entry in chunk if entry.labels])
    return session.inventory()


@runtime_checkable
class MovableRetriever(Protocol):
    """A retriever that can be put over another store."""

    def over(self, store: SnippetReader, *, inventories: Callable[[str, str | None], LabelInventory]) -> Retriever:
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
    """A store as it was at a moment: steps corrected or retired since are embedded and ranked beside it."""

    def __init__(self, store: SnippetReader, *, ingestor: Ingestor, moment: Moment) -> None:
        self._store, self._ingestor, self._moment = store, ingestor, moment
        self._kept: dict[str, tuple[dict[str, SnippetRecord], AbstractSet[str]]] = {}

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """The first of the snippets that were there; see `SnippetStore.rank`."""
        changed, names = self._otherwise(query.tenant)
        if not names or query.k < 1:
            return self._store.rank(query)
        today = self._store.rank(dataclasses.replace(query, k=query.k + len(names)))
        hits = [hit for hit in today if hit.snippet.id not in names]
        hits += ranked_beside(query, changed.values(), store=self._store)
        return sorted(hits, key=lambda hit: (-hit.density, -hit.similarity, _place(hit.snippet)))[: query.k]

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Snippets by id, those that were there."""
        changed, names = self._otherwise(tenant)
        today = self._store.get(tenant, [name for name in ids if name not in names])
        held = {snippet.id: snippet for snippet in today if self._moment.knows(snippet)}
        held |= {name: record.snippet for name, record in changed.items()}
        return [held[name] for name in ids if name in held]

    def near(self, query: DensityQuery, snippets: Sequence[MemorySnippet], *, reach: int) -> list[MemorySnippet]:
        """Snippets that stood beside these; see `SnippetStore.near`."""
        changed, names = self._otherwise(query.tenant)
        places = {(each.trajectory, each.position + by) for each in snippets for by in range(-reach, reach + 1)}
        given = {snippet.id for snippet in snippets}
        there = [each for each in self._store.near(query, snippets, reach=reach) if each.id not in names]
        beside = (each.snippet for name, each in changed.items() if name not in given and query.sees(each.snippet))
        return sorted([*there, *(each for each in beside if (each.trajectory, each.position) in places)], key=_place)

    def word_counts(
        self, tenant: str, words: Collection[int], *, trajectory: str | None = None, ids: Sequence[str] = ()
    ) -> WordCounts:
        """Counts of words as today, and which of these the snippets had then."""
        changed, names = self._otherwise(tenant)
        asked = frozenset(words)
        today = self._store.word_counts(
            tenant, words, trajectory=trajectory, ids=[name for name in ids if name not in names]
        )
        then = {name: asked & changed[name].words.keys() for name in ids if name in changed}
        return today._replace(carried={**today.carried, **then})

    def count(self, tenant: str | None = None) -> int:
        """No fewer than the snippets that were there."""
        return self._store.count(tenant) + (len(self._otherwise(tenant)[0]) if tenant is not None else 0)

    def _otherwise(self, tenant: str) -> tuple[dict[str, SnippetRecord], AbstractSet[str]]:
        """Snippets that read otherwise now or are not found any more, as they were; and the ids of all that differ.

        The others of these were retired then and are found now.
        """
        if tenant not in self._kept:
            ingestor = self._ingestor
            was = then(ingestor.journal, self._moment, tenant=tenant)
            made = ingestor.snippets.records(list(was.changed.values()))
            changed = {record.snippet.id: record for record in made}
            self._kept[tenant] = changed, changed.keys() | {entry.snippet().id for entry in was.back}
        return self._kept[tenant]


def ranked_beside(query: DensityQuery, records: Iterable[SnippetRecord], *, store: SnippetReader) -> list[StoreHit]:
    """Hits of snippets that a store does not hold, as it would rank them if it did; what the query sees."""
    admitted = [record for record in records if query.sees(record.snippet)]
    if not admitted:
        return []
    similarity = Similarity.of(query, dimension=len(admitted[0].vector))
    if similarity.words is not None:
        counts = store.word_counts(query.tenant, similarity.words)
        rarity = {word: informativeness(each, snippets=counts.snippets) for word, each in counts.carrying.items()}
        similarity = similarity.weighed(rarity)
    hits = []
    for record in admitted:
        matched, words = frozenset(query.matched(record.snippet)), words_as_kept(record.words)
        cosine = 0.0 if similarity.vector is None else float(similarity.vector @ as_kept(record.vector))
        lexical = sum(weight * words.get(word, 0.0) for word, weight in (similarity.words or {}).items())
        matching, combined = density(matched, count=query.count), similarity.combine(cosine, lexical)
        hits.append(StoreHit(record.snippet, matching, combined, cosine, halved(lexical)))
    return hits

"""A memory as it was: its label space and its snippets at a moment of the past."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Protocol, runtime_checkable

from stitch.core import (
    DensityQuery,
    LabelInventory,
    MemorySnippet,
    Moment,
    Retriever,
    SnippetRecord,
    SnippetStore,
    Step,
    StepLabels,
    StoreHit,
)
from stitch.errors import InputError, SettingsError
from stitch.ingest.entries import Entry
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.inventories import unite
from stitch.ingest.journal import Journal
from stitch.ingest.state import BATCH_STEPS, chunks

_UNIX_SECONDS = re.compile(r"\d{9,11}(?:\.\d{1,9})?")


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
    if not isinstance(as_of, str):
        return Moment(float(as_of))
    if trajectory is not None:
        query = (
            "SELECT s.recorded, s.position FROM steps s JOIN trajectories t ON t.number = s.trajectory"
            " WHERE t.tenant = ? AND t.name = ? AND s.step = ?"
        )
        for recorded, position in journal.rows(query, tenant, trajectory, as_of):
            return Moment(recorded, trajectory, position)
    if _UNIX_SECONDS.fullmatch(as_of.strip()):
        return Moment(float(as_of))
    try:
        time = datetime.fromisoformat(as_of.strip().replace("Z", "+00:00"))
    except ValueError:
        raise InputError(
            f"{as_of!r} is no time, and no step of the trajectory that is searched",
            hint="write a time as 2026-03-01T12:00, or name a step and its trajectory",
        ) from None
    return Moment((time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp())


def inventory_at(ingestor: Ingestor, moment: Moment, *, tenant: str, trajectory: str | None) -> LabelInventory:
    """The label space of a trajectory, or of all, at a moment: with the merges of then, and none made since.

    A trajectory that has gone on since is read again from the journal up to the moment.
    """
    query = (
        "SELECT t.name, count(*), sum(s.recorded <= ? AND NOT (t.name IS ? AND s.position > ?)) FROM trajectories t"
        " JOIN steps s ON s.trajectory = t.number WHERE t.tenant = ? AND (? IS NULL OR t.name = ?) GROUP BY t.number"
    )
    given = (moment.recorded, moment.trajectory, moment.position, tenant, trajectory, trajectory)
    parts = []
    for name, steps, known in ingestor.journal.rows(query, *given):
        if known == steps:
            parts.append((name, ingestor.inventory(tenant, name)))
        elif known:
            parts.append((name, _replayed(ingestor, moment, tenant=tenant, trajectory=name)))
    return unite(part for _, part in sorted(parts, key=lambda part: part[0]))


@runtime_checkable
class MovableRetriever(Protocol):
    """A retriever that can be put over another store."""

    def over(self, store: SnippetStore, *, inventories: Callable[[str, str | None], LabelInventory]) -> Retriever:
        """The same retriever over another store and label space."""
        ...


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
    """A store in which every snippet reads as it was at a moment, before it was corrected.

    What is ranked is the store's matter (`DensityQuery.as_of`); a step that was corrected since is ranked as it is now.

    Args:
        store: The store of today.
        ingestor: Its journal keeps what was corrected.
        moment: When.
    """

    def __init__(self, store: SnippetStore, *, ingestor: Ingestor, moment: Moment) -> None:
        self._store, self._ingestor, self._moment = store, ingestor, moment

    def rank(self, query: DensityQuery) -> list[StoreHit]:
        """Rank what was there; see `SnippetStore.rank`."""
        hits = self._store.rank(query)
        then = self._as_they_were([hit.snippet for hit in hits])
        return [hit._replace(snippet=snippet) for hit, snippet in zip(hits, then, strict=True)]

    def get(self, tenant: str, ids: Sequence[str]) -> list[MemorySnippet]:
        """Return snippets by id, those that were there."""
        found = [snippet for snippet in self._store.get(tenant, ids) if self._moment.knows(snippet)]
        return self._as_they_were(found)

    def scroll(self, tenant: str, trajectory: str | None = None) -> Iterator[MemorySnippet]:
        """Iterate over the snippets that were there."""
        return (snippet for snippet in self._store.scroll(tenant, trajectory) if self._moment.knows(snippet))

    def count(self, tenant: str | None = None) -> int:
        """The number of snippets of today: no fewer than there were."""
        return self._store.count(tenant)

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

    def _as_they_were(self, snippets: Sequence[MemorySnippet]) -> list[MemorySnippet]:
        journal = self._ingestor.journal
        query = (
            "SELECT t.name, s.step, h.payload, h.labels, s.recorded, s.position, s.seq, min(h.number) FROM history h"
            " JOIN steps s USING (seq) JOIN trajectories t ON t.number = s.trajectory"
            " WHERE t.tenant = ? AND h.at > ? GROUP BY s.seq"
        )
        if not snippets:
            return []
        tenant = snippets[0].tenant
        before: dict[tuple[str, str], MemorySnippet] = {}
        for name, step, payload, labels, recorded, position, seq, _ in journal.rows(
            query, tenant, self._moment.recorded
        ):
            made = StepLabels.model_validate_json(labels) if labels is not None else None
            entry = Entry(seq, tenant, name, position, Step.model_validate_json(payload), recorded, labels=made)
            before[name, step] = entry.snippet()
        return [before.get((snippet.trajectory, snippet.step), snippet) for snippet in snippets]


def _replayed(ingestor: Ingestor, moment: Moment, *, tenant: str, trajectory: str) -> LabelInventory:
    session = ingestor.labeler.begin(trajectory)
    for chunk in chunks(ingestor.journal.entries(tenant, trajectory), BATCH_STEPS):
        known = [
            entry
            for entry in chunk
            if entry.recorded <= moment.recorded
            and not (trajectory == moment.trajectory and entry.position > moment.position)
        ]
        labeled = [entry for entry in known if entry.labels is not None]
        session.replay([entry.step for entry in labeled], [entry.labels for entry in labeled if entry.labels])
    return session.inventory()

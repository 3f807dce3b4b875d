"""Three ways to forget: correct a step, retire it from retrieval, erase it without a trace.

More than 400 lines because all three select alike, and what one leaves the next must not show.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict

from stitch.core import (
    ContextualIntent,
    Label,
    LabelKind,
    ReferenceRewrite,
    Step,
    StepLabels,
    StepState,
    clean_text,
    snippet_id,
)
from stitch.errors import InputError
from stitch.ingest.ingestor import Ingestor
from stitch.journal.entries import Entry, encode_labels, encode_step
from stitch.journal.sqlite import Journal, forget_checkpoint
from stitch.lifecycle.repair import NEXT_FOLDER
from stitch.lifecycle.retirement import retirement_note
from stitch.lifecycle.traces import Proof, PurgeableStore, remove_lines, search_files, traces_of

PERSON = "person"
"""Made the labels that were corrected by hand, unless a name is given."""

NO_SCOPE = "unnamed scope"
"""What a scope is called whose name consisted of erased words."""

_DELETIONS = (
    "DELETE FROM steps WHERE seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM labels WHERE seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM states WHERE seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM unflushed WHERE seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM history WHERE seq IN (SELECT value FROM json_each(?))",
    "DELETE FROM redactions WHERE seq IN (SELECT value FROM json_each(?))",
)

_LABELS_BEFORE = (
    "SELECT number, labels FROM history"
    " WHERE labels IS NOT NULL AND seq IN (SELECT value FROM json_each(?)) ORDER BY number"
)

_STANDING = (
    "SELECT s.seq, s.step, s.payload, labels.labels FROM steps s JOIN trajectories t ON t.number = s.trajectory"
    " LEFT JOIN labels USING (seq) WHERE t.tenant = ? AND t.name = ? ORDER BY s.position"
)

_WORD = re.compile(r"\w+")


class Selector(BaseModel):
    """Which steps of a tenant are meant: those to which everything applies that is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trajectory: str | None = None
    step: str | None = None
    """An id; names a step together with `trajectory`."""
    scope: str | None = None
    event_type: str | None = None
    accepted_before: float | None = None
    """Unix seconds."""
    everything: bool = False
    """Really all steps of the tenant. Without this, a selector that says nothing is an error."""


class Selected(NamedTuple):
    """A step that is meant."""

    seq: int
    trajectory: str
    step: str
    labeled: bool


class Revision(NamedTuple):
    """What a step was before it was corrected."""

    replaced: float
    """Until when, in Unix seconds."""
    by: str
    step: Step
    labels: StepLabels | None


class Erased(NamedTuple):
    """What was erased, and the proof of it."""

    steps: int
    trajectories: int
    proof: Proof


def select(ingestor: Ingestor, selector: Selector, *, tenant: str) -> list[Selected]:
    """The steps of a tenant that a selector means, in the order of acceptance.

    Labels are read through merges, as a search reads them.

    Raises:
        InputError: The selector says nothing, or names a step without its trajectory.
    """
    if selector.step is not None and selector.trajectory is None:
        raise InputError(f"step {selector.step!r} is named without its trajectory", hint="name it with --trajectory")
    if selector == Selector():
        raise InputError("no steps are selected", hint="name a trajectory, step, scope, event type or age, or --all")
    vocabulary = ingestor.inventory(tenant).vocabulary()

    def aliases(kind: LabelKind, value: str | None) -> str | None:
        if value is None:
            return None
        return json.dumps(sorted(vocabulary.aliases(vocabulary.canonical_label(Label(kind, value)))))

    scopes = aliases(LabelKind.SCOPE, selector.scope)
    events = aliases(LabelKind.EVENT_TYPE, selector.event_type)
    query = """
        SELECT s.seq, t.name, s.step, labels.seq IS NOT NULL
        FROM trajectories t JOIN steps s ON s.trajectory = t.number LEFT JOIN labels USING (seq)
        WHERE t.tenant = ? AND (? IS NULL OR t.name = ?) AND (? IS NULL OR s.step = ?)
          AND (? IS NULL OR s.recorded < ?)
          AND (? IS NULL OR json_extract(CAST(labels.labels AS TEXT), '$.intent.scope')
                            IN (SELECT value FROM json_each(?)))
          AND (? IS NULL OR EXISTS (SELECT 1 FROM json_each(CAST(labels.labels AS TEXT), '$.intent.event_types') e
                                    WHERE e.value IN (SELECT value FROM json_each(?))))
        ORDER BY s.seq"""
    given = (selector.trajectory, selector.step, selector.accepted_before, scopes, events)
    rows = ingestor.journal.rows(query, tenant, *(value for value in given for _ in range(2)))
    return [Selected(seq, trajectory, step, bool(labeled)) for seq, trajectory, step, labeled in rows]


def correct(
    ingestor: Ingestor,
    *,
    tenant: str,
    trajectory: str,
    step: str,
    at: float,
    by: str = PERSON,
    text: str | None = None,
    labels: dict[str, Any] | None = None,
    references: Sequence[ReferenceRewrite] | None = None,
) -> None:
    """Replace the text, labels or resolved references of a step; what it was is kept in its history.

    With another text, references and summary of the old one go; a source that gives the step as it was changes nothing.

    Args:
        ingestor: Of the memory.
        tenant: Whose step it is.
        trajectory: Where it is.
        step: Its id.
        at: Now, in Unix seconds.
        by: Who corrects it; goes into `StepLabels.made_by` where labels or references are corrected.
        text: The right text.
        labels: The right labels, by field of `ContextualIntent`; those not named stay.
        references: Which of the step's references stay replaced, the others are undone; none stays if it is empty.

    Raises:
        InputError: There is no such step, it is retired, waits for the labels that are to be corrected, or no reference
            is undone.
    """
    if text is None and not labels and references is None:
        raise InputError("nothing to correct is given", hint="give a text, labels of some kind, or references")

    def corrected() -> tuple[Entry, bytes, StepLabels | None]:
        """The step as it is now, and what it is to be."""
        entry = _entry(ingestor.journal, tenant, trajectory, step)
        if entry.state is StepState.RETIRED:
            raise InputError(f"step {step!r} of trajectory {trajectory!r} is retired")
        if (labels or references is not None) and entry.labels is None:
            raise InputError(f"step {step!r} of trajectory {trajectory!r} waits for its labels", hint="stitch retry")
        right, made = entry.step, entry.labels
        if text is not None:
            right = right.model_copy(update={"content": clean_text(ingestor.without_secrets(text))})
            made = made and made.model_copy(update={"references": (), "mentions": (), "summary": ""})
        if labels and made is not None:
            intent = ContextualIntent.model_validate({**made.intent.model_dump(), **labels})
            made = made.model_copy(update={"intent": intent, "made_by": by})
        if references is not None and made is not None:
            kept = tuple(each for each in made.references if each in references)
            if text is None and kept == made.references:
                raise InputError(f"no reference of step {step!r} is undone", hint="`stitch show --steps` lists them")
            made = made.model_copy(update={"references": kept, "made_by": by})
        payload, _ = encode_step(right, max_chars=ingestor.journal.max_step_chars)
        return entry, payload, made

    def change() -> None:
        entry, payload, made = corrected()  # again: while it was waited for, others may have changed it
        with ingestor.journal.transaction() as db:
            db.execute(
                "INSERT INTO history (seq, at, made_by, payload, labels)"
                " SELECT s.seq, ?, ?, s.payload, labels.labels FROM steps s LEFT JOIN labels USING (seq)"
                " WHERE s.seq = ?",
                (at, by, entry.seq),
            )
            # The digest stays: the source will go on giving the step as it was.
            db.execute("UPDATE steps SET payload = ? WHERE seq = ?", (payload, entry.seq))
            state = StepState.ACCEPTED
            if made is not None:
                db.execute("UPDATE labels SET labels = ? WHERE seq = ?", (encode_labels(made, step=step), entry.seq))
                state = StepState.LABELED
            db.execute("UPDATE states SET state = ?, reason = '' WHERE seq = ?", (state.value, entry.seq))
            forget_checkpoint(db, tenant, trajectory)

    corrected()  # what is refused need not wait
    ingestor.rework(tenant, trajectory, change)


def history(journal: Journal, *, tenant: str, trajectory: str, step: str) -> list[Revision]:
    """What a step was before each of its corrections, oldest first.

    Raises:
        InputError: There is no such step.
    """
    seq = _entry(journal, tenant, trajectory, step).seq
    rows = journal.rows("SELECT at, made_by, payload, labels FROM history WHERE seq = ? ORDER BY number", seq)
    return [
        Revision(at, by, Step.model_validate_json(payload), labels and StepLabels.model_validate_json(labels))
        for at, by, payload, labels in rows
    ]


def retire(ingestor: Ingestor, selected: Sequence[Selected], *, tenant: str, at: float, reason: str) -> int:
    """Take steps out of retrieval; the journal keeps them, with the reason. Return how many were not retired before.

    Raises:
        InputError: Some wait for their labels; none was retired.
    """
    if waiting := [each for each in selected if not each.labeled]:
        raise InputError(
            f"{len(waiting)} of the steps wait for their labels, the first is {waiting[0].step!r}",
            hint="`stitch retry` labels them; erasing needs no labels",
        )
    note = retirement_note(at, reason)
    before = ingestor.counts(tenant).retired
    for trajectory, group in _by_trajectory(selected):

        def change(trajectory: str = trajectory, group: Sequence[Selected] = group) -> None:
            seqs = _seqs(group)
            _take_from_store(ingestor, group, tenant=tenant, trajectory=trajectory)
            with ingestor.journal.transaction() as db:
                db.execute(
                    "UPDATE states SET state = 'retired', reason = ?"
                    " WHERE seq IN (SELECT value FROM json_each(?)) AND state <> 'retired'",
                    (note, seqs),
                )
                db.execute("DELETE FROM unflushed WHERE seq IN (SELECT value FROM json_each(?))", (seqs,))

        ingestor.rework(tenant, trajectory, change)
    return ingestor.counts(tenant).retired - before


def erase(ingestor: Ingestor, selected: Sequence[Selected], *, tenant: str, folder: Path) -> Erased:
    """Erase steps from journal, store, labels of other steps, and the files of the memory; then look for what is left.

    What other steps of the trajectory have from them goes too: contexts, resolved references, summaries, and the words
    of scopes that no step is left to say. So does the name of a trajectory of which nothing is left, also from the
    ledger, which keeps what its calls of a model cost. A step is erased when this returns; an interrupted call is to be
    repeated, and what could only be left in freed parts of files is removed when the memory is opened.

    Args:
        ingestor: Of the memory.
        selected: What to erase.
        tenant: Whose they are.
        folder: Where the journal is, with rejects and traces.
    """
    selected = list(dict.fromkeys(selected))
    entries = list(_entries(ingestor.journal, selected))
    entries += _as_they_were(ingestor.journal, entries)
    trajectories = _by_trajectory(selected)
    whole = {name for name, group in trajectories if _count(ingestor.journal, tenant, name) == len(group)}
    traces = traces_of(entries, tenant=tenant, names=whole)
    remove_lines(folder, entries, traces, tenant=tenant, whole=whole)
    for trajectory, group in trajectories:
        gone = [entry for entry in entries if entry.trajectory == trajectory]

        def change(
            trajectory: str = trajectory, group: Sequence[Selected] = group, gone: Sequence[Entry] = gone
        ) -> None:
            _take_from_store(ingestor, group, tenant=tenant, trajectory=trajectory)
            _erase_rows(ingestor.journal, group, gone, tenant=tenant, trajectory=trajectory)

        ingestor.rework(tenant, trajectory, change)
    if selected:
        purge(ingestor, folder=folder)
    proof = search_files(folder, ingestor, traces)
    if any(found.startswith(ingestor.journal.path.name) for found in proof.found):
        ingestor.journal.compact()
        proof = search_files(folder, ingestor, traces)
    return Erased(len(selected), len(trajectories), proof)


def purge(ingestor: Ingestor, *, folder: Path) -> None:
    """Remove erased bytes from freed parts: of the files of the store, of the journal's log, of a half-built store.

    The journal itself overwrites what is deleted, so that its file need not be written anew.
    """
    shutil.rmtree(folder / NEXT_FOLDER, ignore_errors=True)
    ingestor.flush()
    if isinstance(ingestor.store, PurgeableStore):
        ingestor.store.purge()
    with ingestor.journal.transaction() as db:
        db.execute("DELETE FROM purges")
    ingestor.journal.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def finish_purge(ingestor: Ingestor, *, folder: Path) -> None:
    """Purge if an erasure was interrupted before it had done so."""
    if ingestor.journal.rows("SELECT 1 FROM purges LIMIT 1"):
        ingestor.journal.compact()  # first: what is purged is not asked for again
        purge(ingestor, folder=folder)


def _take_from_store(ingestor: Ingestor, group: Sequence[Selected], *, tenant: str, trajectory: str) -> None:
    """Delete the snippets of steps, which the journal no longer says are stored: `recover` puts them again if that is
    as far as it comes.
    """
    with ingestor.journal.transaction() as db:
        db.execute(
            "UPDATE states SET state = 'labeled' WHERE state = 'stored' AND seq IN (SELECT value FROM json_each(?))",
            (_seqs(group),),
        )
    query = "SELECT seq FROM steps WHERE seq IN (SELECT value FROM json_each(?))"
    there = {
        seq for (seq,) in ingestor.journal.rows(query, _seqs(group))
    }  # a new step may have the id of an erased one
    ingestor.store.delete(tenant, [snippet_id(tenant, trajectory, each.step) for each in group if each.seq in there])


def _erase_rows(
    journal: Journal, group: Sequence[Selected], gone: Sequence[Entry], *, tenant: str, trajectory: str
) -> None:
    seqs = _seqs(group)
    erased = {each.seq for each in group}
    # Read as they stand there: to make steps of all that remains would take most of the time of an erasure.
    left = [row for row in journal.rows(_STANDING, tenant, trajectory) if row[0] not in erased]
    clean = _cleaner([orjson.loads(payload) for _, _, payload, _ in left], gone)
    rewritten = [(made, seq) for seq, _, _, labels in left if labels is not None and (made := clean(labels))]
    journal.take_seqs(0)
    with journal.transaction() as db:
        for statement in _DELETIONS:
            db.execute(statement, (seqs,))
        forget_checkpoint(db, tenant, trajectory)
        db.executemany("UPDATE labels SET labels = ? WHERE seq = ?", rewritten)
        for number, labels in db.execute(_LABELS_BEFORE, (json.dumps([row[0] for row in left]),)).fetchall():
            if made := clean(labels):
                db.execute("UPDATE history SET labels = ? WHERE number = ?", (made, number))
        db.executemany(
            "UPDATE states SET state = 'labeled' WHERE seq = ? AND state = 'stored'", [(seq,) for _, seq in rewritten]
        )
        db.execute(
            "DELETE FROM trajectories WHERE tenant = ? AND name = ?"
            " AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.trajectory = trajectories.number)",
            (tenant, trajectory),
        )
        db.execute("INSERT INTO purges VALUES (NULL)")


def _cleaner(left: Iterable[dict[str, Any]], gone: Sequence[Entry]) -> Callable[[bytes], bytes | None]:
    """What takes out of the labels of a remaining step all that they have from the erased ones; None if nothing."""
    ids = {entry.id for entry in gone}
    erased_text = "\n".join(_said(entry.step.model_dump(exclude_defaults=True)) for entry in gone)
    words = _words(erased_text) - _words("\n".join(map(_said, left)))
    names = {word.casefold() for word in _WORD.findall(erased_text) if not word.islower() or word.isdigit()} & words
    scopes: dict[str, str] = {}

    def quotes(text: str) -> bool:
        return bool(text) and (text in erased_text or not words.isdisjoint(_words(text)))

    def without(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(value for value in values if names.isdisjoint(_words(value)))

    def says_nothing_of_them(encoded: bytes) -> bool:
        if b"\\" in encoded or not words.isdisjoint(_words(encoded.decode())):
            return False
        fields = orjson.loads(encoded)
        named = any(reference.get("antecedent") in ids for reference in fields.get("references", ()))
        return not named and not quotes(fields.get("context", ""))

    def clean(encoded: bytes) -> bytes | None:
        if says_nothing_of_them(encoded):
            return None
        labels = StepLabels.model_validate_json(encoded)
        intent, scope = labels.intent, labels.intent.scope
        if scope is not None and scope not in scopes:
            kept = " ".join(word for word in scope.split() if words.isdisjoint(_words(word)))
            scopes[scope] = (kept if _WORD.search(kept) else NO_SCOPE) if kept != scope else scope
        made = labels.model_copy(
            update={
                "context": "" if quotes(labels.context) else labels.context,
                "summary": "" if not words.isdisjoint(_words(labels.summary)) else labels.summary,
                "references": tuple(
                    reference
                    for reference in labels.references
                    if reference.antecedent not in ids and words.isdisjoint(_words(reference.replacement))
                ),
                "mentions": tuple(
                    mention
                    for mention in labels.mentions
                    if words.isdisjoint(_words(mention.value)) and without([mention.entity_type])
                ),
                "intent": ContextualIntent(
                    scope=None if scope is None else scopes[scope],
                    event_types=without(intent.event_types),
                    entity_types=without(intent.entity_types),
                    targets=without(intent.targets),
                ),
            }
        )
        return None if made == labels else encode_labels(made, step="")

    return clean


def _said(step: dict[str, Any]) -> str:
    calls = " ".join(
        f"{call['name']} {json.dumps(call.get('arguments', {}), ensure_ascii=False)}"
        for call in step.get("tool_calls", ())
    )
    return f"{step['role']}\n{step.get('content', '')}\n{calls}\n{step.get('tool_name') or ''}"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _entry(journal: Journal, tenant: str, trajectory: str, step: str) -> Entry:
    rows = journal.rows(
        "SELECT s.position FROM steps s JOIN trajectories t ON t.number = s.trajectory"
        " WHERE t.tenant = ? AND t.name = ? AND s.step = ?",
        tenant, trajectory, step,
    )  # fmt: skip
    for ((position,),) in [rows] if rows else []:
        for entry in journal.entries(tenant, trajectory, start=position, stop=position + 1):
            return entry
    raise InputError(f"no step {step!r} in trajectory {trajectory!r}", hint="`stitch show --steps` lists the steps")


def _as_they_were(journal: Journal, entries: Sequence[Entry]) -> list[Entry]:
    """Entries before their corrections: of what they said then, others may have something too."""
    by_seq = {entry.seq: entry for entry in entries}
    query = "SELECT seq, payload FROM history WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY number"
    rows = journal.rows(query, _seqs(entries))
    return [by_seq[seq]._replace(step=Step.model_validate_json(payload)) for seq, payload in rows]


def _count(journal: Journal, tenant: str, trajectory: str) -> int:
    query = (
        "SELECT count(*) FROM steps s JOIN trajectories t ON t.number = s.trajectory WHERE t.tenant = ? AND t.name = ?"
    )
    return int(journal.rows(query, tenant, trajectory)[0][0])


def _entries(journal: Journal, selected: Sequence[Selected]) -> Iterator[Entry]:
    return journal.entries_of([each.seq for each in selected])


def _by_trajectory(selected: Iterable[Selected]) -> list[tuple[str, list[Selected]]]:
    groups: dict[str, list[Selected]] = {}
    for each in selected:
        groups.setdefault(each.trajectory, []).append(each)
    return list(groups.items())


def _seqs(selected: Iterable[Selected | Entry]) -> str:
    return json.dumps([each.seq for each in selected])

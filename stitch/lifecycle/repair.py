"""Does the store agree with the journal; what does not agree mended, or the whole store filled again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from stitch.core import Label, LabelInventory, MemorySnippet, Step, StepState, snippet_id
from stitch.core.cancellation import check_canceled
from stitch.core.progress import Progress, counted
from stitch.errors import JournalError, StoreError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.state import BATCH_STEPS, chunks
from stitch.journal import DamagedRecordError, Journal
from stitch.journal.entries import Damaged, Entry, differences
from stitch.lifecycle.folder import check_not_emptied
from stitch.lifecycle.tree_transfer import faults_of_trees
from stitch.store import QdrantStore
from stitch.themes.grouping import KIND as THEMES
from stitch.themes.grouping import decode


class Disagreement(NamedTuple):
    """One thing that is not as the journal says."""

    trajectory: str
    """Empty if it is about the whole memory."""
    step: str
    """Empty if it is about a whole trajectory."""
    what: str


class Verification(NamedTuple):
    """Results of comparing journal and store."""

    steps: int
    snippets: int
    disagreements: tuple[Disagreement, ...]


class Repaired(NamedTuple):
    """Results of comparing after a repair, and the copy that was believed where two differed."""

    steps: int
    snippets: int
    disagreements: tuple[Disagreement, ...]
    choices: tuple[str, ...] = ()
    """One sentence for each step of which the journal's copy was damaged."""


def verify(ingestor: Ingestor, *, tenant: str) -> Verification:
    """Compare journal, store and inventories of a tenant; name each thing that does not agree.

    What the store holds must be as it was written; if it is not, nothing is compared. Every step that is stored must be
    in the store as the journal has it, one that is retired must not, and the store must hold nothing else. Every label
    of a step that is not retired must be in the inventory of its trajectory. Every step must stand in the journal as it
    was written. Every version of a tree must be what the operations since its first one give.
    """
    journal, store = ingestor.journal, ingestor.store
    faults = [f"journal: {message}" for message in journal.damage()]
    try:
        faults += faults_of_trees(journal, tenant=tenant)
    except JournalError as error:
        faults.append(f"{error.message}: not all trees could be read")
    faults += _faults_of_themes(journal, tenant=tenant)
    found = [Disagreement("", "", fault) for fault in faults]
    unlike = store.check(tenant) if isinstance(store, QdrantStore) else ()
    if unlike:
        found += [Disagreement(each.trajectory, each.step, f"store: {each.what}") for each in unlike]
        return Verification(0, store.count(tenant), tuple(found))
    try:
        return _compare(ingestor, journal.damaged(tenant), tenant=tenant, found=found)
    except JournalError as error:  # what of it cannot be read cannot be compared
        found.append(Disagreement("", "", f"{error.message}: not all could be compared"))
        return Verification(0, store.count(tenant), tuple(found))


def _faults_of_themes(journal: Journal, *, tenant: str) -> list[str]:
    try:
        for record in journal.records(tenant, kind=THEMES):
            decode(record.payload)
    except DamagedRecordError as error:
        return [error.message]
    return []


def _sound(ingestor: Ingestor, damaged: Iterable[Damaged], doing: str, *, tenant: str) -> Iterator[Entry]:
    """The steps of a tenant that can be believed; says how far it is with what is done."""
    journal, doubtful = ingestor.journal, {each.seq for each in damaged if each.in_doubt}
    sound = journal.every_entry(tenant)
    if doubtful:
        sound = journal.entries_of([each.seq for each in journal.select(tenant) if each.seq not in doubtful])
    return counted(sound, doing, of=lambda: journal.counts(tenant).accepted)


def _compare(ingestor: Ingestor, damaged: list[Damaged], *, tenant: str, found: list[Disagreement]) -> Verification:
    """Compare each step in the journal with the store; disagreements known already come first."""
    journal, store = ingestor.journal, ingestor.store
    for each in damaged:
        what = f"its {each.what} in the journal is not as it was written"
        found.append(Disagreement(each.trajectory, each.step, what))
    known = {snippet_id(tenant, each.trajectory, each.step) for each in damaged if each.in_doubt}
    for chunk in chunks(_sound(ingestor, damaged, "steps compared", tenant=tenant), BATCH_STEPS):
        check_canceled()
        for entry, snippet, held in ingestor.snippets.beside(chunk):
            known.add(snippet.id)
            if what := _disagreement(entry, snippet, held):
                found.append(Disagreement(entry.trajectory, entry.id, what))
    steps = len(known)
    snippets = 0
    for snippet in store.scroll(tenant):
        snippets += 1
        if snippet.id not in known:
            what = "it is in the store, and the journal does not know it"
            found.append(Disagreement(snippet.trajectory, snippet.step, what))
    for trajectory in journal.trajectories(tenant):
        found.extend(_faults_of_inventory(ingestor, tenant, trajectory))
    return Verification(steps, snippets, tuple(found))


def repair(ingestor: Ingestor, *, tenant: str) -> Repaired:
    """Put what the store of a tenant lacks, remove from it what it must not hold, take inventories from the journal.

    The journal is believed where it is sound. A step that is damaged there is taken from the store if the digest of
    what was accepted says that this copy is right; else both stay as they are, and nothing is removed from the store.
    Nor is anything removed by a journal that holds nothing.

    Returns:
        What does not agree after that: damage of the journal itself.
    """
    journal, store = ingestor.journal, ingestor.store
    if isinstance(store, QdrantStore):
        store.mend(tenant)
    choices = tuple(_mend(ingestor, tenant=tenant))
    if _faults_of_themes(journal, tenant=tenant):
        journal.erase_records(tenant, kind=THEMES)
        choices += ("themes were damaged in the journal, and are made anew when they are next asked for",)
    damaged = journal.damaged(tenant)
    ingestor.snippets.put_missing(_sound(ingestor, damaged, "steps mended", tenant=tenant))
    if any(each.in_doubt for each in damaged):
        return Repaired(*verify(ingestor, tenant=tenant), choices)
    ingestor.snippets.remove_unknown(tenant)
    for trajectory in journal.trajectories(tenant):
        if any(_faults_of_inventory(ingestor, tenant, trajectory)):
            ingestor.rework(tenant, trajectory, partial(journal.forget_checkpoint, tenant, trajectory))
    ingestor.flush()
    return Repaired(*verify(ingestor, tenant=tenant), choices)


def _mend(ingestor: Ingestor, *, tenant: str) -> Iterator[str]:
    """Take damaged steps from the store where its copy is right; say of each what was believed."""
    for each in ingestor.journal.damaged(tenant):
        name = f"step {each.step!r} of trajectory {each.trajectory!r}"
        held = ingestor.store.get(tenant, [snippet_id(tenant, each.trajectory, each.step)])
        if each.what == "step" and held and ingestor.journal.mend(each.seq, step=_step_of(held[0])):
            yield f"{name} was damaged in the journal: the copy in the store is the accepted one, and was taken"
        elif not each.in_doubt:
            yield f"what {name} was before its correction is damaged in the journal, and nothing else has it"
        else:
            yield f"{name} is damaged in the journal, and no copy is known to be right: the store was left as it is"


def _step_of(snippet: MemorySnippet) -> Step:
    """The step of a snippet, if it said nothing that snippets do not keep."""
    return Step(
        id=snippet.step, role=snippet.role, content=snippet.text, timestamp=snippet.happened, session=snippet.session,
        metadata=snippet.metadata,
    )  # fmt: skip


def _disagreement(entry: Entry, wanted: MemorySnippet, held: MemorySnippet | None) -> str:
    if entry.state is StepState.RETIRED:
        return "it is retired, and still in the store" if held else ""
    if held is None:
        return "it is stored, by the journal, and not in the store" if entry.state is StepState.STORED else ""
    names = differences(held, wanted)
    return f"the store has it with another {', '.join(names)}" if names else ""


def _faults_of_inventory(ingestor: Ingestor, tenant: str, trajectory: str) -> Iterator[Disagreement]:
    entries = ingestor.journal.entries(tenant, trajectory)
    shown = (entry for entry in entries if entry.state is not StepState.RETIRED)
    return inventory_disagreements(ingestor.inventory(tenant, trajectory), shown, trajectory=trajectory)


def inventory_disagreements(
    inventory: LabelInventory, entries: Iterable[Entry], *, trajectory: str
) -> Iterator[Disagreement]:
    """Disagreements of an inventory with the labels of its steps."""
    vocabulary, steps, used = inventory.vocabulary(), 0, dict[Label, str]()
    for entry in entries:
        if entry.labels is not None:
            steps += 1
            used = dict.fromkeys(sorted(entry.labels.intent.labels()), entry.id) | used
    if inventory.steps != steps:
        yield Disagreement(trajectory, "", f"its inventory knows {inventory.steps} labeled steps of {steps}")
    for label, step in used.items():
        canonical = vocabulary.canonical_label(label)
        if label.kind.value == "target" or canonical != label or inventory.count(canonical) > 0:
            continue  # a kind that it does not list, or a label that it knows
        yield Disagreement(trajectory, step, f"its {label.kind.value} {label.value!r} is not in the inventory")


def rebuild(ingestor: Ingestor) -> int:
    """Put all snippets again while the store serves; see `Lifecycle.reindex`.

    Nobody else changes a trajectory while some of its steps are put, or what is erased would come back.
    """
    journal, serving, snippets = ingestor.journal, ingestor.store, ingestor.snippets
    if not isinstance(serving, QdrantStore):
        raise StoreError("this store is not built anew while it serves", hint="stitch reindex")
    check_source(journal, store_holds=serving.count() > 0)
    progress = Progress("steps put", of=journal.counts().accepted)
    with snippets.replaced():
        for tenant in journal.tenants():
            for trajectory in journal.trajectories(tenant):
                for start in range(0, journal.length(tenant, trajectory), BATCH_STEPS):
                    with ingestor.states.held(tenant, trajectory):
                        entries = journal.entries(tenant, trajectory, start=start, stop=start + BATCH_STEPS)
                        progress.advance(snippets.put_missing(entries, anew=True))
            with serving.unchanged:
                snippets.remove_unknown(tenant)
        serving.purge()
    ingestor.checkpoint()
    return progress.done


def check_source(journal: Journal, *, store_holds: bool) -> None:
    """See that a store may be built anew from a journal: that it is not emptied, and each step as it was written.

    Raises:
        JournalError: It holds nothing, and the store does; or steps are damaged, whose only sound copies may be there.
    """
    if store_holds:
        check_not_emptied(journal)
    damaged = [
        f"step {each.step!r} of trajectory {each.trajectory!r} of {tenant!r}"
        for tenant in journal.tenants()
        for each in journal.damaged(tenant)
        if each.in_doubt
    ]
    if damaged:
        more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        raise JournalError(
            f"the store is not built anew from a damaged journal: {damaged[0]}{more}",
            hint="`stitch verify --repair` takes the copy in the store if it is right; else restore a backup, or give"
            " the steps up with `stitch forget erase`",
        )

"""`Lifecycle`: what becomes of steps that a memory has: corrected, forgotten, copied, compared, built anew.

What needs trees is loaded when it is asked for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stitch.core import ReferenceRewrite, trajectory_name
from stitch.core.arguments import told_in_a_line
from stitch.core.times import Time, said_time
from stitch.errors import InputError, ScopeError
from stitch.journal import Revision, Selected
from stitch.lifecycle.as_of import moment_of
from stitch.lifecycle.correct import Changes, Correction, correct, corrections, history
from stitch.lifecycle.relabel import Handover, Relabeled, relabel
from stitch.lifecycle.retention import Expiry, expire, retire, silent_days, trust, unretire
from stitch.lifecycle.selection import Selector, by_trajectory, select
from stitch.lm import charged_to

if TYPE_CHECKING:
    from stitch.core.process import ForkGuard
    from stitch.core.retention import RetentionRule
    from stitch.ingest import Ingestor
    from stitch.label.model.offline import OfflineLabeler
    from stitch.lifecycle.backup import BackedUp
    from stitch.lifecycle.erase import Erased
    from stitch.lifecycle.repair import Repaired, Verification
    from stitch.lifecycle.transfer import Imported
    from stitch.lm import Ledger


@told_in_a_line
class Lifecycle:
    """Operations on the stored steps of one tenant. Reached as `Memory.lifecycle`.

    No call can name another tenant's steps. What concerns all tenants is done only `for_all`: not where their memories
    are handed out one by one.
    """

    def __init__(
        self,
        ingestor: Ingestor,
        *,
        tenant: str,
        folder: Path,
        retention: Sequence[RetentionRule] = (),
        ledger: Ledger,
        process: ForkGuard,
        for_all: bool = True,
    ) -> None:
        self._opened, self._tenant, self._folder = ingestor, tenant, folder
        self.retention, self._ledger = tuple(retention), ledger
        self._process, self._for_all = process, for_all

    @property
    def _ingestor(self) -> Ingestor:
        """The ingestor for calls that read, after the fork guard."""
        self._process.check()
        return self._opened

    @property
    def _writer(self) -> Ingestor:
        """The ingestor for calls that write, after the fork guard."""
        self._process.check_writing()
        return self._opened

    def count(self, selector: Selector) -> int:
        """Count the steps that a selector names, which `retire` and `erase` would concern."""
        return sum(self.counts(selector).values())

    def counts(self, selector: Selector) -> dict[str, int]:
        """As `count`, by trajectory."""
        selected = select(self._ingestor, selector, tenant=self._tenant)
        return {trajectory: len(steps) for trajectory, steps in by_trajectory(selected)}

    def correct(
        self,
        step: str,
        *,
        trajectory: str,
        text: str | None = None,
        labels: Mapping[str, Any] | None = None,
        references: Sequence[ReferenceRewrite] | None = None,
        asks: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Time | None = None,
        by: str = "person",
    ) -> None:
        """Replace the text or labels of a step, or undo how its references were read; its `history` keeps what it was.

        Args:
            step: Its id.
            trajectory: Where it is.
            text: The right text.
            labels: The right labels, by field of `ContextualIntent`; those not named stay.
            references: Which of the step's `labels.references` stay; the others are undone, all of them with `()`.
            asks: What it answers, in other words than its own: it is found by these then, and by none with `()`.
            metadata: What else is known of the step, in place of what was.
            timestamp: When it happened.
            by: Who corrects it.

        Raises:
            InputError: There is no such step, or it cannot be corrected.
        """
        if isinstance(asks, str):
            raise InputError("the asks of a correction are several texts, and not one", hint="put it into a list")
        changes = Changes(text=text, labels=labels, references=references, asks=asks, metadata=metadata,
                          timestamp=None if timestamp is None else said_time(timestamp))  # fmt: skip
        trajectory = trajectory_name(trajectory)
        correct(self._writer, changes, tenant=self._tenant, trajectory=trajectory, step=step, at=time.time(), by=by)

    def history(self, step: str, *, trajectory: str) -> list[Revision]:
        """Earlier revisions of a step, one before each of its corrections, oldest first."""
        return history(self._ingestor.journal, tenant=self._tenant, trajectory=trajectory_name(trajectory), step=step)

    def corrections(self) -> Iterator[Correction]:
        """The steps whose labels a person has put right, in the order of acceptance."""
        return corrections(self._ingestor.journal, tenant=self._tenant)

    def retire(self, selector: Selector, *, reason: str = "", trust_clock: bool = False) -> int:
        """Take steps out of retrieval; the journal keeps them. Returns how many were not retired before.

        The reason goes into the receipts; `unretire` puts them back; `trust_clock` as for `erase`.

        Raises:
            InputError: As for `erase`.
        """
        selected = self._old_enough(selector, trust_clock=trust_clock)
        return retire(self._writer, selected, tenant=self._tenant, at=time.time(), reason=reason)

    def unretire(self, selector: Selector, *, by: str = "person") -> int:
        """Put retired steps back into retrieval, as they were; returns how many of those meant were retired.

        The `history` of each keeps from when to when it was retired.
        """
        meant = [each for each in select(self._writer, selector, tenant=self._tenant) if each.retired]
        return unretire(self._writer, meant, tenant=self._tenant, at=time.time(), by=by)

    def erase(self, selector: Selector, *, trust_clock: bool = False) -> Erased:
        """Erase steps everywhere in the memory, and what other steps have from them; then search every file for them.

        A step that was erased is known by a digest of its name when it is given again, and not taken in. With
        `everything`, this is forgotten too: nothing is left of the tenant, and what is added later is new.
        With `trust_clock` it goes by age (`accepted_before`) also where the clock may have jumped ahead by years.

        Returns:
            How many, with the proof. What traces are left is in `proof.found`; copies made earlier are not touched.

        Raises:
            InputError: The selector goes by age, and the clock may have jumped ahead: no step was accepted for more
                than a year, without which fewer steps would be old enough.
        """
        from stitch.lifecycle.erase import erase

        selected = self._old_enough(selector, trust_clock=trust_clock)
        whole = selector == Selector(everything=True)
        return erase(self._writer, selected, tenant=self._tenant, folder=self._folder, tenant_too=whole)

    def _old_enough(self, selector: Selector, *, trust_clock: bool) -> list[Selected]:
        """The steps that a selector means, if the clock is to be believed where it goes by age."""
        selected = select(self._ingestor, selector, tenant=self._tenant)
        if selector.accepted_before is not None:
            journal, now = self._writer.journal, time.time()
            silence = silent_days(journal, [(selected, selector.accepted_before)], tenant=self._tenant, now=now)
            trust(journal, silence, tenant=self._tenant, now=now, trust_clock=trust_clock)
        return selected

    def expire(
        self,
        rules: Sequence[RetentionRule] | None = None,
        *,
        now: Time | None = None,
        dry_run: bool = False,
        trust_clock: bool = False,
    ) -> Expiry:
        """Retire or erase what is older than it may be, by the rules of the settings if none are given.

        Args:
            rules: What may become how old, see `RetentionRule`.
            now: A time as `as_of` is; the clock of this machine if None. Compared with when steps were accepted.
            dry_run: Only count.
            trust_clock: Apply them also where the clock may have jumped ahead by years.

        Raises:
            InputError: The clock may have jumped ahead: no step was accepted for more than a year, without which less
                would expire.
        """
        ingestor = self._ingestor if dry_run else self._writer
        chosen, moment = self.retention if rules is None else rules, time.time()
        if now is not None:
            moment = moment_of(ingestor.journal, now, tenant=self._tenant, trajectory=None).recorded
        return expire(
            ingestor, chosen, tenant=self._tenant, folder=self._folder, now=moment, dry_run=dry_run,
            trust_clock=trust_clock,
        )  # fmt: skip

    def export(self, *, trajectory: str | None = None) -> Iterator[str]:
        """Yield all of this memory, or one trajectory, as lines of JSON that `import_lines` of another takes in."""
        from stitch.lifecycle.transfer import export_lines

        self._ingestor.save()
        return export_lines(
            self._ingestor.journal,
            tenant=self._tenant,
            trajectory=None if trajectory is None else trajectory_name(trajectory),
        )

    def import_lines(self, lines: Iterable[str | bytes] | bytes, *, source: str = "-", again: bool = False) -> Imported:
        """Take in what `export` gave, without loss; what is there already is left alone.

        All lines are given, in order, or the whole text of their file; an import that was interrupted is taken up by
        giving them again. With `again` steps that were erased here are taken in.
        """
        from stitch.lifecycle.erase import purge
        from stitch.lifecycle.transfer import import_lines

        with charged_to(self._tenant):
            imported = import_lines(self._writer, lines, tenant=self._tenant, source=source, again=again)
        if imported.erased:  # what came in with it had something from it
            purge(self._writer, folder=self._folder)
        return imported

    def backup(self, to: str | os.PathLike[str]) -> BackedUp:
        """Copy this tenant's memory, and nothing of others, while it is in use; `stitch restore` makes a memory of it.

        The folder is empty or not there.
        """
        from stitch.lifecycle.backup import back_up

        self._ingestor.save()
        return back_up(self._ingestor.journal, to=to, beside=self._folder, at=time.time(), tenant=self._tenant)

    def verify(self, *, repair: bool = False) -> Verification | Repaired:
        """Compare journal, store and inventories; name each thing that does not agree.

        With `repair` what is missing is put, and what the journal does not know removed; what is named then is still
        wrong.
        """
        from stitch.lifecycle import repair as repairs

        if repair:
            return repairs.repair(self._writer, tenant=self._tenant)
        return repairs.verify(self._ingestor, tenant=self._tenant)

    def reindex(self) -> int:
        """Put all snippets again from the journal, for all tenants, while this memory serves; returns how many.

        Steps are added and found as ever, also after an interruption; at the end files are written anew, for which
        searches wait, seconds at 50,000 steps. For another embedder see `stitch reindex`.

        Raises:
            ScopeError: This memory is one of `Tenants`; see `Tenants.reindex`.
        """
        if not self._for_all:
            hint = "`stitch reindex --memory DIR` on its machine does, or `Tenants.reindex`"
            raise ScopeError("one tenant cannot build the store anew for all", hint=hint)
        from stitch.lifecycle.repair import rebuild

        return rebuild(self._writer)

    def handover(self, labeler: OfflineLabeler) -> Handover:
        """Windows for labeling elsewhere, by a batch of a provider or by a person, and the way back for the replies."""
        return Handover(self._writer, labeler=labeler, tenant=self._tenant, ledger=self._ledger)

    def relabel(self) -> Relabeled:
        """Replace labels of other labelers by those of the labeler of the settings, in place."""
        with charged_to(self._tenant):
            return relabel(self._writer, tenant=self._tenant)

"""`Tenants`: the memories of many tenants in one place, for a process that serves them all."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import TYPE_CHECKING

from stitch.core.process import ProcessLock
from stitch.memory import Memory, MemoryParts

if TYPE_CHECKING:
    from pathlib import Path

    from stitch.lifecycle.backup import BackedUp
    from stitch.lm import Ledger


class Tenants:
    """The memories of all tenants of a folder or server. Make one with `stitch.open_tenants`.

    Whoever holds this can hand out any tenant's memory; from a memory there is no way to another tenant's, nor back to
    this. All methods may be called from several threads.

    Args:
        parts: Shared by all memories.
        opened: One of these memories that is made already.
        for_all: Whether their `lifecycle` may do what concerns all tenants.
    """

    def __init__(self, parts: MemoryParts, *, opened: Memory | None = None, for_all: bool = False) -> None:
        self._parts, self._for_all = parts, for_all
        self._memories = {} if opened is None else {opened.tenant: opened}
        self._lock = ProcessLock("the memories of all tenants")

    def memory(self, tenant: str) -> Memory:
        """The memory of a tenant, new or known; closing it closes nothing for others.

        Raises:
            ScopeError: This can be no name.
        """
        with self._lock:
            known = self._memories.get(tenant)
            if known is None:
                made = Memory(self._parts, tenant=tenant, owns_parts=False, for_all=self._for_all)
                known = self._memories.setdefault(made.tenant, made)
            return known

    def names(self) -> list[str]:
        """The tenants that have steps, the oldest first."""
        self._parts.process.check()
        return self._parts.ingestor.journal.tenants()

    def backup(self, to: str | os.PathLike[str]) -> BackedUp:
        """Copy everybody's memory while it is in use; `stitch restore` makes a memory of it.

        Args:
            to: A folder that is empty or not there.
        """
        from stitch.lifecycle.backup import back_up

        self._parts.process.check()
        self._parts.ingestor.save()
        return back_up(self._parts.ingestor.journal, to=to, beside=self._parts.folder, at=time.time())

    @property
    def ledger(self) -> Ledger:
        """Counts and costs of calls of a model, for all tenants."""
        return self._parts.ledger

    @property
    def away(self) -> str:
        """Reason why the store cannot be reached; empty if it can."""
        return self._parts.ingestor.store_health.reason

    @property
    def folder(self) -> Path:
        """Folder of the journal."""
        return self._parts.folder

    def reindex(self) -> int:
        """Put all snippets again from the journal, for all tenants, while it serves; as `Lifecycle.reindex`."""
        from stitch.lifecycle.repair import rebuild

        self._parts.process.check_writing()
        return rebuild(self._parts.ingestor)

    def close(self, *, finish: bool = True) -> None:
        """Flush and let go of all memories; closing twice is harmless.

        Args:
            finish: Label what waits for labels first. If not, who opens it next goes on with them; a call of a model
                that is under way is given up.
        """
        if not finish and not self._parts.process.is_another:
            self._parts.ingestor.close(finish=False)
        self._parts.close()

    def __enter__(self) -> Tenants:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

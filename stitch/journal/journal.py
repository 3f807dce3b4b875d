"""The journal, put together of its parts, and how what is derived from it follows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

from stitch.core import Change, ChangeKind, Projection
from stitch.errors import InputError, require_extra
from stitch.journal.database import LAST_CHANGE, Database, Turn, is_postgres
from stitch.journal.entries import MAX_STEP_CHARS
from stitch.journal.intake import Intake
from stitch.journal.progress import Progress
from stitch.journal.reading import Lookups
from stitch.journal.records import Records
from stitch.journal.rows import given
from stitch.journal.sqlite_file import SqliteFile, settle

if TYPE_CHECKING:
    from stitch.journal.postgres import Postgres
    from stitch.journal.queue import WorkQueue

_FOLLOWED = 256
"""So many changes are applied between two checkpoints of what follows them: an interruption repeats no more."""
_CHANGES = """
SELECT changes.number, kind, changes.tenant, name, first, last
FROM changes LEFT JOIN trajectories ON trajectories.number = changes.trajectory
WHERE changes.number > :after {} ORDER BY changes.number LIMIT :size
"""


class Journal(Intake, Progress, Lookups, Records):
    """The append-only truth: which steps were accepted, how they were labeled, how far they have come.

    Safe to use from several threads of the one process that owns it at a time. Each method that writes is one
    transaction: what it says is durable when it returns, or nothing of it was written; whoever reads sees all of it or
    nothing. A step is named by its number (`Entry.seq`), which is never given to another step. Every method raises
    `JournalError` if the journal cannot be used; nothing was written then.

    What `append_many` has returned is accepted: it outlives the death of the process at any moment (kill -9), because
    the transaction is in the file system by then. Not every transaction waits for the disk, for that would cost 4 to
    5 ms each. The disk is waited for by `sync`, and whenever the write-ahead log has grown by 4 MB. So a loss of
    *power* may take the steps since then, and what remains is consistent. With `power_safe` every transaction waits,
    and nothing accepted is lost then either.

    A file of an earlier version is brought to this one when it is opened.
    The file is made if it is not there, its folder is not.

    Raises:
        JournalError: The file cannot be opened, is owned by another process, or is not a journal.
        StoreMismatchError: It was written by a later version of this library; it is not touched.
    """

    def __init__(self, path: str | Path, *, power_safe: bool = False, max_step_chars: int = MAX_STEP_CHARS) -> None:
        self.max_step_chars = max_step_chars
        """The longest step that is accepted, in characters of its JSON."""
        if is_postgres(str(path)):
            require_extra("postgres", package="psycopg", needed_by="a journal in PostgreSQL")
            from stitch.journal.postgres import Postgres

            self._db: Database = Postgres(str(path))
        else:
            self._db = SqliteFile(Path(path), power_safe=power_safe)

    @property
    def path(self) -> Path | None:
        """The file it is kept in, if it is one file."""
        return self._db.path if isinstance(self._db, SqliteFile) else None

    @property
    def shared_id(self) -> str | None:
        """The id of a journal that several processes may have open at once; None of one that this process owns."""
        return self._db.id

    def changes(self, *, after: int = 0, tenant: str | None = None) -> Iterator[Change]:
        """Iterate over the changes after a number, of a tenant or of all, in the order in which they came about."""
        query = _CHANGES.format("" if tenant is None else "AND changes.tenant = :tenant")
        for rows in self._db.pages(query, given(tenant=tenant), after=after):
            for number, kind, owner, trajectory, first, last in rows:
                yield Change(number, ChangeKind(kind), owner, trajectory, range(first, last + 1))

    def last_change(self) -> int:
        """The number of the last change; 0 if there is none."""
        return int(self._db.value(LAST_CHANGE))

    def exclusive(self, tenant: str, trajectory: str, *, since: int = 0) -> AbstractContextManager[Turn]:
        """Label and store a trajectory while no other process does; one process that has the journal alone is free.

        Gives whether something became of its steps after the change `since`, beside that some were accepted, and at
        its end the number of the last change.
        """
        return self._db.exclusive(tenant, trajectory, since=since)

    def fenced(self, tenant: str, trajectory: str, *, since: int = 0) -> AbstractContextManager[Turn]:
        """Work on a trajectory of a shared journal without holding it: what is written later than others wrote fails.

        Gives the same as `exclusive`.

        Raises:
            ConflictError: Somebody else has changed it meanwhile, and nothing was written since.
        """
        return self._shared().fenced(tenant, trajectory, since=since)

    @cached_property
    def queue(self) -> WorkQueue:
        """The jobs of workers, in the database of a shared journal; made if they are not there."""
        require_extra("postgres", package="procrastinate", needed_by="labeling by workers")
        from stitch.journal.queue import WorkQueue

        return WorkQueue(self._shared())

    def _shared(self) -> Postgres:
        from stitch.journal.postgres import Postgres

        assert isinstance(self._db, Postgres)  # settings refuse workers elsewhere
        return self._db

    def sync(self) -> None:
        """Make everything written survive a loss of power."""
        self._db.sync()

    def compact(self) -> None:
        """Write the whole anew, so that no byte of what was erased is left in it."""
        self._db.compact()

    def copy_to(self, path: Path, *, tenant: str | None = None) -> tuple[int, int]:
        """Write all, or what is one tenant's, into a file, as it is now; return its numbers of tenants and steps."""
        self._db.copy_to(path)
        return settle(path, tenant=tenant)

    def take_from(self, file: Path) -> None:
        """Take in all that a journal in a file holds, of all tenants; only a shared one that holds nothing does.

        Raises:
            InputError: There is something, or this process owns it.
        """
        if self.shared_id is None or self.tenants() or self.last_change():
            raise InputError(f"the journal {self._db.name!r} is not an empty one in PostgreSQL", hint="name another")
        with closing(SqliteFile(file)) as source, source.session() as rows:
            self._shared().take(rows)

    def close(self) -> None:
        """Let go of it; closing twice is harmless. Whatever is called then raises `JournalError`."""
        self._db.close()


def follow(projection: Projection, journal: Journal) -> int:
    """Bring a projection up to the journal; return the number of changes taken in."""
    count, position = 0, projection.position()
    while changes := list(islice(journal.changes(after=position), _FOLLOWED)):
        if journal.shared_id is None:
            projection.apply(changes)
        else:
            for (tenant, trajectory), some in groupby(changes, key=lambda each: (each.tenant, each.trajectory)):
                with journal.exclusive(tenant, trajectory or ""):  # while no other process works on it
                    projection.apply(list(some))
        projection.checkpoint()
        count, position = count + len(changes), changes[-1].number
    return count


def catch_up(projection: Projection, journal: Journal) -> int:
    """Bring a projection up to the journal when a process begins; return how much that was, in any measure.

    It follows from where it was, and is rebuilt where that is not known, or is no place in this journal. Where other
    processes work meanwhile it always follows: to rebuild would take away what they are about to note.
    """
    position, last = projection.position(), journal.last_change()
    if 0 < position <= last or position == last or journal.shared_id is not None:
        return follow(projection, journal)
    count = projection.rebuild()
    projection.checkpoint()
    return count

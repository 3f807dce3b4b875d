"""The journal in PostgreSQL: any number of processes read and write it at once."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import Column, MetaData, Table, Text, create_engine, event
from sqlalchemy.dialects.postgresql.psycopg import dialect as psycopg_dialect
from sqlalchemy.engine import URL, Dialect, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable

from stitch.errors import ConflictError, JournalError, SettingsError, StoreMismatchError, some_of
from stitch.journal.database import LAST_CHANGE, Compiled, Database, Session, Turn, copy_rows
from stitch.journal.rows import NAMED
from stitch.journal.tables import COUNTED, NOT_STORED, VERSION, metadata, next_seq, unfinished
from stitch.journal.versions import refuse_later

_AWAY = "start it, or check host, port and network; nothing accepted is lost"
_CAUSES = (
    ("DiskFull", "the disk of the server is full", "free some space there; nothing accepted is lost"),
    ("ReadOnlySqlTransaction", "the server can only be read: it is a replica", "name the primary server"),
    ("UndefinedTable", "a table is not there", "restore the database from its own backup"),
    ("UndefinedColumn", "a column is not there", "restore the database from its own backup"),
    ("InsufficientPrivilege", "its user may not do this", "let the user create and write in its schema"),
    ("password authentication failed", "the server refuses user or password", "check them in the URL"),
    ("does not exist", "there is no such database or user", "check the URL, or make it with createdb"),
    ("NUL", "PostgreSQL keeps no text with the character NUL", "leave it out of names"),
    ("connection", "the server cannot be reached", _AWAY),
    ("resolve", "the server cannot be reached", _AWAY),
    ("terminating", "the server is going down", _AWAY),
)

_COMPILED = Compiled(psycopg_dialect(), any_of="{0} = ANY(:{1})")  # type: ignore[no-untyped-call]
_SCHEMA = "stitch"
_OPTIONS = f"-csearch_path={_SCHEMA} -cidle_in_transaction_session_timeout=5s"
"""A process that stands still inside a transaction is put out of it, for all others wait."""
_PATIENCE = {"connect_timeout": "10", "tcp_user_timeout": "10000", "keepalives_idle": "5", "keepalives_interval": "2"}
"""Of a network that hangs: in seconds, and milliseconds."""
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('stitch journal ' || current_schema()))"
_LOCK_DERIVED = f"{_LOCK}, set_config('synchronous_commit', 'off', true)"
_CHANGED = f"""
    SELECT 1 FROM changes WHERE number > :after AND kind <> 'accepted'
        AND (trajectory IS NULL OR trajectory = (SELECT number FROM trajectories WHERE {NAMED})) LIMIT 1
"""
"""Whether a trajectory was changed, or may have been: one that was erased is not named any more."""
_NEXT = "SELECT setval(pg_get_serial_sequence('{0}', 'number'), coalesce(max(number), 0) + 1, false) FROM {0}"

about = Table("about", MetaData(), Column("name", Text, primary_key=True), Column("value", Text, nullable=False))
"""Of which version the tables are, and which journal this is."""
_ABOUT = "SELECT name, value FROM about"


@dataclass
class _Fence:
    """A trajectory as a thread knows it, up to a change: the last when it began, or when it wrote itself."""

    tenant: str
    trajectory: str
    last: int

    def check(self, db: Session) -> None:
        """See that nobody else has changed it since.

        Raises:
            ConflictError: Somebody has.
        """
        if db.rows(_CHANGED, tenant=self.tenant, trajectory=self.trajectory, after=self.last):
            raise ConflictError(f"trajectory {self.trajectory!r} was changed by another process meanwhile")


class Postgres(Database):
    """The database in a schema of PostgreSQL, `stitch` if the URL names none; its tables are made if there are none.

    Whoever writes waits for the others who do, so changes are numbered in the order in which they are committed, and
    nobody who follows them misses one. A commit waits for the disk as the server says; one of what is derived does not.

    Raises:
        SettingsError: It is no URL.
        JournalError: The server cannot be used, or there are other tables than those of a journal.
        StoreMismatchError: The tables are of another version.
    """

    def __init__(self, url: str) -> None:
        address = _parsed(url)
        shown = address.render_as_string(hide_password=True)
        errors = (psycopg.Error, SQLAlchemyError)
        said = {"application_name": "stitch", **_PATIENCE, **address.query}
        said["options"] = f"{_OPTIONS} {address.query.get('options', '')}".rstrip()
        self._engine = create_engine(
            address.set(drivername="postgresql+psycopg", query=said),
            connect_args={"autocommit": True},
        )
        event.listen(self._engine, "checkout", _refuse_lost)
        _, named = self._engine.dialect.create_connect_args(self._engine.url)
        self.conninfo = make_conninfo(**{name: each for name, each in named.items() if name != "context"})
        """Leads other clients of PostgreSQL to the same schema."""
        super().__init__(shown, compiled=_COMPILED, causes=_CAUSES, errors=errors)
        self._mine = threading.local()
        self._is_open = True
        try:
            with self.errors():
                self.id = self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> str:
        """Make the tables if there are none; return the id of the journal."""
        with self._connection() as connection, connection.cursor() as cursor:
            if cursor.execute("SHOW transaction_read_only").fetchone() == ("on",):
                raise psycopg.errors.ReadOnlySqlTransaction
            if cursor.execute("SELECT current_schema()").fetchone() == (None,):
                (path,) = cursor.execute("SHOW search_path").fetchone()
                made = psycopg.sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(psycopg.sql.Identifier(path))
                with connection.transaction():  # one process at a time, or the second one fails
                    cursor.execute("SELECT pg_advisory_xact_lock(hashtext('stitch schema'))")
                    cursor.execute(made)
        with self.transaction() as db, db.connection.cursor() as cursor:
            cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
            there = {name for (name,) in cursor.fetchall()}
            if about.name not in there:
                if there:
                    raise JournalError(
                        f"journal {self.name!r} cannot be used: the schema holds {some_of(sorted(there))} of others",
                        hint="name another schema: postgresql://.../db?options=-csearch_path%3Dmemory",
                    )
                _make_tables(db, self._engine.dialect)
                there = set(metadata.tables)
            found = dict(db.rows(_ABOUT))
            version = int(found.get("version", 0))
            refuse_later(self.name, version)
            if version < VERSION:
                raise StoreMismatchError(
                    f"journal {self.name!r} is of journal version {version}, this library reads {VERSION}",
                    hint="no release made it; restore the database from its own backup",
                )
            if missing := set(metadata.tables) - there:
                raise JournalError(
                    f"journal {self.name!r} cannot be used: its tables {some_of(sorted(missing))} are not there",
                    hint="restore the database from its own backup",
                )
        return str(uuid.UUID(found.get("journal", "")))

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The connection that this thread has, or one for it."""
        with self.errors(), self._connection() as connection:
            yield Session(connection, self.compiled)

    @contextmanager
    def transaction(self, *, derived: bool = False) -> Iterator[Session]:
        """One transaction; others who write wait for its end.

        What is written goes out with the next question, or with the end: each round to the server takes longer than
        most of the work.
        """
        with self.session() as db:
            try:
                with db.connection.pipeline():
                    db.connection.execute("BEGIN")
                    db.connection.execute(_LOCK_DERIVED if derived else _LOCK)
                    if (fence := self._fence) is not None:
                        fence.check(db)
                    yield db
                    last = db.ask(LAST_CHANGE) if fence is not None else None
                    db.connection.execute("COMMIT")
                    if fence is not None and last is not None:
                        ((fence.last,),) = last()
            except BaseException:
                with suppress(psycopg.Error):  # a connection that is lost has rolled back
                    db.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def exclusive(self, tenant: str, trajectory: str, *, since: int) -> Iterator[Turn]:
        """Hold a trajectory that one process at a time can hold; it is let go of with the process."""
        key, name = "hashtextextended(current_schema() || %s, 0)", f"{tenant}\n{trajectory}"
        with self.session() as db:
            with db.connection.pipeline():
                db.connection.execute(f"SELECT pg_advisory_lock({key})", (name,))
                asked = db.ask(_CHANGED, tenant=tenant, trajectory=trajectory, after=since)
            turn = Turn(changed=bool(asked()))
            try:
                yield turn
            finally:
                with suppress(psycopg.Error):  # a connection that is lost holds nothing
                    with db.connection.pipeline():
                        asked = db.ask(LAST_CHANGE)
                        db.connection.execute(f"SELECT pg_advisory_unlock({key})", (name,))
                    ((turn.left,),) = asked()

    @contextmanager
    def fenced(self, tenant: str, trajectory: str, *, since: int) -> Iterator[Turn]:
        """Fence this thread's writes: they fail once another has changed the trajectory; nobody waits.

        Raises:
            ConflictError: Somebody has, and nothing was written since.
        """
        with self.session() as db, db.connection.pipeline():
            last = db.ask(LAST_CHANGE)  # before what is asked, so that no change comes between unseen
            asked = db.ask(_CHANGED, tenant=tenant, trajectory=trajectory, after=since)
            self._mine.fence = fence = _Fence(tenant, trajectory, last()[0][0])
            turn = Turn(changed=bool(asked()))
        try:
            yield turn
            with self.session() as db:
                fence.check(db)
            turn.left = fence.last
        finally:
            self._mine.fence = None

    @property
    def _fence(self) -> _Fence | None:
        return getattr(self._mine, "fence", None)

    def sync(self) -> None:
        """Wait for the disk: a commit that does so takes those before it along."""
        with self.transaction() as db:
            db.connection.execute("SELECT pg_current_xact_id()")

    def compact(self) -> None:
        """Write the tables anew, in which deleted rows are left; nobody else uses them meanwhile."""
        with self.session() as db:
            db.connection.execute(f"VACUUM FULL {', '.join(metadata.tables)}")

    def copy_to(self, path: Path) -> None:
        """Write all into a SQLite file, as it is at one moment."""
        from stitch.journal.sqlite_file import SqliteFile

        target = SqliteFile(path)
        try:
            with self.session() as db, target.transaction() as copy:
                db.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                try:
                    copy_rows(db, copy)
                finally:
                    db.connection.execute("ROLLBACK")
        finally:
            target.close()

    def take(self, other: Session) -> None:
        """Take in all rows of another database, where there are none yet."""
        with self.transaction() as db:
            copy_rows(other, db)
            for table in COUNTED:
                db.connection.execute(_NEXT.format(table.name))

    def agree(self, name: str, value: str, *, anew: bool) -> bool:
        """Whether all processes say the same of something; with `anew`, from now on this."""
        with self.transaction() as db:
            found = dict(db.rows(_ABOUT)).get(name)
            if found is None or anew:
                db.put(about, [{"name": name, "value": value}])
            return found in (None, value) or anew

    def close(self) -> None:
        """Let go of all connections."""
        with self.lock:
            self._is_open = False
            self._engine.dispose()

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        self.lock.check()
        if not self._is_open:
            raise JournalError(f"journal {self.name!r} cannot be used: it is closed")
        if (held := getattr(self._mine, "connection", None)) is not None:
            yield held
            return
        borrowed = self._engine.raw_connection()
        connection: Any = borrowed.driver_connection
        try:
            self._mine.connection = connection
            yield connection
        finally:
            self._mine.connection = None
            if connection.closed:
                borrowed.invalidate()  # the pool would ask it to roll back, and log that it cannot
            borrowed.close()


def _refuse_lost(connection: Any, *_: Any) -> None:
    """Have the pool replace a connection that the server closed; it is not asked, which would take a round trip."""
    try:
        connection.pgconn.consume_input()  # its last words
        connection.pgconn.consume_input()  # and its end
    except psycopg.OperationalError as error:
        raise DisconnectionError from error


def _parsed(url: str) -> URL:
    try:
        return make_url(url.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError) as error:
        raise SettingsError(
            "the URL of the journal cannot be read", hint="write postgresql://USER:PASSWORD@HOST/DATABASE"
        ) from error


def _make_tables(db: Session, dialect: Dialect) -> None:
    unfinished.dialect_options["postgresql"]["where"] = NOT_STORED
    for table in (*metadata.sorted_tables, about):
        db.connection.execute(str(CreateTable(table).compile(dialect=dialect)))
        for index in table.indexes:
            db.connection.execute(str(CreateIndex(index).compile(dialect=dialect)))
    db.write(next_seq, seq=1)
    db.write(about, name="version", value=str(VERSION))
    db.write(about, name="journal", value=str(uuid.uuid4()))


# A second wall between tenants: roles that see the rows of one tenant alone, whatever they ask

_OF_A_TENANT = ("trajectories", "changes", "records")
_OF_A_TRAJECTORY = {"steps": "trajectory", "checkpoints": "trajectory", "cuts": "trajectory", "replies": "trajectory"}
_OF_A_STEP = ("labels", "states", "history", "redactions")


def _policies() -> str:
    """Rows of tables without a tenant are seen with what they belong to, which is seen by the same rules."""
    owners = [(table, f"EXISTS (SELECT FROM trajectories WHERE number = {table}.{column})")
              for table, column in _OF_A_TRAJECTORY.items()]  # fmt: skip
    owners += [(table, f"EXISTS (SELECT FROM steps WHERE steps.seq = {table}.seq)") for table in _OF_A_STEP]
    return "\n".join(
        f"DROP POLICY IF EXISTS of_what_is_seen ON {table};"
        f" CREATE POLICY of_what_is_seen ON {table} FOR SELECT USING ({seen});"
        for table, seen in owners
    )


LET_READ = f"""
CREATE OR REPLACE FUNCTION stitch_let_read(role name, tenant text) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
    each text;
BEGIN
    {"; ".join(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY" for table in metadata.tables)};
    {_policies()}
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    FOREACH each IN ARRAY ARRAY{[*_OF_A_TENANT, *_OF_A_TRAJECTORY, *_OF_A_STEP]} LOOP
        EXECUTE format('GRANT SELECT ON %I TO %I', each, role);
    END LOOP;
    FOREACH each IN ARRAY ARRAY{list(_OF_A_TENANT)} LOOP
        EXECUTE format('DROP POLICY IF EXISTS %I ON %I', 'of ' || role, each);
        EXECUTE format(
            'CREATE POLICY %I ON %I FOR SELECT TO %I USING (tenant = %L)', 'of ' || role, each, role, tenant
        );
    END LOOP;
END $body$;
"""
"""For whoever administers the database: `SELECT stitch_let_read('ROLE', 'TENANT')` lets a role read one tenant's rows.

Whoever owns the tables, such as the processes of `stitch`, sees all rows as before.
"""

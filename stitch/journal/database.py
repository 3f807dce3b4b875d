"""A database as a journal uses it: reads, transactions, and errors in the words of this library."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from orjson import dumps
from sqlalchemy import Table, insert, text
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.engine import Dialect

from stitch.core.process import ProcessLock
from stitch.errors import InputError, JournalError
from stitch.journal.tables import metadata

PAGE = 512
"""Rows that are read at a time: an iteration holds no more, and no lock between them."""

Statement: TypeAlias = str | Table
"""SQL that both databases read, with parameters as `:name`, or a table for rows that are put into it.

`IN :names` asks for any of several values, which are one parameter however many there are.
"""

LAST_CHANGE = "SELECT coalesce(max(number), 0) FROM changes"
_ANY_OF = re.compile(r"(\S+) IN :(\w+)")


def is_postgres(location: str) -> bool:
    """Whether a journal is in PostgreSQL, by its URL."""
    return location.startswith(("postgresql://", "postgres://"))


Cause: TypeAlias = tuple[str, str, str]
"""A sign in a message, or the name of an error; why the database cannot be used then; and a hint."""


class Compiled:
    """Statements in the SQL of one dialect, compiled once in a process.

    `any_of` is how it says that `{0}` is any of the values in the parameter `{1}`.
    """

    def __init__(self, dialect: Dialect, *, any_of: str) -> None:
        self._dialect, self._any_of = dialect, any_of
        self._known: dict[tuple[Statement, tuple[str, ...]], tuple[str, Sequence[str] | None]] = {}

    def text(self, statement: Statement, names: tuple[str, ...]) -> tuple[str, Sequence[str] | None]:
        """A statement that is given values of these names, and the order of its parameters; None if it names them."""
        if (found := self._known.get((statement, names))) is None:
            if isinstance(statement, str):
                said = _ANY_OF.sub(lambda match: self._any_of.format(match[1], match[2]), statement)
                compiled = text(said).compile(dialect=self._dialect)
            else:
                compiled = insert(statement).inline().compile(dialect=self._dialect, column_keys=names)
            self._known[statement, names] = found = (str(compiled), compiled.positiontup)
        return found


SQLITE = Compiled(sqlite_dialect(), any_of="{0} IN (SELECT value FROM json_each(:{1}))")


class Session:
    """One connection for a while, inside a transaction or not.

    Statements have to be constants: each that is new is compiled, and kept.
    """

    def __init__(self, connection: Any, compiled: Compiled) -> None:
        self.connection, self._compiled = connection, compiled

    def rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.ask(statement, **values)()

    def ask(self, statement: str, **values: Any) -> Callable[[], list[tuple[Any, ...]]]:
        """A query whose rows are fetched later: inside a transaction what is asked before goes to a server at once."""
        fetched: Callable[[], list[tuple[Any, ...]]] = self._run(statement, values).fetchall
        return fetched

    def row(self, statement: str, **values: Any) -> tuple[Any, ...] | None:
        """The first row of a query."""
        return next(iter(self.rows(statement, **values)), None)

    def value(self, statement: str, **values: Any) -> Any:
        """The first value of the first row; None if there is no row."""
        return next(iter(self.row(statement, **values) or ()), None)

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query one by one, however many there are."""
        sql, _ = self._compiled.text(statement, ())
        cursor = self.connection.cursor()
        yield from getattr(cursor, "stream", cursor.execute)(sql)  # psycopg would else hold all of them

    def write(self, statement: Statement, **values: Any) -> None:
        """Change rows, or put one into a table."""
        self._run(statement, values)

    def write_many(self, statement: Statement, rows: Iterable[Mapping[str, Any]]) -> None:
        """As `write`, for each of several rows of values, which all have the same names."""
        if not (given := list(rows)):
            return
        sql, order = self._compiled.text(statement, tuple(given[0]))
        rows_given = given if order is None else [[row[name] for name in order] for row in given]
        self.connection.cursor().executemany(sql, rows_given)

    def put(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        """Put rows into a table, in place of those with the same primary keys."""
        given = list(rows)
        key = [column.name for column in table.primary_key]
        same = " AND ".join(f"{name} = :{name}" for name in key)
        self.write_many(f"DELETE FROM {table.name} WHERE {same}", [{name: row[name] for name in key} for row in given])
        self.write_many(table, given)

    def _run(self, statement: Statement, values: dict[str, Any]) -> Any:
        sql, order = self._compiled.text(statement, tuple(values))
        if order is not None:  # as SQLite takes them: several values in one parameter as JSON
            given = (values[name] for name in order)
            return self.connection.execute(
                sql, [dumps(each).decode() if type(each) is list else each for each in given]
            )
        # A cursor for each: in a transaction of PostgreSQL results come when they are asked for.
        return self.connection.execute(sql, values)


@dataclass
class Turn:
    """The time in which one process holds a trajectory."""

    changed: bool = False
    """Whether others had changed it before."""
    left: int = 0
    """The last change at its end; 0 before."""


class Database(ABC):
    """The database of a journal. Safe to use from several threads, refused in a fork.

    `errors` are those of its driver, which `causes` tell in words of this library.
    """

    id: str | None = None
    """Names the journal, if several processes share it."""

    def __init__(
        self, name: str, *, compiled: Compiled, causes: Sequence[Cause], errors: tuple[type[Exception], ...]
    ) -> None:
        self.name = name
        self.lock = ProcessLock(f"the journal {name!r}")
        self.compiled = compiled
        self._causes, self._errors = causes, errors

    @abstractmethod
    def session(self) -> AbstractContextManager[Session]:
        """A connection for reading."""

    @abstractmethod
    def transaction(self, *, derived: bool = False) -> AbstractContextManager[Session]:
        """One transaction, beside which nobody else writes: written whole or not at all.

        What is `derived` can be made again from what was written before, and need not have reached the disk.
        """

    def exclusive(self, tenant: str, trajectory: str, *, since: int) -> AbstractContextManager[Turn]:
        """Hold a trajectory that one process at a time can hold, where several use the database; see `Journal`."""
        return nullcontext(Turn())

    def damage(self) -> list[str]:
        """Damage that the database finds in itself, if it does not look for it whenever it reads."""
        return []

    def purge_log(self) -> None:
        """Remove from its log, as far as that is in reach, what was overwritten or deleted, or where that is left."""
        self.compact()

    @abstractmethod
    def sync(self) -> None:
        """Make everything written survive a loss of power."""

    @abstractmethod
    def compact(self) -> None:
        """Write the whole anew, so that no byte of what was deleted is left in it."""

    @abstractmethod
    def copy_to(self, path: Path) -> None:
        """Write all into a SQLite file, as it is now."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it; closing twice is harmless."""

    def rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """All rows of one query."""
        with self.session() as db:
            return db.rows(statement, **values)

    def value(self, statement: str, **values: Any) -> Any:
        """The first value of one query."""
        with self.session() as db:
            return db.value(statement, **values)

    def pages(
        self, statement: str, values: Mapping[str, Any], *, after: int = 0, size: int = PAGE, by: int = 0
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Pages of a query with the parameters `after` and `size`, in the order of its column number `by`."""
        while rows := self.rows(statement, after=after, size=size, **values):
            yield rows
            if len(rows) < size:
                return
            after = rows[-1][by]

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say in words of the library what the database says."""
        try:
            yield
        except self._errors as error:
            cause_of = getattr(error, "orig", None) or error
            said = str(cause_of) or type(cause_of).__name__
            for sign, cause, hint in self._causes:
                if sign in said or sign == type(cause_of).__name__:
                    raise JournalError(f"journal {self.name!r} cannot be used: {cause}", hint=hint) from error
            raise JournalError(f"journal {self.name!r} cannot be used: {said.splitlines()[0]}") from error
        except UnicodeEncodeError as error:  # a name that somebody asks for
            raise InputError(f"{error.object[:60]!r} is no text") from None
        except OverflowError:
            raise InputError("a number is larger than any that a journal holds") from None


def copy_rows(source: Session, target: Session) -> None:
    """Write all rows of one database into another one that has none."""
    for table in metadata.sorted_tables:
        target.write(f"DELETE FROM {table.name}")
        names = [column.name for column in table.columns]
        rows = source.stream(f"SELECT {', '.join(names)} FROM {table.name}")
        while page := [dict(zip(names, row, strict=True)) for row in islice(rows, PAGE)]:
            target.write_many(table, page)

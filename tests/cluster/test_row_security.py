"""Row level security: a role of one tenant that tries everything sees and changes nothing of another."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from stitch import Memory
from stitch.journal.tables import metadata

ANN, BOB = "ann is going to Kyoto", "bob is going to Lisbon"


@pytest.fixture
def role(postgres: str, journal_url: str) -> Iterator[str]:
    name = f"reader_{abs(hash(journal_url)) % 10**8}"
    with psycopg.connect(journal_url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {name} NOLOGIN")
        yield name
        owner.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def seen(connection: Any, table: str) -> str:
    return " ".join(map(str, connection.execute(f"SELECT * FROM {table}").fetchall()))


def test_a_role_of_one_tenant_reads_its_rows_and_no_others_whatever_it_tries(
    open_shared: Callable[..., Memory], journal_url: str, role: str, worker: None
) -> None:
    for tenant, text in (("ann", ANN), ("bob", BOB)):
        with open_shared(tenant=tenant) as memory:
            memory.add({"id": "1", "role": "user", "content": text}, trajectory=f"of-{tenant}")
            memory.flush()
            memory.lifecycle.correct("1", trajectory=f"of-{tenant}", text=f"{text} in May")
    with psycopg.connect(journal_url, autocommit=True) as connection:
        connection.execute("SELECT stitch_let_read(%s, 'ann')", (role,))
        connection.execute("SELECT stitch_let_read(%s, 'ann')", (role,))  # twice is as once
        before = seen(connection, "steps")
        connection.execute(f"SET ROLE {role}")
        assert ("Kyoto" in seen(connection, "steps"), "Kyoto" in seen(connection, "history")) == (True, True)
        assert "ann" in seen(connection, "trajectories")
        for table in metadata.tables:
            try:
                found = seen(connection, table)
            except psycopg.errors.InsufficientPrivilege:
                continue
            assert "bob" not in found.lower(), table
            assert "Lisbon" not in found, table
        for attempt in (
            "SELECT convert_from(payload, 'UTF8') FROM steps WHERE seq = 2 OR true",
            "SELECT convert_from(steps.payload, 'UTF8') FROM history FULL JOIN steps USING (seq)",
        ):
            assert "Lisbon" not in str(connection.execute(attempt).fetchall())
        for attempt in (
            "UPDATE steps SET payload = ''",
            "DELETE FROM steps",
            "INSERT INTO trajectories (number, tenant, name) VALUES (99, 'bob', 'x')",
            "ALTER TABLE steps DISABLE ROW LEVEL SECURITY",
            "SELECT * FROM procrastinate_jobs",
            "SELECT stitch_let_read(current_user, 'bob')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(attempt)
        connection.execute("RESET ROLE")
        assert seen(connection, "steps") == before

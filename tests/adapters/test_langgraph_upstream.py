"""LangGraph's own tests of its stores, run on a memory from their source.

STITCH_TEST_LANGGRAPH is where that is: a checkout of LangGraph, or the source package of `langgraph-checkpoint-sqlite`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langgraph.store.base")

CHECKOUT = os.environ.get("STITCH_TEST_LANGGRAPH", "")
SOURCES = ("tests/test_store.py", "libs/checkpoint-sqlite/tests/test_store.py")
OF_SQL = {
    "test_vector_store_initialization": "asks for the embedder of the store",
    "test_nonnull_migrations": "tables of SQL",
    "test_escape_glob_literal": "patterns of SQL",
    "test_namespace_match_pattern": "patterns of SQL",
    "test_list_namespaces_prefix_uses_indexable_condition": "queries of SQL",
    "test_filter_keys_with_hyphens_and_digits": "its filters are paths of SQL",
    "test_sql_injection_vulnerability": "keys of filters are texts of SQL",
    "test_scores": "scores of the embedder of letters that it gives",
    "test_vector_search_with_filters": "likeness by letters: `bbbbluuu` finds blue",
    "test_embed_with_path": "likeness by letters: `uuu`",
}
"""What is about SQL, or about an embedder that the store is given."""

STUB = """
import sys, types
from langgraph.store.base import BaseStore
made, base = types.ModuleType("langgraph.store.sqlite"), types.ModuleType("langgraph.store.sqlite.base")
made.SqliteStore = base.BaseSqliteStore = BaseStore
base.NS_MATCH_FUNCTION, base.SqliteIndexConfig = "", dict
base._escape_glob_literal = base._namespace_match_pattern = None
sys.modules["langgraph.store.sqlite"], sys.modules["langgraph.store.sqlite.base"] = made, base
"""
SWAP = """

from stitch import open_memory as _open_memory
from stitch.adapters.langgraph import MemoryStore as _MemoryStore


@contextmanager
def _made(**options):
    with tempfile.TemporaryDirectory() as folder, _open_memory(folder, redact_secrets=False) as memory:
        yield _MemoryStore(memory, **options)


class SqliteStore:
    @staticmethod
    @contextmanager
    def from_conn_string(place, **options):
        with _made() as made:
            made.setup = lambda: None
            yield made


@pytest.fixture(params=["memory"])
def store(request):
    with _made() as made:
        yield made


@contextmanager
def create_vector_store(fake_embeddings, text_fields=None, distance_type="cosine", conn_type="memory", **others):
    with _made(fields=text_fields or ["$"]) as made:
        yield made
"""


@pytest.mark.slow
@pytest.mark.skipif(not CHECKOUT, reason="STITCH_TEST_LANGGRAPH names no source of langgraph")
def test_the_tests_of_langgraphs_own_stores_pass_where_they_are_not_about_sql(tmp_path: Path) -> None:
    source = next(place for name in SOURCES if (place := Path(CHECKOUT) / name).is_file())
    text = source.read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(STUB)
    (tmp_path / "test_store.py").write_text(text + SWAP)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    left_out = [part for name in OF_SQL for part in ("--deselect", f"test_store.py::{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *left_out, "test_store.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 25

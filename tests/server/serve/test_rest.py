"""What can be done with a memory over HTTP, as its description says it, and by many at once."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from doubles.golden import compare
from stitch.server.api.operations import OPERATIONS
from stitch.server.serve.keys import ACTIONS
from stitch.server.serve.openapi import describe


def test_an_answer_that_is_long_comes_in_pieces(serving):
    client = serving()
    client.lines([{"role": "user", "content": f"step {number}"} for number in range(700)])
    exported = client.get("/v1/export")
    assert exported.headers["Content-Type"] == "application/x-ndjson"
    assert len(exported.lines) >= 700
    assert client.get("/v1/export?trajectory=none").status == 422


def test_who_has_a_key_writes_no_folder_of_the_server(keyed, tmp_path):
    [ann] = keyed(ann=ACTIONS)
    ann.add("hello")
    answer = ann.post("/v1/backup", {"to": str(tmp_path / "backup")})
    assert (answer.status, answer.json["error"]) == (403, "ScopeError")
    assert not (tmp_path / "backup").exists()


def test_erasing_beside_searches_loses_nothing_and_shows_nothing_of_what_is_gone(serving):
    client = serving()
    client.add(*[f"The Maple Inn number {n} costs {n} dollars." for n in range(20)], trajectory="stays")
    ending = threading.Event()

    def ask() -> set[int]:
        found = set()
        while not ending.is_set():
            found.add(client.post("/v1/search", {"query": "What does the Maple Inn cost?"}).status)
        return found

    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        try:
            for n in range(4):
                name = f"gone-{n}"
                client.add(f"The Maple Inn has a quokka in room {n}.", trajectory=name)
                erased = client.post("/v1/forget", {"trajectory": name})
                assert (erased.status, erased.json["steps"], erased.json["proof"]["found"]) == (200, 1, [])
                assert "quokka" not in client.post("/v1/search", {"query": "quokka"}).json["context"]
        finally:
            ending.set()
        assert set().union(*(each.result() for each in asking)) == {200}
    assert client.get("/v1/status").json["stored"] == 20


@pytest.fixture(scope="module")
def described():
    return describe(OPERATIONS.values(), keyed=True)


def test_the_description_reads_as_its_golden_file(described):
    compare(Path(__file__).parent / "openapi.json", json.dumps(described, indent=1, ensure_ascii=False) + "\n")


def test_what_is_served_is_what_is_described(serving, described):
    served = serving().get("/openapi.json").json
    assert "security" not in served  # it asks for no key
    assert {**served, "security": described["security"]} == described

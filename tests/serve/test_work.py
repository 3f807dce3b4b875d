"""Many at once: questions beyond their number, clients that leave, erasures beside searches, requests sent twice."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor


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

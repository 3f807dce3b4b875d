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


def test_a_request_that_comes_twice_does_nothing_twice(serving):
    client = serving()
    steps = {"trajectory": "t", "steps": [{"id": "a", "role": "user", "content": "A hotel."}]}
    messages = {"trajectory": "m", "messages": [{"role": "user", "content": "A train."}]}
    for path, body in (("/v1/steps", steps), ("/v1/messages", messages)):
        first, second = (client.post(path, body).json["receipts"] for _ in range(2))
        assert [each["repeated"] for each in first + second] == [False, True]
    correct = {"step": "a", "trajectory": "t", "text": "An inn."}
    for revisions in (1, 1):
        assert client.post("/v1/correct", correct).status == 200
        assert len(client.get("/v1/history?step=a&trajectory=t").json["revisions"]) >= revisions
    assert client.get("/v1/status").json["accepted"] == 2
    assert client.post("/v1/forget", {"trajectory": "t"}).json["steps"] == 1
    again = client.post("/v1/forget", {"trajectory": "t"})
    assert (again.status, again.json["error"]) == (422, "InputError")
    assert client.post("/v1/steps", steps).json["receipts"][0]["state"] == "erased"

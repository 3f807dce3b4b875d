"""Server-sent events: what happens, each tenant's own, so that a reader who was away goes on."""

import asyncio
import json

from stitch.core import StepsAccepted
from stitch.serve import events
from stitch.serve.events import EventFeed
from stitch.serve.keys import ACTIONS


def take(stream, count):
    return [next(stream) for _ in range(count)]


def test_what_happens_is_told_as_it_happens(serving):
    client = serving()
    with client.events() as stream:
        assert next(stream)[1] == "ready"
        client.add("Book the Harbor Inn for day 1, please.")
        client.post("/v1/search", {"query": "the hotel"})
        client.post("/v1/forget", {"trajectory": "t", "action": "retire"})
        told = take(stream, 4)  # before the erasure, which takes away what a reader has not read yet
        client.post("/v1/forget", {"trajectory": "t"})
        told += take(stream, 1)
    assert [name for _, name, _ in told] == ["accepted", "stored", "searched", "retired", "erased"]
    assert told[0][2]["trajectory"] == "t"
    assert told[2][2]["query"] == "the hotel"
    assert told[4][2] == {"steps": 1, "trajectories": 1}
    assert all("tenant" not in data for _, _, data in told)


def test_nothing_of_another_tenant_is_told(keyed):
    ann, bea = keyed(ann=ACTIONS, bea=ACTIONS)
    with ann.events() as of_ann, bea.events() as of_bea:
        assert next(of_ann)[1] == next(of_bea)[1] == "ready"
        bea.add("swordfish", trajectory="b")
        ann.add("hello", trajectory="a")
        assert [data["trajectory"] for _, _, data in take(of_ann, 2)] == ["a", "a"]
        assert [data["trajectory"] for _, _, data in take(of_bea, 2)] == ["b", "b"]


def test_a_reader_who_was_away_goes_on_where_it_was(serving):
    client = serving()
    with client.events() as stream:
        next(stream)
        client.add("one")
        last = take(stream, 2)[-1][0]
    client.add("two")
    with client.events(Last_Event_ID=last) as stream:
        assert next(stream)[0:2] == (last, "ready")
        told = take(stream, 2)
    epoch, number = last.split("-")
    assert [(place, name) for place, name, _ in told] == [
        (f"{epoch}-{int(number) + 1}", "accepted"),
        (f"{epoch}-{int(number) + 2}", "stored"),
    ]


def test_what_was_told_of_erased_steps_is_told_to_nobody_who_comes_later(serving):
    client = serving()
    with client.events() as stream:
        begin = next(stream)[0]
        client.add("swordfish")
        client.post("/v1/search", {"query": "swordfish"})
        take(stream, 3)  # before it is erased: who is behind then is cut off
        client.post("/v1/forget", {"trajectory": "t"})
        assert next(stream)[1] == "erased"
    with client.events(Last_Event_ID=begin) as stream:
        assert next(stream)[1] == "missed"


def wire(pieces):
    """Events of what goes over the wire."""
    found = []
    for text in b"".join(pieces).decode().split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in text.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found


def accepted(number, tenant="a"):
    return StepsAccepted(tenant=tenant, trajectory="t", steps=(str(number),))


def read(scenario):
    """Run a scenario with a feed in a loop of its own."""

    async def run():
        feed = EventFeed()
        return await asyncio.wait_for(scenario(feed), 20)

    return asyncio.run(run())


def test_a_reader_that_is_too_slow_is_cut_off_and_told_where_to_go_on(monkeypatch):
    monkeypatch.setattr(events, "MOST_EVENTS", 3)

    async def scenario(feed):
        stream = feed.read("a", after=None)
        pieces = [await anext(stream)]
        for number in range(4):
            feed.notice(accepted(number))
        pieces += [piece async for piece in stream]
        assert feed.readers == 0
        feed.notice(accepted(9))
        again = feed.read("a", after=wire(pieces)[-1][0])
        return wire(pieces), wire([await anext(again), await anext(again)])

    cut, again = read(scenario)
    assert [name for _, name, _ in cut] == ["ready", "missed"]
    assert [(name, data.get("steps")) for _, name, data in again] == [("ready", None), ("accepted", ["9"])]

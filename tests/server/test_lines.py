"""Steps that come as lines, and events that are sent for as long as somebody reads."""

import asyncio
import json
import socket

import pytest

from stitch.core import StepsAccepted
from stitch.server import events
from stitch.server.app_state import Limits
from stitch.server.events import EventFeed
from stitch.server.keys import ACTIONS


def step(text, **more):
    return {"role": "user", "content": text, **more}


def test_a_line_that_cannot_be_used_is_named_and_all_others_are_stored(serving):
    client = serving()
    lines = [step("one", id="1"), b"{\n", b"\n", step(""), step("other", id="1"), b"[]\n", step("two")]
    *results, end = client.lines(lines).lines
    assert [line.get("error", "") for line in results] == [
        "", "InputError", "InputError", "StepConflictError", "InputError", "",
    ]  # fmt: skip
    assert all(line["message"] for line in results if "error" in line)
    assert (end["lines"], end["rejected"]) == (6, 4)
    assert client.get("/v1/status").json["accepted"] == 2


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.fixture
def streaming(serving):
    opened = []

    def call(**options):
        client = serving(**options)
        raw = socket.create_connection((client.host, client.port), timeout=120)
        opened.append(raw)
        raw.sendall(
            b"POST /v1/stream?trajectory=t HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        answer = raw.makefile("rb")

        def read():
            """The next line of JSON."""
            while not (line := answer.readline()).startswith(b"{"):
                assert line, "the answer has ended"
            return json.loads(line)

        return client, raw, read

    yield call
    for raw in opened:
        raw.close()


def test_what_a_client_sent_before_it_left_stays(streaming):
    client, raw, read = streaming()
    raw.sendall(chunk(json.dumps(step("whole")).encode() + b"\n") + chunk(b'{"role": "user", "cont'))
    assert read()["receipt"]["state"] == "stored"
    raw.close()
    assert client.get("/v1/status").json["accepted"] == 1


def test_a_line_that_is_too_long_ends_the_stream_after_all_before_it(streaming):
    _, raw, read = streaming(limits=Limits(line_bytes=100))
    raw.sendall(chunk(json.dumps(step("short")).encode() + b"\n"))
    assert read()["receipt"]["state"] == "stored"
    raw.sendall(chunk(b"x" * 200))
    end = read()
    assert (end["done"], end["error"], end["lines"]) == (False, "TooLarge", 1)


def test_a_server_that_ends_says_what_was_read(streaming):
    client, raw, read = streaming()
    raw.sendall(chunk(json.dumps(step("one")).encode() + b"\n"))
    assert read()["receipt"]["state"] == "stored"
    client.end()
    end = read()
    assert (end["done"], end["error"], end["lines"]) == (False, "Closing", 1)


def take(stream, count):
    return [next(stream) for _ in range(count)]


def test_what_happens_is_told_as_it_happens(serving):
    client = serving()
    with client.events() as stream:
        assert next(stream)[1] == "ready"
        client.add("Book the Harbor Inn for day 1, please.")
        client.post("/v1/search", {"query": "the hotel"})
        client.post("/v1/forget", {"trajectory": "t", "action": "retire"})
        client.post("/v1/forget", {"trajectory": "t", "action": "unretire"})
        told = take(stream, 6)  # before the erasure, which takes away what a reader has not read yet
        client.post("/v1/forget", {"trajectory": "t"})
        told += take(stream, 1)
    put_back = ["stored", "restored"]
    assert [name for _, name, _ in told] == ["accepted", "stored", "searched", "retired", *put_back, "erased"]
    assert told[0][2]["trajectory"] == "t"
    assert told[2][2]["query"] == "the hotel"
    assert told[6][2] == {"steps": 1, "trajectories": 1}
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
        return await asyncio.wait_for(scenario(feed), 120)

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

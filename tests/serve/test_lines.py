"""Steps that come as lines of JSON, for as long as they come."""

import asyncio
import json
import socket
import threading
from typing import Any, cast

import pytest

from stitch import Memory, open_memory
from stitch.serve import streaming as streaming_module
from stitch.serve.bodies import Limits, read_lines
from stitch.serve.refusals import RefusalError


def step(text, **more):
    return {"role": "user", "content": text, **more}


def test_each_line_gets_its_receipt_and_the_last_says_what_it_came_to(serving):
    client = serving()
    answer = client.lines([step("one"), step("two", trajectory="other"), step("three")])
    *receipts, end = answer.lines
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert [(line["line"], line["receipt"]["trajectory"], line["receipt"]["state"]) for line in receipts] == [
        (1, "t", "stored"),
        (2, "other", "stored"),
        (3, "t", "stored"),
    ]
    assert end == {"done": True, "lines": 3, "rejected": 0}


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


def test_a_line_without_a_trajectory_is_refused(serving):
    [line, _] = serving().lines([step("one")], query="").lines
    assert "no trajectory" in line["message"]


def test_the_same_lines_again_store_nothing_twice(serving):
    client = serving()
    lines = [step(f"step {number}", id=str(number)) for number in range(20)]
    client.lines(lines)
    again = client.lines(lines).lines
    assert all(line["receipt"]["repeated"] for line in again[:-1])
    assert client.get("/v1/status").json["accepted"] == 20


def test_the_path_of_steps_takes_lines_too(serving):
    client = serving()
    answer = client.ask("POST", "/v1/steps?trajectory=t", json.dumps(step("one")), Content_Type="application/x-ndjson")
    assert answer.lines[-1] == {"done": True, "lines": 1, "rejected": 0}


def test_a_wrong_query_or_content_type_is_refused_before_a_line_is_read(serving):
    client = serving()
    assert client.lines([step("one")], query="?none=1").status == 422
    assert client.ask("POST", "/v1/stream", b"{}", Content_Type="application/json").status == 415
    assert client.get("/v1/status").json["accepted"] == 0


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.fixture
def streaming(serving):
    """A request on its way whose body has no end yet, and a reader of what is answered."""
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


def test_receipts_come_while_lines_are_still_sent(streaming):
    client, raw, read = streaming()
    for number in (1, 2):
        raw.sendall(chunk(json.dumps(step(f"step {number}")).encode() + b"\n"))
        assert read()["line"] == number
    assert client.get("/v1/status").json["accepted"] == 2
    raw.sendall(chunk(b""))
    assert read()["done"] is True


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


def test_nothing_for_too_long_ends_the_stream(streaming):
    _, _, read = streaming(limits=Limits(line_s=0.05))
    end = read()
    assert (end["done"], end["error"]) == (False, "TooSlow")


def test_a_server_that_ends_says_what_was_read(streaming):
    client, raw, read = streaming()
    raw.sendall(chunk(json.dumps(step("one")).encode() + b"\n"))
    assert read()["receipt"]["state"] == "stored"
    client.end()
    end = read()
    assert (end["done"], end["error"], end["lines"]) == (False, "Closing", 1)


def test_what_has_come_and_is_not_begun_when_a_server_ends_is_left_to_be_sent_again(streaming, monkeypatch, tmp_path):
    monkeypatch.setattr(streaming_module, "BATCH_STEPS", 1)
    client, raw, read = streaming()
    add_each, ending = Memory.add_each, threading.Thread(target=client.end)

    def adding(self, *arguments, **options):
        if ending.ident is None:
            ending.start()
            while not client.served.answering.closing.is_set():
                threading.Event().wait(0.01)
        return add_each(self, *arguments, **options)

    monkeypatch.setattr(Memory, "add_each", adding)
    raw.sendall(chunk(b"".join(json.dumps(step(text)).encode() + b"\n" for text in ("one", "two", "three"))))
    assert read()["receipt"]["state"] == "stored"
    end = read()
    assert (end["done"], end["error"], end["lines"]) == (False, "Closing", 1)
    ending.join()
    with open_memory(tmp_path / "m") as memory:
        assert memory.status().stored == 1


class Endless:
    """A request whose body has no end and no pause."""

    async def receive(self):
        return {"type": "http.request", "body": b"{}\n", "more_body": True}


def test_who_sends_without_a_pause_hears_of_the_end_too():
    async def scenario():
        closing = asyncio.Event()
        lines = read_lines(cast(Any, Endless()), Limits(), closing=closing)
        assert await anext(lines) == [b"{}"]
        closing.set()
        with pytest.raises(RefusalError) as refused:
            await anext(lines)
        return refused.value.failure.error

    assert asyncio.run(scenario()) == "Closing"


def test_a_client_that_reads_nothing_while_it_sends_is_read_on(serving):
    client = serving()
    refused = [b'{"role": "user", "content": %d}\n' % number for number in range(4_000)]  # which is quick
    answer = client.lines([*refused, step("the last one")])
    assert answer.lines[-1] == {"done": True, "lines": 4_001, "rejected": 4_000}
    assert len(answer.body) > 300_000

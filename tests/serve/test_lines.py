"""Steps that come as lines of JSON, for as long as they come."""

import json
import socket

import pytest

from stitch.serve.bodies import Limits


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

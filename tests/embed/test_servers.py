"""The loopback server."""

import http.client
import json
import socket
import struct
import threading
import time

import pytest

from stitch.testing.servers import LoopbackServer, Reply, Silence


@pytest.fixture
def ask():
    """Sends requests to a server and returns status and body; closes all connections at the end."""
    opened = []

    def send(server, path="/", body=None, method="POST"):
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
        opened.append(connection)
        connection.request(method, path, body=json.dumps(body) if body is not None else None)
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    yield send
    for connection in opened:
        connection.close()


def test_it_answers_on_this_machine_only_and_remembers_what_was_asked(ask):
    with LoopbackServer(lambda request: Reply({"twice": 2 * request.body["n"]})) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert json.loads(ask(server, "/double", {"n": 4})[2]) == {"twice": 8}
        [request] = server.requests
    assert (request.path, request.body) == ("/double", {"n": 4})
    assert "host" in request.headers


def test_a_question_without_a_body_is_answered_too(ask):
    with LoopbackServer(lambda request: Reply({"body": request.body})) as server:
        assert json.loads(ask(server, method="GET")[2]) == {"body": None}


def test_status_headers_and_bytes_are_sent_as_given(ask):
    with LoopbackServer(lambda _: Reply(b"<p>", status=418, headers={"content-type": "text/html"})) as server:
        status, headers, body = ask(server)
    assert (status, headers["content-type"], body) == (418, "text/html", b"<p>")


def test_a_cut_reply_announces_more_than_it_sends(ask):
    with LoopbackServer(lambda _: Reply({"long": "text"}, cut=3)) as server, pytest.raises(http.client.IncompleteRead):
        ask(server)


def test_a_silent_server_lets_go_when_it_stops(ask):
    failures = []

    def wait(server):
        try:
            ask(server)
        except (http.client.HTTPException, OSError) as error:
            failures.append(error)

    asked = threading.Event()

    def answer(_):
        asked.set()
        return Silence()

    with LoopbackServer(answer) as server:
        client = threading.Thread(target=wait, args=(server,))
        client.start()
        assert asked.wait(60)
        assert failures == []
    client.join(60)
    assert len(failures) == 1


def finish_requests(before):
    """Wait for the threads that answer, of which others than these have begun."""
    for thread in set(threading.enumerate()) - before:
        if "process_request_thread" in thread.name:
            thread.join(timeout=60)


def test_a_client_that_hangs_up_is_no_error_of_the_server(capsys):
    gone, before = threading.Event(), set(threading.enumerate())

    def answer(_):
        assert gone.wait(60)
        return Reply(b"x" * 8_000_000)

    with LoopbackServer(answer) as server:
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as client:
            client.sendall(b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not a farewell
            while not server.requests:
                time.sleep(0.001)
        gone.set()
        finish_requests(before)
    assert capsys.readouterr() == ("", "")


def test_an_error_in_the_answer_is_reported(ask, capsys):
    before = set(threading.enumerate())

    def answer(_):
        raise LookupError("there is no answer")

    with LoopbackServer(answer) as server, pytest.raises(http.client.RemoteDisconnected):
        ask(server)
    finish_requests(before)
    assert "LookupError: there is no answer" in capsys.readouterr().err

"""Whatever comes in, the answer has one shape and a status that is documented, and nothing is lost."""

import json
import socket
from pathlib import Path

import pytest

from doubles.golden import compare_phrases
from stitch.server import gate
from stitch.server.app_state import Limits
from stitch.server.errors import DOCUMENTED, refusal

SMALL = Limits(body_bytes=2_000, line_bytes=500)


def check_shape(answer):
    assert answer.headers["Content-Type"] == "application/json"
    assert set(answer.json) == {"error", "message", "hint"}
    assert answer.status in DOCUMENTED


def test_a_wrong_body_is_422_and_the_message_names_what_is_wrong(refusing):
    def said(path, body):
        answer = refusing.ask(
            "POST", path, body if isinstance(body, bytes) else body.encode(), Content_Type="application/json"
        )
        check_shape(answer)
        assert answer.status == 422
        message = answer.json["message"].replace(f"{Path.cwd()}/", "")
        return "the body is no JSON" if "no JSON: " in message else message  # and why, in the words of the parser

    compare_phrases(Path(__file__).with_name("refused.txt"), said)
    assert {said("/v1/search", body) for body in (b"\xff\xfe", b"[" * 5_000)} == {"the body is no JSON"}


def test_what_stands_behind_the_path_of_a_post_is_refused_and_nothing_is_done(serving):
    client = serving()
    client.add("hello")
    answer = client.post("/v1/forget?dry_run=true", {"everything": True})
    check_shape(answer)
    assert (answer.status, answer.json["message"].split(":")[0]) == (422, "dry_run")
    assert client.get("/v1/status").json["accepted"] == 1
    assert client.get("/v1/events?since=now").status == 422


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None, "x"])
def test_another_content_type_is_415(refusing, kind):
    headers = {} if kind is None else {"Content_Type": kind}
    answer = refusing.ask("POST", "/v1/search", json.dumps({"query": "x"}), **headers)
    check_shape(answer)
    assert answer.status == 415


@pytest.mark.parametrize("name", ["Authorization", "Origin", "Content-Type"])
def test_a_header_that_is_believed_may_come_once(refusing, name):
    with socket.create_connection((refusing.host, refusing.port), timeout=120) as raw:
        twice = f"{name}: x\r\n{name}: y\r\n"
        raw.sendall(f"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n{twice}Connection: close\r\n\r\n".encode())
        head, _, body = raw.makefile("rb").read().partition(b"\r\n\r\n")
    assert b" 400 " in head
    assert "twice" in json.loads(body)["message"]


def test_a_body_that_is_too_long_is_413_before_it_is_read(serving, monkeypatch):
    monkeypatch.setattr(gate, "_PASSED_OVER_S", 0.1)  # nobody sends what is left of it
    client = serving(limits=SMALL)
    connection = client.connect()
    connection.putrequest("POST", "/v1/steps")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    response = connection.getresponse()
    assert (response.status, json.loads(response.read())["error"]) == (413, "TooLarge")
    connection.close()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[", "*", "127.0.0.1:99999", "ann@127.0.0.1",
        "127.0.0.1/x",
    ],
)  # fmt: skip
def test_without_keys_a_foreign_host_is_421(refusing, host):
    answer = refusing.get("/v1/status", Host=host)
    check_shape(answer)
    assert answer.status == 421


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example", "null", "https://localhost.evil.example", "", "http://[", "ftp://localhost",
        "http://evil.example@localhost",
    ],
)  # fmt: skip
def test_a_page_of_another_origin_is_403(refusing, origin):
    answer = refusing.get("/v1/status", Origin=origin)
    check_shape(answer)
    assert answer.status == 403
    assert refusing.get("/v1/status", Origin=refusing.url).status == 200


def test_what_nobody_expected_is_500_and_says_nothing_of_it(caplog):
    answer = refusal(RuntimeError("the password is swordfish"))
    assert answer.status_code == 500
    assert b"swordfish" not in answer.body
    assert "swordfish" in caplog.text

"""Keys: kept as digests, heeded at once, and the only thing that says whose memory is meant."""

import json
import os
import stat
import sys

import pytest

from stitch.errors import SettingsError
from stitch.server.access import Access, is_loopback
from stitch.server.keys import ACTIONS, KeyFile, make_key

NOW = 1_000.0


@pytest.fixture
def file(tmp_path):
    return KeyFile(tmp_path / "keys.json", clock=lambda: NOW)


def add(file, tenant="ann", actions=("read",), **more):
    made = make_key(tenant, actions=actions, now=NOW, **more)
    file.add(made.key)
    return made


def test_a_key_is_found_by_the_whole_of_it_and_stands_in_no_file(file):
    made = add(file, note="the report")
    assert file.find(made.text) == made.key
    for other in ("", made.key.id, made.text[:-1], made.text + "x", make_key("ann", actions=["read"], now=NOW).text):
        assert file.find(other) is None
    assert made.text not in file.path.read_text()
    assert made.text.split("_", 2)[2] not in file.path.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no such modes")
def test_the_file_is_the_users_alone_and_one_that_others_can_write_is_refused(file):
    add(file)
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600
    file.path.chmod(0o620)
    with pytest.raises(SettingsError, match="others can write it"):
        file.read()


def test_what_changes_in_the_file_is_heeded_at_once(file):
    first = add(file)
    assert file.find(first.text) == first.key
    second = add(file, "bea")
    assert file.find(second.text) == second.key
    assert file.revoke(first.key.id) == first.key
    assert file.find(first.text) is None
    assert file.find(second.text) == second.key
    file.path.write_text("{")
    assert file.find(second.text) is None
    file.path.unlink()
    assert file.find(second.text) is None


def test_without_any_key_no_server_begins(file):
    with pytest.raises(SettingsError, match="no keys") as error:
        Access(file, tenant="ann", host="0.0.0.0")
    assert "stitch keys add" in error.value.hint


def test_without_keys_only_the_machine_itself_is_served():
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org", ""):
        with pytest.raises(SettingsError, match="without keys") as error:
            Access(None, tenant="default", host=host)
        assert "stitch keys add" in error.value.hint
    assert [is_loopback(host) for host in ("localhost", "127.1.2.3", "::1")] == [True, True, True]


# Over HTTP.


@pytest.mark.parametrize(
    "sent", [None, "", "Basic abc", "Bearer", "Bearer nonsense", "Bearer stitch_00000000_" + "x" * 43]
)
def test_without_a_key_that_opens_something_all_is_401(keyed, sent):
    [ann] = keyed(ann=ACTIONS)
    ann.key = None
    headers = {} if sent is None else {"Authorization": sent}
    for method, path in (("GET", "/v1/status"), ("POST", "/v1/steps"), ("GET", "/v1/events"), ("GET", "/v1/none")):
        answer = ann.ask(method, path, **headers)
        assert (path, answer.status, set(answer.json)) == (path, 401, {"error", "message", "hint"})
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert ann.get("/healthz").status == 200
    assert "/v1/" not in ann.get("/").body.decode()  # it asks for the key itself


@pytest.mark.parametrize(
    ("allowed", "call"),
    [
        ("read", ("POST", "/v1/search", {"query": "x"})),
        ("write", ("POST", "/v1/steps", {"trajectory": "t", "steps": [{"role": "user", "content": "x"}]})),
        ("forget", ("POST", "/v1/forget", {"everything": True})),
        ("admin", ("GET", "/metrics", None)),
    ],
)
def test_a_key_allows_what_it_names_and_nothing_else(keyed, allowed, call):
    one, others = keyed(ann=[allowed], bea=[action for action in ACTIONS if action != allowed])
    method, path, body = call
    asked = [json.dumps(body)] if body is not None else []
    assert one.ask(method, path, *asked, Content_Type="application/json").status == 200
    refused = others.ask(method, path, *asked, Content_Type="application/json")
    assert (refused.status, refused.json["error"]) == (403, "ScopeError")
    assert allowed in refused.json["message"]


def test_a_tenant_comes_from_the_key_and_from_nothing_else(keyed):
    ann, bea = keyed(ann=ACTIONS, bea=ACTIONS)
    ann.add("the password of the safe is swordfish", trajectory="secret plan")
    bea.add("hello")
    answers = [
        bea.post("/v1/search", {"query": "password of the safe"}),
        bea.post("/v1/search", {"query": "password", "trajectory": "secret plan"}),
        bea.post("/v1/search", {"query": "password", "tenant": "ann"}),
        bea.get("/v1/status?tenant=ann"),
        bea.get("/v1/status", X_Tenant="ann", Tenant="ann"),
        bea.get("/v1/trajectories"),
        bea.get("/v1/timeline?trajectory=secret%20plan"),
        bea.get("/v1/labels"),
        bea.post("/v1/forget", {"trajectory": "secret plan"}),
        bea.post("/v1/forget", {"everything": True, "dry_run": True}),
    ]
    for answer in answers:
        assert b"swordfish" not in answer.body
    assert [row["trajectory"] for row in answers[5].json["trajectories"]] == ["t"]
    assert answers[4].json["accepted"] == 1
    assert answers[9].json["steps"] == 1
    assert ann.get("/v1/status").json["accepted"] == 1


# The command.


def test_the_command_makes_lists_and_revokes_keys(stitch, file):
    status, out, err = stitch(
        "keys", "add", "--keys", "keys.json", "--tenant", "ann", "--expires", "90d", "--note", "a\nb"
    )
    text = out.strip()
    assert (status, "only time" in err) == (0, True)
    found = file.find(text)
    assert found is not None
    assert found.actions == ("read", "write")
    _, out, _ = stitch("keys", "list", "--keys", "keys.json")
    assert text not in out
    assert "ann  read write  until 2" in out
    assert out.rstrip().endswith("a b")
    [row] = json.loads(stitch("keys", "list", "--keys", "keys.json", "--json")[1])["keys"]
    assert (row["tenant"], row["expired"], "sha256" in row) == ("ann", False, False)
    assert (
        stitch("keys", "revoke", row["id"], "--keys", "keys.json")[1] == f"key {row['id']} of tenant ann is revoked\n"
    )
    assert "there are no keys" in stitch("keys", "list", "--keys", "keys.json")[2]

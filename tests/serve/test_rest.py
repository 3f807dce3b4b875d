"""What can be done with a memory over HTTP, each as a client sees it."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from stitch.api.operations import OPERATIONS
from stitch.serve.keys import ACTIONS

BOOKING = ("Book the Harbor Inn for day 1, please.", "It costs $98 a night.")


def test_what_is_added_is_found_with_its_context(serving):
    client = serving()
    receipts = client.add(*BOOKING)
    assert [receipt["state"] for receipt in receipts] == ["stored", "stored"]
    found = client.post("/v1/search", {"query": "What did the hotel of day 1 cost?", "k": 1, "budget_tokens": 200}).json
    assert len(found["hits"]) == 1
    assert "$98" in found["context"]
    assert found["decided_by"]


def test_that_nothing_is_relevant_is_told(serving):
    client = serving()
    client.add(*BOOKING)
    query = {"query": "What did the hotel of day 1 cost?"}
    found, near = (client.post("/v1/search", {**query, **more}).json for more in ({}, {"min_share": 1.0}))
    assert (found["nothing_relevant"], len(found["hits"]), len(near["hits"])) == (False, 2, 1)
    nothing = client.post("/v1/search", {**query, "min_relevance": 1.0}).json
    assert (nothing["nothing_relevant"], nothing["hits"], nothing["context"]) == (True, [], "")


def test_a_step_known_by_its_id_is_stored_once(serving):
    client = serving()
    body = {"trajectory": "t", "steps": [{"role": "user", "content": "hello", "id": "1"}]}
    first, second = client.post("/v1/steps", body).json, client.post("/v1/steps", body).json
    assert (first["receipts"][0]["repeated"], second["receipts"][0]["repeated"]) == (False, True)
    assert client.get("/v1/status").json["accepted"] == 1


def test_what_another_step_has_as_its_id_is_a_conflict(serving):
    client = serving()
    client.post("/v1/steps", {"trajectory": "t", "steps": [{"role": "user", "content": "hello", "id": "1"}]})
    answer = client.post("/v1/steps", {"trajectory": "t", "steps": [{"role": "user", "content": "other", "id": "1"}]})
    assert (answer.status, answer.json["error"]) == (409, "StepConflictError")
    assert answer.json["hint"]


def test_lists_come_page_by_page(serving):
    client = serving()
    for number in range(5):
        client.add("hello", trajectory=f"t{number}")
    seen, after = [], ""
    while True:
        page = client.get(f"/v1/trajectories?limit=2{after}").json
        seen += [row["trajectory"] for row in page["trajectories"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert seen == [f"t{number}" for number in range(5)]


def test_labels_come_page_by_page_and_all_of_them_once(serving):
    client = serving()
    client.add(*BOOKING, "The museum of day 2 opens at ten.", "A guide for day 3 costs 80 dollars.")
    client.add("Water the plants in the garden.", trajectory="home")
    kinds = ("scopes", "event_types", "entity_types", "merges")
    whole = client.get("/v1/labels").json
    assert "next" not in whole
    found: dict[str, list[Any]] = {kind: [] for kind in kinds}
    after, pages = "", 0
    while after is not None:
        page = client.get(f"/v1/labels?limit=2{after and '&after=' + quote(after)}").json
        assert sum(len(page[kind]) for kind in kinds) <= 2
        for kind in kinds:
            found[kind] += page[kind] if isinstance(page[kind], list) else list(page[kind].items())
        after, pages = page["next"], pages + 1
    assert pages > 2
    assert found == {
        kind: whole[kind] if isinstance(whole[kind], list) else list(whole[kind].items()) for kind in kinds
    }
    assert client.get("/v1/labels?after=none").status == 422


def test_steps_are_forgotten_with_proof_after_a_dry_run(serving):
    client = serving()
    client.add(*BOOKING)
    only_counted = client.post("/v1/forget", {"trajectory": "t", "dry_run": True}).json
    assert (only_counted["steps"], client.get("/v1/status").json["accepted"]) == (2, 2)
    erased = client.post("/v1/forget", {"trajectory": "t"}).json
    assert (erased["steps"], erased["proof"]["found"]) == (2, [])
    assert client.get("/v1/trajectories").json["trajectories"] == []


def test_every_operation_of_the_table_has_a_path(serving):
    client = serving()
    for operation in OPERATIONS.values():
        answer = client.ask(operation.method, operation.path)
        assert answer.status not in (404, 405), operation.name


def test_the_page_says_what_the_memory_holds_and_loads_nothing(serving):
    client = serving()
    client.add(*BOOKING)
    page = client.get("/")
    assert page.headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    text = page.body.decode()
    assert "2 steps" in text
    assert "/openapi.json" in text
    assert "src=" not in text


def test_a_client_may_go_on_with_one_connection(serving):
    connection = serving().connect()
    for _ in range(3):
        connection.request("GET", "/healthz")
        assert json.loads(connection.getresponse().read()) == {"status": "ok"}
    connection.close()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_server_that_is_well_says_so(serving, path):
    assert serving().get(path).json == {"status": "ok"}


def test_answers_are_kept_by_no_cache_and_guessed_at_by_no_browser(serving):
    headers = serving().get("/v1/status").headers
    assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")


def test_an_export_is_taken_in_by_another_memory_line_by_line(keyed):
    ann, bea = keyed(ann=ACTIONS, bea=ACTIONS)
    ann.add(*BOOKING)
    body = ann.get("/v1/export").body
    taken = bea.ask("POST", "/v1/import?source=ann", body, Content_Type="application/x-ndjson")
    assert (taken.json["steps"], taken.json["rejections"]) == (2, [])
    assert bea.get("/v1/status").json["stored"] == 2
    again = bea.ask("POST", "/v1/import", body, Content_Type="application/x-ndjson")
    assert (again.json["steps"], again.json["known"]) == (0, 2)
    [rejection] = bea.ask("POST", "/v1/import", b"{}", Content_Type="application/x-ndjson").json["rejections"]
    assert rejection["line"] == 1


def test_an_export_is_a_file_that_the_command_takes_in(serving, tmp_path, monkeypatch, capfd):
    from stitch.cli import main

    client = serving()
    client.add(*BOOKING)
    (tmp_path / "trip.export").write_bytes(client.get("/v1/export").body)
    monkeypatch.setattr("sys.argv", ["stitch", "import", "trip.export", "--memory", "copy", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    told = json.loads(capfd.readouterr().out)
    assert (ended.value.code or 0, told["steps"], told["rejections"]) == (0, 2, [])


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


def test_the_machine_itself_may_have_a_backup_made(serving, tmp_path):
    client = serving()
    client.add("hello")
    assert client.post("/v1/backup", {"to": str(tmp_path / "backup")}).json["steps"] == 1
    assert (tmp_path / "backup" / "manifest.json").is_file()

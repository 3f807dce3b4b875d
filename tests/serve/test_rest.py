"""What can be done with a memory over HTTP, each as a client sees it."""

from typing import Any
from urllib.parse import quote

from stitch.serve.keys import ACTIONS

BOOKING = ("Book the Harbor Inn for day 1, please.", "It costs $98 a night.")


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

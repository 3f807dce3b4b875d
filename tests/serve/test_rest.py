"""What can be done with a memory over HTTP, each as a client sees it."""

from stitch.serve.keys import ACTIONS


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

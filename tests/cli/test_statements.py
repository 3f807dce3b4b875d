"""`stitch ingest --statements model`: what it asks, and what it says of the cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stitch.testing.model import LoopbackProvider, fields_of

TALK = ["I adopted a brown dog called Rex.", "Rex is afraid of thunder.", "I painted the fence of my garden green."]


def said(system: str, user: str) -> Any:
    fields = fields_of(user)
    if "themes" in fields:
        return {"names": [{"n": 1, "name": "what Ada told"}]}
    steps = map(json.loads, fields["steps"].splitlines())
    return {"statements": [{"text": f"Ada says: {each['text']}", "steps": [each["n"]]} for each in steps]}


def test_who_lets_a_model_read_statements_is_told_what_it_cost(tmp_path: Path, run: Any) -> None:
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps({"role": "Ada", "content": text}) + "\n" for text in TALK))
    with LoopbackProvider(said) as provider:
        asked = ("ingest", "talk.jsonl", "--model", "m", "--base-url", provider.base_url, "--statements", "model")
        status, out, err = run(*asked, "--memory", "m", "--dry-run")
        assert (status, err, provider.requests) == (0, "", [])
        assert "at most 1 calls that read what the steps assert" in out
        status, out, err = run(*asked, "--memory", "m")
        assert (status, err) == (0, "")
        assert f"model: {len(provider.requests)} calls" in out
    _, out, _ = run("ledger", "--memory", "m", "--json")
    assert set(json.loads(out)["stages"]) == {"statements", "theme names"}
    _, out, _ = run("select", "//Statement", "--memory", "m")
    assert "Ada says: I adopted a brown dog called Rex." in out


def test_a_model_that_is_not_named_cannot_read_statements(tmp_path: Path, run: Any) -> None:
    (tmp_path / "talk.txt").write_text("Ada: Rex is afraid of thunder.\n")
    status, _, err = run("ingest", "talk.txt", "--statements", "model", "--memory", "m")
    assert (status, "no model is named" in err) == (2, True)

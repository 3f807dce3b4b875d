"""What settings make of a model: its price beforehand, a call a kind for filters, and nothing left open."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.embedding import EmbeddingServer
from stitch.cli.main import cli
from stitch.core import Step
from stitch.embed import RemoteEmbedder
from stitch.factory import open_memory
from stitch.testing.model import LoopbackProvider, fields_of


def write(path: Path) -> str:
    steps = [{"role": "user", "content": f"Let us plan day {n}. It costs $40."} for n in range(30)]
    path.write_text(json.dumps({"id": "t", "steps": steps}))
    return str(path)


def test_a_dry_run_says_what_it_would_cost_where_the_price_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["ingest", write(tmp_path / "t.jsonl"), "--memory", str(tmp_path / "m"), "--labels", "model",
                 "--model", "m", "--base-url", "http://127.0.0.1:9", "--dry-run"]  # fmt: skip
    unknown = json.loads(CliRunner().invoke(cli, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert unknown["model_cost_usd"] is None
    monkeypatch.setenv("STITCH_PRICE_PROMPT", "1.0")
    known = json.loads(CliRunner().invoke(cli, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert 0 < known["model_cost_usd"] < known["model_tokens"] / 1e6
    assert ", $0.0" in CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout
    assert not (tmp_path / "m").exists()


def test_the_filter_is_chosen_a_kind_a_call_if_the_settings_say_so(tmp_path: Path) -> None:
    def script(system: str, user: str) -> Any:
        asked = fields_of(user)
        return {
            "scopes": [line.partition(":")[0] for line in asked.get("known_scopes", "").splitlines()][:1],
            "event_types": [],
            "entity_types": ["price"],
            "why": "",
        }

    with LoopbackProvider(script) as provider:
        for by_kind, calls in ((False, 1), (True, 3)):
            with open_memory(
                tmp_path, filter="model", model="m", base_url=provider.base_url, filter_by_kind=by_kind
            ) as memory:
                memory.add(Step(id="1", role="user", content="The Zephyr Mill costs $40 a night."), trajectory="t")
                before = len(provider.requests)
                found = memory.search("What does it cost?", trajectory="t")
                assert len(provider.requests) - before == calls
                assert found.intent_filter.entity_types == ("price",)


def test_closing_a_memory_lets_go_of_the_connections_of_its_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[RemoteEmbedder] = []
    close = RemoteEmbedder.close

    def noted(embedder: RemoteEmbedder) -> None:
        closed.append(embedder)
        close(embedder)

    monkeypatch.setattr(RemoteEmbedder, "close", noted)
    with EmbeddingServer(dimension=16) as server:
        memory = open_memory(
            tmp_path, embedder="openai/hash", embedder_dimension=16, embedder_url=server.url, embedder_key="k"
        )
        memory.add(Step(role="user", content="a step"), trajectory="t")
        memory.close()
    assert len(closed) == 1

"""The example: servers, workers and kills on one machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_example_loses_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "cluster.py")], capture_output=True, text=True, timeout=300, check=True
    )
    told = json.loads(ended.stdout)
    assert (told["accepted"], told["stored"], told["disagreements"]) == (240, 240, 0)
    assert "room 17 costs 17" in told["first"]


def test_the_services_of_the_compose_file_are_given_settings_that_there_are() -> None:
    from stitch.config import load_settings

    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert {"postgres", "qdrant-1", "qdrant-2", "qdrant-3", "worker", "server"} == set(services)
    for name in ("worker", "server"):
        given = {key.removeprefix("STITCH_").lower(): value for key, value in services[name]["environment"].items()}
        given["qdrant"] = json.loads(given["qdrant"])
        settings = load_settings(**given).settings
        assert (settings.workers, settings.qdrant.shard_number) == (True, 6)

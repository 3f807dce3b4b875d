"""Logs of real agents: no text of them is lost."""

import json
import os
from pathlib import Path

import pytest

from stitch.core import Rejection, SourcedStep, clean_text
from stitch.sources import FileSource

DATA = Path(os.environ.get("STITCH_TEST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
LOGS = sorted((DATA / "agent_trajectories").glob("*/*")) if (DATA / "agent_trajectories").is_dir() else []


def texts_in(value):
    """All texts of a JSON value; a text that is a JSON object itself counts as what it holds."""
    if isinstance(value, str):
        if value.startswith("{"):
            try:
                yield from texts_in(json.loads(value))
            except json.JSONDecodeError:
                yield value
        else:
            yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            # "type" tells parts apart: what it says is in the form of the step.
            if key != "type":
                yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def one_of_each_folder():
    """All logs; those that are not the first of their folder are left to the long tests."""
    for before, path in zip([None, *LOGS], LOGS, strict=False):
        is_first = before is None or before.parent != path.parent
        yield pytest.param(path, id=f"{path.parent.name}/{path.name[:40]}", marks=[] if is_first else pytest.mark.slow)


@pytest.mark.skipif(not LOGS, reason="no data folder: set STITCH_TEST_DATA")
@pytest.mark.parametrize("path", list(one_of_each_folder()))
def test_no_text_of_a_real_log_is_lost(path):
    items = list(FileSource(path))
    assert not [item for item in items if isinstance(item, Rejection)]
    steps = [item.step.model_dump(mode="json") for item in items if isinstance(item, SourcedStep)]
    kept = "\n".join([*texts_in(steps), *(item.trajectory for item in items if isinstance(item, SourcedStep))])
    raw = path.read_text(encoding="utf-8")
    try:
        document = json.loads(raw)
    except json.JSONDecodeError:
        document = [json.loads(line) for line in raw.splitlines() if line.strip()]
    lost = {
        line
        for text in texts_in(document)
        for line in map(str.strip, clean_text(text).splitlines())
        if line not in kept
    }
    assert lost == set()

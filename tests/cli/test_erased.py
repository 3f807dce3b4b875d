"""What the commands say of steps that were erased and are given again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., tuple[int, str, str]]


def test_ingest_and_import_count_what_was_erased_and_take_it_when_told_to(run: Run) -> None:
    lines = [f'{{"role": "user", "content": "Remark {n} of Quetzalina."}}\n' for n in range(3)]
    Path("trip.jsonl").write_text("".join(lines))
    memory = ("--memory", "m")
    assert run("ingest", "trip.jsonl", *memory)[0] == 0
    exported = run("export", *memory)[1]
    Path("export.jsonl").write_text(exported)
    name = json.loads(exported.splitlines()[3])["step"]["id"]
    assert run("forget", "erase", "--trajectory", "trip", "--step", name, *memory)[0] == 0
    status, _, told = run("ingest", "trip.jsonl", *memory)
    again = "the same command with --again takes them in"
    assert status == 0
    assert f"stitch: 1 steps were erased before and are not taken in; {again}" in told
    report = json.loads(run("ingest", "trip.jsonl", "--json", *memory)[1])
    assert (report["steps"], report["repeated"], report["erased"], report["rejected"]) == (2, 2, 1, 0)
    assert not Path("m/rejects.jsonl").exists(), "what was erased is not written there either"
    status, _, told = run("import", "export.jsonl", *memory)
    assert status == 0
    assert f"stitch: 1 steps were erased here and are not taken in; {again}" in told
    assert json.loads(run("import", "export.jsonl", "--json", *memory)[1])["erased"] == 1
    report = json.loads(run("ingest", "trip.jsonl", "--again", "--json", *memory)[1])
    assert (report["steps"], report["repeated"], report["erased"]) == (3, 2, 0)
    assert run("forget", "erase", "--trajectory", "trip", *memory)[0] == 0
    assert json.loads(run("import", "export.jsonl", "--again", "--json", *memory)[1])["steps"] == 3

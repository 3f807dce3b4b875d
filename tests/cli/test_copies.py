"""What an operator copies: exports that another memory takes in, backups and memories made of them, by command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stitch import Step, open_memory

STEPS = [
    Step(role="user", content="Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall."),
    Step(role="assistant", content="It is priced at around $76.22."),
]


@pytest.fixture(autouse=True)
def _two_tenants(empty_folder):
    for tenant in ("default", "ann"):
        with open_memory("m", tenant=tenant) as opened:
            opened.add_many(STEPS, trajectory=f"trip of {tenant}")


def test_a_torn_export_ends_with_3_and_names_the_line(run):
    lines = run("export", "--memory", "m")[1].splitlines(keepends=True)
    Path("torn.jsonl").write_text("".join([*lines[:3], lines[3][:50]]))
    code, out, err = run("import", "torn.jsonl", "--memory", "other")
    assert (code, out.split()[0]) == (3, "1")
    assert "torn.jsonl, line 4: it is no whole line of JSON" in err
    newer = json.dumps({**json.loads(lines[0]), "schema_version": 99})
    Path("newer.jsonl").write_text("\n".join([newer, *lines[1:]]))
    code, out, err = run("import", "newer.jsonl", "--memory", "third")
    assert (code, out.split()[0]) == (3, "0")
    assert "line 1: it has schema version 99" in err


def test_a_backup_becomes_a_memory_again_and_overwrites_nothing(run):
    code, out, _ = run("backup", "--memory", "m", "--to", "b")
    assert code == 0
    assert out.startswith("4 steps of 2 tenants, ")
    assert run("backup", "--memory", "m", "--to", "b")[0] == 2
    assert json.loads(run("backup", "--memory", "m", "--to", "c", "--tenant", "ann", "--json")[1])["steps"] == 2
    assert run("restore", "b", "--memory", "r")[:2] == (0, "4 steps of 2 tenants, 4 snippets: all agree\n")
    assert run("export", "--memory", "r")[1] == run("export", "--memory", "m")[1]
    assert run("restore", "b", "--memory", "r")[0] == 2
    found = json.loads(run("restore", "c", "--memory", "s", "--json")[1])
    assert (found["tenants"], found["folder"], found["disagreements"]) == (1, "s", 0)
    Path("b/journal.sqlite").write_bytes(b"")
    code, _, err = run("restore", "b", "--memory", "t")
    assert (code, "is damaged" in err) == (5, True)
    assert run("restore", "nowhere", "--memory", "t")[0] == 2
    assert not Path("t").exists()

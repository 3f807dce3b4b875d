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


def test_an_export_goes_through_a_file_or_a_pipe_into_another_memory(run):
    code, lines, err = run("export", "--memory", "m")
    assert (code, err) == (0, "")
    assert "ann" not in lines
    code, out, _ = run("export", "--memory", "m", "--out", "e.jsonl", "--json")
    assert (code, json.loads(out)) == (0, {"lines": len(lines.splitlines())})
    assert Path("e.jsonl").read_text() == lines
    code, out, err = run("import", "e.jsonl", "--memory", "other")
    told = "2 steps of 1 trajectories taken in (0 failed), 0 were there already, 0 lines rejected\n"
    assert (code, out, err) == (0, told, "")
    assert json.loads(run("import", "e.jsonl", "--memory", "other", "--json")[1]) == {
        "steps": 0, "known": 2, "trajectories": 1, "erased": 0, "failed": 0, "rejections": [], "trees": 0,
    }  # fmt: skip
    assert run("export", "--memory", "other")[1] == lines
    assert run("export", "--memory", "m", "--trajectory", "none")[:2] == (2, "")


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


def test_a_log_is_no_export_and_is_told_so(run):
    Path("log.jsonl").write_text('{"role": "user", "content": "hi"}\n')
    code, _, err = run("import", "log.jsonl", "--memory", "fourth")
    assert (code, err.splitlines()) == (
        2,
        [
            "stitch: 'log.jsonl' is no export: its first line says no kind",
            "  next: `stitch ingest` reads the logs of agents, chats and traces",
        ],
    )
    assert not Path("fourth").exists()


def test_an_export_that_cannot_be_written_is_named_as_it_was_given(run):
    code, _, err = run("export", "--memory", "m", "--out", "nowhere/x.jsonl")
    assert (code, err) == (
        2, "stitch: cannot write 'nowhere/x.jsonl': no such file or directory\n  next: name another with --out\n"
    )  # fmt: skip


@pytest.mark.parametrize("name", ["export", "import", "backup", "restore", "forget expire"])
def test_each_command_shows_an_example_of_itself(run, name):
    code, out, _ = run(*name.split(), "--help")
    assert code == 0
    assert f"stitch {name}" in out.split("Example:")[1]

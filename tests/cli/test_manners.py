"""The command as people expect one: aliases, misspellings, quiet and verbose, completion, time left."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("name", "meant"), [("serch", "'search'"), ("stauts", "'status'"), ("ingset", "'ingest'"), ("erase", "'forget'")]
)
def test_a_misspelled_command_is_told_with_the_one_that_is_meant(run, name, meant):
    status, _, err = run(name, "--memory", "m")
    assert (status, f"No such command {name!r}. Did you mean" in err, meant in err) == (2, True, True)
    status, _, err = run("xyzzyx")
    assert (status, "Did you mean" in err) == (2, False)


def test_quiet_prints_results_and_errors_alone_and_verbose_what_happens(run):
    Path("t.jsonl").write_text('{"role": "user", "content": "Hello"}\nno step\n')
    loud = run("ingest", "t.jsonl", "--memory", "m")
    assert (loud[0], "rejected" in loud[2]) == (3, True)
    quiet = run("-q", "ingest", "t.jsonl", "--memory", "n")
    assert (quiet[0], quiet[2]) == (3, "")
    assert "1 stored" in quiet[1]
    status, out, err = run("--quiet", "status", "--memory", "nowhere")
    assert (status, out, "nowhere" in err) == (2, "", True)
    assert "stitch.events" in run("-vv", "search", "Hello", "--memory", "m")[2]
    assert run("search", "Hello", "--memory", "m")[2] == ""
    assert run("-q", "-v", "status", "--memory", "m")[0] == 2

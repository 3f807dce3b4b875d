"""The command as people expect one: misspellings, quiet and verbose; what is named and not there is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stitch import Step, open_memory


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


@pytest.fixture
def memory():
    with open_memory("m") as opened:
        opened.add_many([Step(role="user", content=f"Breakfast on day {n}") for n in range(3)], trajectory="trip-1")
    return "m"


@pytest.mark.parametrize("verb", ["erase", "retire"])
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_forgetting_by_a_name_that_is_not_there_is_a_wrong_call(run, memory, verb, dry):
    code, out, err = run("forget", verb, "--trajectory", "trp-1", *dry, "--memory", memory)
    assert (code, out) == (2, "")
    assert "no trajectory 'trp-1'" in err
    assert "there are 'trip-1'" in err
    code, out, err = run("forget", verb, "--trajectory", "trip-1", "--step", "99", *dry, "--memory", memory)
    assert (code, out) == (2, "")
    assert "no step '99' in trajectory 'trip-1'" in err


@pytest.mark.parametrize(
    "command", [("export",), ("ledger",), ("why", "breakfast", "1"), ("correct", "1", "--scope", "x")]
)
def test_a_trajectory_that_is_not_there_is_an_error_that_names_those_that_are(run, memory, command):
    code, out, err = run(*command, "--trajectory", "trp-1", "--memory", memory)
    assert (code, out) == (2, "")
    assert "trajectory 'trp-1'" in err
    if command[0] != "correct":
        assert "there are 'trip-1'" in err


def test_why_takes_a_step_by_its_position_or_the_beginning_of_its_id(run, tmp_path):
    ids = ("0d2c1f1e-5a0e-5f6e-9d55-6c5a2c1b7a10", "0d2c1f1e-77aa-5f6e-9d55-6c5a2c1b7a10", "7")
    lines = [json.dumps({"role": "user", "content": f"hello {n}", "id": own}) for n, own in enumerate(ids)]
    Path("ids.jsonl").write_text("\n".join(lines))
    assert run("ingest", "ids.jsonl", "--memory", "m")[0] == 0
    for named, meant in (("1", ids[1]), ("0d2c1f1e-5", ids[0]), ("7", "7"), ("2", "7")):
        code, out, _ = run("why", "hello", named, "--memory", "m", "--json")
        assert (code, json.loads(out)["step"]) == (0, meant)
    code, _, err = run("why", "hello", "0d2c", "--memory", "m")
    assert (code, "2 steps begin with '0d2c'" in err, ids[0] in err) == (2, True, True)
    code, _, err = run("why", "hello", "0d2", "--memory", "m", "--trajectory", "ids")
    assert (code, "trajectory 'ids' has no step '0d2'" in err) == (2, True)

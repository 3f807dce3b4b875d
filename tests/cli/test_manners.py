"""The command as people expect one: misspellings, quiet, verbose, idle options; what is not there is an error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from doubles.golden import compare_answers
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
    assert (quiet[0], quiet[2]) == (3, "stitch: 1 rejected, see n/rejects.jsonl\n")
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


def test_an_option_that_would_do_nothing_is_refused_in_one_line(run, memory):
    Path("steps.jsonl").write_text('{"role": "user", "content": "What does the Zephyr Mill cost?"}\n')

    def refusal(line):
        status, out, err = run(*line.split())
        assert (status, out) == (2, "")
        return err.splitlines()

    compare_answers(Path(__file__).parent / "idle.txt", refusal)


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
    code, _, err = run("forget", "erase", "--trajectory", "ids", "--step", "1", "--memory", "m")
    assert (code, f"do you mean '{ids[1]}', its whole id?" in err) == (2, True), "what is erased is never guessed"


@pytest.fixture
def folder(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(role="user", content="The login page shows an error."), trajectory="run")
        memory.add(Step(role="user", content="Water the plants."), trajectory="home")
    return str(tmp_path / "m")


def test_the_command_explains_and_so_does_an_empty_result(folder, run):
    status, out, _ = run("select", "//Step[1]", "--trajectory", "home", "--memory", folder, "--explain")
    assert status == 0
    assert "(home/0)  1.00" in out
    assert "//Step" in out
    status, out, err = run("select", '//Step[@role = "nobody"]', "--memory", folder)
    assert (status, out) == (0, "")
    assert "nothing is found" in err


def test_themes_are_listed_and_shown_and_an_unknown_one_is_refused(folder, run):
    status, out, _ = run("themes", "--memory", folder)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["t1", "t2"]
    status, out, _ = run("themes", "show", "--memory", folder, "t1")
    assert (status, "The login page shows an error." in out) == (0, True)
    status, out, err = run("themes", "--memory", folder, "--limit", "1")
    assert (len(out.splitlines()), "--after t1" in err) == (1, True)
    status, out, err = run("themes", "--memory", folder, "--as-of", "2001-01-01T00:00")
    assert (status, out, "there are no themes as of 2001-01-01T00:00" in err) == (0, "", True)
    status, _, err = run("themes", "show", "--memory", folder, "t99")
    assert (status, "no theme 't99'" in err) == (2, True)


def test_with_its_streams_closed_the_work_is_done(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"role": "user", "content": "The kettle is descaled."}\n')
    command = f"{sys.executable} -m stitch ingest log.jsonl --memory m <&- >&- 2>&-"
    ended = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    with open_memory(tmp_path / "m") as memory:
        assert len(list(memory.steps("log"))) == 1

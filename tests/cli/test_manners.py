"""The command as people expect one: aliases, misspellings, quiet and verbose, completion, time left."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stitch.cli.completion import SHELLS
from stitch.cli.main import COMMANDS
from stitch.pipelines import ingest as ingesting


def test_one_step_is_added_and_found(run):
    status, out, err = run("add", "The hotel in Porto is Casa Azul.", "--memory", "m", "--id", "h")
    assert (status, out, err) == (0, "step h of notes is stored\n", "")
    assert run("add", "The hotel in Porto is Casa Azul.", "-m", "m", "--id", "h")[1].endswith("nothing was changed\n")
    assert "Casa Azul" in run("search", "hotel in Porto", "-m", "m")[1]
    assert run("search", "hotel in Porto", "-m", "m", "-k", "1") == run("query", "hotel in Porto", "-m", "m", "-k", "1")
    said = json.loads(run("add", "Later.", "-m", "m", "--role", "Ann", "--timestamp", "2026-03-01", "--json")[1])
    assert (said["step"], said["state"], said["trajectory"]) == ("1", "stored", "notes")
    status, _, err = run("add", " ", "-m", "m")
    assert (status, "content is empty" in err) == (3, True)
    assert "taken out before anything was written: password 1" in run("add", "my password is hunter2!x", "-m", "m")[2]


def test_a_step_is_read_from_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The boat leaves at nine.\n")))
    assert run("add", "-", "--memory", "m")[0] == 0
    assert "The boat leaves at nine." in run("show", "--memory", "m", "--steps")[1]


def test_the_package_is_run_as_the_command():
    done = subprocess.run([sys.executable, "-m", "stitch", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.startswith("stitch, version")) == (0, True)


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


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_and_options(run, shell):
    status, script, _ = run("completion", shell)
    assert (status, "_STITCH_COMPLETE" in script) == (0, True)
    words, at = ("stitch sea", "1") if shell != "fish" else ("stitch sea", "sea")
    environment = {**os.environ, "_STITCH_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": at}
    called = [sys.executable, "-c", "from stitch.cli import main; main()"]
    done = subprocess.run(called, env=environment, capture_output=True, text=True, check=False)
    assert "search" in done.stdout
    assert "ingest" not in done.stdout
    assert run("completion", "tcsh")[0] == 2


def test_completion_imports_no_subcommand():
    code = (
        "import sys, click\nfrom stitch.cli.main import COMMANDS, cli\n"
        "print([item.value for item in cli.shell_complete(click.Context(cli), '')])\n"
        "print(any(place.split(':')[0] in sys.modules for place, _ in COMMANDS.values()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    names, imported = done.stdout.splitlines()
    assert set(COMMANDS) <= set(names.strip("[]").replace("'", "").split(", "))
    assert imported == "False"


def test_lines_are_counted_of_files_that_are_read_line_by_line():
    Path("a.jsonl").write_text("{}\n{}\n")
    Path("b.ndjson").write_text("{}\n")
    Path("c.json").write_text("[]")
    assert ingesting.count_lines(["a.jsonl", "b.ndjson"]) == {"a.jsonl": 2, "b.ndjson": 1}
    assert ingesting.count_lines(["a.jsonl", "c.json"]) == {}
    assert ingesting.count_lines(["a.jsonl", "missing.jsonl"]) == {}


def test_progress_is_drawn_on_the_terminal_itself_and_nothing_when_quiet(monkeypatch):
    from io import StringIO

    from stitch.console.terminal import for_drawing, terminal_unsteered

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    drawn = Terminal()
    monkeypatch.setattr(sys, "stderr", drawn)
    with terminal_unsteered():
        assert for_drawing(sys.stderr) is drawn
        sys.stderr.write("\x1b[2K")
    assert drawn.getvalue() == "\ufffd[2K"
    elsewhere = StringIO()
    assert for_drawing(elsewhere) is elsewhere

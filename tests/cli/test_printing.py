"""What commands print is read by people: one line for one thing, names as they are written elsewhere."""

import json

import click

from stitch import Step, ToolCall, open_memory
from stitch.console.printing import draw_lanes, one_line
from stitch.core import ScopeSummary


def test_a_text_is_shown_on_one_line_without_control_characters():
    assert one_line("a\n b\t\x1b[31mc\x85d\u2028e  f") == "a b [31mc d e f"
    assert one_line("x" * 200, limit=5) == "xxxx…"


def test_settings_are_shown_as_a_file_of_settings_has_them(run, tmp_path):
    (tmp_path / "s.yaml").write_text("density: kinds\nretention: [{older_than_days: 9, action: retire}]\nk: 7\n")
    _, out, _ = run("config", "--config", "s.yaml")
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert rows["density"].split()[1] == "kinds"
    assert rows["k"].split()[1] == "7"
    assert rows["power_safe"].split()[1] == "false"
    assert '"older_than_days":9' in rows["retention"]
    assert "DensityCount" not in out
    _, out, _ = run("config", "--json")
    assert json.loads(out)["density"] == {"value": "values", "from": "default"}
    assert {line.split()[1] for line in run("config")[1].splitlines() if line.startswith("retention")} == {"-"}


def test_steps_carry_the_scopes_that_their_lanes_have(run, tmp_path):
    with open_memory(tmp_path / "m") as memory:
        for number, text in enumerate(["OK.", "Fix the parser bug in lexer.py please.", "Done."]):
            memory.add(Step(id=f"s{number}", role="user", content=text), trajectory="t")
        assert memory.inventory("t").merges
    _, out, _ = run("show", "--memory", "m", "--json")
    [timeline] = json.loads(out)["trajectories"]
    lanes = {scope["name"] for scope in timeline["scopes"]}
    assert {step["scope"] for step in timeline["steps"]} == lanes


def test_a_value_with_a_line_break_is_listed_on_one_line(run, tmp_path):
    call = ToolCall(name="run", arguments={"command": "ls\ncat x", "city": "New\nYork"})
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(id="1", role="assistant", content="", tool_calls=[call]), trajectory="t")
    _, out, _ = run("labels", "--memory", "m")
    assert "city  (new york)" in out
    listed = [line for line in out.splitlines() if line not in ("thematic scopes", "event types", "key entity types")]
    assert all(line.startswith("  ") and line.split()[0].isdigit() for line in listed)


def test_a_memory_for_which_no_model_was_called_has_no_table_of_costs(run, tmp_path):
    open_memory(tmp_path / "m").close()
    assert run("ledger", "--memory", "m")[:2] == (0, "no language model was called for this memory\n")


def test_a_file_of_settings_that_is_not_there_is_named_without_numbers_of_errors(run):
    code, _, err = run("config", "--config", "none.yaml")
    assert (code, err.splitlines()[0]) == (
        2, "stitch: cannot read settings from 'none.yaml': no such file or directory"
    )  # fmt: skip


def test_a_lane_of_a_phase_shows_the_phase_and_says_the_goal_once():
    goal = "SyntaxError: invalid syntax in missing_colon.py"
    names = [goal, f"{goal} / locate", "cancel the order", f"{goal} / verify", f"{goal} / submit"]
    scopes = [ScopeSummary(name=name, trajectory="t", steps=1, spans=((n, n),)) for n, name in enumerate(names)]
    lanes = [line[:30].rstrip() for line in click.unstyle(draw_lanes(scopes, length=5)).splitlines()]
    assert lanes == [
        "  SyntaxError: invalid syntax…",
        "    / locate",
        "  cancel the order",
        "  SyntaxError: inval… / verify",
        "    / submit",
    ]

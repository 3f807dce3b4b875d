"""What commands print is read by people: one line for one thing, names as they are written elsewhere."""

import json

from stitch import Step, ToolCall, open_memory
from stitch.console.printing import one_line


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


def test_a_value_with_a_line_break_is_listed_on_one_line(run, tmp_path):
    call = ToolCall(name="run", arguments={"command": "ls\ncat x", "city": "New\nYork"})
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(id="1", role="assistant", content="", tool_calls=[call]), trajectory="t")
    _, out, _ = run("labels", "--memory", "m")
    assert "city  (new york)" in out
    listed = [line for line in out.splitlines() if line not in ("thematic scopes", "event types", "key entity types")]
    assert all(line.startswith("  ") and line.split()[0].isdigit() for line in listed)

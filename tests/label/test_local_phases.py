"""Phases of work on code: what each call moves, given what was read, made, run and edited before."""

from __future__ import annotations

import pytest

from stitch.label.local.acts import Act
from stitch.label.local.phases import MAX_FILES, Phase, is_repair, phase_after

KNOWN = frozenset(("a.py", "b.py", "c.py"))
START = Phase("", changed=False, made=(), open_file="")


def phases(*calls: tuple[str, str], text: str = "") -> list[str]:
    names, phase = [], START
    for act, target in calls:
        phase = phase_after(phase, [Act(act, target)], text, known=KNOWN)
        names.append(phase.name)
    return names


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        ([("read", "src/a.py"), ("search", "src/")], ["locate", "locate"]),
        ([("run", ""), ("edit", "a.py"), ("run", "")], ["reproduce", "change", "verify"]),
        ([("call tool", ""), ("navigate", "b.py")], ["reproduce", "locate"]),
        ([("write", "new.py"), ("edit", "new.py"), ("run", "new.py")], ["reproduce", "reproduce", "reproduce"]),
        ([("write", "a.py"), ("write", "new.py")], ["change", "verify"]),
        ([("edit", "a.py"), ("read", "b.py"), ("edit", "a.py")], ["change", "verify", "change"]),
        ([("edit", "a.py"), ("run", ""), ("read", "b.py")], ["change", "verify", "verify"]),
        ([("read", "a.py"), ("edit", "")], ["locate", "change"]),
        ([("edit", "")], ["change"]),
        ([("write", "new.py"), ("edit", "")], ["reproduce", "reproduce"]),
        ([("write", "my notes"), ("edit", "")], ["reproduce", "change"]),
        ([("install", "")], [""]),
        ([("edit", "a.py"), ("install", ""), ("think", "")], ["change", "change", "change"]),
        ([("submit", ""), ("run", "")], ["submit", "submit"]),
        ([("edit", "a.py"), ("write", "fix.patch"), ("read", "a.py")], ["change", "submit", "submit"]),
        ([("write", "fix.patch")], ["reproduce"]),
    ],
)
def test_each_call_moves_the_phase_by_what_was_done_before(calls: list[tuple[str, str]], names: list[str]) -> None:
    assert phases(*calls) == names


def test_what_is_removed_after_a_change_is_cleaned_up_and_runs_stay_there() -> None:
    assert phases(("edit", "a.py"), ("edit", "new.py"), text="rm new.py") == ["change", "clean up"]
    phase = phase_after(START._replace(changed=True), [Act("edit", "new.py")], "rm new.py", known=KNOWN)
    for act in (Act("run", ""), Act("write", "other.py")):
        assert phase_after(phase, [act], "", known=KNOWN).name == "clean up"
    assert phase_after(START, [Act("edit", "a.py")], "rm a.py", known=KNOWN).name == "change"


def test_a_phase_remembers_what_was_made_and_what_is_open() -> None:
    made = [Act("write", f"folder/New{number}.py") for number in range(MAX_FILES + 2)]
    phase = phase_after(START, made, "", known=KNOWN)
    assert phase.made == tuple(f"new{number}.py" for number in range(2, MAX_FILES + 2))
    assert phase.open_file == f"new{MAX_FILES + 1}.py"
    again = phase_after(phase, [Act("write", f"new{MAX_FILES}.py"), Act("read", "folder/B.py/")], "", known=KNOWN)
    assert (again.made, again.open_file) == (phase.made, "b.py")
    assert phase_after(phase, [Act("read", "notes")], "", known=KNOWN).open_file == phase.open_file


@pytest.mark.parametrize(
    ("statement", "repair"),
    [
        ("Fix the bug in the code base", True),
        ("Fix the bugs of this repository", True),
        ("Fix the bug, and this bug", False),
        ("Refactoring needs no failing test", True),
        ("Implement the feature request", True),
        ("Book a flight", False),
    ],
)
def test_work_on_code_says_so_twice(statement: str, repair: bool) -> None:
    assert is_repair(statement) == repair

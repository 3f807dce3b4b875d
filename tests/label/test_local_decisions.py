"""How calls come out and what goals are called: each on both sides of where it is decided."""

from __future__ import annotations

import pytest

from stitch.label.local.outcomes import outcome_of
from stitch.label.local.titles import goal_title

OUTCOMES = [
    ("14 passed in 0.3s", "", "success"),
    ("Traceback (most recent call last):\n  x\nValueError: x", "", "failure"),
    ('{"error": "no such order"}', "", "failure"),
    ('{"success": false}', "", "failure"),
    ('{"status": "failed"}', "", "failure"),
    ('{"error": null, "x": 1}', "", "success"),
    ("Error: no such file", "", "failure"),
    ("bash: foo: command not found", "run", "failure"),
    ("(no output)", "run", "empty"),
    ("exit code: 1\nx", "run", "failure"),
    ("0 errors, 2 warnings", "", "success"),
    ("[]", "search", "empty"),
    ("def parse(text):\n    raise ValueError('error')", "read", "success"),
    ("Nothing happens.", "", "empty"),
    ("HTTP/1.1 200 OK", "send", "success"),
    ("OK (3 tests)", "run", "success"),
    ("FAILED (failures=1)", "run", "failure"),
    ("src/a.py:3: error: x", "search", "success"),
    ('{"error": false}', "", "success"),
    ('{"status": "denied"}', "", "refusal"),
    ('{"status": "timeout"}', "", "timeout"),
    ('{"error": "refund not allowed"}', "", "refusal"),
    ("request timed out", "", "timeout"),
    ("exit code: 1\nbash: x: Permission denied", "read", "failure"),
    ("a.py:3: error: x", "run", "failure"),
    ("error in a.py\nValueError: x", "edit", "failure"),
    ("the item is not allowed", "read", "success"),
    ("Ran 3 tests\nFAILED (errors=1)", "", "failure"),
    ("nothing was found in it: 0 results", "search", "empty"),
    ("<returncode>1</returncode>\n<output>\n</output>", "search", "empty"),
    ("<returncode>2</returncode>\n<output>\nboom</output>", "run", "failure"),
    ("def f():\n    raise ValueError('not allowed')\n" * 40, "read", "success"),
]


@pytest.mark.parametrize(("text", "act", "outcome"), OUTCOMES)
def test_a_result_says_how_its_call_came_out(text: str, act: str, outcome: str) -> None:
    assert outcome_of(text, act=act) == outcome


TITLES = [
    ("Hi! I'd like to exchange the lamp that came broken.", "exchange the lamp that came broken"),
    ("Fix the failing test in tests/test_dates.py. It fails since May.", "Fix the failing test in tests/test_dates.py"),
    ("# Title: Bug in parser\n\nSteps", "Bug in parser"),
    ("Task: find the cheapest hotel in Rome.\nRules: be brief", "find the cheapest hotel in Rome"),
    ("I need help with my order please", "help with my order please"),
    ("Could you please cancel my plan?", "cancel my plan"),
    ("", ""),
    ("<task>Put a clean mug on the desk</task>", "Put a clean mug on the desk"),
    ("You are an agent. Your task is to: put two apples in the fridge.", "put two apples in the fridge"),
    ("How many users signed up in May?", "How many users signed up in May"),
    ("Hello", ""),
    ("Issue: KeyError when reading config\nTraceback ...", "KeyError when reading config"),
    ("I want to know where my parcel is, as it has not come for weeks", "know where my parcel is, as it has not come"),
    ("Please help me to book a flight to Rome on May 3rd, thanks", "book a flight to Rome on May 3rd, thanks"),
]


@pytest.mark.parametrize(("text", "title"), TITLES)
def test_a_goal_is_called_by_what_is_wished_for(text: str, title: str) -> None:
    assert goal_title(text) == title

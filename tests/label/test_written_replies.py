"""Replies in other notations and shapes than were asked for: YAML, tables, marks, prose with numbers, groups, columns.

`tests/fixtures/written_replies.txt` holds them, each with the steps that are kept of it. They were written before what
reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stitch.core import Step
from stitch.label.local import LocalLabeler
from stitch.label.model import WindowedLabeler
from stitch.lm import LanguageModel
from stitch.testing.model import ScriptedCompletion, fields_of

FIXTURE = Path(__file__).parent.parent / "fixtures" / "written_replies.txt"
STEPS = [
    Step(id="1", role="user", content="What does the Ribeira House cost?"),
    Step(id="2", role="assistant", content="It costs $90 a night."),
    Step(id="3", role="user", content="Now the museum: get me two tickets."),
]
GOLD = [("hotel in Porto", "ask price"), ("hotel in Porto", "give answer"), ("museum tickets", "request booking")]
SHARED = ("steps named 1-2", "range as a string", "spans")
"""Replies that say the same of two steps."""


def replies() -> dict[str, tuple[tuple[int, ...], str]]:
    found = {}
    for part in FIXTURE.read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, said = part.partition("\n")
        name, _, kept = head.partition(" | ")
        found[name] = (tuple(int(n) for n in kept.split() if n != "none"), said)
    return found


REPLIES = replies()


def labeled(said: str, *, finish_reason: str = "stop") -> list[tuple[str | None, tuple[str, ...]]]:
    """The scopes and events of the steps; what was asked for again has the scope "asked again"."""
    asked: list[int] = []

    def answer(system: str, user: str) -> Any:
        count = len(fields_of(user)["steps"].splitlines())
        asked.append(count)
        completion.finish_reason = finish_reason if len(asked) == 1 else "stop"
        again = [{"n": n + 1, "scope": "asked again", "events": ["answer"], "entities": []} for n in range(count)]
        return said if len(asked) == 1 else {"readings": again}

    completion = ScriptedCompletion(answer)
    made = WindowedLabeler(LanguageModel("m", completion=completion), fallback=LocalLabeler()).begin("t").label(STEPS)
    return [(own.intent.scope, own.intent.event_types) for own in made]


@pytest.mark.parametrize("name", REPLIES)
def test_what_is_said_in_another_notation_is_kept_as_it_was_meant(name: str) -> None:
    kept, said = REPLIES[name]
    made = labeled(said)
    assert tuple(n for n, (scope, _) in enumerate(made, start=1) if scope != "asked again") == kept
    for n in kept:
        scope, events = made[n - 1]
        assert scope == GOLD[n - 1][0]
        assert set(events) <= {event for _, event in GOLD} if name in SHARED else events == (GOLD[n - 1][1],)


def test_most_replies_in_other_notations_cost_no_second_call() -> None:
    whole = sum(kept == (1, 2, 3) for kept, _ in REPLIES.values())
    assert (len(REPLIES), whole) == (62, 57)


def test_of_an_outline_that_was_cut_the_last_object_is_not_believed() -> None:
    said = REPLIES["yaml plain"][1].partition("renames")[0]
    assert [scope for scope, _ in labeled(said, finish_reason="length")] == [
        "hotel in Porto", "hotel in Porto", "asked again",
    ]  # fmt: skip

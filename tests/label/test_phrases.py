"""Single phrases, calls and results, with what the local labeler makes of each: a file of `phrases` for each kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from doubles.golden import compare_phrases
from stitch.core import Step
from stitch.label.local.acts import Act, act_of_name, acts_of_call, acts_of_script, written_action
from stitch.label.local.entities import EntityTyper
from stitch.label.local.events import EventTyper
from stitch.label.local.naming import propose_name
from stitch.label.local.outcomes import outcome_of
from stitch.label.local.reading import read_step
from stitch.label.local.titles import goal_title


def told(acts: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{act} {what!r}" if what else act for act, what in acts)


def types(about: str, text: str) -> str:
    role, _, open_move = about.partition(" ")
    reading = read_step(Step(role=role or "user", content=text))
    events = EventTyper().type(reading, open_move=open_move.strip("-"), by_opener=role in ("", "user"))
    return f"{', '.join(events)} | {', '.join(EntityTyper().type(reading).types)}"


def script(about: str, text: str) -> str:
    acts = acts_of_script(text, name=about)
    assert acts_of_script(text, name=about, sure=True) == (acts or [Act("run", "")])
    return told(acts)


def written(about: str, text: str) -> str:
    found = written_action(text, fences=about == "fences")
    return "" if found is None else f"{found.name}: {told(found.acts)}, said as {found.text!r}"


KINDS: dict[str, Callable[[str, str], str]] = {
    "types": types,
    "scripts": script,
    "written": written,
    "tools": lambda _, name: act_of_name(name),
    "calls": lambda name, arguments: told(acts_of_call(name, json.loads(arguments, strict=False))),
    "outcomes": lambda act, text: outcome_of(text, act=act),
    "names": lambda _, text: propose_name(read_step(Step(role="user", content=text))).text,
    "goals": lambda _, text: goal_title(text),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_of_each_phrase_is_what_was_looked_at(kind: str) -> None:
    compare_phrases(Path(__file__).parent / "phrases" / f"{kind}.txt", KINDS[kind])

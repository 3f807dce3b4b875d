"""Every number and word that a tenant is told is the same whether or not others write into the same folder."""

import re
from pathlib import Path
from typing import Any

import orjson

from stitch import Memory, Step, open_tenants
from stitch.lifecycle.selection import Selector
from stitch.server.operations.operation import OPERATIONS

SAID = (
    "Now day {0}: a hotel in Kyoto.",
    "It costs {0}20 dollars.",
    "Ann painted the lake on day {0}.",
    "And what else?",
)
QUESTIONS = ("What did the hotel of day 2 cost?", "lake", "Who painted?")
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("search", {"query": q, "k": 4, "retriever": lens}) for q in QUESTIONS for lens in ("intent", "themes", "auto")),
    ("why", {"query": QUESTIONS[0], "trajectory": "t1", "step": "1"}),
    ("why_not", {"query": QUESTIONS[1], "trajectory": "t1", "step": "0", "k": 1}),
    ("steps", {"trajectory": "t2"}),
    ("get", {"trajectory": "t2", "step": "3"}),
    ("timeline", {"trajectory": "t2"}),
    ("forget", {"trajectory": "t2", "action": "erase", "dry_run": True}),
    ("history", {"trajectory": "t1", "step": "1"}),
    ("label_windows", {"model": "hand", "window_steps": 9}),
    *(
        (name, {})
        for name in ("about", "corrections", "export", "inventory", "labels", "recalls", "receipts", "status")
    ),
    *((name, {}) for name in ("status", "themes", "totals", "trajectories", "verify")),
)
_OF_THE_CLOCK = re.compile(
    rb'\\?"(?:recorded|replaced_at|at|until|began|ended|\w*(?:seconds|milliseconds|_ms|_s))\\?": ?[\d.e-]+'
)
"""When something was and how long it took."""


def _written(folder: Path, *, beside: bool) -> dict[str, bytes]:
    with open_tenants(folder / "m", recall_log=9) as tenants:
        ann, other = tenants.memory("ann"), tenants.memory("other") if beside else None
        for number in range(1, 4):
            for text in SAID:
                if other is not None:
                    other.add(Step(role="user", content=f"{text.format(number)} Lake, hotel!"), trajectory=f"t{number}")
                ann.add(Step(role="user", content=text.format(number)), trajectory=f"t{number}")
                if other is not None and number == 2:
                    other.themes()
        ann.lifecycle.correct("1", trajectory="t1", labels={"scope": "stay"})
        told = {f"{place} {name}": _told(ann, name, fields) for place, (name, fields) in enumerate(ASKED)}
        return {**told, "proof": repr(ann.lifecycle.erase(Selector(trajectory="t1", step="1")).proof).encode()}


def _told(memory: Memory, operation: str, fields: dict[str, Any]) -> bytes:
    asked = OPERATIONS[operation]
    answer = asked.run(memory, **fields)
    said = [asked.dumped(each) for each in answer] if asked.streams else asked.dumped(answer)
    return _OF_THE_CLOCK.sub(b"", orjson.dumps(said))


def _differing(folder: Path) -> tuple[dict[str, bytes], dict[str, tuple[bytes, bytes]]]:
    """What a tenant is told that is alone, and what of it is otherwise for one that is not."""
    alone, beside = _written(folder / "a", beside=False), _written(folder / "b", beside=True)
    paths = {str(folder / name).encode() for name in "ab"}
    return alone, {
        name: (said, beside[name])
        for name, said in alone.items()
        if said.replace(min(paths), b"") != beside[name].replace(max(paths), b"")
    }


def test_what_a_tenant_is_told_does_not_depend_on_others(tmp_path: Path) -> None:
    alone, differ = _differing(tmp_path / "once")
    if differ:  # contexts tell the minute in which a step was accepted, which may have passed in between
        alone, differ = _differing(tmp_path / "again")
    assert differ == {}
    assert sum(len(re.findall(rb"\d+", said)) for said in alone.values()) > 500

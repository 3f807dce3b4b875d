"""Trajectories with gold scopes as the tracker reads them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from stitch.core import Step
from stitch.label.local.reading import Reading, read_step


class LabeledTrajectory(NamedTuple):
    """A trajectory as it is read, with the gold scopes of each step; empty where there are none."""

    readings: list[Reading]
    gold: list[tuple[str, ...]]
    coarse: frozenset[int]
    """Steps that open something new inside a gold scope: nothing is learned from them."""


def read_set(path: Path) -> list[LabeledTrajectory]:
    """The trajectories of a file of labeled trajectories, gzip."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [_labeled(json.loads(line)["steps"]) for line in lines]


def read_chats(path: Path, *, most: int) -> list[LabeledTrajectory]:
    """The distinct sessions of a file of trajectories, gzip, in which two speak in turn, each as a trajectory."""
    found: dict[str, LabeledTrajectory] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for steps in (json.loads(line)["steps"] for line in lines):
            for _, session in groupby(steps, key=itemgetter("session")):
                said = list(session)
                in_turn = len({step["role"] for step in said}) == 2 and all(
                    a["role"] != b["role"] for a, b in pairwise(said)
                )
                if in_turn and said[0]["content"] not in found:
                    gold = {"scope": ["chat"], "event_types": []}
                    found[said[0]["content"]] = _labeled([{**step, "gold": gold} for step in said])
                if len(found) >= most:
                    return list(found.values())
    return list(found.values())


def _labeled(steps: Sequence[Mapping[str, Any]]) -> LabeledTrajectory:
    gold = [tuple(sorted(step["gold"]["scope"])) for step in steps]
    coarse: set[int] = set()
    readings = read_steps(
        Step(role=step["role"], content=step["content"] or " . ", timestamp=step.get("timestamp")) for step in steps
    )
    for number, step in enumerate(steps):
        # Where an intent is announced again inside one goal, the gold is coarser than the scopes that are wanted.
        announces = any("INTENT" in event for event in step["gold"]["event_types"])
        if announces and gold[number] and gold[number][0].startswith("goal ") and gold[number] in gold[:number]:
            coarse.add(number)
    return LabeledTrajectory(readings, gold, frozenset(coarse))


def read_steps(steps: Iterable[Step]) -> list[Reading]:
    """Steps as they are read one after the other, with the speakers known so far."""
    speakers: dict[str, int] = {}
    readings = []
    for step in steps:
        readings.append(reading := read_step(step, speakers=speakers))
        if not reading.is_notice:
            speakers[reading.role] = 1
    return readings

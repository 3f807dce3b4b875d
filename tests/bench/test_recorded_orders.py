"""Orders of turns by label density that were recorded from the authors' code: all of them come out exactly."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stitch.core import ContextualIntent, DensityCount, IntentFilter, MemorySnippet, rank_by_label_density

COUNTS = {"type": DensityCount.KINDS, "value": DensityCount.VALUES}


def snippet(turn: Mapping[str, Any]) -> MemorySnippet:
    target = [turn["target"]] if turn.get("target") else []
    intent = ContextualIntent(
        scope=turn["scope"], event_types=turn["events"], entity_types=turn["functional"], targets=target
    )
    return MemorySnippet(
        tenant="t", trajectory="t", step=str(turn["turn"]), position=turn["turn"], role=turn["role"], intent=intent,
        text="", resolved="", recorded=0.0,
    )  # fmt: skip


def test_every_order_of_the_authors_code_is_reproduced(shared_data: Callable[[str], Path]) -> None:
    recorded = json.loads(shared_data("came/density_replay.json").read_text(encoding="utf-8"))
    snippets, orders = [snippet(turn) for turn in recorded["turns"]], 0
    for question in recorded["questions"]:
        asked = question["selected"]
        chosen = IntentFilter(
            scopes=tuple(asked["scope"]), event_types=asked["event"], entity_types=asked["functional"],
            targets=asked["target"],
        )  # fmt: skip
        for name, expected in question["expected"].items():  # such as value_count_role: of one role's turns
            count, _, whose = name.split("_")
            roles = question["role_filter_inferred"] if whose == "role" else {each.role for each in snippets}
            seen = ((each, 0.0) for each in snippets if each.role in roles)
            ranked = rank_by_label_density(seen, chosen, count=COUNTS[count])
            assert [[int(hit.snippet.step), int(hit.density)] for hit in ranked if hit.density] == expected, name
            orders += 1
    assert orders == 24

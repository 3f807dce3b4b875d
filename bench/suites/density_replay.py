"""`stitch bench density-replay`: does the ranking give the orders recorded from the authors' code.

A file holds labels of turns, labels selected for questions, and for each question the expected order of turns: by
matched kinds (`type_count`) and by matched values (`value_count`), over all turns (`_all`) or those of one role
(`_role`). Ties stand in turn order, so similarity is the same for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from stitch.bench.data.sets import read_json, required
from stitch.console.printing import print_json
from stitch.core import ContextualIntent, DensityCount, IntentFilter, MemorySnippet, rank_by_label_density
from stitch.errors import InputError

_COUNTS = {"type_count": DensityCount.KINDS, "value_count": DensityCount.VALUES}


def replay(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Rank every question of a recording and compare with each expected order; other ones are told by question."""
    snippets = [_snippet(turn) for turn in required(recorded, "turns", "the recording")]
    orders, wrong = 0, []
    for question in required(recorded, "questions", "the recording"):
        chosen = _filter(required(question, "selected", "a question"))
        roles = set(question.get("role_filter_inferred") or ())
        for name, expected in required(question, "expected", "a question").items():
            count, _, whose = name.rpartition("_")
            if count not in _COUNTS or whose not in ("all", "role"):
                raise InputError(f"order {name!r} of question {question.get('id')!r} is not known")
            seen = [snippet for snippet in snippets if whose == "all" or snippet.role in roles]
            mine = rank(seen, chosen, count=_COUNTS[count])
            orders += 1
            if mine != [tuple(pair) for pair in expected]:
                first = next((i for i, (m, e) in enumerate(zip(mine, expected, strict=False)) if m != tuple(e)), 0)
                wrong.append({"question": question.get("id"), "order": name, "first_difference": first})
    return {"questions": len(recorded["questions"]), "orders": orders, "exact": orders - len(wrong), "different": wrong}


def rank(snippets: Iterable[MemorySnippet], chosen: IntentFilter, *, count: DensityCount) -> list[tuple[int, int]]:
    """The turns that match at least one label, densest first, each with its density."""
    ranked = rank_by_label_density(((snippet, 0.0) for snippet in snippets), chosen, count=count)
    return [(int(hit.snippet.step), int(hit.density)) for hit in ranked if hit.density]


def _snippet(turn: Mapping[str, Any]) -> MemorySnippet:
    number = required(turn, "turn", "a turn")
    own = {"tenant": "replay", "trajectory": "replay", "text": "", "resolved": "", "recorded": 0.0}
    target = [turn["target"]] if turn.get("target") else []
    intent = ContextualIntent(scope=turn.get("scope"), **_values(turn, targets=target))
    role = required(turn, "role", f"turn {number}")
    return MemorySnippet(step=str(number), position=number, role=role, intent=intent, **own)


def _filter(selected: Mapping[str, Any]) -> IntentFilter:
    values = {"events": selected.get("event"), "functional": selected.get("functional")}
    return IntentFilter(scopes=tuple(selected.get("scope") or ()), **_values(values, targets=selected.get("target")))


def _values(record: Mapping[str, Any], *, targets: Any) -> dict[str, tuple[str, ...]]:
    told = {"event_types": record.get("events"), "entity_types": record.get("functional"), "targets": targets}
    return {name: tuple(values or ()) for name, values in told.items()}


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A recording of labels and orders.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(data: Path, as_json: bool) -> None:
    """Reproduce recorded density orders; the exit status says whether all are exact.

    \b
    Example:
      stitch bench density-replay --data density_replay.json
    """
    recorded = read_json(data)
    if not isinstance(recorded, dict):
        raise InputError(f"{str(data)!r} is no recording of density orders")
    figures = replay(recorded)
    if as_json:
        print_json(figures)
    else:
        click.echo(f"{figures['exact']} of {figures['orders']} recorded orders reproduced exactly")
    if figures["different"]:
        click.get_current_context().exit(1)

"""How long the choice of a filter takes among 500 labels: `python -m stitch.bench.selecting`.

CPU time of one selection each, over questions that name a scope, describe one, ask for a list, or license nothing; no
question is asked twice, so that none is read from a cache.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import click

from stitch.core import EntityTypeSummary, LabelInventory, ScopeSummary, SearchRequest
from stitch.retrieve import LocalFilterSelector

_PLACES = ("Harbor", "Linden", "Juniper", "Copper", "Willow", "Summit", "Orchard", "Lantern")
_THINGS = ("price", "rating", "address", "departure time", "number of seats", "name of the host")
_FORMS = (
    "What was the {thing} of the {place} Inn for day {n}?",
    "In the order where the city is {place} {n} and the date is 2019-03-{day:02d}, what was the {thing}?",
    "When did Caroline talk to {place} about the {n} letters and the {thing} of her house?",
    "List every {thing} that came up between {place} and the {n} others.",
    "What is the {thing} of {place} House {n}, as told in the conversation?",
)


def _inventory() -> LabelInventory:
    """400 scopes of a dozen values each, 60 entity types and 40 event types."""
    return LabelInventory(
        scopes=tuple(
            ScopeSummary(
                name=f"day {n}" if n % 4 == 0 else f"{_PLACES[n % 8].lower()} order {n}", trajectory=f"t{n // 25}",
                spans=((9 * n, 9 * n + 4), (9 * n + 7, 9 * n + 8)), steps=7,
                terms=dict.fromkeys((f"word{n}", "order", "hous", "letter", f"term{n % 50}"), 1.0),
                values=dict.fromkeys(_values(n), 1),
            )
            for n in range(400)
        ),
        entity_types={
            name: EntityTypeSummary(steps=30, values=("2 seats", "one seat"))
            for name in (*_THINGS[:4], *(f"kind {n}" for n in range(56)))
        },
        event_types={f"act{n}": 30 for n in range(40)},
        steps=4_000,
    )  # fmt: skip


def _values(n: int) -> Iterator[str]:
    yield from (f"{_PLACES[(n + m) % 8]} House {n + m}" for m in range(10))
    yield from (f"{_PLACES[n % 8]} {n}", f"March {n % 28 + 1}")


def _questions(count: int) -> Iterator[str]:
    for n in range(count):
        yield _FORMS[n % 5].format(thing=_THINGS[n % 6], place=_PLACES[n % 8], n=n // 5, day=n % 28 + 1)


def measure_selection(questions: int) -> dict[str, float]:
    """Milliseconds of CPU time a selection takes, in the median and at the 95th percentile, after one that warms up."""
    known, selector = _inventory(), LocalFilterSelector()
    spent = []
    for text in _questions(questions + 1):
        request = SearchRequest(query=text, tenant="bench")
        started = time.process_time()
        selector.select(request, known)
        spent.append((time.process_time() - started) * 1000)
    spent = sorted(spent[1:])
    labels = len(known.scopes) + len(known.entity_types) + len(known.event_types)
    return {
        "labels": labels, "questions": questions, "p50_ms": round(spent[len(spent) // 2], 3),
        "p95_ms": round(spent[int(len(spent) * 0.95)], 3),
    }  # fmt: skip


@click.command()
@click.option("--questions", type=click.IntRange(1), default=1_000, show_default=True)
def main(questions: int) -> None:
    """Measure how long the choice of a filter among 500 labels takes, and print JSON."""
    click.echo(json.dumps(measure_selection(questions)))


if __name__ == "__main__":
    main()

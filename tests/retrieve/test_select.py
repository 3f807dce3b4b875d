"""The choice of labels: only what the question licenses, and at the right granularity.

Each file of `filters` asks questions of the labels that `KNOWN` has under its name, a line each; under each stands what
was chosen, whether it decides or is only likely, and why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.selector import SelectorContract
from doubles.golden import compare_answers
from stitch.core import (
    EntityTypeSummary,
    FilterSelector,
    LabelInventory,
    LabelKind,
    LabelMerge,
    ScopeSummary,
    SearchRequest,
)
from stitch.retrieve import LocalFilterSelector
from stitch.retrieve.question.reading import read_question

FILTERS = sorted((Path(__file__).parent / "filters").glob("*.txt"))


class TestLocalFilterSelector(SelectorContract):
    @pytest.fixture
    def selector(self) -> FilterSelector:
        return LocalFilterSelector()


def scope(name: str, *values: str, terms: str = "", spans: int = 1) -> ScopeSummary:
    return ScopeSummary(
        name=name, trajectory="t", spans=tuple((10 * n, 10 * n + 5) for n in range(spans)), steps=6,
        terms=dict.fromkeys(terms.split(), 1.0), values=dict.fromkeys(values, 1),
    )  # fmt: skip


def inventory(*scopes: ScopeSummary, classes: str = "", events: dict[str, int] | None = None) -> LabelInventory:
    """Labels; a class is a name alone, or a name with its values behind a colon."""
    summaries = {}
    for told in classes.split(", "):
        name, _, values = told.partition(":")
        summaries[name] = EntityTypeSummary(steps=3, values=tuple(values.split("/")) if values else ())
    summaries.pop("", None)
    return LabelInventory(scopes=scopes, steps=99, event_types=events or {}, entity_types=summaries)


BUSES = inventory(
    scope("bus", "Sacramento", "March 1st", "8:30 am", terms="bus leav"),
    scope("bus 2", "Oslo", "March 8th", "2:15 pm", terms="bus leav"),
    scope("hotel", "San Diego", "All On Me by Devin Dawson", terms="hotel room"),
    classes="price, time, departure time, city, ticket fare",
    events={"ask": 3, "decide": 3, "report result": 3, "play": 3, "attack": 40},
)
KNOWN = {
    "buses": BUSES,
    "merged": BUSES.model_copy(
        update={"merges": (LabelMerge(kind=LabelKind.ENTITY_TYPE, alias="ticket fare", into="price"),)}
    ),
    "cities": inventory(scope("bus", "New York"), scope("bus 2", "York"), scope("hotel"), scope("car")),
    "bugs": inventory(
        scope("login timeout", spans=2), scope("export rows"), events={"report result": 3, "ask": 3}
    ),
    "inns": inventory(scope("stay", "Blue Door Inn"), scope("flight"), classes="price, rating, phone"),
    "days": inventory(
        scope("day 1 plan", "Oslo"), scope("day 2 plan", "Bergen"), classes="name, person, inn, price, song:my way"
    ),
    "classes": inventory(
        scope("a", "Oslo"), scope("b", "Bergen"),
        classes="contact number, salon name, therapist name, link, quantity, stops:2 stops/three stops/none, address",
    ),
    "debate": inventory(
        scope("a"), scope("b"), classes="citation", events={"concede": 3, "attack": 40}
    ),
}  # fmt: skip


@pytest.mark.parametrize("file", FILTERS, ids=[file.stem for file in FILTERS])
def test_what_a_question_licenses_is_what_was_looked_at(file: Path) -> None:
    def answer(query: str) -> list[str]:
        made = LocalFilterSelector().select(SearchRequest(query=query, tenant="a"), KNOWN[file.stem])
        chosen = made.intent_filter
        labels = " | ".join(", ".join(each) for each in (chosen.scopes, chosen.event_types, chosen.entity_types))
        lines = [f"{'likely' if made.likely else 'decides'}: {labels}{'; listed by names' if made.lists_names else ''}"]
        lines += [f"searched: {made.remainder}"] if made.remainder else []
        lines += [f"asked beside {read_question(query).context!r}"] if read_question(query).context else []
        return [*lines, *(f"because {reason}" for reason in made.reasons)]

    compare_answers(file, answer)

"""What is kept up to date step by step is what would be made anew: label spaces, what questions find in them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stitch.core import LabelInventory, SearchRequest, Selection, Step
from stitch.ingest import unite
from stitch.label.local import LocalLabeler
from stitch.lifecycle.correct import correct
from stitch.lifecycle.erase import erase
from stitch.lifecycle.retire import retire
from stitch.lifecycle.selection import Selector, select
from stitch.retrieve.question.local_filter import LocalFilterSelector

TRAJECTORIES = ("trip", "work", "bank")
SAID = (
    "Hello!",
    "I need to check my bank balance.",
    "It is $41.80 on the savings account.",
    "Now find me a bus to Seattle on March 8th.",
    "There is one at 7:30 am. Shall I book it?",
    "Yes, please.",
    "Let's turn to day 2. One idea for breakfast is the Hyperion Horizon.",
    "Back to the bank balance: what about the other account?",
    "The price is $76.22 for two.",
    "Let's turn to day 1, and the Olympus Inn.",
    "Has the login bug in auth.py been fixed?",
)
QUESTIONS = (
    "What was the price on day 2?",
    "Where the city is Seattle, what did the bus cost?",
    "What did we say of the bank balance?",
    "In the request about March 8th, at what time is the bus?",
    "List all hotels of day 1.",
)


class Life:
    """A memory to which things happen by chance, and what is kept up to date beside it."""

    def __init__(self, worlds: Callable[..., Any], path: Path, chance: Random) -> None:
        self._worlds, self._path, self._chance, self._ids = worlds, path, chance, count()
        self.world = worlds(path / "j", labeler=LocalLabeler(), checkpoint_steps=4)
        self.selector = LocalFilterSelector()
        self._retired: set[int] = set()

    def add(self) -> None:
        said = self._chance.choices(SAID, k=self._chance.randint(1, 6))
        steps = [Step(id=f"s{next(self._ids)}", role=self._chance.choice(("user", "agent")), content=t) for t in said]
        self.world.add(*steps, trajectory=self._chance.choice(TRAJECTORIES))

    def correct(self) -> None:
        for step in self._some(1):
            right = self._chance.choice(({"text": self._chance.choice(SAID)}, {"labels": {"scope": "other things"}}))
            correct(self.world.ingestor, tenant="a", trajectory=step.trajectory, step=step.step, at=1.0, **right)

    def erase(self) -> None:
        erase(self.world.ingestor, self._some(self._chance.choice((1, 2, 40))), tenant="a", folder=self._path)

    def retire(self) -> None:
        retired = self._some(1)
        retire(self.world.ingestor, retired, tenant="a", at=1.0, reason="")
        self._retired.update(each.seq for each in retired)

    def open_again(self) -> None:
        self.world.ingestor.save()
        self.world.journal.close()
        self.world = self._worlds(self._path / "j", labeler=LocalLabeler(), store=self.world.store, checkpoint_steps=4)

    def _some(self, most: int) -> list[Any]:
        chosen = Selector(trajectory=self._chance.choice(TRAJECTORIES))
        steps = [each for each in select(self.world.ingestor, chosen, tenant="a") if each.seq not in self._retired]
        return self._chance.sample(steps, min(most, len(steps)))

    def asked(self, selector: LocalFilterSelector, inventory: LabelInventory) -> list[Selection]:
        return [selector.select(SearchRequest(query=question, tenant="a"), inventory) for question in QUESTIONS]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10_000),
    st.lists(st.sampled_from(["add", "add", "add", "correct", "erase", "retire", "open_again"]), max_size=14),
)
def test_what_is_kept_up_to_date_is_what_would_be_made_anew(
    worlds: Any, tmp_path_factory: Any, seed: int, happens: list[str]
) -> None:
    life = Life(worlds, tmp_path_factory.mktemp("life"), Random(seed))
    whole = LabelInventory()
    for what in ["add", *happens]:
        getattr(life, what)()
        whole = life.world.inventory()
        parts = (life.world.inventory(trajectory=name) for name in sorted(TRAJECTORIES))
        anew = unite(part for part in parts if part != LabelInventory())
        assert whole == anew
        assert [*whole.event_types, *whole.entity_types] == [*anew.event_types, *anew.entity_types]
        assert life.asked(life.selector, whole) == life.asked(LocalFilterSelector(), anew)
    life.open_again()
    assert life.world.inventory() == whole

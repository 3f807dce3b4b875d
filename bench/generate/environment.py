"""Phase 1 of CAME-Bench (Appendix A.1, A.2): the closed world that a trajectory may speak of, and nothing beyond it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple


class Wording(NamedTuple):
    """The sentences of one kind of people."""

    name: str
    travel: Mapping[str, Any]
    debate: Mapping[str, Any]
    questions: Mapping[str, Any]
    capitals: bool
    """Whether sentences begin with a capital."""
    between: str
    """What stands between sentences."""


def read_phrases(name: str) -> Any:
    """A file of phrases, with tuples for lists."""

    def frozen(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: frozen(each) for name, each in value.items()}
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return frozen(json.loads((files(__package__) / "phrases" / f"{name}.json").read_text(encoding="utf-8")))


WORDINGS = {name: Wording(**read_phrases(name)) for name in ("plain", "chat")}
PLAIN = WORDINGS["plain"]
PARTS: Mapping[str, Any] = read_phrases("worlds")
"""Parts of invented names, traits of places, motions, themes and findings."""
PLAN: Mapping[str, Any] = read_phrases("plan")
"""Words that belong to no voice: goals, cues, numbers, the order of an agent's sentences."""
ORDINALS: tuple[str, ...] = PLAN["ordinals"]
CARDINALS: tuple[str, ...] = PLAN["cardinals"]


NAMESPACE = uuid.UUID("5b0e8a3e-6f5d-5d0e-8f6e-1f2f6a1f9c11")
"""Under which the ids of generated trajectories and evidence are made."""

PLACES_PER_KIND = 100
"""A.2.1: accommodations, restaurants and attractions, a hundred of each."""

PRICES = {"hotel": (90.0, 420.0), "restaurant": (18.0, 190.0), "attraction": (8.0, 70.0)}
"""From and to, in dollars."""

RATINGS = (1.5, 4.9)
CONTENTIONS_PER_SIDE = 5


class Theme(NamedTuple):
    """One aspect under which a motion can be judged."""

    name: str
    claims: dict[str, str]
    """By side: the contention."""
    reasons: dict[str, tuple[str, ...]]
    """By side: sentences that argue for its claim."""
    measures: tuple[str, ...]


THEMES = tuple(Theme(**theme) for theme in PARTS["themes"])


class Place(NamedTuple):
    """A hotel, restaurant or attraction."""

    name: str
    kind: str
    price: str
    """With its sign: `$76.22`. No two places of a world have the same."""
    rating: str
    traits: dict[str, str]
    """What is told of it wherever it comes up: `where`, `founder`, `custom`, `scent`, `sound`, `special`, `crowd`."""

    def value(self, attribute: str) -> str:
        """The answer to a question for `attribute`, price or rating."""
        return self.price if attribute == "price" else self.rating


class TravelWorld(NamedTuple):
    """All places, by kind."""

    places: dict[str, tuple[Place, ...]]

    def place(self, name: str) -> Place:
        """The place of that name."""
        return next(place for places in self.places.values() for place in places if place.name == name)

    def telling(self) -> Iterator[str]:
        """Telling values, prices, which only who was asked for them may say."""
        return (place.price for places in self.places.values() for place in places)


def build_travel_world(rng: Random) -> TravelWorld:
    """Make a hundred places of each kind; every name begins with another invented word, so none contains another."""
    stems = [begin + end for begin in PARTS["name_beginnings"] for end in PARTS["name_endings"]]
    rng.shuffle(stems)
    stem, prices = iter(stems), set[str]()
    return TravelWorld(
        {kind: tuple(_place(rng, kind, next(stem), prices) for _ in range(PLACES_PER_KIND)) for kind in PRICES}
    )


def _place(rng: Random, kind: str, stem: str, prices: set[str]) -> Place:
    name = f"{stem} {rng.choice(PARTS['middle_words'])} {rng.choice(PARTS['place_nouns'][kind])}"
    while (price := f"${rng.uniform(*PRICES[kind]):.2f}") in prices:
        pass
    prices.add(price)
    pools = {
        "where": PARTS["neighborhoods"], "founder": PARTS["founders"], "custom": PARTS["customs"],
        "scent": PARTS["scents"], "sound": PARTS["sounds"], "special": PARTS["specialties"][kind],
        "crowd": PARTS["crowds"],
    }  # fmt: skip
    traits = {trait: rng.choice(pool) for trait, pool in pools.items()}
    return Place(name, kind, price, f"{rng.uniform(*RATINGS):.1f}", traits)


class Contention(NamedTuple):
    """One of the reasons that a side gives for or against the motion."""

    id: str
    """As in the release: `pro_contention_3`."""
    side: str
    number: int
    statement: str
    theme: Theme


class Evidence(NamedTuple):
    """A snippet of invented research. Both sides may use it."""

    id: str
    title: str
    citation: str
    """`Author (Year)`: says nothing of its content, as entity normalization wants (A.2.2)."""
    finding: str
    theme: Theme


class DebateWorld(NamedTuple):
    """A motion with all that may be said about it."""

    motion: Mapping[str, str]
    """Its `text`, and what sentences need: `policy`, what is proposed, as their subject, `place` and `people`."""
    contentions: dict[str, Contention]
    """By id: those of the pro side first, each side's in order."""
    evidence: dict[str, Evidence]
    """By id."""

    def of_side(self, side: str) -> tuple[Contention, ...]:
        """The contentions of a side, in order."""
        return tuple(contention for contention in self.contentions.values() if contention.side == side)

    def telling(self) -> Iterator[str]:
        """Telling names, titles and citations of evidence, which only who uses it may say."""
        return (said for evidence in self.evidence.values() for said in (evidence.title, evidence.citation))


def build_debate_world(rng: Random, *, evidence: int) -> DebateWorld:
    """Make a motion, five contentions a side and that many pieces of evidence, spread evenly over the themes."""
    motion = rng.choice(PARTS["motions"])
    contentions: dict[str, Contention] = {}
    for side in ("pro", "con"):
        for number, theme in enumerate(rng.sample(THEMES, CONTENTIONS_PER_SIDE), start=1):
            said = theme.claims[side].format(**motion)
            name = f"{side}_contention_{number}"
            contentions[name] = Contention(name, side, number, said[0].upper() + said[1:], theme)
    endings = PARTS["author_endings"]
    citations = [
        f"{begin}{end} ({year})"
        for begin in PARTS["author_beginnings"]
        for end, year in zip(endings, rng.sample(range(1996, 2025), len(endings)), strict=True)
    ]
    rng.shuffle(citations)
    found = (
        _evidence(rng, citation, THEMES[number % len(THEMES)], motion)
        for number, citation in enumerate(citations[:evidence])
    )
    return DebateWorld(motion, contentions, {snippet.id: snippet for snippet in found})


def _evidence(rng: Random, citation: str, theme: Theme, motion: Mapping[str, str]) -> Evidence:
    subject = rng.choice(theme.measures)
    title = f"{theme.name.capitalize()} in {rng.choice(PARTS['settings'])}: {rng.choice(PARTS['methods'])} of {subject}"
    finding = rng.choice(PARTS["findings"]).format(
        measure=subject, moved=rng.choice(("rose", "fell")), percent=rng.randint(3, 41),
        places=rng.randint(7, 140), years=rng.randint(2, 12), place=motion["place"],
    )  # fmt: skip
    return Evidence(str(uuid.uuid5(NAMESPACE, citation + title)), title, citation, finding, theme)

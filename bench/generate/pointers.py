"""A generated trip with the traveler's turns said again, in families of frames that are only there to be fitted on.

The frames (`pointing_families.json`) share no sentence with the wordings and point in more ways than these: by price,
by rating, by what was told of a thing, by what came before another, by what was chosen or dropped; often without saying
again what the thing is for. The agent's turns stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from random import Random
from typing import Any

import orjson

from stitch.bench.generate.environment import TravelWorld
from stitch.bench.generate.storyboard import Operation
from stitch.bench.generate.trajectory import GeneratedTrajectory

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TOLD = ("where", "special", "founder", "sound", "scent")
_SAYS_NO_PURPOSE = 0.5
"""How often a turn for the same purpose as the one before does not say it."""
_SAYS_WHOSE = 0.3
"""How often a proposal is told to be somebody else's."""
_BESIDE = 0.4
"""How often something beside the point is said before what is asked, and behind it."""


@lru_cache(maxsize=1)
def families() -> Mapping[str, Mapping[str, Any]]:
    """The frames of each family."""
    data = files("stitch.bench.generate").joinpath("pointing_families.json").read_bytes()
    found: Mapping[str, Mapping[str, Any]] = orjson.loads(data)
    return found


def said_again(trip: GeneratedTrajectory, family: str) -> dict[str, str]:
    """The text of each turn of a trip, by its id, with the traveler's said by a family.

    A turn that names a thing in the trip names it here, and one that points at a thing points at it.
    """
    return dict(_Traveler(trip, families()[family], Random(f"{family} {trip.turns[0].id}")).turns())


class _Traveler:
    def __init__(self, trip: GeneratedTrajectory, frames: Mapping[str, Any], rng: Random) -> None:
        if not isinstance(trip.world, TravelWorld):
            raise TypeError("only trips are said again")
        self._world = trip.world
        self._trip, self._frames, self._rng = trip, frames, rng
        self._decks: dict[str, list[str]] = {}
        self._proposed: dict[tuple[int, str], list[str]] = {}
        self._decided: dict[tuple[int, str], list[str]] = {}
        self._told: dict[str, dict[str, str]] = {}
        self._days: set[int] = set()
        self._slot = ""
        self._by: dict[tuple[int, str, str], str] = {}

    def turns(self) -> Iterator[tuple[str, str]]:
        for turn in self._trip.turns:
            op = self._trip.storyboard.operations[turn.operation]
            if op.role == "user":
                yield turn.id, self._say(op, turn.text)
            else:
                self._hear(op, turn.text)
                yield turn.id, turn.text

    def _deal(self, key: str, pool: Sequence[str]) -> str:
        deck = self._decks.setdefault(key, [])
        if not deck:
            deck += self._rng.sample(list(pool), len(pool))
        return deck.pop()

    def _hear(self, op: Operation, text: str) -> None:
        """Take in which traits and figures the agent tells of the one thing that is spoken of."""
        if len(op.objects) != 1:
            return
        place = self._world.place(op.objects[0])
        facts = {**{name: place.traits[name] for name in _TOLD}, "price": place.price, "rating": place.rating}
        for name, value in facts.items():
            if re.search(rf"(?<![\d.]){re.escape(value)}(?!\d)", text):
                self._told.setdefault(place.name, {})[name] = value

    def _say(self, op: Operation, text: str) -> str:
        frames, day = self._frames, {"day": op.day, "dayo": _ORDINALS[op.day - 1] if op.day else ""}
        if op.action == "SET_DAY":
            key = "again" if op.day in self._days else "begin"
            self._days.add(op.day)
            self._slot = ""
            return self._sentence(self._deal(key, frames[key]).format(**day))
        scope = (op.day, op.slot)
        who = self._propose(op) if op.action == "PROPOSE" else ""
        silent = op.action != "PROPOSE" and op.slot == self._slot and self._rng.random() < _SAYS_NO_PURPOSE
        slot = self._deal(f"slot {op.slot}", frames["slots"][op.slot])
        purpose = self._deal("purpose", frames["purpose"]).format(slot=slot)
        things = [
            (name if op.action == "PROPOSE" or silent else f"{name}{purpose}")
            if name in text
            else self._point(op, name, silent)
            for name in op.objects
        ]
        acts = {"INQUIRE": " ".join(sorted(op.asked)), "DECIDE": "decide again" if scope in self._decided else "decide"}
        act = "propose by" if who else acts.get(op.action, op.action.lower())
        if op.action == "DECIDE":
            self._decided.setdefault(scope, []).append(op.objects[0])
        self._slot = op.slot
        said = [self._sentence(self._deal(act, frames[act]).format(x=things[0], y=things[-1], slot=slot, who=who))]
        return " ".join(self._with_more(said))

    def _with_more(self, said: list[str]) -> list[str]:
        """What is said, with something beside the point before it and behind it, or not."""
        for place in (0, len(said)):
            if self._rng.random() < _BESIDE:
                said.insert(place, self._sentence(self._deal("beside", self._frames["beside"])))
        return said

    def _propose(self, op: Operation) -> str:
        """Take in a proposal, and tell whose it is; empty if it is the traveler's own."""
        name = op.objects[0]
        self._proposed.setdefault((op.day, op.slot), []).append(name)
        if self._rng.random() < _SAYS_WHOSE:
            self._by[op.day, op.slot, name] = self._deal("people", self._frames["people"])
        return self._by.get((op.day, op.slot, name), "")

    def _point(self, op: Operation, name: str, silent: bool) -> str:
        """What stands for a thing that was proposed."""
        proposed = self._proposed[op.day, op.slot]
        told = self._told.get(name, {})
        form = self._rng.choice(self._forms(op, name))
        pool = [frame for frame in self._frames["references"][form] if not (silent and "{slot}" in frame)]
        at = proposed.index(name)
        kind = self._world.place(name).kind
        slot = self._deal(f"slot {op.slot}", self._frames["slots"][op.slot])
        fields = {
            "kind": self._deal(f"kind {kind}", self._frames["kinds"][kind]),
            "slot": slot,
            "o": _ORDINALS[at],
            "n": _CARDINALS[at],
            "k": at + 1,
            "prev": proposed[at - 1],
            "price": told.get("price", ""),
            "rating": told.get("rating", ""),
            "v": told.get(form, ""),
            "head": _head(name),
            "who": self._by.get((op.day, op.slot, name), ""),
            "for": "" if silent else self._deal("purpose", self._frames["purpose"]).format(slot=slot),
        }
        return self._deal(f"{form} {silent}", pool or self._frames["references"]["ord"][:1]).format(**fields)

    def _forms(self, op: Operation, name: str) -> list[str]:
        """The ways in which a thing can be told from the others for its purpose, the common ones more than once."""
        proposed = self._proposed[op.day, op.slot]
        told = self._told.get(name, {})
        at, count = proposed.index(name) + 1, len(proposed)
        if count == 1:
            return ["only"] * 3 + [form for form in ("price", *_TOLD) if form in told][:1]
        forms = ["ord"] * 3 + ["last"] * 2 * (at == count) + ["first"] * 2 * (at == 1)
        forms += ["of_two1" if at == 1 else "of_two2"] * 3 * (count == 2)
        forms += ["after"] * (at > 1 and count > 2)
        forms += self._unlike(("price", "rating"), name, proposed)
        forms += self._by_price(name, proposed)
        forms += ["named"] * 2 * all(_head(name) != _head(other) for other in proposed if other != name)
        whose = [self._by.get((op.day, op.slot, other), "") for other in proposed]
        forms += ["who"] * 3 * (bool(whose[at - 1]) and whose.count(whose[at - 1]) == 1)
        unlike = self._unlike(_TOLD, name, proposed)
        forms += [self._rng.choice(unlike)] * 2 if unlike else []
        decided = self._decided.get((op.day, op.slot), [])
        if op.action != "DECIDE" and decided:
            forms += ["chosen"] * 2 * (decided[-1] == name)
            forms += ["dropped"] * 2 * (decided[-1] != name and set(decided[:-1]) == {name})
        return forms

    def _by_price(self, name: str, proposed: Sequence[str]) -> list[str]:
        """Whether it is the dearest or the cheapest, where all their prices were told."""
        told = [self._told.get(other, {}).get("price", "") for other in proposed]
        prices = [float(price.lstrip("$").replace(",", "")) for price in told if price]
        if not len(prices) == len(proposed) > 1:
            return []
        own = prices[proposed.index(name)]
        return ["dear"] * 2 * (own == max(prices)) + ["cheap"] * 2 * (own == min(prices))

    def _unlike(self, forms: Iterable[str], name: str, proposed: Sequence[str]) -> list[str]:
        """What of these was told of a thing, and not the same of another one."""
        told = self._told.get(name, {})
        others = [self._told.get(other, {}) for other in proposed if other != name]
        return [form for form in forms if form in told and all(told[form] != other.get(form) for other in others)]

    def _sentence(self, text: str) -> str:
        return text if text[-1] in ".?!:" else f"{text}{self._rng.choice(('.', '.', '', '?'))}"


def _head(name: str) -> str:
    return name.rsplit(" ", 1)[-1].lower()

"""Phase 4 of CAME-Bench (Appendix A.1): language as people use it.

Referential remodeling (names become ordinals over earlier proposals, or pronouns), turn segmentation (a long answer
becomes several turns), entity normalization (titles become `Author (Year)`, claims become ordinals).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from stitch.bench.generate.environment import CARDINALS, ORDINALS, PLAIN, DebateWorld, Wording
from stitch.bench.generate.realization import claim_of, title_of
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation

NAMED_SHARE = 0.04
"""How often a name is left standing. In the authors' example a name is said when it is proposed, then nearly never."""


def known_names(operations: Iterable[Operation]) -> Iterator[Sequence[str]]:
    """The names that were proposed so far for the slot of each operation of a trip, its own included."""
    proposed: dict[tuple[int, str], list[str]] = {}
    for op in operations:
        names = proposed.setdefault((op.day, op.slot), [])
        if op.role == "user" and op.action == "PROPOSE":
            names += op.objects
        yield tuple(names)


class Mention(NamedTuple):
    """An expression in a text that stands for an object."""

    text: str
    object: str


class Refined(NamedTuple):
    """A text as it is finally said, with what stands for its objects, in their order."""

    text: str
    mentions: tuple[Mention, ...]


def refer_in_travel(
    operation: Operation, text: str, *, known: Sequence[str], rng: Random, wording: Wording = PLAIN
) -> Refined:
    """Replace the names in a turn of a trip, `text`, which names everything outright."""
    mentions, travel = [], wording.travel
    for number, name in enumerate(operation.objects):
        opening = said = name
        if operation.role == "user":
            if operation.action != "PROPOSE":
                opening = said = _travel_reference(operation, name, known, rng=rng, wording=travel)
        elif rng.random() >= NAMED_SHARE:
            if len(operation.objects) > 1:
                opening, *phrases = travel["both"][number]
            else:
                phrases = travel["pronouns"][KIND_OF_SLOT[operation.slot]]
                opening = "it" if rng.random() < travel["opening_it"] else rng.choice(phrases)
            said = rng.choice(phrases)
        if said != name:
            text = _replace(text, name, opening=opening, inside=said)
        mentions.append(Mention(said, name))
    return Refined(text, tuple(mentions))


def _travel_reference(
    operation: Operation, name: str, known: Sequence[str], *, rng: Random, wording: Mapping[str, Any]
) -> str:
    slot, place = wording["nouns"][operation.slot], known.index(name)
    if rng.random() < NAMED_SHARE:
        return f"{name} for {slot} on day {operation.day}"
    form = "latest" if 1 < len(known) == place + 1 and rng.random() < 0.2 else "ordinal"
    ordinal = ORDINALS[place] if place < len(ORDINALS) and rng.random() < 0.85 else _numeral(place + 1)
    facts = {"ordinal": ordinal, "number": place + 1, "kind": KIND_OF_SLOT[operation.slot], "slot": slot}
    return str(rng.choice(wording["references"][form]).format(**facts, day=f"day {operation.day}"))


def _numeral(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _replace(text: str, name: str, *, opening: str, inside: str) -> str:
    """Replace every occurrence of a name: where a sentence begins with it, and inside of sentences."""

    def put(found: re.Match[str]) -> str:
        start = not found.start() or bool(re.search(r"[.?!]\s+$", text[: found.start()]))
        words = opening if start else inside
        if found[1]:
            words = "its" if words == "it" else f"{words}'s"
        return words[0].upper() + words[1:] if start else words

    return re.sub(rf"(?i:{re.escape(name[0])}){re.escape(name[1:])}('s|’s)?", put, text)


def refer_in_debate(
    world: DebateWorld, operation: Operation, text: str, *, rng: Random, wording: Wording = PLAIN
) -> Refined:
    """Replace claims by ordinals over the contentions of a side, and titles by citations; what is proposed stays."""
    mentions = []
    if operation.target and operation.action not in ("propose", "background_supply"):
        contention = world.contentions[operation.target]
        forms = wording.debate["own" if operation.role.startswith(contention.side) else "other"]
        place = contention.number - 1
        ordinals = {"ordinal": ORDINALS[place], "adverb": ORDINALS[place], "cardinal": CARDINALS[place]}
        said = rng.choice(forms).format(**ordinals, number=contention.number)
        text = _replace(text, claim_of(contention.statement), opening=said, inside=said)
        mentions.append(Mention(said, operation.target))
    for name in operation.cited:
        evidence = world.evidence[name]
        text = text.replace(title_of(evidence.title), evidence.citation)
        mentions.append(Mention(evidence.citation, name))
    return Refined(text, tuple(mentions))


def segment(text: str, *, rng: Random) -> tuple[str, ...]:
    """Split a long answer into turns of whole sentences, of at most about 95 to 140 words each."""
    turns: list[list[str]] = [[]]
    limit = rng.randint(95, 140)
    for sentence in re.split(r"(?<=[.?!])\s+", text):
        words = sum(len(part.split()) for part in turns[-1]) + len(sentence.split())
        if turns[-1] and words > limit:
            turns.append([])
            limit = rng.randint(95, 140)
        turns[-1].append(sentence)
    return tuple(" ".join(part) for part in turns)

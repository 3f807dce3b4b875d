"""Phase 4 of CAME-Bench (Appendix A.1): language as people use it.

Referential remodeling (names become ordinals over earlier proposals, or pronouns), turn segmentation (a long answer
becomes several turns), entity normalization (titles become `Author (Year)`, claims become ordinals).
"""

from __future__ import annotations

import re
from random import Random
from typing import NamedTuple

from stitch.bench.generate import phrases_debate, phrases_travel_agent, phrases_traveler
from stitch.bench.generate.environment import DebateWorld
from stitch.bench.generate.realization import claim_of, title_of
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation

NAMED_SHARE = 0.04
"""How often a name is left standing. In the authors' example a name is said when it is proposed, then nearly never."""

_SENTENCE_BREAK = re.compile(r"(?<=[.?!])\s+")


class Mention(NamedTuple):
    """An expression in a text that stands for an object."""

    text: str
    object: str


class Refined(NamedTuple):
    """A text as it is finally said, with what stands for its objects, in their order."""

    text: str
    mentions: tuple[Mention, ...]


def refer_in_travel(operation: Operation, text: str, *, known: tuple[str, ...], rng: Random) -> Refined:
    """Replace the names in a turn of a trip.

    Args:
        operation: Whose turn it is.
        text: Names everything outright.
        known: What was proposed so far for the slot of the operation, in order; what the ordinals count.
        rng: Makes every choice.
    """
    mentions = []
    for number, name in enumerate(operation.objects):
        if operation.action == "PROPOSE" and operation.role == "user":
            mentions.append(Mention(name, name))
            continue
        if operation.role == "user":
            said = _travel_reference(operation, name, known, rng)
            text = _replace(text, name, opening=said, inside=said)
            mentions.append(Mention(said, name))
        elif rng.random() >= NAMED_SHARE:
            opening, phrases = _ANSWERING[number] if len(operation.objects) > 1 else _alone(operation, rng)
            said = rng.choice(phrases)
            text = _replace(text, name, opening=opening, inside=said)
            mentions.append(Mention(said, name))
        else:
            mentions.append(Mention(name, name))
    return Refined(text, tuple(mentions))


_ANSWERING = (
    ("the first one", ("the first one", "the former", "the first of the two")),
    ("the second one", ("the second one", "the latter", "the second of the two")),
)
"""How the agent tells two places apart: at the beginning of a sentence, and elsewhere."""


def _alone(operation: Operation, rng: Random) -> tuple[str, tuple[str, ...]]:
    phrases = phrases_travel_agent.PRONOUN_PHRASES[KIND_OF_SLOT[operation.slot]]
    return ("it" if rng.random() < 0.75 else rng.choice(phrases)), phrases


def _travel_reference(operation: Operation, name: str, known: tuple[str, ...], rng: Random) -> str:
    slot = phrases_traveler.SLOT_NOUNS[operation.slot]
    if rng.random() < NAMED_SHARE:
        return f"{name} for {slot} on day {operation.day}"
    place = known.index(name)
    forms: tuple[str, ...] = phrases_traveler.REFERENCES
    if 1 < len(known) == place + 1 and rng.random() < 0.2:
        forms = phrases_traveler.LATEST_REFERENCES
    words = phrases_traveler.ORDINALS
    ordinal = words[place] if place < len(words) and rng.random() < 0.85 else _numeral(place + 1)
    kind = KIND_OF_SLOT[operation.slot]
    return rng.choice(forms).format(ordinal=ordinal, kind=kind, slot=slot, day=f"day {operation.day}")


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

    return re.sub(rf"{re.escape(name)}('s|’s)?", put, text)


def refer_in_debate(world: DebateWorld, operation: Operation, text: str, *, rng: Random) -> Refined:
    """Replace claims by ordinals over the contentions of a side, and titles by citations; what is proposed stays."""
    mentions = []
    if operation.target and operation.action not in ("propose", "background_supply"):
        contention = world.contentions[operation.target]
        own = operation.role.startswith(contention.side)
        forms = phrases_debate.OWN_CONTENTIONS if own else phrases_debate.OTHER_CONTENTIONS
        word = phrases_debate.ADVERBS[contention.number - 1]
        said = rng.choice(forms).format(ordinal=word, adverb=word)
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
    for sentence in _SENTENCE_BREAK.split(text):
        words = sum(len(part.split()) for part in turns[-1]) + len(sentence.split())
        if turns[-1] and words > limit:
            turns.append([])
            limit = rng.randint(95, 140)
        turns[-1].append(sentence)
    return tuple(" ".join(part) for part in turns)

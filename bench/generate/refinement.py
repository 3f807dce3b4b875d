"""Phase 4 of CAME-Bench (Appendix A.1): language as people use it.

Referential remodeling (names become ordinals over earlier proposals, or pronouns), turn segmentation (a long answer
becomes several turns), entity normalization (titles become `Author (Year)`, claims become ordinals).
"""

from __future__ import annotations

import re
from random import Random
from typing import NamedTuple

from stitch.bench.generate.environment import DebateWorld
from stitch.bench.generate.focus import Scene
from stitch.bench.generate.realization import claim_of, title_of
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation
from stitch.bench.generate.wordings import ORDINALS, PLAIN, DebateWording, TravelWording, Wording

NAMED_SHARE = 0.04
"""How often a name is left standing. In the authors' example a name is said when it is proposed, then nearly never."""

CONTENT_SHARE = 0.6
"""How often a contention is named by what it is about, by people who do that."""

_SENTENCE_BREAK = re.compile(r"(?<=[.?!])\s+")


class Mention(NamedTuple):
    """An expression in a text that stands for an object."""

    text: str
    object: str


class Refined(NamedTuple):
    """A text as it is finally said, with what stands for its objects, in their order."""

    text: str
    mentions: tuple[Mention, ...]


def refer_in_travel(operation: Operation, text: str, *, scene: Scene, rng: Random, wording: Wording = PLAIN) -> Refined:
    """Replace the names in a turn of a trip.

    Args:
        operation: Whose turn it is.
        text: Names everything outright.
        scene: What can be referred to.
        rng: Makes every choice.
        wording: How the traveler and the agent refer to things.
    """
    mentions = []
    for number, name in enumerate(operation.objects):
        if operation.action == "PROPOSE" and operation.role == "user":
            mentions.append(Mention(name, name))
            continue
        if operation.role == "user":
            said = _travel_reference(operation, name, scene, rng=rng, wording=wording.travel)
            text = _replace(text, name, opening=said, inside=said)
            mentions.append(Mention(said, name))
        elif rng.random() >= NAMED_SHARE:
            opening, phrases = (
                _of_two(wording, number) if len(operation.objects) > 1 else _alone(operation, rng, wording)
            )
            said = rng.choice(phrases)
            text = _replace(text, name, opening=opening, inside=said)
            mentions.append(Mention(said, name))
        else:
            mentions.append(Mention(name, name))
    return Refined(text, tuple(mentions))


def _of_two(wording: Wording, number: int) -> tuple[str, tuple[str, ...]]:
    """How the agent tells two places apart: at the beginning of a sentence, and elsewhere."""
    opening, *phrases = wording.travel.both[number]
    return opening, tuple(phrases)


def _alone(operation: Operation, rng: Random, wording: Wording) -> tuple[str, tuple[str, ...]]:
    phrases = wording.travel.pronouns[KIND_OF_SLOT[operation.slot]]
    return ("it" if rng.random() < wording.travel.opening_it else rng.choice(phrases)), phrases


CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

_WEIGHTS = {"ordinal": 1.0, "near": 1.5, "other": 2.0, "only": 1.5, "chosen": 2.0, "described": 0.5, "again": 2.0}
"""How likely an expression of a form is beside the others that would do."""


def _travel_reference(operation: Operation, name: str, scene: Scene, *, rng: Random, wording: TravelWording) -> str:
    slot = wording.nouns[operation.slot]
    if rng.random() < NAMED_SHARE:
        return f"{name} for {slot} on day {operation.day}"
    place = scene.known.index(name)
    form = "ordinal"
    if 1 < len(scene.known) == place + 1 and rng.random() < 0.2:
        form = "latest"
    elif len(wording.references) > 2:
        form = _form(operation, name, scene, rng=rng)
    ordinal = ORDINALS[place] if place < len(ORDINALS) and rng.random() < 0.85 else _numeral(place + 1)
    facts = dict(zip(("special", "where"), scene.told[place][1:], strict=True)) if scene.told else {}
    forms = [text for text in wording.references[form] if form != "described" or _describes(text, facts, scene, name)]
    return rng.choice(forms).format(
        ordinal=ordinal,
        cardinal=CARDINALS[place] if place < len(CARDINALS) else place + 1,
        number=place + 1,
        kind=KIND_OF_SLOT[operation.slot],
        slot=slot,
        day=f"day {operation.day}",
        **facts,
    )


def _form(operation: Operation, name: str, scene: Scene, *, rng: Random) -> str:
    """How a traveler with several kinds of expressions finds a place: by one that fits it alone."""
    alone = len(operation.objects) == 1
    fitting = {
        "ordinal": True,
        "near": scene.near,
        "other": alone and len(scene.known) == 2 and scene.last not in ("", name),
        "only": alone and len(scene.known) == 1,
        "chosen": operation.action == "INQUIRE" and scene.chosen == name,
        "described": len(scene.only(name)) == 2,
        "again": alone and scene.near and scene.last == name,
    }
    forms = [form for form, fits in fitting.items() if fits]
    return rng.choices(forms, [_WEIGHTS[form] for form in forms])[0]


def _describes(text: str, facts: dict[str, str], scene: Scene, name: str) -> bool:
    """Whether what a form tells is told of this place alone."""
    return any(f"{{{trait}}}" in text and told in scene.only(name) for trait, told in facts.items())


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
    world: DebateWorld, operation: Operation, text: str, *, rng: Random, wording: DebateWording = PLAIN.debate
) -> Refined:
    """Replace claims by ordinals over the contentions of a side or by what they are about, and titles by citations;
    what is proposed stays.
    """
    mentions = []
    if operation.target and operation.action not in ("propose", "background_supply"):
        contention = world.contentions[operation.target]
        forms = wording.own if operation.role.startswith(contention.side) else wording.other
        kind = "content" if "content" in forms and rng.random() < CONTENT_SHARE else "ordinal"
        word = ORDINALS[contention.number - 1]
        said = rng.choice(forms[kind]).format(
            ordinal=word,
            adverb=word,
            cardinal=CARDINALS[contention.number - 1],
            number=contention.number,
            alias=wording.aliases.get(contention.theme.name, ""),
        )
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

"""Phase 4 of CAME-Bench (Appendix A.1): language as people use it.

Referential remodeling (names become ordinals over earlier proposals, or pronouns), turn segmentation (a long answer
becomes several turns), entity normalization (titles become `Author (Year)`, claims become ordinals).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from stitch.bench.generate.environment import CARDINALS, ORDINALS, PLAIN, DebateWorld, TravelWorld, Wording
from stitch.bench.generate.realization import claim_of, title_of
from stitch.bench.generate.storyboard import KIND_OF_SLOT, Operation

NAMED_SHARE = 0.04
"""How often a name is left standing. In the authors' example a name is said when it is proposed, then nearly never."""

CONTENT_SHARE = 0.6
"""How often a contention is named by what it is about, by people who do that."""

_WEIGHTS = {"ordinal": 1.0, "near": 1.5, "other": 2.0, "only": 1.5, "chosen": 2.0, "described": 0.5, "again": 2.0}
"""How likely an expression of a form is beside the others that would do."""


class Scene(NamedTuple):
    """What a traveler can refer to: what the slot of an operation has seen."""

    known: Sequence[str]
    """What was proposed for it so far, in order; what ordinals count."""
    chosen: str = ""
    """What was decided last."""
    last: str = ""
    """What the traveler spoke of last; empty after two things were compared."""
    near: bool = False
    """The exchange before was about the same slot of the same day."""
    told: tuple[tuple[str, str, str], ...] = ()
    """Of each known place its name, what is special about it and where it is, as the agent told."""

    def only(self, name: str) -> frozenset[str]:
        """What was told of a place and of no other known one."""
        mine = {told for owner, *traits in self.told if owner == name for told in traits}
        return frozenset(mine - {told for owner, *traits in self.told if owner != name for told in traits})


def scenes(world: TravelWorld, operations: Iterable[Operation]) -> Iterator[Scene]:
    """The scene in which each operation of a trip is said; what the traveler proposes belongs to it already.

    What the agent says changes nothing.
    """
    seen: dict[tuple[int, str], Scene] = {}
    before: tuple[int, str] | None = None
    for op in operations:
        slot = op.day, op.slot
        scene = seen.get(slot, Scene(()))
        if op.role == "user" and op.action == "PROPOSE":
            scene = scene._replace(known=(*scene.known, *op.objects))
        traits = {name: world.place(name).traits for name in scene.known}
        told = tuple((name, own["special"], own["where"]) for name, own in traits.items())
        yield scene._replace(near=before == slot, told=told)
        if op.role == "user":
            chosen = op.objects[0] if op.action == "DECIDE" else scene.chosen
            seen[slot] = scene._replace(chosen=chosen, last=op.objects[0] if len(op.objects) == 1 else "")
            before = slot


class Mention(NamedTuple):
    """An expression in a text that stands for an object."""

    text: str
    object: str


class Refined(NamedTuple):
    """A text as it is finally said, with what stands for its objects, in their order."""

    text: str
    mentions: tuple[Mention, ...]


def refer_in_travel(operation: Operation, text: str, *, scene: Scene, rng: Random, wording: Wording = PLAIN) -> Refined:
    """Replace the names in a turn of a trip, `text`, which names everything outright."""
    mentions, travel = [], wording.travel
    for number, name in enumerate(operation.objects):
        opening = said = name
        if operation.role == "user":
            if operation.action != "PROPOSE":
                opening = said = _travel_reference(operation, name, scene, rng=rng, wording=travel)
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


def _travel_reference(operation: Operation, name: str, scene: Scene, *, rng: Random, wording: Mapping[str, Any]) -> str:
    slot = wording["nouns"][operation.slot]
    if rng.random() < NAMED_SHARE:
        return f"{name} for {slot} on day {operation.day}"
    place = scene.known.index(name)
    form = "ordinal"
    if 1 < len(scene.known) == place + 1 and rng.random() < 0.2:
        form = "latest"
    elif len(wording["references"]) > 2:
        form = _form(operation, name, scene, rng=rng)
    ordinal = ORDINALS[place] if place < len(ORDINALS) and rng.random() < 0.85 else _numeral(place + 1)
    facts = dict(zip(("special", "where"), scene.told[place][1:], strict=True)) if scene.told else {}
    forms = wording["references"][form]
    if form == "described":
        own = scene.only(name)
        forms = [text for text in forms if any(f"{{{each}}}" in text and told in own for each, told in facts.items())]
    return str(
        rng.choice(forms).format(
            ordinal=ordinal,
            cardinal=CARDINALS[place] if place < len(CARDINALS) else place + 1,
            number=place + 1,
            kind=KIND_OF_SLOT[operation.slot],
            slot=slot,
            day=f"day {operation.day}",
            **facts,
        )
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
    """Replace claims by ordinals over the contentions of a side or by what they are about, and titles by citations;
    what is proposed stays.
    """
    mentions, debate = [], wording.debate
    if operation.target and operation.action not in ("propose", "background_supply"):
        contention = world.contentions[operation.target]
        forms = debate["own" if operation.role.startswith(contention.side) else "other"]
        kind = "content" if "content" in forms and rng.random() < CONTENT_SHARE else "ordinal"
        said = rng.choice(forms[kind]).format(**counted(contention.number), alias=alias(wording, contention.theme.name))
        text = _replace(text, claim_of(contention.statement), opening=said, inside=said)
        mentions.append(Mention(said, operation.target))
    for name in operation.cited:
        evidence = world.evidence[name]
        text = text.replace(title_of(evidence.title), evidence.citation)
        mentions.append(Mention(evidence.citation, name))
    return Refined(text, tuple(mentions))


def counted(number: int) -> dict[str, Any]:
    """The words for a number from 1 that phrases have fields for."""
    return {"ordinal": ORDINALS[number - 1], "adverb": ORDINALS[number - 1], "cardinal": CARDINALS[number - 1],
            "number": number}  # fmt: skip


def alias(wording: Wording, theme: str) -> str:
    """What people of a voice call a theme."""
    return str(wording.debate["aliases"].get(theme, ""))


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

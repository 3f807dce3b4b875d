"""Phase 3 of CAME-Bench (Appendix A.1): operations become language.

Realizations name everything outright; what makes them hard comes in phase 4. Two forms: templates, which need nothing,
and a language model, which writes from the same request.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from stitch.bench.generate.environment import ORDINALS, PLAIN, PLAN, DebateWorld, TravelWorld, Wording
from stitch.bench.generate.storyboard import Operation
from stitch.errors import ReplyError
from stitch.lm import LanguageModel, Purpose


class RealizationRequest(NamedTuple):
    """The content of a realization."""

    operation: Operation
    goal: str
    """The latent goal in one sentence, for a writer who does not know the symbols."""
    must_say: tuple[str, ...]
    """Names, claims, titles and values that have to stand in the text literally."""
    facts: dict[str, str]
    """What may be told: the words that templates fill in, and all that a writer may know of the world."""
    again: bool = False
    """The day was planned before, or the slot decided before."""
    words: tuple[int, int] = (20, 60)
    """About how long the text should be."""


Realize = Callable[[RealizationRequest], str]
"""Writes the text of one operation, everything named outright: templates do, and a model may."""


class ModelWriter:
    """Writes the text of operations, one call each; what it cannot write is left to the templates.

    A provider that is down and a spent budget are raised: what half a model wrote is not what was asked for.
    """

    def __init__(self, model: LanguageModel) -> None:
        import dspy

        from stitch.signatures import RealizeOperation

        self._model = model
        self._predict = dspy.Predict(RealizeOperation)

    def __call__(self, request: RealizationRequest) -> str:
        """The text of an operation; empty if the reply is of no use."""
        role = request.operation.role
        try:
            said: Any = self._model.run(
                self._predict,
                purpose=Purpose("realize"),
                setting=PLAN["settings"]["trip" if role in PLAN["speakers"] else "debate"],
                speaker=PLAN["speakers"].get(role, f"the debater {role!r}"),
                plan=request.goal,
                must_say=list(request.must_say),
                facts=request.facts,
                length="{} to {} words".format(*request.words),
            )
        except ReplyError:
            return ""
        return str(said.text)


def travel_request(world: TravelWorld, operation: Operation, *, again: bool) -> RealizationRequest:
    """The request of an operation of a trip: names, and in the agent's answer the values that were asked for."""
    op, by_user, day = operation, operation.role == "user", f"day {operation.day}"
    places = [world.place(name) for name in op.objects]
    values = () if by_user or op.action != "INQUIRE" else tuple(places[0].value(wish) for wish in op.asked)
    facts = {"day": day, "nth": ORDINALS[op.day - 1]}
    if len(places) == 1:
        facts |= {"name": places[0].name, "price": places[0].price, "rating": places[0].rating, **places[0].traits}
    elif places:
        facts |= {"first": places[0].name, "second": places[1].name}
        for number, place in enumerate(places, start=1):
            facts |= {f"{trait}{number}": told for trait, told in place.traits.items()}
    told = {"day": day, "objects": " and ".join(op.objects), "slot": op.slot, "asked": " and ".join(op.asked)}
    goal = PLAN["goals"][op.action].format(**told)
    must_say = (day,) if op.action == "SET_DAY" else (*op.objects, *values)
    words = (10, 60) if by_user else PLAN["agent_words"][op.action]
    return RealizationRequest(op, goal if by_user else f"answer the wish to {goal}", must_say, facts, again, words)


def claim_of(statement: str) -> str:
    """A contention as a noun phrase that can stand anywhere in a sentence."""
    return f"the claim that {statement[0].lower()}{statement[1:].rstrip('.')}"


def title_of(title: str) -> str:
    """A title as it stands in a sentence."""
    return f"“{title}”"


def debate_request(world: DebateWorld, operation: Operation) -> RealizationRequest:
    """The request of an operation of a debate: the claim at issue, and the title of evidence that is cited."""
    op, must_say = operation, tuple[str, ...]()
    facts = {name: said for name, said in world.motion.items() if name != "text"} | {"side": op.role.split("-")[0]}
    contention = world.contentions[op.target or next(iter(world.contentions))]
    facts["theme"] = contention.theme.name
    if op.target:
        facts |= {"statement": contention.statement, "claim": claim_of(contention.statement)}
        if op.action != "background_supply":
            must_say = (facts["statement"] if op.action == "propose" else facts["claim"],)
    goal = PLAN["goals"][op.action].format(claim=facts.get("claim", ""))
    if op.cited:
        evidence = world.evidence[op.cited[0]]
        facts |= {"evidence": title_of(evidence.title), "finding": evidence.finding}
        must_say += (facts["evidence"],)
        goal += f", citing {facts['evidence']}, which found that {facts['finding']}"
    if op.action == "summarize":
        must_say = tuple(world.contentions[name].statement for name in op.objects)
    return RealizationRequest(op, goal, must_say, facts, words=(150, 450))


class Templates:
    """Realizes operations from templates; the same seed gives the same texts."""

    def __init__(self, world: TravelWorld | DebateWorld, rng: Random, wording: Wording = PLAIN) -> None:
        self._world, self._rng, self._wording = world, rng, wording
        self._left: dict[str, list[str]] = {}

    def __call__(self, request: RealizationRequest) -> str:
        """The text of the operation."""
        if isinstance(self._world, TravelWorld):
            return self._of_trip(request)
        return self._of_debate(request, self._world)

    def _deal(self, name: str, pool: tuple[str, ...], count: int = 1) -> list[str]:
        """The next entries of a shuffled pool, which is shuffled anew where too few are left."""
        left = self._left.setdefault(name, [])
        if len(left) < count:
            left[:] = self._rng.sample(pool, len(pool))
        return [left.pop() for _ in range(count)]

    def _of_trip(self, request: RealizationRequest) -> str:
        op, travel, rng = request.operation, self._wording.travel, self._rng
        facts = dict(request.facts)
        if op.slot:
            facts["slot"] = rng.choice(travel["slots"][op.slot])
            facts["wrong"] = rng.choice([noun for slot, noun in travel["nouns"].items() if slot != op.slot])
        pools = self._user(request) if op.role == "user" else self._agent(op)
        texts = travel["user" if op.role == "user" else "agent"]
        said = [text for name in pools for text in self._deal(f"{op.role} {name}", texts[name])]
        return self._sentences(said, facts)

    def _user(self, request: RealizationRequest) -> list[str]:
        op, chance = request.operation, self._rng.random
        if op.action == "SET_DAY":
            pools = ["SET_DAY again" if request.again else "SET_DAY"]
            return pools + ["SET_DAY rest"] * (chance() < 0.6) + ["small talk"] * (chance() < 0.2)
        name = " ".join((op.action, *op.asked)) if op.action == "INQUIRE" else op.action
        pools = ["DECIDE again" if op.action == "DECIDE" and request.again else name]
        reasons = ["reason"] * self._rng.choice((0, 1, 1, 2, 2, 3))
        if reasons and chance() < 0.25:
            pools.insert(0, reasons.pop())  # the point of the turn comes second
        return ["correction"] * (chance() < 0.06) + pools + reasons + ["small talk"] * (chance() < 0.1)

    def _agent(self, op: Operation) -> list[str]:
        parts = PLAN["agent"][op.action]
        name, *number = parts["more"]
        middle = [*parts.get("shuffled", ())]
        middle += [name] * self._rng.randint(*(number or self._wording.travel["fill"][name]))
        if "shuffled" in parts:
            self._rng.shuffle(middle)
        opening = [each.format(asked=" ".join(op.asked)) for each in parts["open"]]
        return [*opening, *middle, *parts["close"]]

    def _of_debate(self, request: RealizationRequest, world: DebateWorld) -> str:
        op, rng, texts = request.operation, self._rng, self._wording.debate
        [opening], [closing] = (
            self._deal(f"{end} {op.action}", texts[end][op.action]) for end in ("openings", "closings")
        )
        pool, general = texts["arguing"][op.action], texts["general"]
        # Never more than half of a pool and one: then no turn says the same thing twice.
        arguing = self._deal(op.action, pool, min(rng.randint(6, 8), len(pool) // 2 + 1))
        general = self._deal("general", general, min(rng.randint(6, 10), len(general) // 2 + 1))
        paragraphs = (
            [opening, *map(self._tied, arguing[:2])],
            [*self._support(request, world), *map(self._tied, arguing[2:])],
            [*map(self._tied, general), closing],
        )
        return "\n\n".join(self._sentences(sentences, request.facts) for sentences in paragraphs)

    def _tied(self, sentence: str) -> str:
        """A sentence, perhaps tied to what was said before by a few words."""
        if self._rng.random() >= 0.3 or sentence.startswith(("I ", "Yes")):
            return sentence
        [tie] = self._deal("ties", self._wording.debate["ties"])
        return f"{tie} {sentence[0].lower()}{sentence[1:]}"

    def _support(self, request: RealizationRequest, world: DebateWorld) -> list[str]:
        """Sentences that support an argument: evidence if it is to be cited, and reasons of the theme."""
        op, texts = request.operation, self._wording.debate
        if op.action == "summarize":
            return [world.contentions[name].statement for name in op.objects]
        if op.action in ("background_supply", "concede"):
            return []
        # Whoever attacks argues with the reasons of the side that does not hold the contention.
        theme, side = world.contentions[op.target].theme, request.facts["side"]
        reasons = self._deal(f"{side} {theme.name}", theme.reasons[side], self._rng.randint(2, 3))
        if "evidence" not in request.facts:
            return reasons
        citing = self._deal(f"cite {op.action}", texts["citing"][op.action])
        return [*citing, *self._deal("cited", texts["after_citing"], self._rng.randint(1, 3)), *reasons]

    def _sentences(self, templates: list[str], facts: dict[str, str]) -> str:
        """The templates filled, as one paragraph."""
        filled = [template.format(**facts) for template in templates]
        if self._wording.capitals:
            filled = [sentence[0].upper() + sentence[1:] for sentence in filled]
        return self._wording.between.join(filled)

"""The weights of local scope tracking and of replies, fitted on trajectories with gold scopes.

A conditional logit: of the candidates of a step, those of the right scope are to win. First with gold history, then,
so that it learns to live with its own mistakes, with the history its own choices make. Then, in the same form, whether
a scope in doubt continues an earlier one. How well a step follows another is learned before (`replies`), and for the
examples from the other half of the trajectories, so that it is trusted no more than on what it has not seen. Beside the
sets, trajectories woven from their stretches teach kinds of talk that they lack (`talk`). Chats with an assistant who
answers at length have weights of their own, near to the others, learned from sessions that are woven.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from stitch.bench.fit.replies import fit_replies, write_replies
from stitch.bench.fit.solvers import Choice, Example, Weights, conditional_logit, left_out
from stitch.bench.fit.talk import KINDS, LabeledTrajectory, Woven, chat, read_chats, read_set, read_steps, stretches
from stitch.bench.metrics.clusters import macro_bcubed, switch_f1
from stitch.bench.metrics.scores import Unscored
from stitch.label.local.candidates import FEATURES, Candidate
from stitch.label.local.evidence import Scope
from stitch.label.local.reading import Reading
from stitch.label.local.replies import Replies
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.threads import JOIN_FEATURES

Sets = Mapping[str, Sequence[LabeledTrajectory]]


class LabeledSet(NamedTuple):
    """A set to learn from."""

    path: str
    weight: float
    """What it counts beside the others, whatever its size."""


SETS = {
    "star": LabeledSet("labels/star.jsonl.gz", 2.0),
    "sgd": LabeledSet("labels/sgd.jsonl.gz", 2.0),
    "tiage": LabeledSet("labels/tiage.jsonl.gz", 1.0),
    "dialseg711": LabeledSet("labels/dialseg711.jsonl.gz", 1.0),
    "irc": LabeledSet("labels/irc.jsonl.gz", 1.0),
    "sgd_interleaved": LabeledSet("memory_qa/sgd_interleaved/trajectories.jsonl.gz", 0.6),
}
_MADE_BY = "python -m stitch.bench.fit scopes"
STEPS_PER_SET, JOINS_PER_SET = 3_000, 1_000
WOVEN_FROM, WOVEN = ("star", "sgd", "tiage", "dialseg711"), 20
"""From the stretches of which sets trajectories are woven, and how many of each kind."""
WOVEN_WEIGHTS = {"chain": 0.15, "weave": 0.15, "room": 0.3}
"""What a kind of woven trajectories counts for each set it is woven from."""

CHATS = "chats"
"""The name of the sessions with an assistant among the sets."""
CHATS_FROM, MOST_CHATS, WOVEN_CHATS = "memory_qa/longmemeval_s/trajectories.jsonl.gz", 800, 320
"""The file that has them, how many are read, and how many trajectories are woven from them."""


class Fitted(NamedTuple):
    """All that is learned."""

    weights: Weights
    replies: Replies
    chats: Weights
    """Those of chats with who answers at length."""


def woven(sets: Sets) -> dict[str, list[LabeledTrajectory]]:
    """More sets, woven from the stretches of trajectories; even ones from even, odd from odd, so halves stay apart."""
    made: dict[str, list[LabeledTrajectory]] = {}
    for name in WOVEN_FROM:
        pools = [
            [stretch for each in sets.get(name, ())[half::2] for stretch in stretches(each.readings, each.gold)]
            for half in (0, 1)
        ]
        for kind, weave in KINDS.items() if all(pools) else ():
            rng = random.Random(f"{kind} {name}")  # training data
            made[f"{kind} {name}"] = [_labeled("stretch", weave(rng, pools[n % 2])) for n in range(WOVEN)]
    return made


def woven_chats(chats: Sequence[LabeledTrajectory], *, count: int) -> list[LabeledTrajectory]:
    """Trajectories woven from sessions."""
    pool = [stretch for each in chats for stretch in stretches(each.readings, each.gold)]
    rng = random.Random(CHATS)  # training data
    return [_labeled("chat", chat(rng, pool)) for _ in range(count if pool else 0)]


def _labeled(kind: str, made: Woven) -> LabeledTrajectory:
    return LabeledTrajectory(read_steps(made.steps), [(f"{kind} {n}",) for n in made.scopes], frozenset())


class _Follower:
    """A tracker on its way through a trajectory, with what it has met there; `by_gold`, it chooses only what is right.

    Where it goes by gold, nothing is joined.
    """

    def __init__(
        self,
        weights: Mapping[str, float],
        replies: Replies | None,
        *,
        chats: Mapping[str, float] | None = None,
        by_gold: bool = False,
    ) -> None:
        self._tracker = ScopeTracker(weights, chats=chats, replies=replies)
        self._by_gold = by_gold
        self._seen: dict[int, Counter[tuple[str, ...]]] = {}
        """The gold scopes of the steps of each scope."""
        self.examples: dict[str, list[Example]] = {"step": [], "join": [], "look": []}
        """What a step may belong to; what a scope just left may be joined to, or one that is looked at again."""

    def follow(self, trajectory: LabeledTrajectory, gold: Sequence[tuple[str, ...]]) -> list[int]:
        """Give each step a scope; return their numbers."""
        tracker = self._tracker
        tracker.look_ahead([reading.step.content for reading in trajectory.readings])
        numbers = []
        for place, (reading, wanted) in enumerate(zip(trajectory.readings, gold, strict=True)):
            scope = tracker.assign(reading, self._choose(reading, wanted, learned=place not in trajectory.coarse))
            numbers.append(scope.number)
            if wanted:
                self._seen.setdefault(scope.number, Counter())[wanted] += 1
            if not self._by_gold and tracker.doubtful is not None:
                self._join(tracker.doubtful)
        return [tracker.scope(number).number for number in numbers]

    def _choose(self, reading: Reading, wanted: tuple[str, ...], *, learned: bool) -> Scope | None:
        """The scope of a step, None for a new one; what there was to choose from is an example if it is `learned`."""
        decision = self._tracker.decide(reading)
        if decision is not None:
            return decision.scope
        candidates = self._tracker.candidates(reading)
        right = self._right(candidates, wanted)
        if wanted and learned:
            leaves = [candidate.scope is not self._tracker.current for candidate in candidates]
            self.examples["step"].append(Example(candidates, right, leaves))
        if wanted and self._by_gold:
            candidates = [c for c, is_right in zip(candidates, right, strict=True) if is_right]
        return max(candidates, key=lambda candidate: candidate.score).scope

    def _right(self, candidates: Sequence[Candidate], wanted: tuple[str, ...]) -> list[bool]:
        """Which of the candidates most steps are of the wanted scope; the last, a new one, if none is."""
        fits = {number for number, seen in self._seen.items() if _most(seen) == wanted}
        right = [candidate.scope is not None and candidate.scope.number in fits for candidate in candidates]
        right[-1] = not any(right)
        return right

    def _join(self, doubtful: Scope) -> None:
        """Join a scope in doubt to the one that it continues, if there is evidence of one."""
        homes = self._tracker.homes()
        if most := _most(self._seen.get(doubtful.number)):
            right = [_most(self._seen.get(home.scope.number)) == most for home in homes]
            choices = [*(Choice(home.features) for home in homes), Choice([0.0] * len(JOIN_FEATURES))]
            example = Example(choices, [*right, not any(right)], [False] * len(choices))
            self.examples["look" if self._tracker.looks else "join"].append(example)
        if joined := self._tracker.reconsider():
            left, home = joined
            self._seen.setdefault(home.number, Counter()).update(self._seen.pop(left.number, {}))


def _most(seen: Counter[tuple[str, ...]] | None) -> tuple[str, ...] | None:
    return seen.most_common(1)[0][0] if seen else None


def examples_of(
    trajectory: LabeledTrajectory,
    kind: str,
    *,
    weights: Mapping[str, float],
    replies: Replies | None,
    by_gold: bool = False,
) -> list[Example]:
    """What a tracker meets in a trajectory: candidates of steps (`step`), or of scopes in doubt (`join`, `look`)."""
    follower = _Follower(weights, replies, by_gold=by_gold)
    follower.follow(trajectory, _targets(trajectory.gold) if kind == "step" else trajectory.gold)
    return follower.examples[kind]


def _targets(gold: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Gold scopes to learn from: a step between two scopes belongs to the one that follows."""
    targets = list(gold)
    for place in range(len(targets) - 2, -1, -1):
        if targets[place + 1] and set(targets[place + 1]) < set(targets[place]):
            targets[place] = targets[place + 1]
    return targets


def train(sets: Sets) -> Fitted:
    """What is learned from trajectories."""
    talk = {name: trajectories for name, trajectories in sets.items() if name != CHATS}
    weights, replies = _train_talk(talk), _replies(talk)
    return Fitted(weights, replies, train_chats(sets.get(CHATS, ()), weights, replies))


def _train_talk(sets: Sets) -> Weights:
    """The weights of all talk, those of chats apart."""
    of_others = [_replies({name: each[half::2] for name, each in sets.items()}) for half in (1, 0)]
    every: Sets = {**sets, **woven(sets)}

    def met(
        kind: str, per_set: int, weights: Mapping[str, float], *, by_gold: bool = False
    ) -> list[tuple[list[Example], float]]:
        """The examples of each set, with what each of them counts, so that every set counts as many."""
        groups = []
        meet = partial(examples_of, kind=kind, weights=weights, by_gold=by_gold)
        for name, trajectories in every.items():
            found = [each for n, t in enumerate(trajectories) for each in meet(t, replies=of_others[n % 2])]
            weight = SETS[name].weight if name in SETS else WOVEN_WEIGHTS[name.split()[0]]
            groups.append((found, weight * per_set / max(len(found), 1)))
        return groups

    gold = met("step", STEPS_PER_SET, {}, by_gold=True)
    own = met("step", STEPS_PER_SET, conditional_logit(gold, FEATURES))
    weights = conditional_logit([(a + b, (x + y) / 4) for (a, x), (b, y) in zip(gold, own, strict=True)], FEATURES)
    for _ in range(2):
        for kind in ("join", "look"):
            joins = met(kind, JOINS_PER_SET, weights)
            weights |= conditional_logit(joins, [f"{kind}: {name}" for name in JOIN_FEATURES])
    return weights


def train_chats(chats: Sequence[LabeledTrajectory], weights: Weights, replies: Replies | None) -> Weights:
    """The weights of chats with who answers at length, near to those of all talk; these where there are no sessions.

    How well a step follows another is not learned from chats.
    """
    trajectories = woven_chats(chats, count=WOVEN_CHATS)

    def met(weights: Weights, *, by_gold: bool) -> list[Example]:
        meet = partial(examples_of, kind="step", weights=weights, replies=replies, by_gold=by_gold)
        return [example for trajectory in trajectories for example in meet(trajectory)]

    gold = met(weights, by_gold=True)
    found = conditional_logit([(gold, 1.0)], FEATURES, near=weights)
    return conditional_logit([(gold, 0.5), (met(found, by_gold=False), 0.5)], FEATURES, near=weights)


def _replies(sets: Sets) -> Replies:
    """How steps follow each other in the gold scopes of trajectories."""
    talks: dict[str, list[list[str]]] = {}
    for name, trajectories in sets.items():
        for trajectory in trajectories:
            scopes: dict[tuple[str, ...], list[str]] = {}
            for reading, gold in zip(trajectory.readings, trajectory.gold, strict=True):
                if gold and not reading.is_notice:
                    scopes.setdefault(gold, []).append(reading.step.content)
            talks.setdefault(name, []).extend(scopes.values())
    return fit_replies(talks)


def measure(
    trajectories: Iterable[LabeledTrajectory],
    weights: Mapping[str, float],
    replies: Replies | None = None,
    chats: Mapping[str, float] | None = None,
) -> tuple[float, float]:
    """B-cubed F1 (mean over trajectories) and switch F1 (pooled) of the scopes of a tracker."""
    pairs = []
    for trajectory in trajectories:
        numbers = _Follower(weights, replies, chats=chats).follow(trajectory, trajectory.gold)
        kept = [(number, gold) for gold, number in zip(trajectory.gold, numbers, strict=True) if gold]
        pairs.append(([number for number, _ in kept], [gold for _, gold in kept]))
    scores = macro_bcubed(pairs), switch_f1(pairs)
    scopes, switches = (0.0 if isinstance(score, Unscored) else score.f1 for score in scores)
    return scopes, switches


def write(fitted: Fitted, folder: Path) -> None:
    """Write both files of weights."""
    pairs = {n: [round(w.get(n, 0.0), 3) for w in (fitted.weights, fitted.chats)] for n in sorted(fitted.chats)}
    told = [f"{json.dumps(name)}: {pair}" for name, pair in pairs.items() if max(map(abs, pair)) >= 0.02]
    text = f'{{"made_by": "{_MADE_BY}", "weights": {{\n' + ",\n".join(told) + "}}\n"
    (folder / "scope_weights.json").write_text(text, encoding="utf-8")
    write_replies(fitted.replies, folder, made_by=_MADE_BY)


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path, exists=True), help="Folder of the labeled sets.")
@click.option("--out", type=click.Path(path_type=Path, exists=True), help="Folder for both files of weights.")
@click.option("--report", is_flag=True, help="Measure each set by what is learned from the others.")
@click.option("--limit", type=click.IntRange(1), help="Use so many trajectories of a set.")
def command(data: Path, out: Path | None, report: bool, limit: int | None) -> None:
    """Fit the weights of local scopes and replies, or report B-cubed / switch F1 on sets they have not seen."""
    sets = {name: read_set(data / labeled.path)[:limit] for name, labeled in SETS.items()}
    sets[CHATS] = read_chats(data / CHATS_FROM, most=MOST_CHATS)[:limit]
    for name, own, fitted in left_out(sets, train) if report else ():
        unseen = woven_chats(own, count=WOVEN_CHATS // 4) if name == CHATS else own
        score, switch = measure(unseen, *fitted)
        click.echo(f"{name} {score:.3f} / {switch:.3f}")
    if out is not None:
        write(train(sets), out)

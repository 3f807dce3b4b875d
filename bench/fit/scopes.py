"""The weights of local scope tracking and of replies, fitted on trajectories with gold scopes.

A conditional logit: of the candidates of a step, those of the right scope are to win. First with gold history, then,
so that it learns to live with its own mistakes, with the history its own choices make. Then, in the same form, whether
a scope in doubt continues an earlier one. How well a step follows another is learned before (`replies`), and for the
examples from the other half of the trajectories, so that it is trusted no more than on what it has not seen. Beside the
sets, trajectories woven from their stretches teach kinds of talk that they lack (`weave`). Chats with an assistant who
answers at length have weights of their own, near to the others, learned from sessions that are woven.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from stitch.bench.fit.labeled import LabeledTrajectory, read_chats, read_set, read_steps
from stitch.bench.fit.logit import Choice, Example, Weights, fit_logit
from stitch.bench.fit.replies import Talk, fit_replies, write_replies
from stitch.bench.fit.weave import KINDS, Stretch, chat, stretches
from stitch.bench.metrics.clusters import macro_bcubed, switch_f1
from stitch.bench.metrics.scores import Unscored
from stitch.label.local.candidates import FEATURES, Candidate
from stitch.label.local.evidence import Scope
from stitch.label.local.reading import Reading
from stitch.label.local.replies import Replies
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.threads import JOIN_FEATURES

Keep = Callable[[str, int], bool]
"""Whether a trajectory, given by its set and number, is used."""


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


def woven(sets: Mapping[str, Sequence[LabeledTrajectory]], *, keep: Keep) -> dict[str, list[LabeledTrajectory]]:
    """More sets, woven from the stretches of the trajectories that `keep` lets through; see `weave`.

    Even ones are made from even trajectories and odd ones from odd, so that halves stay apart.
    """
    made: dict[str, list[LabeledTrajectory]] = {}
    for name in WOVEN_FROM:
        pools: tuple[list[Stretch], list[Stretch]] = ([], [])
        for number, trajectory in enumerate(sets.get(name, ())):
            if keep(name, number):
                pools[number % 2].extend(stretches(trajectory.readings, trajectory.gold))
        if not all(pools):
            continue
        for kind, weave in KINDS.items():
            rng = random.Random(f"{kind} {name}")  # training data
            drawn = [weave(rng, pools[number % 2]) for number in range(WOVEN)]
            made[f"{kind} {name}"] = [
                LabeledTrajectory(read_steps(each.steps), [(f"stretch {n}",) for n in each.scopes], frozenset())
                for each in drawn
            ]
    return made


def woven_chats(chats: Sequence[LabeledTrajectory], *, keep: Keep, count: int) -> list[LabeledTrajectory]:
    """Trajectories woven from the sessions that `keep` lets through; see `weave`."""
    pool = [s for n, each in enumerate(chats) if keep(CHATS, n) for s in stretches(each.readings, each.gold)]
    rng = random.Random(CHATS)  # training data
    drawn = [chat(rng, pool) for _ in range(count if pool else 0)]
    return [LabeledTrajectory(read_steps(w.steps), [(f"chat {n}",) for n in w.scopes], frozenset()) for w in drawn]


def step_examples(
    trajectory: LabeledTrajectory, *, replies: Replies, weights: Mapping[str, float], by_gold: bool
) -> list[Example]:
    """The candidates that a tracker meets at each step."""
    follower = _Follower(weights, replies, by_gold=by_gold)
    follower.follow(trajectory, _targets(trajectory.gold))
    return follower.examples


def join_examples(kind: str, trajectory: LabeledTrajectory, *, replies: Replies, weights: Weights) -> list[Example]:
    """What a tracker may join each scope to that it just left (`kind` is "join"), or looks at again ("look")."""
    follower = _Follower(weights, replies)
    follower.follow(trajectory, trajectory.gold)
    return follower.joins[kind]


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
        self.examples: list[Example] = []
        self.joins: dict[str, list[Example]] = {"join": [], "look": []}

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
            self.examples.append(Example(candidates, right, [c.scope is not self._tracker.current for c in candidates]))
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
            kind = "look" if self._tracker.looks else "join"
            self.joins[kind].append(Example(choices, [*right, not any(right)], [False] * len(choices)))
        if joined := self._tracker.reconsider():
            left, home = joined
            self._seen.setdefault(home.number, Counter()).update(self._seen.pop(left.number, {}))


def _most(seen: Counter[tuple[str, ...]] | None) -> tuple[str, ...] | None:
    return seen.most_common(1)[0][0] if seen else None


def _targets(gold: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Gold scopes to learn from: a step between two scopes belongs to the one that follows."""
    targets = list(gold)
    for place in range(len(targets) - 2, -1, -1):
        if targets[place + 1] and set(targets[place + 1]) < set(targets[place]):
            targets[place] = targets[place + 1]
    return targets


def train(sets: Mapping[str, Sequence[LabeledTrajectory]], *, keep: Keep) -> Fitted:
    """What is learned from the trajectories that `keep` lets through."""
    chats = sets.get(CHATS, ())
    sets = {name: trajectories for name, trajectories in sets.items() if name != CHATS}
    weights, replies = _train_talk(sets, keep=keep), _replies(sets, keep=keep)
    return Fitted(weights, replies, train_chats(chats, weights, replies, keep=keep))


def _train_talk(sets: Mapping[str, Sequence[LabeledTrajectory]], *, keep: Keep) -> Weights:
    """The weights of all talk, those of chats apart."""
    more = woven(sets, keep=keep)
    kept = {
        name: [(number, each) for number, each in enumerate(trajectories) if name in more or keep(name, number)]
        for name, trajectories in {**sets, **more}.items()
    }
    of_others = [
        _replies(sets, keep=lambda name, number: number % 2 == 1 and keep(name, number)),
        _replies(sets, keep=lambda name, number: number % 2 == 0 and keep(name, number)),
    ]

    def met(examples_of: Callable[..., list[Example]], *, per_set: int) -> list[tuple[list[Example], float]]:
        """The examples of each set, with what each of them counts, so that every set counts as many."""
        groups = []
        for name, trajectories in kept.items():
            found = [each for n, t in trajectories for each in examples_of(t, replies=of_others[n % 2])]
            groups.append((found, _weight(name) * per_set / max(len(found), 1)))
        return groups

    gold = met(partial(step_examples, weights={}, by_gold=True), per_set=STEPS_PER_SET)
    weights = fit_logit(gold, FEATURES)
    own = met(partial(step_examples, weights=weights, by_gold=False), per_set=STEPS_PER_SET)
    weights = fit_logit([(a + b, (x + y) / 4) for (a, x), (b, y) in zip(gold, own, strict=True)], FEATURES)
    for _ in range(2):
        for kind in ("join", "look"):
            joins = met(partial(join_examples, kind, weights=weights), per_set=JOINS_PER_SET)
            weights |= fit_logit(joins, [f"{kind}: {name}" for name in JOIN_FEATURES])
    return weights


def train_chats(
    chats: Sequence[LabeledTrajectory],
    weights: Weights,
    replies: Replies | None = None,
    *,
    keep: Keep,
) -> Weights:
    """The weights of chats with who answers at length, near to those of all talk; these where there are no sessions.

    How well a step follows another is not learned from chats.
    """
    trajectories = woven_chats(chats, keep=keep, count=WOVEN_CHATS)

    def met(weights: Weights, *, by_gold: bool) -> list[Example]:
        followers = [_Follower(weights, replies, by_gold=by_gold) for _ in trajectories]
        for follower, trajectory in zip(followers, trajectories, strict=True):
            follower.follow(trajectory, trajectory.gold)
        return [example for follower in followers for example in follower.examples]

    gold = met(weights, by_gold=True)
    found = fit_logit([(gold, 1.0)], FEATURES, near=weights)
    return fit_logit([(gold, 0.5), (met(found, by_gold=False), 0.5)], FEATURES, near=weights)


def _weight(name: str) -> float:
    return SETS[name].weight if name in SETS else WOVEN_WEIGHTS[name.split()[0]]


def _replies(sets: Mapping[str, Sequence[LabeledTrajectory]], *, keep: Keep) -> Replies:
    """How steps follow each other in the gold scopes of the trajectories that `keep` lets through."""
    talks: dict[str, list[Talk]] = {}
    for name, trajectories in sets.items():
        for number, trajectory in enumerate(trajectories):
            scopes: dict[tuple[str, ...], list[str]] = {}
            for reading, gold in zip(trajectory.readings, trajectory.gold, strict=True):
                if gold and not reading.is_notice:
                    scopes.setdefault(gold, []).append(reading.step.content)
            if keep(name, number):
                talks.setdefault(name, []).extend(Talk(texts) for texts in scopes.values())
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
    scopes, switches = macro_bcubed(pairs), switch_f1(pairs)
    return (
        0.0 if isinstance(scopes, Unscored) else scopes.f1,
        0.0 if isinstance(switches, Unscored) else switches.f1,
    )


def _left_out(sets: Mapping[str, Sequence[LabeledTrajectory]]) -> Iterator[str]:
    """How good each set is labeled by what is learned from the others."""
    for name, trajectories in sets.items():
        others = {other: sets[other] for other in sets if other != name}
        yield _measured(name, trajectories, train(others, keep=lambda *_: True))


def _held_out(sets: Mapping[str, Sequence[LabeledTrajectory]]) -> Iterator[str]:
    """How good every fifth trajectory is labeled by what is learned from the others."""
    fitted = train(sets, keep=lambda _, number: number % 5 != 1)
    yield from (_measured(name, each[1::5], fitted) for name, each in sets.items())


def _measured(name: str, trajectories: Sequence[LabeledTrajectory], fitted: Fitted) -> str:
    if name == CHATS:
        trajectories = woven_chats(trajectories, keep=lambda *_: True, count=WOVEN_CHATS // 4)
    score, switch = measure(trajectories, *fitted)
    return f"{name} {score:.3f} / {switch:.3f}"


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
@click.option("--report", type=click.Choice(["fold", "leave-one-out"]), help="Measure on what was left out of a fit.")
@click.option("--limit", type=click.IntRange(1), help="Use so many trajectories of a set.")
def command(data: Path, out: Path | None, report: str | None, limit: int | None) -> None:
    """Fit the weights of local scopes and replies, or report B-cubed / switch F1 on what they have not seen."""
    sets = {name: read_set(data / labeled.path)[:limit] for name, labeled in SETS.items()}
    sets[CHATS] = read_chats(data / CHATS_FROM, most=MOST_CHATS)[:limit]
    for line in (_left_out(sets) if report == "leave-one-out" else _held_out(sets)) if report else ():
        click.echo(line)
    if out is not None:
        write(train(sets, keep=lambda *_: True), out)

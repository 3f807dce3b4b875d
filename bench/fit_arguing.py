"""Fit what names the acts of a debate: `python -m stitch.bench.fit_arguing --out stitch/label/local`.

It reads generated debates in the wordings that rules may see (`wordings.SEEN`), and with `--data` debates by others in
the format of the release (the authors' example). It tells how many turns get the right act, by set, the wordings that
were not seen too; `--leave-out` fits without the debates of `--data`, so that the figures on these are not of the fit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from stitch.bench.data.came import load_came
from stitch.bench.generate import SIZES, generate
from stitch.bench.generate.wordings import SEEN, WORDINGS
from stitch.core import Step
from stitch.label.local.arguing import ACTS, best_act, features
from stitch.label.local.reading import read_step

ACT_OF = dict(zip(("propose", "attack", "defend", "concede", "background_supply", "summarize"), ACTS, strict=True))
"""The actions of CAME-Bench, and what they are called as labels."""
RIDGE = 8.0
"""Chosen on the wordings that are not fitted: 2 gives .83 of their turns, 8 gives .86."""
OTHERS_COUNT = 3.0
"""What a turn by others counts beside a generated one."""


class Turn(NamedTuple):
    """A turn as it is learnt from."""

    numbers: Mapping[str, float]
    act: str


def turns_of(said: Iterable[tuple[str, str, str]]) -> Iterator[Turn]:
    """The turns of a debate, each with what was before it as it was meant.

    Args:
        said: Role, text and action of each turn, in order.
    """
    spoken: dict[str, int] = {}
    argued = False
    for role, text, action in said:
        reading = read_step(Step(role=role, content=text))
        sentences = [reading.text[start:end] for start, end in reading.spans if start < 1_500] or [reading.text]
        numbers = features(sentences, turns=spoken.get(role, 0), argued=argued)
        spoken[role] = spoken.get(role, 0) + 1
        if action in ACT_OF:
            argued = argued or ACT_OF[action] != ACTS[0]
            yield Turn(numbers, ACT_OF[action])


def generated(wording: str, *, debates: int) -> list[Turn]:
    """Turns of generated debates."""
    made = (generate("debate", SIZES["S"], seed=f"arguing {n}", wording=WORDINGS[wording]) for n in range(debates))
    return [
        turn
        for debate in made
        for turn in turns_of(
            (each.role, each.text, debate.storyboard.operations[each.operation].action) for each in debate.turns
        )
    ]


def by_others(folder: Path) -> list[Turn]:
    """Turns of the debates in a folder of the release's format."""
    data, found = load_came(folder), list[Turn]()
    for trajectory in data.trajectories:
        if any(step.role.endswith("debater") for step in trajectory.steps):
            gold = data.gold[trajectory.id]
            labels = (gold.get(step.id or "") for step in trajectory.steps)
            acts = ((own.event_types if own else ()) for own in labels)
            said = zip(trajectory.steps, acts, strict=True)
            found += turns_of((step.role, step.content, next(iter(act), "")) for step, act in said)
    return found


def fit(groups: Sequence[tuple[Sequence[Turn], float]]) -> dict[str, list[float]]:
    """Weights of each feature, one an act, by a multinomial logit.

    Args:
        groups: Turns, and what each of them counts.
    """
    import numpy as np
    from scipy.optimize import minimize

    turns = [(turn, weight) for group, weight in groups for turn in group]
    names = list(turns[0][0].numbers)
    rows = np.array([[turn.numbers[name] for name in names] for turn, _ in turns])
    right = np.array([ACTS.index(turn.act) for turn, _ in turns])
    counts = np.array([weight for _, weight in turns])

    def loss(flat: Any) -> tuple[float, Any]:
        weights = flat.reshape(len(names), len(ACTS))
        scores = rows @ weights
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        places = np.arange(len(right))
        total = -(counts * np.log(shares[places, right])).sum() + RIDGE * (flat**2).sum() / 2
        shares[places, right] -= 1
        return total, (rows.T @ (shares * counts[:, None])).ravel() + RIDGE * flat

    found = minimize(loss, np.zeros(len(names) * len(ACTS)), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return {
        name: [round(float(w), 3) for w in row]
        for name, row in zip(names, found.x.reshape(len(names), -1), strict=True)
    }


def right_share(turns: Sequence[Turn], weights: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """How many turns get their act, by act."""
    hits = [(turn.act, best_act(turn.numbers, weights) == turn.act) for turn in turns]
    told = {act: [hit for own, hit in hits if own == act] for act in ("all", *ACTS)}
    told["all"] = [hit for _, hit in hits]
    return {act: f"{sum(own)}/{len(own)}" for act, own in told.items()}


@click.command()
@click.option(
    "--data", type=click.Path(exists=True, path_type=Path), multiple=True, help="Debates by others to fit on."
)
@click.option(
    "--test", type=click.Path(exists=True, path_type=Path), multiple=True, help="Debates to measure on alone."
)
@click.option("--leave-out", is_flag=True, help="Fit without --data, and measure on it.")
@click.option("--debates", type=click.IntRange(1, 100), default=8, show_default=True, help="Generated ones a wording.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Where to write the weights.")
def command(data: tuple[Path, ...], test: tuple[Path, ...], leave_out: bool, debates: int, out: Path | None) -> None:
    """Fit the weights of acts of arguing, and tell what they get right."""
    own = {name: generated(name, debates=debates) for name in SEEN}
    others = {folder.name: by_others(folder) for folder in data}
    fitted = [(turns, 1.0) for turns in own.values()]
    fitted += [] if leave_out else [(turns, OTHERS_COUNT) for turns in others.values()]
    weights = fit(fitted)
    unseen = {name: generated(name, debates=3) for name in WORDINGS if name not in SEEN}
    measured = {f"{name} (seen)": turns for name, turns in own.items()} | unseen | others
    for name, turns in (measured | {folder.name: by_others(folder) for folder in test}).items():
        click.echo(json.dumps({"set": name, **right_share(turns, weights)}))
    if out is not None:
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in weights.items())
        head = f'{{"made_by": "python -m stitch.bench.fit_arguing", "acts": {json.dumps(ACTS)},\n"weights": {{\n'
        (out / "arguing_weights.json").write_text(f"{head}{lines}\n}}}}\n")


if __name__ == "__main__":
    command()

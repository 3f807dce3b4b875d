"""Fit what a turn points at of the things raised before.

    python -m stitch.bench.fit_pointing --out stitch/label/local

It reads generated trips in the wordings that rules may see (`wordings.SEEN`) and in families of frames for this purpose
(`generate.pointers`), and tells how many pointers of each
wording, those that were not seen too, come to the thing that was meant. What was spoken of before a turn is what the
weights in the package make of it: after a change of features, fit twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from stitch.bench.generate import SIZES, generate
from stitch.bench.generate.pointers import families, said_again
from stitch.bench.generate.wordings import PLAIN, SEEN, WORDINGS
from stitch.core import Step
from stitch.label.local.pointing import Reading, choose, find_pointers, readings
from stitch.label.local.references import ReferenceResolver

RIDGE = 2.0


class Pointed(NamedTuple):
    """A pointer with what it may stand for, and what was meant."""

    readings: Sequence[Reading]
    meant: str
    """The name of the thing; empty if the turn points at nothing."""

    @property
    def right(self) -> int | None:
        """The place of the last reading that is what was meant; None if there is none."""
        names = [reading.item.name if reading.item else "" for reading in self.readings]
        return max((place for place, name in enumerate(names) if name == self.meant), default=None)


def pointed_in(wording: str, *, trips: int) -> Iterator[Pointed]:
    """The pointers of the travelers of generated trips, in a wording or in a family of frames to be fitted on."""
    for number in range(trips):
        trip = generate("travel", SIZES["S"], seed=f"pointing {number}", wording=WORDINGS.get(wording, PLAIN))
        said = {turn.id: turn.text for turn in trip.turns} if wording in WORDINGS else said_again(trip, wording)
        resolver = ReferenceResolver()
        for turn in trip.turns:
            op, text = trip.storyboard.operations[turn.operation], said[turn.id]
            scope = f"day {op.day}"
            items = resolver.raised_by(op.role)
            if op.role == "user" and op.action != "PROPOSE" and items:
                meant = [name for name in op.objects if name not in text] or [""] * (not op.objects)
                pointers = find_pointers(text, items)
                if len(pointers) == len(meant):
                    for pointer, name in zip(pointers, meant, strict=True):
                        yield Pointed(readings(pointer, text, items), name)
            resolver.resolve(Step(role=op.role, content=text, id=turn.id), scope=scope)


def fit(examples: Sequence[Pointed]) -> dict[str, float]:
    """The weights of the features, by a conditional logit over the readings of each pointer."""
    import numpy as np
    from scipy.optimize import minimize

    told = [(example, right) for example in examples if (right := example.right) is not None]
    names = sorted({name for example, _ in told for reading in example.readings for name in reading.numbers})
    rows = [
        (np.array([[reading.numbers.get(name, 0.0) for name in names] for reading in example.readings]), right)
        for example, right in told
    ]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = RIDGE * float(weights @ weights) / 2, RIDGE * weights
        for row, right in rows:
            scores = row @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            total -= float(np.log(shares[right] + 1e-12))
            slope = slope + shares @ row - row[right]
        return total, slope

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return {name: round(float(weight), 3) for name, weight in zip(names, found.x, strict=True)}


def right_share(examples: Sequence[Pointed], weights: Mapping[str, float]) -> str:
    """How many pointers come to what was meant."""
    hits = 0
    for example in examples:
        item, _ = choose(example.readings, weights)
        hits += (item.name if item else "") == example.meant
    return f"{hits}/{len(examples)}"


@click.command()
@click.option("--trips", type=click.IntRange(1, 100), default=6, show_default=True, help="Generated ones a wording.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Where to write the weights.")
def command(trips: int, out: Path | None) -> None:
    """Fit the weights of pointers, and tell how many come to what was meant."""
    fitted_on = (*SEEN, *families())
    seen = {name: list(pointed_in(name, trips=trips)) for name in fitted_on}
    weights = fit([example for examples in seen.values() for example in examples])
    unseen = {name: list(pointed_in(name, trips=2)) for name in WORDINGS if name not in fitted_on}
    for name, examples in (seen | unseen).items():
        told = f"{name} (seen)" if name in fitted_on else name
        click.echo(json.dumps({"set": told, "right": right_share(examples, weights)}))
    if out is not None:
        lines = ",\n".join(f"{json.dumps(name)}: {weight}" for name, weight in weights.items())
        head = '{"made_by": "python -m stitch.bench.fit_pointing", "weights": {\n'
        (out / "pointing_weights.json").write_text(f"{head}{lines}\n}}}}\n")


if __name__ == "__main__":
    command()

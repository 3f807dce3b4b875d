"""How well embedders find evidence: R@10 of pure dense search, for choosing one.

    python -m stitch.bench.embedders --data DIR [--sets locomo,beam] [--table NAME=FOLDER ...] [--model FOLDER]
        [--minilm FOLDER]

`DIR` holds `<set>/trajectories.jsonl.gz` and `<set>/questions.jsonl.gz`. Prints a Markdown table. A fixed sample is
measured: trajectories, then questions about them, taken at even distances, so that two runs see the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from stitch.core import Embedder
from stitch.embed import HashingEmbedder, SentenceTransformerEmbedder, StaticEmbedder
from stitch.embed.minilm import MiniLMEmbedder
from stitch.errors import InputError, StitchError

SETS = ("locomo", "longmemeval_s", "beam", "sgd_interleaved", "qmsum")

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A question with the places of its evidence among the steps of its trajectory."""

    text: str
    evidence: frozenset[int]


@dataclass(frozen=True)
class Haystack:
    """The steps of one trajectory, as texts, and questions about them."""

    steps: tuple[str, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Score:
    """What one embedder reached on one set."""

    recall: float
    """Mean over questions of the share of evidence steps among the first ten."""
    questions: int
    texts_per_s: float


def read_haystacks(folder: Path, *, trajectories: int = 20, questions: int = 100) -> list[Haystack]:
    """Read a fixed sample of a set: at most so many trajectories, at most so many questions about them.

    Raises:
        InputError: The files are missing or not what they should be.
    """
    try:
        chosen = evenly(list(_lines(folder / "trajectories.jsonl.gz")), trajectories)
        places = {one["id"]: {str(step["id"]): at for at, step in enumerate(one["steps"])} for one in chosen}
        asked = evenly([q for q in _lines(folder / "questions.jsonl.gz") if q["trajectory"] in places], questions)
        by_trajectory: dict[str, list[Question]] = {}
        for one in asked:
            where = places[one["trajectory"]]
            evidence = frozenset(where[str(step)] for step in one["evidence"] if str(step) in where)
            if evidence:
                by_trajectory.setdefault(one["trajectory"], []).append(Question(one["question"], evidence))
        return [
            Haystack(tuple(step["content"] for step in one["steps"]), tuple(by_trajectory[one["id"]]))
            for one in chosen
            if one["id"] in by_trajectory
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot read the question set in {str(folder)!r}: {error!r}") from error


def evenly(items: Sequence[T], at_most: int) -> list[T]:
    """Return at most so many items, at even distances, the first among them."""
    if len(items) <= at_most:
        return list(items)
    return [items[at * len(items) // at_most] for at in range(at_most)]


def measure(embedder: Embedder, haystacks: Sequence[Haystack], *, k: int = 10) -> Score:
    """Score an embedder: steps by cosine, per trajectory; equal cosines in step order."""
    import numpy as np

    recalls: list[float] = []
    seconds, texts = 0.0, 0
    embedder.embed(["warm up"])
    for haystack in haystacks:
        began = time.perf_counter()
        steps = embedder.embed(haystack.steps)
        seconds += time.perf_counter() - began
        texts += len(haystack.steps)
        asked = embedder.embed([question.text for question in haystack.questions])
        for question, similarities in zip(haystack.questions, asked @ steps.T, strict=True):
            first = np.argsort(-similarities, kind="stable")[:k]
            recalls.append(len(question.evidence.intersection(first.tolist())) / len(question.evidence))
    return Score(sum(recalls) / max(len(recalls), 1), len(recalls), texts / max(seconds, 1e-9))


def table(scores: Mapping[str, Mapping[str, Score]]) -> str:
    """Draw the scores (embedder, then set) as a Markdown table, with the mean over sets and the speed."""
    sets = list(next(iter(scores.values())))
    lines = [
        f"| embedder | {' | '.join(sets)} | mean | texts/s |",
        f"|---|{'---|' * (len(sets) + 2)}",
    ]
    for name, row in scores.items():
        cells = [f"{score.recall:.3f}" for score in row.values()]
        mean = sum(score.recall for score in row.values()) / len(row)
        speed = len(row) / sum(1 / score.texts_per_s for score in row.values())
        lines.append(f"| {name} | {' | '.join(cells)} | {mean:.3f} | {speed:.0f} |")
    counts = [str(score.questions) for score in next(iter(scores.values())).values()]
    lines.append(f"| *questions* | {' | '.join(counts)} | | |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a command; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m stitch.bench.embedders",
        description="Compare embedders by the evidence they find.",
        epilog="example: python -m stitch.bench.embedders --data ../shared/data/memory_qa",
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of question sets")
    parser.add_argument("--sets", default=",".join(SETS), help="which of them (default: %(default)s)")
    parser.add_argument("--table", action="append", default=[], metavar="NAME=FOLDER", help="a further static table")
    parser.add_argument("--model", help="folder of a Sentence Transformer to compare with, computed by torch")
    parser.add_argument("--minilm", help="folder of MiniLM, computed by ONNX Runtime in float and in int8")
    parser.add_argument("--trajectories", type=int, default=20, help="of each set, at most (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=100, help="of each set, at most (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        embedders = dict(_embedders(options.table, options.model, options.minilm))
        scores: dict[str, dict[str, Score]] = {name: {} for name in embedders}
        for name in options.sets.split(","):
            haystacks = read_haystacks(
                options.data / name, trajectories=options.trajectories, questions=options.questions
            )
            for label, embedder in embedders.items():
                scores[label][name] = measure(embedder, haystacks)
    except StitchError as error:
        sys.stderr.write(f"error: {error}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        return error.exit_code
    sys.stdout.write(table(scores) + "\n")
    return 0


def _embedders(tables: Sequence[str], model: str | None, minilm: str | None) -> Iterator[tuple[str, Embedder]]:
    shipped, hashing = StaticEmbedder(), HashingEmbedder()
    yield shipped.name, shipped
    yield hashing.name, hashing
    for entry in tables:
        name, _, folder = entry.partition("=")
        yield name, StaticEmbedder(Path(folder))
    if model:
        yield Path(model).name, SentenceTransformerEmbedder(model, device="cpu")
    if minilm:
        yield "minilm float", MiniLMEmbedder(minilm)
        yield "minilm int8", MiniLMEmbedder(minilm, precision="int8")


def _lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


if __name__ == "__main__":
    raise SystemExit(main())

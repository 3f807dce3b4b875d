"""`stitch bench rewrites`: resolving references in an utterance, against a person's rewrites.

BLEU is sacrebleu's corpus BLEU-4, case kept. `copy_bleu` is that of leaving every utterance as it is; `exact` the share
of utterances that become the person's, letter case and outer blanks aside; `changed` the share that was changed at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from stitch.bench.data.sets import load_rewrites
from stitch.bench.data.types import RewriteSet
from stitch.bench.figures import DIGITS, print_json, print_table
from stitch.bench.metrics.bleu import corpus_bleu
from stitch.console.progress import progress_drawn
from stitch.core import Step
from stitch.core.progress import counted
from stitch.errors import require_extra

Rewriter = Callable[[Sequence[Step], str], str]
"""From what was said before and an utterance to the utterance out of context."""


def measure_rewrites(rewrites: RewriteSet, rewriter: Rewriter) -> dict[str, Any]:
    """Rewrite all utterances and measure the result, in all and by kind."""
    pairs = counted(rewrites.pairs, "utterances rewritten", of=lambda: len(rewrites.pairs))
    given = [rewriter(pair.history.steps, pair.utterance) for pair in pairs]
    kinds = sorted({pair.kind for pair in rewrites.pairs})
    places = {kind: [i for i, pair in enumerate(rewrites.pairs) if pair.kind == kind] for kind in kinds}
    return {
        "set": rewrites.name,
        **_figures(rewrites, given, range(len(given))),
        "by_kind": {kind: _figures(rewrites, given, own) for kind, own in places.items()},
    }


def _figures(rewrites: RewriteSet, given: Sequence[str], places: Sequence[int]) -> dict[str, Any]:
    copies = [rewrites.pairs[i].utterance for i in places]
    gold = [rewrites.pairs[i].rewrite for i in places]
    own = [given[i] for i in places]
    return {
        "pairs": len(gold),
        "bleu": round(corpus_bleu(own, gold), 3),
        "copy_bleu": round(corpus_bleu(copies, gold), 3),
        "exact": round(sum(_same(o, g) for o, g in zip(own, gold, strict=True)) / len(gold), DIGITS),
        "changed": round(sum(o != c for o, c in zip(own, copies, strict=True)) / len(gold), DIGITS),
    }


def _same(one: str, other: str) -> bool:
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="A file of utterances with rewrites.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first pairs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(data: Path, limit: int | None, as_json: bool) -> None:
    """Measure the resolution of references.

    \b
    Example:
      stitch bench rewrites --data gecor.jsonl.gz
    """
    from stitch.label.local.references import rewrite_utterance

    require_extra("bench", package="sacrebleu", needed_by="`stitch bench rewrites`")
    loaded = load_rewrites(data)
    if limit is not None:
        loaded = RewriteSet(loaded.name, loaded.pairs[:limit], loaded.digest)
    with progress_drawn("rewriting"):
        figures = measure_rewrites(loaded, rewrite_utterance)
    if as_json:
        print_json(figures)
        return
    whole = {name: value for name, value in figures.items() if name not in ("set", "by_kind")}
    print_table({"all": whole, **figures["by_kind"]}, title=figures["set"])

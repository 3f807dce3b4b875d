"""What the lens of themes could reach: `python -m stitch.bench.theme_ceilings --data SET --type TYPE`.

Beside what it shows stands what the same statements would show to somebody who knows the evidence:

    looked at           the share of the evidence that is among the steps and statements of which it chooses
    oracle statements   of each step of the evidence the shortest thing that it says, the shortest first
    oracle themes       whole themes, those first that have the most evidence for their length
    oracle order        of what it looks at what says the words of the answer, in the fewest tokens (tokens to cover)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from stitch.bench.blocks import Blocks
from stitch.bench.data.sets import load_questions
from stitch.bench.fit_themes import Asked, ThemedSet, themed
from stitch.bench.metrics.budget_recall import BUDGETS
from stitch.bench.metrics.content_words import content_words, words
from stitch.bench.metrics.coverage import coverage
from stitch.bench.metrics.scores import Unscored
from stitch.errors import InputError
from stitch.retrieve import PieceCounter
from stitch.text.sentences import sentences

if TYPE_CHECKING:
    from stitch.core import Hierarchy, RetrievalResult

_CHOSEN, _LOOKED_AT, _STATEMENTS, _THEMES = "themes", "looked at", "oracle statements", "oracle themes"


class Part(NamedTuple):
    """Something that is shown whole: the evidence that it shows, and what it costs."""

    evidence: frozenset[str]
    tokens: int


class Row(NamedTuple):
    """What one question gives."""

    recall: dict[str, dict[int, float]]
    """The share of its evidence inside each budget, by the way of choosing."""
    by_coverage: float
    cover: tuple[int, int] | None
    """The tokens that cover its answer as the lens shows it, and in the oracle's order; None where one does not."""


def measured(data: ThemedSet) -> list[Row]:
    """What each question of a set gives."""
    counter = PieceCounter()
    return [_row(data, each, counter) for each in data.asked]


def _row(data: ThemedSet, asked: Asked, counter: PieceCounter) -> Row:
    result, hierarchy = data.answer(asked), data.hierarchy_of(asked)
    trajectory, evidence = asked.question.trajectory, frozenset(asked.question.evidence)
    looked_at = {hit.snippet.step for hit in result.hits} | {hit.snippet.step for hit in asked.ranked.hits}
    looked_at |= {step for piece in result.pieces for step in piece.steps}
    texts = {hit.snippet.step: hit.snippet.text for hit in asked.ranked.hits}
    recall = {
        _CHOSEN: _inside([Part(frozenset(each.steps) & evidence, each.tokens) for each in result.pieces], evidence),
        _LOOKED_AT: dict.fromkeys(BUDGETS, len(evidence & looked_at) / len(evidence)),
        _STATEMENTS: _inside(_shortest(hierarchy, trajectory, evidence, texts, counter), evidence),
        _THEMES: _inside(_whole_themes(hierarchy, trajectory, evidence, counter), evidence),
    }
    stage_one = next(each for each in result.trace if each.what == "stage I")
    return Row(recall, stage_one.figures["by_coverage"], _cover(asked, result))


def _inside(parts: Sequence[Part], evidence: frozenset[str]) -> dict[int, float]:
    found = {}
    for budget in BUDGETS:
        left, seen = budget, set[str]()
        for part in parts:
            if part.tokens <= left:
                left -= part.tokens
                seen |= part.evidence
        found[budget] = len(seen) / len(evidence)
    return found


def _shortest(
    hierarchy: Hierarchy, trajectory: str, evidence: frozenset[str], texts: Mapping[str, str], counter: PieceCounter
) -> list[Part]:
    parts = []
    for step in evidence:
        said = [part for each in hierarchy.statements_of_step(trajectory, step) for part in sentences(each.text)]
        told = said or ([texts[step]] if step in texts else [])
        if told:
            parts.append(Part(frozenset({step}), min(map(counter.count, told))))
    return sorted(parts, key=lambda part: part.tokens)


def _whole_themes(hierarchy: Hierarchy, trajectory: str, evidence: frozenset[str], counter: PieceCounter) -> list[Part]:
    said = {each.id for step in evidence for each in hierarchy.statements_of_step(trajectory, step)}
    parts = []
    for name in dict.fromkeys(filter(None, hierarchy.theme_ids(list(said)))):
        theme = hierarchy.theme(name)
        own = [hierarchy.statement(each) for each in theme.statements] if theme is not None else []
        shown = [each for each in own if each is not None]
        steps = frozenset(step for each in shown for step in each.steps) & evidence
        parts.append(Part(steps, sum(counter.count(each.text) for each in shown)))
    return sorted(parts, key=lambda part: part.tokens / max(1, len(part.evidence)))


def _cover(asked: Asked, result: RetrievalResult) -> tuple[int, int] | None:
    answer = asked.question.answer
    if answer is None:
        return None
    blocks = Blocks(tuple(each.text for each in result.pieces), tuple(each.tokens for each in result.pieces))
    shown = coverage(answer, blocks.texts, tokens=blocks.tokens)
    wanted = content_words(answer)
    left, spent = set(wanted), 0
    says = [
        (wanted.intersection(words(text)), tokens) for text, tokens in zip(blocks.texts, blocks.tokens, strict=True)
    ]
    while left and (useful := [(tokens / len(own & left), tokens, own) for own, tokens in says if own & left]):
        _, tokens, own = min(useful, key=lambda each: each[0])
        spent, left = spent + tokens, left - own
    return None if isinstance(shown, Unscored) or left else (shown.tokens, spent)


def figures(rows: Sequence[Row]) -> dict[str, object]:
    """The means of rows."""
    covered = [each.cover for each in rows if each.cover is not None]
    return {
        "questions": len(rows),
        "recall_in": {
            way: {
                str(budget): round(sum(each.recall[way][budget] for each in rows) / len(rows), 3) for budget in BUDGETS
            }
            for way in (_CHOSEN, _LOOKED_AT, _STATEMENTS, _THEMES)
        },
        "by_coverage": round(sum(each.by_coverage for each in rows) / len(rows), 3),
        "covered": len(covered),
        "cover_tokens": round(sum(shown for shown, _ in covered) / max(1, len(covered))),
        "cover_tokens_oracle": round(sum(best for _, best in covered) / max(1, len(covered))),
    }


@click.command()
@click.option("--data", "folder", required=True, type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="A folder with trajectories and questions.")  # fmt: skip
@click.option("--type", "types", multiple=True, help="Only questions of this type; may be repeated.")
@click.option("--limit", type=click.IntRange(1), help="Use so many questions, spread over their types.")
@click.option("--kept", type=click.Path(path_type=Path, file_okay=False), help="Keep the memory in this folder.")
def main(folder: Path, types: Sequence[str], limit: int | None, kept: Path | None) -> None:
    """Print what the lens of themes shows of the evidence, and what it could, as one JSON object."""
    data = load_questions(folder)
    if types:
        chosen = tuple(question for question in data.questions if question.type in types)
        if not chosen:
            known = ", ".join(sorted({question.type for question in data.questions}))
            raise InputError(f"no question is of the type {types[0]!r}", hint=f"one of {known}")
        data = replace(data, questions=chosen)
    with themed(data.limited(limit), kept=kept) as held:
        click.echo(json.dumps(figures(measured(held))))


if __name__ == "__main__":
    main()

"""`stitch bench judges`: how far a judge agrees with judgements that were recorded, by the same counts and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import click

from stitch.bench.data.sets import read_json
from stitch.bench.figures import print_table
from stitch.bench.metrics.answers import AnswerForm, ContainmentJudge, Judge, score_by
from stitch.bench.metrics.scores import Unscored
from stitch.bench.models import PAPER_JUDGE, option_names, sampling_of, sampling_options
from stitch.bench.suites.retrieval import JUDGES
from stitch.console.idle import refuse_idle
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.errors import InputError, SettingsError


class Judged(NamedTuple):
    """An answer with the count that a judge gave it."""

    question: str
    gold: str
    generated: str
    counted: int


def read_judged(path: Path) -> list[Judged]:
    """Recorded judgements: a JSON list of objects with `question`, `gold`, `generated` and `judge_count`."""
    said = read_json(path)
    try:
        return [Judged(str(one["question"]), one["gold"], one["generated"], int(one["judge_count"])) for one in said]
    except (TypeError, KeyError, ValueError) as error:
        raise InputError(
            f"{str(path)!r} holds no judgements", hint="a list of question, gold, generated, judge_count"
        ) from error


def agreement(judge: Judge, recorded: Sequence[Judged], *, threads: int = 1) -> Mapping[str, Any]:
    """How often a judge gives the recorded count, and what the difference does to the figure; unscored ones aside."""

    def one(own: Judged) -> tuple[bool, float] | None:
        verdict = judge.count(own.question, gold=own.gold, generated=own.generated)
        mine, theirs = (
            score_by(AnswerForm.SET, gold=own.gold, generated=own.generated, count=count)
            for count in (verdict.correct, own.counted)
        )
        if isinstance(mine, Unscored) or isinstance(theirs, Unscored):
            return None
        return mine == theirs, mine.f1 - theirs.f1

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(one, recorded))
    judged = [own for own in found if own is not None]
    agreed, count = sum(same for same, _ in judged), len(judged)
    return {
        "judged": count,
        "unscored": len(found) - count,
        "agreed": agreed,
        "agreement": round(agreed / count, 6) if judged else None,
        "f1_difference": round(sum(difference for _, difference in judged) / count, 6) if judged else None,
    }


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="Recorded judgements, a JSON list.")
@click.option("--judge", type=click.Choice(JUDGES), default=JUDGES[0], show_default=True, help="Who judges.")
@click.option("--judge-model", metavar="NAME", help="Another model than the configured one.")
@sampling_options("judge", default=PAPER_JUDGE)
@click.option("--seed", type=int)
@json_option
def command(data: Path, judge: str, judge_model: str | None, seed: int | None, as_json: bool, **sampling: Any) -> None:
    """Judge answers that were judged before, and tell how often the count is the same.

    \b
    Example:
      stitch bench judges --data judged_answers.json --judge containment
    """
    named: Judge = ContainmentJudge()
    threads = 1
    if judge == "model":
        from stitch.bench.models import ModelJudge, configured_model

        model = configured_model(judge_model, sampling=sampling_of("judge", sampling, seed=seed))
        if model is None:
            raise SettingsError("a judge needs a language model", hint="set STITCH_MODEL, or take --judge containment")
        named, threads = ModelJudge(model), model.limits.concurrency
    else:
        idle = ("judge_model", *option_names("judge"), "seed")
        refuse_idle(*idle, reason=f"--judge {judge} asks no model", hint="leave it out, or --judge")
    figures = agreement(named, read_judged(data), threads=threads)
    if as_json:
        print_json({"judge": named.name, **figures})
    else:
        print_table({named.name: figures}, title=f"{data.name}: agreement with recorded judgements")

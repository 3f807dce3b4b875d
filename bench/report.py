"""`stitch bench report`: one HTML page of finished runs, to be read anywhere; `report.html` is its template.

Of runs whose memory made labels, each question has a drawing of scopes over steps, by the script of the server's page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import orjson

from stitch.bench import scoring
from stitch.bench.figures import shown
from stitch.bench.metrics.scores import scored
from stitch.bench.records import Answered, Record
from stitch.bench.results import table_of, told_of
from stitch.bench.runs import Run, read_run
from stitch.errors import require_extra
from stitch.retrieve.explain import in_words
from stitch.server.page import drawing

QUESTIONS_SHOWN = 100
_STEPS_SHOWN = 10


def render(runs: list[Run], *, questions: int = QUESTIONS_SHOWN) -> str:
    """The page of some runs; the same runs give the same page."""
    from jinja2 import Environment

    template = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    told = [
        {
            "title": f"{run.set} ({run.suite})",
            "told": list(told_of(run)),
            "answered": run.answered,
            "tables": list(_tables(run)),
            "differing": list(_differing(run, questions)),
        }
        for run in runs
    ]
    drawn = [{"trajectories": _labeled(run), "questions": dict(_places(run, questions))} for run in runs]
    parts = drawing() | {"told": orjson.dumps(drawn).decode().replace("<", "\\u003c")}
    environment = Environment(autoescape=True, trim_blocks=True)
    return environment.from_string(template).render(
        runs=told, questions=questions, drawing=parts if any(each["questions"] for each in drawn) else None
    )


def _labeled(run: Run) -> dict[str, Any]:
    """The scopes of each trajectory that a question can show."""
    return {
        note.trajectory: {
            "length": len(note.labeled.steps),
            "scopes": [scope.model_dump(mode="json") for scope in note.labeled.scopes],
        }
        for note in run.prepared
        if note.labeled is not None
    }


def _places(run: Run, limit: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Positions of the gold steps and of each method's first hits, of questions that can be drawn."""
    steps = {note.trajectory: note.labeled.steps for note in run.prepared if note.labeled is not None}
    for records in _most_differing(run, limit):
        one = next(iter(records.values()))
        place = {step: position for position, step in enumerate(steps.get(one.trajectory, ()))}
        if place:
            found = {
                method: [place[step] for step in record.steps[:_STEPS_SHOWN] if step in place]
                for method, record in records.items()
            }
            gold = [place[step] for step in one.evidence if step in place]
            yield one.question, {"trajectory": one.trajectory, "gold": gold, "found": found}


def _tables(run: Run) -> Iterator[dict[str, Any]]:
    head, rows = table_of(run)
    yield {"head": head, "rows": rows, "caption": "All methods"}
    by_type = {
        method: {f"{name or 'none'} ({row['questions']})": row[run.main] for name, row in own.items()}
        for method, own in run.by_type.items()
    }
    made = {method: scoring.diagnostics(records) for method, records in run.records.items()}
    for told, caption in (
        (by_type, f"{run.main} by type"),
        (made, "Labels selected for questions, against the gold steps (Appendix D)"),
    ):
        if names := list(dict.fromkeys(name for row in told.values() if row for name in row)):
            cells = [[method, *(shown(row.get(name)) for name in names)] for method, row in told.items() if row]
            yield {"head": ["method", *names], "rows": cells, "caption": caption}


def _most_differing(run: Run, limit: int) -> Iterator[dict[str, Record]]:
    """The questions on which the methods differ most, the first of them first: the record of each method."""
    by_question: dict[str, dict[str, Record]] = {}
    for method, records in run.records.items():
        for record in records:
            by_question.setdefault(record.question, {})[method] = record

    def spread(name: str) -> float:
        records = (record for method, record in by_question[name].items() if method != "oracle")
        known = scored(map(run.measures[run.main], records))
        return max(known) - min(known) if known else 0.0

    for name in sorted(by_question, key=lambda name: (-spread(name), name))[:limit]:
        yield by_question[name]


def _differing(run: Run, limit: int) -> Iterator[dict[str, Any]]:
    answers = ["answer", "verdict"] if run.answered else []
    head = ["method", run.main, *answers, "labels of the question", f"first {_STEPS_SHOWN} steps (gold in green)"]
    for records in _most_differing(run, limit):
        rows = [_row(run, method, record) for method, record in records.items()]
        yield {"one": next(iter(records.values())), "head": head, "rows": rows}


def _row(run: Run, method: str, record: Record) -> Mapping[str, Any]:
    score = scored([run.measures[run.main](record)])
    return {
        "method": method,
        "score": shown(score[0]) if score else "-",
        **_verdict(record.answered),
        "labels": [f"{kind}: {value}" for kind, values in (record.labels or {}).items() for value in values],
        "steps": [
            {
                "name": step,
                "gold": step in record.evidence,
                "why": in_words(record.parts[step]) if record.parts.get(step) else "",
                "matched": [value for values in record.matched.get(step, {}).values() for value in values],
            }
            for step in record.steps[:_STEPS_SHOWN]
        ],
    }


def _verdict(own: Answered | None) -> dict[str, str]:
    """The answer, and what the judge said of it and why; of one that is not scored, what went wrong."""
    if own is None:
        return {"answer": "-", "verdict": "-"}
    answer = "-" if own.answer is None else own.answer
    if own.correct is None:
        return {"answer": answer, "verdict": own.reason or "not judged"}
    slots = f" of {own.given} given" if own.given is not None else ""
    return {"answer": answer, "verdict": f"{own.correct} right{slots}", "reason": own.reason}


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default="report.html", show_default=True,
              help="The page to write.")  # fmt: skip
@click.option("--questions", type=click.IntRange(min=0), default=QUESTIONS_SHOWN, show_default=True,
              help="How many questions of a run can be looked into.")  # fmt: skip
def command(runs: tuple[Path, ...], out: Path, questions: int) -> None:
    """Write one HTML page of finished runs; a run is the folder given with --out.

    \b
    Example:
      stitch bench retrieval --data locomo --methods all --out runs/locomo
      stitch bench report runs/locomo --out locomo.html
    """
    require_extra("bench", package="jinja2", needed_by="`stitch bench report`")
    html = render([read_run(folder) for folder in runs], questions=questions)
    out.write_text(html, encoding="utf-8")
    click.echo(f"stitch: {out} ({len(html) // 1024} KB)", err=True)

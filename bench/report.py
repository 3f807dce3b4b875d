"""`stitch bench report`: one HTML page of finished runs, to be read anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import chain
from pathlib import Path

import click

from stitch.bench import page, plots
from stitch.bench.figures import shown
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.metrics.paired import Interval
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import Record
from stitch.bench.runs import Run, read_runs
from stitch.bench.scoring import grouped
from stitch.errors import require_extra
from stitch.retrieve.rank.wording import in_words

QUESTIONS_SHOWN = 100
_STEPS_SHOWN = 10
_LONG_ID = 20


def render(runs: list[Run], *, questions: int = QUESTIONS_SHOWN) -> str:
    """The page of some runs; the same runs give the same page."""
    body = ["<h1>Benchmark of stitch</h1>", f'<p class="soft">{_about(runs)}</p>']
    links = (f'<a href="#run{place}">{escape(run.title)}</a>' for place, run in enumerate(runs))
    body.append(f"<nav>{''.join(links)}</nav>")
    for place, run in enumerate(runs):
        body += _run(run, place, questions=questions)
    return page.page("Benchmark of stitch", body)


def _about(runs: list[Run]) -> str:
    count = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    return (
        f"{count}. Brackets are 95 % bootstrap intervals over questions. Every method has the same budget, "
        "counted by the same tokenizer; full-context alone has a window of 128,000 tokens."
    )


def _run(run: Run, place: int, *, questions: int) -> Iterator[str]:
    settings, versions, machine = run.manifest.settings, run.manifest.versions, run.manifest.machine
    yield f'<h2 id="run{place}">{escape(run.title)}</h2>'
    made_with = f"stitch {versions.get('stitch', '?')}, Python {versions.get('python', '?')}"
    yield (
        f'<p class="soft">{len(run.questions)} questions; {settings.budget_tokens:,} tokens by '
        f"{escape(settings.tokenizer)}; labels {escape(settings.labels)}; embedder {escape(settings.embedder)}; "
        f"{escape(made_with)}; {escape(str(machine.get('processor', '')))}, "
        f"{machine.get('cores')} cores; data {settings.data_sha256[:12]}.</p>"
    )
    if taken := run.labeling():
        cost = taken["model_cost_usd"]
        price = "at an unknown price" if cost is None else f"for US$ {cost:.4f}"
        yield (
            f'<p class="soft">Labeling {taken["steps"]:,} steps took {taken["model_calls"]:,} calls of a model, '
            f"{taken['model_tokens']:,} tokens, {price}; {taken['stand_ins']:,} steps have labels that stand in for its"
            f" own, {taken['unusable_replies']:,} replies were cut or of no use.</p>"
        )
    if run.models:
        told = ", ".join(f"{what} by {who}" for what, who in run.models.items())
        yield f'<p class="soft">Language models took part: {escape(told)}.</p>'
    if run.manifest.command:
        yield f"<p><code>{escape(run.manifest.command)}</code></p>"
    yield from (f'<p class="soft">{escape(note)}.</p>' for note in run.manifest.notes)
    intervals = {m: {name: run.interval(m, name) for name in run.measures} for m in run.records}
    yield _main_table(run, intervals)
    yield from _further_table(run)
    yield _differences(run)
    yield '<div class="plots">'
    yield from _plots(run, intervals, salt=f"run{place}")
    yield "</div>"
    yield _group_table(run, lambda record: record.type, caption=f"{run.main} by type")
    yield _label_tables(run)
    yield f"<h3>Questions on which the methods differ most (at most {questions})</h3>"
    yield from _questions(run, questions)


def _main_table(run: Run, intervals: Mapping[str, Mapping[str, Interval | None]]) -> str:
    names = [name for name in run.measures if any(own[name] for own in intervals.values())]
    rows = [[escape(method), *(_interval(own[name]) for name in names)] for method, own in intervals.items()]
    missing = [name for name in run.measures if name not in names]
    note = f" Not scored, for want of a model: {', '.join(missing)}." if missing else ""
    return page.table(["method", *names], rows, caption=f"All methods.{note}", first="stitch")


def _further_table(run: Run) -> Iterator[str]:
    """Contexts, costs and times of each method beside its measures, and why some answers are not scored."""
    every = {method: run.row(method) for method in run.records}
    names = [name for name in dict.fromkeys(chain(*every.values())) if any(row.get(name) for row in every.values())]
    rows = [[escape(method), *(shown(row.get(name)) for name in names)] for method, row in every.items()]
    yield page.table(["method", *names], rows, caption="Contexts, times and costs.", first="stitch")
    if told := run.not_scored():
        reasons = "; ".join(f"{reason} ({count})" for reason, count in told.items())
        yield f'<p class="soft">Not scored, and asked for again by the command of the run: {escape(reasons)}.</p>'


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    return f"{interval.value:.3f} <small>[{interval.low:.2f}, {interval.high:.2f}]</small>"


def _differences(run: Run) -> str:
    rows = []
    for row in run.differences():
        mark = "good" if row["low"] > 0 else "bad" if row["high"] < 0 else "soft"
        rows.append(
            [
                f"stitch − {escape(row['b'])}",
                escape(row["metric"]),
                f'<span class="{mark}">{row["difference"]:+.3f}</span>',
                f"[{row['low']:+.3f}, {row['high']:+.3f}]",
                f"{row['p']:.4f}",
                str(row["pairs"]),
            ]
        )
    if not rows:
        return ""
    return page.table(
        ["pair", "measure", "difference", "95 % interval", "p", "questions"],
        rows,
        caption=f"Paired differences, {' and '.join(run.compared)}",
    )


def _plots(run: Run, intervals: Mapping[str, Mapping[str, Interval | None]], *, salt: str) -> Iterator[str]:
    main = {method: own[run.main] for method, own in intervals.items()}
    known = {method: interval for method, interval in main.items() if interval is not None}
    yield page.figure(
        plots.bars({m: (i.value, i.low, i.high) for m, i in known.items()}, x_label=run.main, salt=f"{salt}a"),
        f"{run.main} of every method, with 95 % intervals.",
    )
    yield page.figure(
        plots.lines(
            {method: run.recall_by_budget(method) for method in run.records},
            x=BUDGETS, x_label="budget (tokens)", y_label="evidence recall", salt=f"{salt}b",
        ),
        "Evidence recall in contexts of so many tokens.",
    )  # fmt: skip
    speeds = {m: (run.row(m)["search_p50_ms"] or 0.0, i.value) for m, i in known.items()}
    yield page.figure(
        plots.scatter(speeds, x_label="search, median (ms)", y_label=run.main, salt=f"{salt}c"),
        f"{run.main} against the time of a search, its context included.",
    )


def _group_table(run: Run, key: Callable[[Record], str], *, caption: str) -> str:
    measure = {run.main: run.measures[run.main]}
    groups = {method: grouped(records, key, measure) for method, records in run.records.items()}
    counts = {name: row["questions"] for own in groups.values() for name, row in own.items()}
    if len(counts) < 2:
        return ""
    rows = [[escape(m), *(shown(own.get(n, {}).get(run.main)) for n in counts)] for m, own in groups.items()]
    head = [f"{name or 'none'} ({count})" for name, count in counts.items()]
    return page.table(["method", *head], rows, caption=caption, first="stitch", best=True)


def _label_tables(run: Run) -> str:
    tables = []
    for found, caption in (
        (run.diagnostics(), "Labels selected for questions, against the gold steps (Appendix D)"),
        (run.selection_failures(), "Labels of wrongly answered questions: share of question and kind (Appendix D.2)"),
    ):
        if names := sorted({name for own in found.values() for name in own}):
            rows = [[escape(method), *(shown(own.get(name, 0.0)) for name in names)] for method, own in found.items()]
            head = ["method", *(name.replace("_", " ") for name in names)]
            tables.append(page.table(head, rows, caption=caption))
    return "".join(tables)


def _questions(run: Run, limit: int) -> Iterator[str]:
    by_question: dict[str, dict[str, Record]] = {}
    for method, records in run.records.items():
        for record in records:
            by_question.setdefault(record.question, {})[method] = record

    def spread(name: str) -> float:
        scores = [run.measures[run.main](record) for method, record in by_question[name].items() if method != "oracle"]
        known = [score for score in scores if not isinstance(score, Unscored)]
        return max(known) - min(known) if known else 0.0

    for name in sorted(by_question, key=lambda name: (-spread(name), name))[:limit]:
        yield _question(run, name, by_question[name])


def _question(run: Run, name: str, records: Mapping[str, Record]) -> str:
    any_record = next(iter(records.values()))
    rows = []
    for method, record in records.items():
        score = run.measures[run.main](record)
        steps = [_step(record, step) for step in record.steps[:_STEPS_SHOWN]]
        labels = [f"{kind}: {value}" for kind, values in (record.labels or {}).items() for value in values]
        given = record.answered.answer if record.answered else None
        rows.append(
            [
                escape(method),
                "-" if isinstance(score, Unscored) else shown(score),
                *([escape(given if given is not None else "-"), _verdict(record)] if run.answered else []),
                _labels(labels),
                " ".join(steps),
            ]
        )
    gold = " ".join(f'<code class="gold">{escape(_short(step))}</code>' for step in any_record.evidence)
    answer = escape(any_record.gold_answer or "none")
    body = f"<p>Gold steps: {gold or 'none'}. Gold answer: {answer}</p>" + page.table(
        [
            "method",
            run.main,
            *(["answer", "verdict"] if run.answered else []),
            "labels of the question",
            f"first {_STEPS_SHOWN} steps (gold in green)",
        ],
        rows,
        wrap=True,
    )
    summary = f'{escape(any_record.text)} <span class="type">{escape(any_record.type)}, {escape(name)}</span>'
    return page.details(summary, body)


def _verdict(record: Record) -> str:
    """What the judge said of an answer, and why; of one that is not scored, what went wrong."""
    own = record.answered
    if own is None:
        return "-"
    if own.correct is None:
        return escape(own.reason or "not judged")
    slots = f" of {own.given} given" if own.given is not None else ""
    why = f" <small>{escape(own.reason)}</small>" if own.reason else ""
    return f"{own.correct} right{slots}{why}"


def _step(record: Record, step: str) -> str:
    style = ' class="gold"' if step in record.evidence else ""
    matched = [value for values in record.matched.get(step, {}).values() for value in values]
    parts = record.parts.get(step)
    why = f' title="{escape(in_words(parts))}"' if parts else ""
    return f"<code{style}{why}>{escape(_short(step))}</code>{_labels(matched)}"


def _short(step: str) -> str:
    """The end of a long step id, which is what tells it from the others."""
    return step if len(step) <= _LONG_ID else f"…{step[-_LONG_ID // 2 :]}"


def _labels(values: list[str]) -> str:
    return "".join(f' <span class="label">{escape(value)}</span>' for value in values)


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
    require_extra("bench", package="matplotlib", needed_by="`stitch bench report`")
    html = render(read_runs(runs), questions=questions)
    out.write_text(html, encoding="utf-8")
    click.echo(f"stitch: {out} ({len(html) // 1024} KB)", err=True)

"""`stitch bench results`: Markdown tables of finished runs and of saved figures, with the commands that made them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from stitch.bench.data.files import read_json
from stitch.bench.figures import shown
from stitch.bench.goals import goal_rows
from stitch.bench.runs import BUDGETS, Run, read_run
from stitch.errors import InputError

_COLUMNS = {
    "retrieval": ("recall@5", "recall@10", "recall@20", "all@10", "mrr", "ndcg@10", "budget_recall"),
    "came": ("answer_in_context", "evidence_recall"),
}

_SMALLER_BUDGETS = (1024, 2048)


def render(runs: Sequence[Run], saved: Sequence[Mapping[str, Any]] = ()) -> str:
    """The Markdown page of some runs, and of saved figures of labels and rewrites."""
    lines = ["# Results", "", _ABOUT]
    lines += _overview(runs)
    if rows := list(goal_rows(runs, saved)):
        lines += ["", "## Against the goals", "", _GOALS, ""]
        lines += _table(["set", "measure", "trivial", "goal", "`stitch`", ""], rows)
    for suite in ("came", "retrieval"):
        own = [run for run in runs if run.manifest.settings.suite == suite]
        for run in own:
            lines += ["", *_run(run)]
    labels = [figures for figures in saved if "scope" in figures]
    rewrites = [figures for figures in saved if "copy_bleu" in figures]
    if labels:
        lines += ["", *_labels(labels)]
    if rewrites:
        lines += ["", *_rewrites(rewrites)]
    return "\n".join(lines) + "\n"


_ABOUT = """\
Written by `stitch bench results` from run folders; do not edit. No language model took part: labels are local, and
precision, recall and F1 of generated answers are not here for that reason. Every method has the same token budget;
`full-context` alone reads 128,000 tokens. `recall@k`: share of the evidence among the first k steps. `budget_recall`:
share among the ranked steps whose texts fit the budget; `in 1,024` and `in 2,048` the same for smaller budgets.
`answer_in_context`: share of the gold items that stand literally in the context inside the budget; `evidence_recall`:
share of the gold turns of which a part stands there. Brackets: 95 % bootstrap interval over questions. Times are those
of a shared machine, with contexts made only where the suite needs them. Where a question asks for a list, the memories
cut long steps to the sentences that name something, with labels and without; the baselines show raw steps.
`stitch-unlabeled` is the same memory searched without labels, `stitch-gold` the same with gold labels, `oracle` the
evidence itself."""


_GOALS = """\
Local labels, no model. The weights of the scope tracker are fitted on parts of star, sgd, irc, tiage, dialseg711 and
sgd_interleaved, so that those rows flatter; held-out figures, what was tried, and what holds back what is not reached:
`stitch/label/local/README.md`. Names of the sets are those of their files."""


def _overview(runs: Sequence[Run]) -> Iterator[str]:
    """Where labels help, and where they do not."""
    rows = []
    for run in runs:
        found = {row["b"]: row for row in run.differences()}
        if not found:
            continue
        cells = [_difference(found.get(other)) for other in ("stitch-unlabeled", "bm25", "hybrid")]
        mine = run.interval("stitch", run.main)
        rows.append(
            [run.manifest.settings.set, run.main, f"{mine.value:.3f}" if mine else "-", *cells, _verdict(found)]
        )
    if rows:
        yield from ("", "## Do labels help?", "")
        yield "`stitch` minus another method, question by question, on the measure that matters most for the set."
        yield ""
        head = ["set", "measure", "stitch", "− stitch-unlabeled", "− bm25", "− hybrid", "labels"]
        yield from _table(head, rows)


def _difference(row: Mapping[str, Any] | None) -> str:
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]" if row else "-"


def _verdict(found: Mapping[str, Mapping[str, Any]]) -> str:
    row = found.get("stitch-unlabeled")
    if row is None:
        return "-"
    if row["low"] > 0:
        return "help"
    return "**hurt**" if row["high"] < 0 else "no difference shown"


def _run(run: Run) -> Iterator[str]:
    settings = run.manifest.settings
    yield f"## {run.title}"
    yield ""
    yield f"`{run.manifest.command}`"
    yield ""
    steps = {note.trajectory: note.steps for note in run.prepared}
    yield (
        f"{len(run.questions):,} questions over {len(steps):,} trajectories with {sum(steps.values()):,} steps; "
        f"{settings.budget_tokens:,} tokens by `{settings.tokenizer}`; labels `{settings.labels}`."
    )
    yield from (f"Note: {note}." for note in run.manifest.notes)
    yield ""
    columns = _COLUMNS[settings.suite]
    more = ["entity_resolution_recall", "context_tokens_p50"] if settings.suite == "came" else []
    more += ["search_p50_ms", "search_p95_ms"]
    rows = []
    smaller = _SMALLER_BUDGETS if settings.suite == "retrieval" else ()
    for method in run.records:
        row = run.row(method)
        within = dict(zip(BUDGETS, run.recall_by_budget(method), strict=True)) if smaller else {}
        rows.append(
            [
                f"`{method}`",
                *(_mean(run, method, name) for name in columns),
                *(shown(within[budget]) for budget in smaller),
                *(shown(row[name]) for name in more),
            ]
        )
    yield from _table(["method", *columns, *(f"in {budget:,}" for budget in smaller), *more], rows)
    types = sorted({record.type for records in run.records.values() for record in records})
    if len(types) > 1:
        yield ""
        yield f"{run.main} by type:"
        yield ""
        yield from _table(["method", *types], [[f"`{m}`", *_by_type(run, m, types)] for m in run.records])
    found = run.diagnostics().get("stitch")
    if found:
        yield ""
        figures = ", ".join(f"{name} {shown(value)}" for name, value in found.items())
        yield f"Labels selected by `stitch` (Appendix D): {figures}."


def _mean(run: Run, method: str, measure: str) -> str:
    interval = run.interval(method, measure)
    if interval is None:
        return "-"
    if measure != run.main:
        return f"{interval.value:.3f}"
    return f"{interval.value:.3f} [{interval.low:.2f}, {interval.high:.2f}]"


def _by_type(run: Run, method: str, types: Sequence[str]) -> Iterator[str]:
    from stitch.bench.scoring import grouped

    groups = grouped(run.records[method], lambda record: record.type, {run.main: run.measures[run.main]})
    for name in types:
        yield shown(groups.get(name, {}).get(run.main))


def _labels(saved: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "## Labels"
    yield ""
    yield "`stitch bench labels --data FILE --json`. Names never count; `bench/suites/labels.py` defines them."
    yield ""
    columns = (
        ("scope", "bcubed_f1"), ("scope", "bcubed_precision"), ("scope", "bcubed_recall"), ("scope", "switch_f1"),
        ("scope", "pk"), ("event_type", "v_measure"), ("event_type", "ari"), ("entity_type", "f1"),
    )  # fmt: skip
    rows = []
    for figures in saved:
        for name, own in ((figures["labels"], figures), *figures["baselines"].items()):
            cells = [shown((own[kind] or {}).get(measure)) for kind, measure in columns]
            rows.append([figures["set"], f"`{name}`", *cells, shown(own.get("steps_per_s"))])
    yield from _table(["set", "labels", *(f"{measure}" for _, measure in columns), "steps/s"], rows)


def _rewrites(saved: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "## Rewrites"
    yield ""
    yield "`stitch bench rewrites --data FILE --json`. BLEU by sacrebleu; `copy_bleu` leaves every utterance as it is."
    yield ""
    rows = []
    for figures in saved:
        for name, own in (("all", figures), *figures["by_kind"].items()):
            cells = [shown(own[column]) for column in ("pairs", "bleu", "copy_bleu", "exact", "changed")]
            rows.append([figures["set"], name, *cells])
    yield from _table(["set", "kind", "pairs", "bleu", "copy_bleu", "exact", "changed"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write; else standard output.")
def command(runs: tuple[Path, ...], out: Path | None) -> None:
    """Write Markdown tables of run folders, and of files saved from `labels --json` and `rewrites --json`.

    \b
    Example:
      stitch bench results runs/locomo labels-star.json --out bench/RESULTS.md
    """
    folders = [path for path in runs if path.is_dir()]
    saved = [_saved(path) for path in runs if not path.is_dir()]
    text = render([read_run(folder) for folder in folders], saved)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")


def _saved(path: Path) -> Mapping[str, Any]:
    figures = read_json(path)
    if not isinstance(figures, dict) or not ({"scope", "copy_bleu"} & set(figures)):
        raise InputError(f"{str(path)!r} holds no figures of labels or rewrites", hint="save what --json prints")
    return figures

"""What the suites of retrieval share: options, the run folder, and the run."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from stitch.bench.answering import Answerer, Diagnostician
from stitch.bench.data.types import DataSet
from stitch.bench.harness import DEPTH, Job, run
from stitch.bench.labelers import LABELERS, labeler_named
from stitch.bench.manifest import Manifest, RunSettings, claim, new_manifest
from stitch.bench.metrics.judging import ContainmentJudge, Judge
from stitch.bench.records import Record, read_records
from stitch.bench.registry import method_names, missing_for
from stitch.errors import SettingsError

BUDGET_TOKENS = 4096
JUDGES = ("model", "containment")

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a suite, as given."""

    methods: str | None
    limit: int | None
    budget: int
    labels: str
    out: Path | None
    workers: int
    as_json: bool
    answers: bool = False
    """Whether the configured model answers."""
    judge: str = "model"


def suite_options(command: Command) -> Command:
    """Add the options that `Options` holds."""
    options = (
        click.option("--methods", metavar="A,B", help="Methods to compare, or `all`.  [default: five of them]"),
        click.option("--limit", type=click.IntRange(min=1), help="Only the first questions."),
        click.option("--budget", type=click.IntRange(min=1), default=BUDGET_TOKENS, show_default=True, metavar="TOKENS",
                     help="What a context may have."),
        click.option("--labels", type=click.Choice(LABELERS), default="local", show_default=True, help="Who labels."),
        click.option("--out", type=click.Path(path_type=Path), help="Keep the run; the same command goes on."),
        click.option("--workers", type=click.IntRange(min=1), default=min(2, os.cpu_count() or 1), show_default=True,
                     help="Processes."),
        click.option("--answers", is_flag=True, help="Let the configured model (STITCH_MODEL) answer and judge."),
        click.option("--judge", type=click.Choice(JUDGES), default=JUDGES[0], show_default=True,
                     help="Who judges: the model, or containment, which needs none."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A run that is complete."""

    manifest: Manifest
    folder: Path
    records: dict[str, list[Record]]
    """By method, in the order of the data set."""
    missing: dict[str, str]
    """Methods that could not be run on this set, and why."""


@contextmanager
def finished(suite: str, data: DataSet, options: Options, *, contexts: bool) -> Iterator[Finished]:
    """Run a suite, or what is left of it; a run without `--out` is removed in the end.

    Raises:
        InputError: A method is not known or named twice.
        SettingsError: The run folder is of other settings.
    """
    names = method_names(options.methods)
    asked = _asked(options.judge) if options.answers else None
    missing = {name: reason for name in names if (reason := missing_for(name, data))}
    chosen = tuple(name for name in names if name not in missing)
    data = data.limited(options.limit)
    settings = _settings(suite, data, options=options, asked=asked)
    for note in data.notes:
        click.echo(f"stitch: {data.name}: {note}", err=True)
    for name, reason in missing.items():
        click.echo(f"stitch: {name} is left out: {reason}", err=True)
    with _folder(options.out) as folder:
        manifest = claim(folder, new_manifest(settings, command=_command(), notes=data.notes))
        run(
            Job(
                data=data,
                methods=chosen,
                folder=folder,
                budget_tokens=options.budget,
                contexts=contexts,
                labels=options.labels,
                workers=options.workers,
                answerer=asked.answerer if asked else None,
                judge=asked.judge if asked else None,
                diagnostician=asked.diagnostician if asked else None,
                threads=asked.threads if asked else 1,
            )
        )
        records = {name: _in_order(read_records(folder, name), data) for name in chosen}
        yield Finished(manifest=manifest, folder=folder, records=records, missing=missing)


def _settings(suite: str, data: DataSet, *, options: Options, asked: _Asked | None) -> RunSettings:
    from stitch.embed import StaticEmbedder
    from stitch.retrieve import PieceCounter

    return RunSettings(
        suite=suite,
        set=data.name,
        data_sha256=data.digest,
        k=DEPTH,
        budget_tokens=options.budget,
        tokenizer=PieceCounter().name,
        labels=labeler_named(options.labels).name,
        embedder=StaticEmbedder().name,
        limit=options.limit,
        answerer=asked.answerer.name if asked else None,
        judge=asked.judge.name if asked else None,
        prompts_sha256=asked.prompts_sha256 if asked else None,
    )


def _in_order(records: Iterable[Record], data: DataSet) -> list[Record]:
    """The records in the order of the questions."""
    order = {question.id: place for place, question in enumerate(data.questions)}
    return sorted(records, key=lambda record: order[record.question])


class _Asked(NamedTuple):
    """The models that take part."""

    answerer: Answerer
    judge: Judge
    diagnostician: Diagnostician | None
    threads: int
    prompts_sha256: str


def _asked(judge: str) -> _Asked:
    from stitch.bench.models import ModelAnswerer, ModelJudge, configured_model, prompts_sha256

    model = configured_model()
    if model is None:
        raise SettingsError("answers need a language model", hint="set STITCH_MODEL, for example openai/gpt-5-mini")
    judging = ModelJudge(model) if judge == "model" else None
    threads = model.limits.concurrency
    return _Asked(ModelAnswerer(model), judging or ContainmentJudge(), judging, threads, prompts_sha256())


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="stitch-run-") as folder:
        yield Path(folder)


def _command() -> str:
    """The command line with file names instead of paths, so that a report tells no secrets of a machine."""
    words = ["stitch", *sys.argv[1:]]
    return shlex.join(Path(word).name if os.sep in word else word for word in words)

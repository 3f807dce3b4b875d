"""Options, run folder and run of the suites of retrieval."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from stitch.bench.answering import is_unscored
from stitch.bench.data.types import DataSet
from stitch.bench.harness import DEPTH, Asked, Job, run
from stitch.bench.kept import RequestFile, take_in
from stitch.bench.labelers import check_filters, digest_of, labeler_named, read_filters
from stitch.bench.manifest import Manifest, RunSettings, claim, new_manifest
from stitch.bench.metrics.answers import ContainmentJudge
from stitch.bench.records import Record, read_records
from stitch.bench.registry import method_names, missing_for
from stitch.bench.sampling import EFFORTS, TEMPERATURE, TOP_P, Sampling
from stitch.console.idle import refuse_idle
from stitch.errors import SettingsError

if TYPE_CHECKING:
    from stitch.lm.batch import BatchFormat

BUDGET_TOKENS = 4096
PAPER_JUDGE = Sampling(temperature=0.0, top_p=0.9)
"""How the paper lets its judge answer (§4.1)."""
JUDGES = ("model", "containment")
_PROBLEMS_SHOWN = 20
"""So many lines of a file of replies that are of no use are named."""

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a suite, as given; `suite_options` says what each is."""

    methods: str | None = None
    limit: int | None = None
    budget: int = BUDGET_TOKENS
    labels: str = "local"
    filters: Path | None = None
    out: Path | None = None
    workers: int = 1
    as_json: bool = False
    answers: bool = False
    judge: str = "model"
    judge_model: str | None = None
    answer_temperature: float | None = None
    answer_top_p: float | None = None
    answer_effort: str | None = None
    judge_temperature: float | None = PAPER_JUDGE.temperature
    judge_top_p: float | None = PAPER_JUDGE.top_p
    judge_effort: str | None = None
    judge_price: tuple[float, float] | None = None
    seed: int | None = None
    batch: Path | None = None
    batch_format: BatchFormat = "neutral"
    replies: tuple[Path, ...] = ()


_FILE = click.Path(path_type=Path, dir_okay=False)
_WRITTEN = click.Path(path_type=Path, dir_okay=False, exists=True)


def suite_options(command: Command) -> Command:
    """Add the options that `Options` holds."""
    options = (
        click.option("--methods", metavar="A,B", help="Methods to compare, or `all`.  [default: five of them]"),
        click.option("--limit", type=click.IntRange(min=1), help="Only so many questions, spread over their types."),
        click.option("--budget", type=click.IntRange(min=1), default=BUDGET_TOKENS, show_default=True, metavar="TOKENS",
                     help="What a context may have."),
        click.option("--labels", metavar="local|model|FILE[,FILE]", multiple=True, default=("local",),
                     callback=lambda context, option, given: ",".join(given),
                     help="Who labels, or files of labels that a model wrote.  [default: local]"),
        click.option("--filters", type=_WRITTEN, metavar="FILE",
                     help="The labels that a model chose for each question."),
        click.option("--out", type=click.Path(path_type=Path), help="Keep the run; the same command goes on."),
        click.option("--workers", type=click.IntRange(min=1), default=min(2, os.cpu_count() or 1), show_default=True,
                     help="Processes."),
        click.option("--answers", is_flag=True, help="Let the configured model (STITCH_MODEL) answer and judge."),
        click.option("--judge", type=click.Choice(JUDGES), default=JUDGES[0], show_default=True,
                     help="Who judges: the model, or containment, which needs none."),
        click.option("--judge-model", metavar="NAME", help="Another model that judges; the paper's is gpt-4.1-mini."),
        click.option("--answer-temperature", type=TEMPERATURE, metavar="T",
                     help="Of the answers; else the provider's."),
        click.option("--answer-top-p", type=TOP_P, metavar="P", help="Of the answers; else the provider's."),
        click.option("--answer-effort", type=click.Choice(EFFORTS), help="How much it thinks before it answers."),
        click.option("--judge-temperature", type=TEMPERATURE, metavar="T", default=PAPER_JUDGE.temperature,
                     show_default=True, help="Of the verdicts; the paper's, as is the next."),
        click.option("--judge-top-p", type=TOP_P, metavar="P", default=PAPER_JUDGE.top_p, show_default=True,
                     help="Of the verdicts."),
        click.option("--judge-effort", type=click.Choice(EFFORTS), help="How much the judge thinks."),
        click.option("--judge-price", type=(float, float), metavar="PROMPT REPLY",
                     help="What another judge costs, in dollars for a million tokens."),
        click.option("--seed", type=int, help="For providers that can repeat themselves."),
        click.option("--batch", type=_FILE, metavar="FILE",
                     help="Ask for no answer or verdict; write what would be asked into FILE."),
        click.option("--batch-format", type=click.Choice(("neutral", "openai")), default="neutral", show_default=True,
                     help="Of that file."),
        click.option("--replies", type=_WRITTEN, multiple=True, metavar="FILE",
                     help="Take in replies to what --batch wrote."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


class Finished(NamedTuple):
    """A run that is complete."""

    manifest: Manifest
    folder: Path
    records: dict[str, list[Record]]
    """By method, in the order of the data set."""
    missing: dict[str, str]
    """Methods that could not be run on this set, and why."""
    awaited: int | None
    """How many replies are made elsewhere and not there yet; None if the model itself was asked."""


@contextmanager
def finished(suite: str, data: DataSet, options: Options, *, contexts: bool) -> Iterator[Finished]:
    """Run a suite, or the rest of it; a run without `--out` is removed in the end.

    Raises:
        InputError: A method is not known or named twice.
        SettingsError: The run folder is of other settings.
    """
    names = method_names(options.methods)
    _check(options)
    requests = None
    if options.batch is not None and options.out is not None:
        requests = RequestFile(options.batch, folder=options.out, form=options.batch_format)
    asked = _asked(options, requests) if options.answers else None
    missing = {name: reason for name in names if (reason := missing_for(name, data))}
    data = data.limited(options.limit)
    if options.filters is not None:
        check_filters(read_filters(options.filters), data.questions)
    for note in (*data.notes, *(f"{name} is left out: {reason}" for name, reason in missing.items())):
        click.echo(f"stitch: {data.name}: {note}", err=True)
    with tempfile.TemporaryDirectory(prefix="stitch-run-") as temporary:
        folder = options.out or Path(temporary)
        settings = _settings(suite, data, options, asked)
        manifest = claim(folder, new_manifest(settings, command=_command(), notes=data.notes))
        _take_in(folder, options.replies)
        if requests is not None:
            requests.clear()
        job = Job(
            data=data,
            methods=tuple(name for name in names if name not in missing),
            folder=folder,
            budget_tokens=options.budget,
            contexts=contexts,
            labels=options.labels,
            filters=options.filters,
            workers=options.workers,
            asked=asked,
        )
        run(job)
        records = _records(job)
        awaited = None if requests is None else _awaited(requests, records)
        yield Finished(manifest, folder, records, missing, awaited)


def _records(job: Job) -> dict[str, list[Record]]:
    order = {question.id: place for place, question in enumerate(job.data.questions)}
    read = {name: read_records(job.folder, name) for name in job.methods}
    return {name: sorted(own, key=lambda record: order[record.question]) for name, own in read.items()}


def _settings(suite: str, data: DataSet, options: Options, asked: Asked | None) -> RunSettings:
    from stitch.bench.models import prompts_sha256
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
        filters=None if options.filters is None else digest_of(options.filters),
        limit=options.limit,
        answerer=asked.answerer.name if asked else None,
        judge=asked.judge.name if asked else None,
        prompts_sha256=prompts_sha256() if asked else None,
    )


def _asked(options: Options, requests: RequestFile | None) -> Asked:
    from stitch.bench.models import ModelAnswerer, ModelJudge, configured_model
    from stitch.lm import Price

    answering = Sampling(options.answer_temperature, options.answer_top_p, options.answer_effort, options.seed)
    model = configured_model(sampling=answering, completion=requests)
    judging = Sampling(options.judge_temperature, options.judge_top_p, options.judge_effort, options.seed)
    price = Price(*options.judge_price) if options.judge_price else None
    other = configured_model(options.judge_model, sampling=judging, completion=requests, price=price)
    if model is None or other is None:
        raise SettingsError("answers need a language model", hint="set STITCH_MODEL, for example openai/gpt-5-mini")
    judge = ModelJudge(other) if options.judge == "model" else None
    return Asked(ModelAnswerer(model), judge or ContainmentJudge(), judge, model.limits.concurrency)


def _check(options: Options) -> None:
    """Refuse options about models that would do nothing or harm."""
    wanted = "--batch" if options.batch else "--replies" if options.replies else None
    if wanted and not (options.answers and options.out):
        raise SettingsError(f"{wanted} goes on with a run with answers", hint="add --answers and --out FOLDER")
    if options.batch and any(file.resolve() == options.batch.resolve() for file in options.replies):
        told = f"--batch would overwrite the replies in {str(options.batch)!r}"
        raise SettingsError(told, hint="give it another file")
    judging = ("judge_model", "judge_temperature", "judge_top_p", "judge_effort", "judge_price")
    if not options.answers:
        answering = ("judge", *judging, "answer_temperature", "answer_top_p", "answer_effort", "seed")
        refuse_idle(*answering, reason="nothing is answered", hint="add --answers")
    if options.judge != "model":
        refuse_idle(*judging, reason=f"--judge {options.judge} asks no model", hint="leave it out, or --judge")
    if options.batch is None:
        refuse_idle("batch_format", reason="nothing is written", hint="add --batch FILE")


def _take_in(folder: Path, files: Iterable[Path]) -> None:
    """Take in replies that were made elsewhere; lines of no use are named on standard error."""
    for file in files:
        taken = take_in(folder, file.read_bytes().splitlines())
        known = f", {taken.known} were there already" if taken.known else ""
        click.echo(f"stitch: {taken.new} replies taken in from {file}{known}", err=True)
        for problem in taken.wrong[:_PROBLEMS_SHOWN]:
            click.echo(f"stitch: {file}, {problem}", err=True)
        if len(taken.wrong) > _PROBLEMS_SHOWN:
            click.echo(f"stitch: {file}, {len(taken.wrong) - _PROBLEMS_SHOWN} more lines of no use", err=True)


def _awaited(requests: RequestFile, records: Mapping[str, Iterable[Record]]) -> int:
    """How many replies are awaited from elsewhere, told on standard error, too."""
    unscored = sum(is_unscored(record) for own in records.values() for record in own)
    told = f"nothing is left to ask: {requests.file} is empty"
    if requests.asked:
        told = (
            f"{requests.asked} requests lie in {requests.file}; the same command takes their replies by --replies FILE"
        )
    elif unscored:
        told = f"{unscored} answers or verdicts came to nothing twice; the same command asks for them again"
    click.echo(f"stitch: {told}", err=True)
    return requests.asked


def _command() -> str:
    """The command line with file names instead of paths, so that a report tells no secrets of a machine."""
    words = ["stitch", *sys.argv[1:]]
    return shlex.join(Path(word).name if os.sep in word else word for word in words)

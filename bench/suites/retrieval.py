"""The suites of retrieval: is what answers a question found, by each method, on any set and on CAME-Bench.

`stitch bench retrieval`, `came`, and a command for each of the published files. Without a model, CAME-Bench is measured
by `answer_in_context`, the share of gold items that stand literally in the context inside the budget;
`evidence_recall`, the share of gold turns of which a part stands there; `entity_resolution_recall` (Appendix B) of the
memory's texts. Precision, recall and F1 need answers, so they are null with the reason.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from stitch.bench.answering import is_unscored
from stitch.bench.data import official
from stitch.bench.data.came import download_release, load_came
from stitch.bench.data.sets import digest_of, load_questions
from stitch.bench.data.types import DataSet
from stitch.bench.harness import DEPTH, AnswerModels, Job, run
from stitch.bench.kept import RequestFile, take_in
from stitch.bench.labelers import labeler_named, read_filters
from stitch.bench.metrics.answers import ContainmentJudge
from stitch.bench.metrics.evidence import TOKENIZER
from stitch.bench.models import AS_PROVIDED, PAPER_JUDGE, Sampling, option_names, sampling_of, sampling_options
from stitch.bench.records import RunSettings, claim, new_manifest
from stitch.bench.registry import method_names, missing_for
from stitch.bench.results import render
from stitch.bench.runs import Run, run_of
from stitch.console.idle import refuse_idle
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.errors import SettingsError

if TYPE_CHECKING:
    from stitch.lm.batch import BatchFormat

BUDGET_TOKENS = 4096
JUDGES = ("model", "containment")
_PROBLEMS_SHOWN = 20
"""So many lines of a file of replies that are of no use are named."""


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
    answering: Sampling = AS_PROVIDED
    judge: str = "model"
    judge_model: str | None = None
    judge_price: tuple[float, float] | None = None
    judging: Sampling = PAPER_JUDGE
    batch: Path | None = None
    batch_format: BatchFormat = "neutral"
    replies: tuple[Path, ...] = ()

    @classmethod
    def given(cls, seed: int | None, **given: Any) -> Options:
        """The options of a command line."""
        answering, judging = (sampling_of(who, given, seed=seed) for who in ("answer", "judge"))
        return cls(**given, answering=answering, judging=judging)


_FILE = click.Path(path_type=Path, dir_okay=False)
_WRITTEN = click.Path(path_type=Path, dir_okay=False, exists=True)


def suite_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `Options` holds."""
    options: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
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
        sampling_options("answer", default=AS_PROVIDED),
        click.option("--judge", type=click.Choice(JUDGES), default=JUDGES[0], show_default=True,
                     help="Who judges: the model, or containment, which needs none."),
        click.option("--judge-model", metavar="NAME", help="Another model that judges; the paper's is gpt-4.1-mini."),
        sampling_options("judge", default=PAPER_JUDGE),
        click.option("--judge-price", type=(float, float), metavar="PROMPT REPLY",
                     help="What another judge costs, in dollars for a million tokens."),
        click.option("--seed", type=int, help="For providers that can repeat themselves."),
        click.option("--batch", type=_FILE, metavar="FILE",
                     help="Ask for no answer or verdict; write what would be asked into FILE."),
        click.option("--batch-format", type=click.Choice(("neutral", "openai")), default="neutral", show_default=True,
                     help="Of that file."),
        click.option("--replies", type=_WRITTEN, multiple=True, metavar="FILE",
                     help="Take in replies to what --batch wrote."),
        json_option,
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


class Measured(NamedTuple):
    """A run, and all its figures."""

    run: Run
    figures: dict[str, Any]


def measure(data: DataSet, options: Options, *, suite: str = "retrieval") -> Measured:
    """Run a suite, or the rest of it, and tell its figures; a run without `--out` is removed in the end.

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
    for note in (*data.notes, *(f"{name} is left out: {reason}" for name, reason in missing.items())):
        click.echo(f"stitch: {data.name}: {note}", err=True)
    with tempfile.TemporaryDirectory(prefix="stitch-run-") as temporary:
        job = Job(
            data=data, methods=tuple(name for name in names if name not in missing),
            folder=options.out or Path(temporary), budget_tokens=options.budget,
            contexts=suite == "came" or options.answers, labels=options.labels, filters=options.filters,
            workers=options.workers, asked=asked,
        )  # fmt: skip
        claim(job.folder, new_manifest(_settings(suite, data, options, asked), command=_command(), notes=data.notes))
        _take_in(job.folder, options.replies)
        if requests is not None:
            requests.clear()
        run(job)
        done = run_of(job.methods, job.folder)
    figures = done.figures()
    figures["methods"] |= dict.fromkeys(missing)
    figures["reasons"] |= {name: {"all": reason} for name, reason in missing.items()}
    return Measured(done, figures if requests is None else {**figures, "awaited": _awaited(requests, done)})


def _settings(suite: str, data: DataSet, options: Options, asked: AnswerModels | None) -> RunSettings:
    from stitch.bench.models import prompts_sha256
    from stitch.embed import StaticEmbedder

    return RunSettings(
        suite=suite, set=data.name, data_sha256=data.digest, k=DEPTH, budget_tokens=options.budget,
        tokenizer=TOKENIZER, labels=labeler_named(options.labels).name, embedder=StaticEmbedder().name,
        filters=None if options.filters is None else _digest(options.filters, data), limit=options.limit,
        answerer=asked.answerer.name if asked else None, judge=asked.judge.name if asked else None,
        prompts_sha256=prompts_sha256() if asked else None,
    )  # fmt: skip


def _digest(filters: Path, data: DataSet) -> str:
    """A name of a file of filters, which has one for each question."""
    read_filters(filters, asked=data.questions)
    return digest_of([filters])[:12]


def _asked(options: Options, requests: RequestFile | None) -> AnswerModels:
    from stitch.bench.models import ModelAnswerer, ModelJudge, configured_model
    from stitch.lm import Price

    price = Price(*options.judge_price) if options.judge_price else None
    model = configured_model(sampling=options.answering, completion=requests)
    other = configured_model(options.judge_model, sampling=options.judging, completion=requests, price=price)
    if model is None or other is None:
        raise SettingsError("answers need a language model", hint="set STITCH_MODEL, for example openai/gpt-5-mini")
    judge = ModelJudge(other) if options.judge == "model" else ContainmentJudge()
    return AnswerModels(ModelAnswerer(model), judge, model.limits.concurrency)


def _check(options: Options) -> None:
    """Refuse options about models that would do nothing or harm."""
    wanted = "--batch" if options.batch else "--replies" if options.replies else None
    if wanted and not (options.answers and options.out):
        raise SettingsError(f"{wanted} goes on with a run with answers", hint="add --answers and --out FOLDER")
    if options.batch and any(file.resolve() == options.batch.resolve() for file in options.replies):
        told = f"--batch would overwrite the replies in {str(options.batch)!r}"
        raise SettingsError(told, hint="give it another file")
    judging = ("judge_model", *option_names("judge"), "judge_price")
    if not options.answers:
        idle = ("judge", *judging, *option_names("answer"), "seed")
        refuse_idle(*idle, reason="nothing is answered", hint="add --answers")
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


def _awaited(requests: RequestFile, done: Run) -> int:
    """Number of replies awaited from elsewhere, told on standard error, too."""
    unscored = sum(is_unscored(record) for record in done.every)
    told = f"nothing is left to ask: {requests.file} is empty"
    if requests.asked:
        lie = f"{requests.asked} requests lie in {requests.file}"
        told = f"{lie}; the same command takes their replies by --replies FILE"
    elif unscored:
        told = f"{unscored} answers or verdicts came to nothing twice; the same command asks for them again"
    click.echo(f"stitch: {told}", err=True)
    return requests.asked


def _command() -> str:
    """The command line with file names instead of paths, so that a report tells no secrets of a machine."""
    words = ["stitch", *sys.argv[1:]]
    return shlex.join(Path(word).name if os.sep in word else word for word in words)


def _suite(name: str, load: Callable[..., DataSet], data: str, text: str, example: str, **more: Any) -> click.Command:
    """The command of one kind of data: its loader, and what it is to be given; `more` are options of the loader."""

    @suite_options
    def run(data: Path, **given: Any) -> None:
        loading = {key: given.pop(key) for key in more}
        options = Options.given(**given)
        measured = measure(load(data, **loading), options, suite="came" if name == "came" else "retrieval")
        if options.as_json:
            print_json(measured.figures)
        else:
            click.echo(render([measured.run]), nl=False)

    for key, option in reversed(more.items()):
        run = click.option(f"--{key}", **option)(run)
    run = click.option("--data", required=True, type=click.Path(path_type=Path), help=data)(run)
    return click.command(name, help=f"{text}\n\n\b\nExample:\n  stitch bench {name} --data {example}")(run)


def _came(folder: Path, *, download: bool) -> DataSet:
    if download:
        download_release(folder)
    return load_came(folder)


command = _suite(
    "retrieval", load_questions, "A folder of trajectories and questions.", "Find the evidence of questions.",
    "locomo --methods stitch,stitch-unlabeled,bm25 --out runs/locomo",
)  # fmt: skip
came = _suite(
    "came", _came, "A folder of CAME-Bench data.",
    "Measure on CAME-Bench: the release (encoded or decoded), the published example, or a generated set.",
    "travel-s --methods stitch,bm25",
    download={"is_flag": True, "help": "Fetch the official release into the folder first."},
)  # fmt: skip
locomo = _suite(
    "locomo", official.load_locomo, "The file locomo10.json.", "Find the evidence of LoCoMo's questions.",
    "locomo10.json --methods stitch,bm25",
)  # fmt: skip
longmemeval = _suite(
    "longmemeval", official.load_longmemeval, "A file longmemeval_*.json.",
    "Find the evidence of LongMemEval's questions.", "longmemeval_s.json --methods stitch,bm25",
)  # fmt: skip

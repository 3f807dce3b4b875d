"""Costs of working with a model, without one: calls, tokens, our own time, throughput, memory.

Answers come from rules, in this process or over HTTP on this machine after a fixed time, so that only what this library
adds is measured. The text is that of a generated CAME-Bench trip of size S, and questions are asked of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.figures import print_table
from stitch.bench.generate.generation import SIZES, generate
from stitch.bench.known_replies import KnownCompletion, read_known
from stitch.bench.timing import resident_mb
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import Labeler, LabelInventory, SearchRequest, SourcedStep, Step

if TYPE_CHECKING:
    from stitch.lm import LanguageModel, Ledger

TRAJECTORIES, STEPS = 32, 100
"""As many windows at once, and as long: those of one trajectory wait for each other."""
LONG_STEPS = 10_000
QUESTIONS = 96
"""How many are asked; of so many, the last ones that leave a worker without work weigh little."""
_WARM_STEPS = 2_000
_WAYS = ("windowed", "without asks", "stepwise")

Ask = Callable[["LanguageModel"], Callable[[str, str], object]]
"""Makes, for a model, what is done with a question and its context."""


def came_steps(seed: str = "model") -> list[Step]:
    """The steps of a generated trip of the benchmark's size."""
    turns = generate("travel", SIZES["S"], seed=seed).turns
    return [Step(id=turn.id, role=turn.role, content=turn.content) for turn in turns]


def by_rules() -> LanguageModel:
    """A model in whose place rules answer."""
    from stitch.lm import LanguageModel
    from stitch.testing.model import ScriptedCompletion
    from stitch.testing.rules import compact, reply_by_rules

    return LanguageModel("rules", completion=ScriptedCompletion(compact(reply_by_rules)))


@contextmanager
def provider_by_rules(latency_s: float = 0.0) -> Iterator[str]:
    """The address of a provider on this machine that answers by rule, after a while."""
    from stitch.testing.model import LoopbackProvider
    from stitch.testing.rules import reply_by_rules

    def reply(system: str, user: str) -> dict[str, Any]:
        time.sleep(latency_s)
        return reply_by_rules(system, user)

    with LoopbackProvider(reply) as provider:
        yield provider.base_url


def _spent(ledger: Ledger, count: int, *, of: str, cpu_s: float) -> dict[str, float]:
    """Calls, tokens and our own time for each of so many."""
    spent = ledger.total()
    return {
        f"calls_per_{of}": round(spent.calls / count, 4),
        f"tokens_per_{of}": round(spent.tokens / count, 1),
        f"cpu_ms_per_{of}": round(1_000 * cpu_s / count, 3),
    }


def measure_labeler(labeler: Labeler, steps: Sequence[Step], *, ledger: Ledger) -> dict[str, float]:
    """Calls, tokens and our own time a step over one trajectory."""
    began = time.thread_time()
    labeler.begin("trip").label(list(steps))
    found = _spent(ledger, len(steps), of="step", cpu_s=time.thread_time() - began)
    calls = (f"{call.name}{json.dumps(dict(call.arguments))}" for step in steps for call in step.tool_calls)
    own = (sum(len(step.content) for step in steps) + sum(map(len, calls))) / 4 / len(steps)
    return found | {
        "prompt_tokens_per_step": round(ledger.total().prompt_tokens / len(steps), 1),
        "own_tokens_per_step": round(own, 1),
        "beyond_own_tokens_per_step": round(ledger.total().tokens / len(steps) - own, 1),
    }


def measure_material(data: Path, *, known: Sequence[Path], ways: Sequence[str]) -> dict[str, dict[str, float]]:
    """Calls and tokens a step of labeling each trajectory of a set of questions, or of CAME-Bench, in each way."""
    from stitch.bench.data.came import load_came
    from stitch.bench.data.sets import load_questions, trajectories_in
    from stitch.embed import StaticEmbedder
    from stitch.label.local import LocalLabeler
    from stitch.label.model.stepwise import StepwiseLabeler
    from stitch.label.model.windowed import WindowedLabeler
    from stitch.lm import LanguageModel

    labels, found = read_known(known), {}
    loaded = (load_questions if trajectories_in(data) else load_came)(data)
    for trajectory in loaded.trajectories:
        for way in ways:
            asks, own = way == "windowed", labels.get(trajectory.id, {})
            model = LanguageModel("known", completion=KnownCompletion(trajectory.steps, own, asks=asks))
            labeler: Labeler = WindowedLabeler(model, fallback=LocalLabeler(), asks=asks)
            if way == "stepwise":
                labeler = StepwiseLabeler(model, embedder=StaticEmbedder(), fallback=LocalLabeler(), asks=False)
            found[f"{trajectory.id}, {way}"] = measure_labeler(labeler, trajectory.steps, ledger=model.ledger)
    return found


def measure_statements(steps: Sequence[Step]) -> dict[str, float]:
    """Calls, tokens and our own time a step for statements and names of themes, beyond what labels cost."""
    from stitch.embed import StaticEmbedder
    from stitch.journal import Journal
    from stitch.signatures.programs import StatementProgram
    from stitch.themes import TenantThemes
    from stitch.themes.asking import StatementModel

    model = by_rules()
    with TemporaryDirectory(prefix="stitch-model-") as folder:
        journal = Journal(Path(folder) / "journal.sqlite")
        journal.append_many(steps, tenant="bench", trajectory="trip", recorded=0.0)
        asked = StatementModel(model, program=StatementProgram())
        themes = TenantThemes(journal=journal, embedder=StaticEmbedder(), model=asked)
        themes.of("bench")
        began = time.thread_time()
        done = themes.extract("bench")
        found = _spent(model.ledger, len(steps), of="step", cpu_s=time.thread_time() - began)
        journal.close()
    assert done is not None
    return found | {"statements_per_step": round(done.statements / len(steps), 3), "themes_named": done.themes}


def measure_throughput(steps: Sequence[Step], *, latency_s: float, concurrency: int) -> float:
    """The ideal time of many trajectories against a slow provider, as a part of the time they took."""
    from stitch.assemble import open_memory
    from stitch.pipelines.ingest import ingest

    with provider_by_rules(latency_s) as url, TemporaryDirectory() as folder:
        items = [SourcedStep(f"trip-{n}", step, "-", n) for n in range(TRAJECTORIES) for step in steps[:STEPS]]
        settings: dict[str, Any] = {"model": "rules", "base_url": url, "model_concurrency": concurrency}
        with open_memory(Path(folder), labels="model", **settings) as memory:
            began = time.perf_counter()
            report = ingest(memory, items, on_rejection=lambda rejection: None, workers=memory.workers)
            took_s = time.perf_counter() - began
    return report.model_calls / min(concurrency, TRAJECTORIES) * latency_s / took_s


def measure_growth(steps: Sequence[Step]) -> float:
    """Megabytes by which the process has grown when the same labeler has labeled many steps more."""
    from stitch.label.local import LocalLabeler
    from stitch.label.model.windowed import WindowedLabeler

    labeler, sizes = WindowedLabeler(by_rules(), fallback=LocalLabeler()), []
    for name, count in (("warm", _WARM_STEPS), ("long", LONG_STEPS)):
        for start in range(0, count, len(steps)):
            labeler.begin(f"{name} {start}").label(list(steps))
        sizes.append(resident_mb())
    return sizes[1] - sizes[0]


def measure_questions(
    steps: Sequence[Step], *, slow: Callable[[], LanguageModel], latency_s: float
) -> dict[str, dict[str, float]]:
    """Calls, tokens and our own time a question, and the ideal time as a part of the time that many took at once.

    Args:
        steps: The trip they ask about.
        slow: Makes a model behind a provider that takes a while.
        latency_s: That while.
    """
    inventory, asked = _asked(steps)
    found = {}
    for name, made in _stages(inventory).items():
        model = by_rules()
        ask = made(model)
        ask(*asked[0])
        began = time.thread_time()
        for each in asked:
            ask(*each)
        spent = _spent(model.ledger, len(asked) + 1, of="question", cpu_s=time.thread_time() - began)
        share = _share(made, asked, slow(), latency_s=latency_s)
        found[name] = {**spent, "throughput_ratio": round(share, 3)}
    return found


def _stages(inventory: LabelInventory) -> dict[str, Ask]:
    from stitch.bench.models import ModelAnswerer, ModelJudge
    from stitch.retrieve.model_filter import ModelFilterSelector
    from stitch.signatures.programs import AnswerProgram

    def filters(model: LanguageModel) -> Callable[[str, str], object]:
        selector = ModelFilterSelector(model)
        return lambda text, context: selector.select(SearchRequest(query=text, tenant="bench"), inventory)

    def answers(model: LanguageModel) -> Callable[[str, str], object]:
        answerer = ModelAnswerer(model, program=AnswerProgram())
        return lambda text, context: answerer.answer(text, context=context, domain="travel")

    def judges(model: LanguageModel) -> Callable[[str, str], object]:
        judge = ModelJudge(model)
        return lambda text, context: judge.accept(text, gold="$41.80", generated="It costs $41.80 a night.")

    return {"filter": filters, "answers": answers, "judges": judges}


def _asked(steps: Sequence[Step]) -> tuple[LabelInventory, list[tuple[str, str]]]:
    """The labels of a memory, and questions with what it finds for them."""
    from stitch.assemble import open_memory

    with TemporaryDirectory() as folder, open_memory(Path(folder), labels="local", filter="local") as memory:
        memory.add_many(list(steps), trajectory="trip")
        texts = [f"What does the hotel that was chosen for day {day} cost?" for day in range(1, 8)]
        found = [(text, memory.search(text, trajectory="trip").context()) for text in texts]
        inventory = memory.inventory("trip")
    return inventory, [(f"{found[n % 7][0]} ({n})", found[n % 7][1]) for n in range(QUESTIONS)]


def _share(made: Ask, asked: Sequence[tuple[str, str]], model: LanguageModel, *, latency_s: float) -> float:
    """The ideal time of many questions at once against a slow provider, as a part of the time they took."""
    ask, workers = made(model), model.limits.concurrency
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda each: ask(*each), asked[:workers]))  # connections are made once
        began = time.perf_counter()
        list(pool.map(lambda each: ask(*each), asked))
        took_s = time.perf_counter() - began
    model.close()
    return -(-len(asked) // workers) * latency_s / took_s


@click.command()
@click.option("--latency", "latency_s", default=1.0, show_default=True, help="Seconds that the provider takes.")
@click.option("--concurrency", default=8, show_default=True, help="Calls under way at once.")
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="Only what labeling each trajectory of this set costs, of questions or of CAME-Bench.")  # fmt: skip
@click.option("--known", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Labels with which a model answers there, as JSON lines; else rules answer.")  # fmt: skip
@click.option("--way", "ways", multiple=True, type=click.Choice(_WAYS), default=_WAYS[:2], show_default=True,
              help="How it labels there.")  # fmt: skip
@json_option
def command(
    latency_s: float, concurrency: int, data: Path | None, known: tuple[Path, ...], ways: tuple[str, ...], as_json: bool
) -> None:
    """Measure what a model costs beside the model: calls, tokens, our own time, throughput, memory.

    For labels, for the choice of labels of a question, for answers and for verdicts.

    \b
    Example:
      stitch bench model --json
      stitch bench model --data strangers --known labels.jsonl --known asks.jsonl
    """
    measured: dict[str, Any]
    if data is not None:
        measured, title = measure_material(data, known=known, ways=ways), f"{data.name}: four letters a token"
    else:
        measured, title = _measured(latency_s, concurrency), "costs beside the model"
    if as_json:
        print_json(measured)
        return
    print_table({name: own for name, own in measured.items() if isinstance(own, dict)}, title=title)
    if data is None:
        click.echo(f"throughput of labels: {measured['throughput_ratio']:.2f} of the ideal")
        click.echo(f"memory: {measured['rss_growth_mb']} MB more after {LONG_STEPS} steps")


def _measured(latency_s: float, concurrency: int) -> dict[str, Any]:
    from stitch.embed import StaticEmbedder
    from stitch.label.local import LocalLabeler
    from stitch.label.model.stepwise import StepwiseLabeler
    from stitch.label.model.windowed import WindowedLabeler
    from stitch.lm import LanguageModel, Limits

    steps, windowed, stepwise, limits = came_steps(), by_rules(), by_rules(), Limits(concurrency=concurrency)
    by_step = StepwiseLabeler(stepwise, embedder=StaticEmbedder(), fallback=LocalLabeler())
    with provider_by_rules(latency_s) as url:
        slow = lambda: LanguageModel("rules", base_url=url, limits=limits)  # noqa: E731
        of_questions = measure_questions(steps, slow=slow, latency_s=latency_s)
    return {
        "windowed": measure_labeler(WindowedLabeler(windowed, fallback=LocalLabeler()), steps, ledger=windowed.ledger),
        "stepwise": measure_labeler(by_step, steps, ledger=stepwise.ledger),
        "statements": measure_statements(steps),
        "throughput_ratio": round(measure_throughput(steps, latency_s=latency_s, concurrency=concurrency), 3),
        **of_questions,
        "rss_growth_mb": round(measure_growth(steps), 1),
    }

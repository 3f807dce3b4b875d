"""Costs of working with a model, without one: calls, tokens, our own time, throughput, memory.

Answers come from rules, in this process or over HTTP on this machine after a fixed time, so that only what this library
adds is measured. The text is that of a generated CAME-Bench trip of size S, and questions are asked of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from stitch.bench.figures import print_table
from stitch.bench.generate.generation import SIZES, generate
from stitch.bench.labeling_costs import RuleCompletion, measure_labeler, measure_material, reply_to
from stitch.console.options import json_option
from stitch.console.printing import print_json
from stitch.core import LabelInventory, SearchRequest, SourcedStep, Step

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from stitch.lm import LanguageModel

TRAJECTORIES = 32
STEPS = 100
LONG_STEPS = 10_000
QUESTIONS = 96
"""How many are asked; of so many, the last ones that leave a worker without work weigh little."""
_WARM_STEPS = 2_000
_WAYS = ("windowed", "without asks", "stepwise")


def came_steps(seed: str = "model") -> list[Step]:
    """The steps of a generated trip of the benchmark's size."""
    turns = generate("travel", SIZES["S"], seed=seed).turns
    return [Step(id=str(n), role=turn.role, content=turn.content) for n, turn in enumerate(turns)]


def by_rules() -> LanguageModel:
    """A model in whose place rules answer."""
    from stitch.lm import LanguageModel

    return LanguageModel("rules", completion=RuleCompletion())


def measure_statements(steps: Sequence[Step], *, model: LanguageModel) -> dict[str, float]:
    """Calls, tokens and our own time a step for statements and names of themes, beyond what labels cost."""
    from stitch.embed import StaticEmbedder
    from stitch.journal import Journal
    from stitch.signatures.programs import StatementProgram
    from stitch.themes import TenantThemes
    from stitch.themes.asking import StatementModel

    with TemporaryDirectory(prefix="stitch-model-") as folder:
        journal = Journal(Path(folder) / "journal.sqlite")
        journal.append_many(steps, tenant="bench", trajectory="trip", recorded=0.0)
        asked = StatementModel(model, program=StatementProgram())
        themes = TenantThemes(journal=journal, embedder=StaticEmbedder(), model=asked)
        themes.of("bench")
        began = time.thread_time()
        done = themes.extract("bench")
        cpu_s, spent, count = time.thread_time() - began, model.ledger.total(), len(steps)
        journal.close()
    assert done is not None
    return {
        "calls_per_step": round(spent.calls / count, 4),
        "tokens_per_step": round(spent.tokens / count, 1),
        "statements_per_step": round(done.statements / count, 3),
        "themes_named": done.themes,
        "cpu_ms_per_step": round(1_000 * cpu_s / count, 3),
    }


def measure_throughput(steps: Sequence[Step], *, latency_s: float, concurrency: int) -> float:
    """The ideal time of many trajectories against a slow provider, as a part of the time they took.

    All are as long, and the windows of one wait for each other: there are never more calls at once than trajectories.
    """
    from stitch.assemble import open_memory
    from stitch.pipelines.ingest import ingest

    with SlowProvider(latency_s) as provider, TemporaryDirectory() as folder:
        items = [SourcedStep(f"trip-{n}", step, "-", n) for n in range(TRAJECTORIES) for step in steps[:STEPS]]
        with open_memory(
            Path(folder), labels="model", model="rules", base_url=provider.base_url, model_concurrency=concurrency
        ) as memory:
            began = time.perf_counter()
            report = ingest(memory, items, on_rejection=lambda rejection: None, workers=memory.workers)
            took_s = time.perf_counter() - began
    return report.model_calls / min(concurrency, TRAJECTORIES) * latency_s / took_s


def measure_growth(steps: Sequence[Step]) -> float:
    """Megabytes by which the process has grown when the same labeler has labeled many steps more."""
    from stitch.bench.timing import resident_mb
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
    for name, stage in _stages(inventory).items():
        model = by_rules()
        ask = stage(model)
        ask(*asked[0])
        began = time.thread_time()
        for each in asked:
            ask(*each)
        cpu_s, spent, count = time.thread_time() - began, model.ledger.total(), len(asked) + 1
        found[name] = {
            "calls_per_question": round(spent.calls / count, 4),
            "tokens_per_question": round(spent.tokens / count, 1),
            "cpu_ms_per_question": round(1_000 * cpu_s / len(asked), 3),
            "throughput_ratio": round(_share(stage, asked, slow(), latency_s=latency_s), 3),
        }
    return found


Stage = Callable[["LanguageModel"], Callable[[str, str], object]]
"""Makes, for a model, what is done with a question and its context."""


def _stages(inventory: LabelInventory) -> Mapping[str, Stage]:
    from stitch.bench.models import ModelAnswerer, ModelJudge
    from stitch.retrieve.question.model_filter import ModelFilterSelector
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


def _share(stage: Stage, asked: Sequence[tuple[str, str]], model: LanguageModel, *, latency_s: float) -> float:
    """The ideal time of many questions at once against a slow provider, as a part of the time they took."""
    ask, workers = stage(model), model.limits.concurrency
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda each: ask(*each), asked[:workers]))  # connections are made once
        began = time.perf_counter()
        list(pool.map(lambda each: ask(*each), asked))
        took_s = time.perf_counter() - began
    model.close()
    return -(-len(asked) // workers) * latency_s / took_s


class SlowProvider:
    """A provider on this machine that answers by rule after a fixed time, while it is entered.

    It is a process of its own, as a provider is: what it computes is not taken from us.
    """

    def __init__(self, latency_s: float) -> None:
        spawning = get_context("spawn")
        self._here, there = spawning.Pipe()
        self._process = spawning.Process(target=_serve, args=(latency_s, there), daemon=True)
        self.base_url = ""
        """What to give as `base_url`."""

    def __enter__(self) -> SlowProvider:
        self._process.start()
        self.base_url = f"http://127.0.0.1:{self._here.recv()}/v1"
        return self

    def __exit__(self, *reason: object) -> None:
        self._process.terminate()
        self._process.join()
        self._process.close()
        self._here.close()


def _exchange(latency_s: float) -> type[BaseHTTPRequestHandler]:
    class Exchange(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            began = time.perf_counter()
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            content = json.dumps(reply_to(body["messages"][-1]["content"]))
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            payload = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "rules",
                                  "choices": [choice], "usage": usage}).encode()  # fmt: skip
            time.sleep(max(0.0, latency_s - (time.perf_counter() - began)))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name the base class gives it
            """Say nothing."""

    return Exchange


def _serve(latency_s: float, there: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _exchange(latency_s))
    server.daemon_threads = True
    there.send(server.server_address[1])
    server.serve_forever()


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
    if data is not None:
        costs = measure_material(data, known=known, ways=ways)
        if as_json:
            print_json(costs)
        else:
            print_table(costs, title=f"{data.name}: calls and tokens a step, four letters a token")
        return
    result = _measured(latency_s, concurrency)
    if as_json:
        print_json(result)
        return
    for name, figures in result.items():
        if isinstance(figures, dict):
            click.echo(f"{name}: " + ", ".join(f"{value} {what.replace('_', ' ')}" for what, value in figures.items()))
    click.echo(f"throughput of labels: {result['throughput_ratio']:.2f} of the ideal")
    click.echo(f"memory: {result['rss_growth_mb']} MB more after {LONG_STEPS} steps")


def _measured(latency_s: float, concurrency: int) -> dict[str, Any]:
    from stitch.embed import StaticEmbedder
    from stitch.label.local import LocalLabeler
    from stitch.label.model.stepwise import StepwiseLabeler
    from stitch.label.model.windowed import WindowedLabeler
    from stitch.lm import LanguageModel, Limits

    steps, windowed, stepwise = came_steps(), by_rules(), by_rules()
    by_step = StepwiseLabeler(stepwise, embedder=StaticEmbedder(), fallback=LocalLabeler())
    with SlowProvider(latency_s) as provider:
        limits = Limits(concurrency=concurrency)
        slow = lambda: LanguageModel("rules", base_url=provider.base_url, limits=limits)  # noqa: E731
        of_questions = measure_questions(steps, slow=slow, latency_s=latency_s)
    return {
        "windowed": measure_labeler(WindowedLabeler(windowed, fallback=LocalLabeler()), steps, ledger=windowed.ledger),
        "stepwise": measure_labeler(by_step, steps, ledger=stepwise.ledger),
        "statements": measure_statements(steps, model=by_rules()),
        "throughput_ratio": round(measure_throughput(steps, latency_s=latency_s, concurrency=concurrency), 3),
        **of_questions,
        "rss_growth_mb": round(measure_growth(steps), 1),
    }

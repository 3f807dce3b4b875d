"""What a model costs where questions are asked: choosing their labels, answering, judging; as labels are measured.

Answers come from rules, in this process or over HTTP on this machine after a fixed time: only what this library adds is
measured. Questions are asked of a generated CAME-Bench trip.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from stitch.core import LabelInventory, SearchRequest, Step
from stitch.lm import LanguageModel, Limits

QUESTIONS = 96
"""How many are asked; of so many, the last ones that leave a worker without work weigh little."""
_ASKED = "What does the hotel that was chosen for day {day} cost?"


class _Question(NamedTuple):
    text: str
    context: str


Stage = Callable[[LanguageModel], Callable[[_Question], object]]
"""Makes, for a model, what is done with a question."""


def measure_questions(
    steps: Sequence[Step], *, model: LanguageModel, slow: Callable[[], LanguageModel], latency_s: float
) -> dict[str, dict[str, float]]:
    """Calls, tokens and our own time a question, and the ideal time as a part of the time that many took at once.

    Args:
        steps: What is asked about.
        model: Answers by rule, in this process.
        slow: Makes a model behind a provider that takes a while.
        latency_s: That while.
    """
    inventory, questions = _asked(steps)
    found = {}
    for name, stage in _stages(inventory).items():
        ask, before = stage(model), model.ledger.total()
        ask(questions[0])
        began = time.thread_time()
        for question in questions:
            ask(question)
        cpu_s, spent = time.thread_time() - began, model.ledger.total()
        asked = len(questions) + 1
        found[name] = {
            "calls_per_question": round((spent.calls - before.calls) / asked, 4),
            "tokens_per_question": round((spent.tokens - before.tokens) / asked, 1),
            "cpu_ms_per_question": round(1_000 * cpu_s / len(questions), 3),
            "throughput_ratio": round(_share(stage, questions, slow(), latency_s=latency_s), 3),
        }
    return found


def _stages(inventory: LabelInventory) -> Mapping[str, Stage]:
    from stitch.bench.models import ModelAnswerer, ModelJudge
    from stitch.retrieve.question.model_filter import ModelFilterSelector
    from stitch.signatures.programs import AnswerProgram

    def filters(model: LanguageModel) -> Callable[[_Question], object]:
        selector = ModelFilterSelector(model)
        return lambda own: selector.select(SearchRequest(query=own.text, tenant="bench"), inventory)

    def answers(model: LanguageModel) -> Callable[[_Question], object]:
        answerer = ModelAnswerer(model, program=AnswerProgram())
        return lambda own: answerer.answer(own.text, context=own.context, domain="travel")

    def judges(model: LanguageModel) -> Callable[[_Question], object]:
        judge = ModelJudge(model)
        return lambda own: judge.accept(own.text, gold="$41.80", generated="It costs $41.80 a night.")

    return {"filter": filters, "answers": answers, "judges": judges}


def _asked(steps: Sequence[Step]) -> tuple[LabelInventory, list[_Question]]:
    """Questions with what a memory finds for them, and the labels of the memory."""
    from stitch.assemble import open_memory

    with TemporaryDirectory() as folder, open_memory(Path(folder), labels="local", filter="local") as memory:
        memory.add_many(list(steps), trajectory="trip")
        asked = [_ASKED.format(day=1 + n % 7) for n in range(7)]
        contexts = {text: memory.search(text, trajectory="trip").context() for text in asked}
        inventory = memory.inventory("trip")
    texts = [asked[n % len(asked)] for n in range(QUESTIONS)]
    return inventory, [_Question(f"{text} ({n})", contexts[text]) for n, text in enumerate(texts)]


def _share(stage: Stage, questions: Sequence[_Question], model: LanguageModel, *, latency_s: float) -> float:
    """The ideal time of many questions at once against a slow provider, as a part of the time they took."""
    ask, workers = stage(model), model.limits.concurrency
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(ask, questions[:workers]))  # connections are made once
        began = time.perf_counter()
        list(pool.map(ask, questions))
        took_s = time.perf_counter() - began
    model.close()
    return -(-len(questions) // workers) * latency_s / took_s


def slow_model(base_url: str, *, concurrency: int) -> LanguageModel:
    """A model behind the provider at an address."""
    return LanguageModel("rules", base_url=base_url, limits=Limits(concurrency=concurrency))

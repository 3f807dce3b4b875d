"""The sample trajectories: their gold is complete, and similar text does not find their answers."""

import itertools
import json
import math
from collections import Counter
from pathlib import Path

import pytest

from stitch.bench.samples import Sample, write_jsonl
from stitch.bench.samples import sample as sample_named
from stitch.core import Step
from stitch.text.words import stems

SAMPLES = [sample_named("trip"), sample_named("bugs")]
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


def bm25_order(sample: Sample, query: str, *, look_back: int = 0) -> list[str]:
    """Step ids by BM25 (k1 = 1.2, b = 0.75) over the steps, each with so many steps before it, best first."""
    said = [step.content for step in sample.trajectory.steps]
    texts = [Counter(stems(" ".join(said[max(0, n - look_back) : n + 1]))) for n in range(len(said))]
    average = sum(text.total() for text in texts) / len(texts)
    spread = Counter(word for text in texts for word in text)

    def score(text: Counter[str]) -> float:
        return sum(
            math.log(1 + (len(texts) - spread[word] + 0.5) / (spread[word] + 0.5))
            * text[word] * 2.2 / (text[word] + 1.2 * (0.25 + 0.75 * text.total() / average))
            for word in set(stems(query)) if text[word]
        )  # fmt: skip

    ranked = sorted(range(len(texts)), key=lambda place: (-score(texts[place]), place))
    return [str(sample.trajectory.steps[place].id) for place in ranked]


@each_sample
def test_every_step_has_its_gold_under_the_same_id(sample: Sample) -> None:
    assert [gold.step for gold in sample.gold] == [step.id for step in sample.trajectory.steps]
    assert len({gold.step for gold in sample.gold}) == len(sample.gold)
    assert 60 <= len(sample.gold) <= 100
    stamps = [str(step.timestamp) for step in sample.trajectory.steps]
    assert stamps == sorted(stamps)


@each_sample
def test_every_scope_is_left_and_resumed_and_the_same_things_come_back_under_both(sample: Sample) -> None:
    scopes = [gold.scope for gold in sample.gold]
    stretches = Counter(scope for before, scope in zip(["", *scopes], scopes, strict=False) if before != scope)
    assert len(stretches) == 2
    assert min(stretches.values()) >= 3
    things = [{thing for gold in sample.gold if gold.scope == scope for thing in gold.objects} for scope in stretches]
    assert len(set.intersection(*things)) >= 3


def test_an_answer_about_a_place_states_its_value_and_never_its_name() -> None:
    sample = sample_named("trip")
    answers = [
        (gold, step)
        for gold, step in zip(sample.gold, sample.trajectory.steps, strict=True)
        if gold.event.startswith("ask") and gold.answer
    ]
    assert len(answers) >= 12
    for gold, step in answers:
        assert gold.answer is not None
        assert gold.answer in step.content
        assert not any(name in step.content for name in gold.objects)


def test_every_tool_result_follows_its_call() -> None:
    steps = sample_named("bugs").trajectory.steps
    results = [(before, step) for before, step in itertools.pairwise(steps) if step.role == "tool"]
    assert len(results) >= 20
    assert len(results) == sum(step.role == "tool" for step in steps)
    for call, result in results:
        assert [made.name for made in call.tool_calls] == [result.tool_name]


@each_sample
def test_the_gold_of_the_evidence_states_the_answer(sample: Sample) -> None:
    gold = {entry.step: entry for entry in sample.gold}
    text = {step.id: step.content for step in sample.trajectory.steps}
    for question in sample.questions:
        assert gold[question.evidence[-1]].answer == question.answer
        assert all(step in text for step in question.evidence)


@each_sample
def test_similarity_ranks_other_steps_above_the_one_that_answers(sample: Sample) -> None:
    for question in sample.questions:
        order = bm25_order(sample, question.text)
        assert min(order.index(step) for step in question.evidence) >= 3, question.text


@each_sample
def test_scope_and_event_leave_only_a_handful_of_steps(sample: Sample) -> None:
    gold = {entry.step: entry for entry in sample.gold}
    for question in sample.questions:
        right = gold[question.evidence[-1]]
        alike = [g for g in sample.gold if g.answer and (g.scope, g.event) == (right.scope, right.event)]
        assert right in alike
        assert len(alike) <= 5, question.text


@each_sample
def test_intent_finds_the_answer_and_the_words_before_it_break_the_tie(sample: Sample) -> None:
    gold = {entry.step: entry for entry in sample.gold}
    for question in sample.questions:
        right = gold[question.evidence[-1]]
        order = bm25_order(sample, question.text, look_back=1)
        alike = [step for step in order if gold[step].answer and gold[step][1:3] == right[1:3]]
        assert alike[0] == right.step, question.text


@each_sample
def test_the_written_line_holds_the_steps_and_no_gold(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "sample.jsonl"
    write_jsonl(sample, path)
    (line,) = path.read_text(encoding="utf-8").splitlines()
    record = json.loads(line)
    assert set(record) == {"id", "steps"}
    assert tuple(Step(**row) for row in record["steps"]) == sample.trajectory.steps

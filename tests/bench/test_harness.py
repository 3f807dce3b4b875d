"""Methods, the harness and the suites of retrieval, on a set small enough to be read."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.sets import write_set
from stitch.bench.commands import group
from stitch.bench.data.types import DataSet, GoldLabels, Inquiry, Question
from stitch.bench.harness import AnswerModels, Job, run
from stitch.bench.labelers import GoldLabeler, gold_filter
from stitch.bench.metrics.answers import ContainmentJudge
from stitch.bench.metrics.scores import Unscored
from stitch.bench.records import (
    RunSettings,
    claim,
    mend,
    methods_in,
    new_manifest,
    read_manifest,
    read_prepared,
    read_records,
    record_file,
)
from stitch.bench.registry import DEFAULT_METHODS, METHODS, make_methods, method_names, missing_for
from stitch.bench.scoring import came_measures, retrieval_measures, summarize
from stitch.core import ContextualIntent, IntentFilter, Step, Trajectory
from stitch.errors import BudgetSpentError, InputError, SettingsError

SAID = (
    ("user", "Let's plan day 1. Which hotel is good?"),
    ("assistant", "The Apollo Seaside Resort costs $291.72 a night."),
    ("user", "Let's turn to day 2 and look for a restaurant."),
    ("assistant", "The Olympus Summit has breakfast. It is $18.50."),
    ("user", "Back to day 1: is there a museum?"),
    ("assistant", "The Muse Gallery is open until six."),
)
DAYS = ("day 1", "day 1", "day 2", "day 2", "day 1", "day 1")
GOLD = {f"s{i}": GoldLabels(scope=(day,), event_types=("tell" if i % 2 else "ask",)) for i, day in enumerate(DAYS)}


def trip(name: str) -> Trajectory:
    steps = tuple(Step(id=f"s{i}", role=role, content=text) for i, (role, text) in enumerate(SAID))
    return Trajectory(id=name, steps=steps)


def data(*, labeled: bool = True) -> DataSet:
    questions = (
        Question(
            "q1", "t1", "price", "What does the Apollo Seaside Resort cost?", "$291.72", ("s1",),
            labels=GoldLabels(("day 1",)),
        ),
        Question("q2", "t1", "place", "Which museum is open for day 1?", "Muse Gallery", ("s5",)),
        Question("q3", "t2", "price", "How much is breakfast?", "$18.50", ("s3",)),
    )  # fmt: skip
    return DataSet(
        "toy", (trip("t1"), trip("t2")), questions, "0" * 64, gold={"t1": GOLD, "t2": GOLD} if labeled else {}
    )


def job(folder: Path, *methods: str, **changes: Any) -> Job:
    folder.mkdir(exist_ok=True)
    return Job(**{"data": data(), "methods": methods, "folder": folder, "budget_tokens": 4096, **changes})


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all methods with contexts."""
    folder = tmp_path_factory.mktemp("runs") / "all"
    run(job(folder, *METHODS, contexts=True))
    return folder


def test_every_method_answers_every_question_inside_the_budget_and_a_finished_run_stays(everything: Path) -> None:
    assert methods_in(everything) == sorted(METHODS)
    for method in METHODS:
        records = read_records(everything, method)
        assert {record.question for record in records} == {"q1", "q2", "q3"}
        for record in records:
            assert 0 < len(set(record.steps)) == len(record.steps) <= 6
            assert record.context_tokens is not None
            assert 0 < record.context_tokens <= 4096
            assert set(record.context_steps or ()) <= {f"s{i}" for i in range(6)}
            assert set(record.shown) >= {512, 1024, 2048, 4096}
            assert record.shown[record.window_tokens or 4096] == record.context_steps
            assert (record.labels is not None) == (method.startswith(("stitch", "themes", "auto")))
    before = {path.name: path.read_bytes() for path in everything.glob("*.*")}
    run(job(everything, *METHODS, contexts=True))
    assert {path.name: path.read_bytes() for path in everything.glob("*.*")} == before


def test_the_oracle_finds_the_evidence_and_nothing_else(everything: Path) -> None:
    records = read_records(everything, "oracle")
    figures = summarize(records, retrieval_measures(4096))
    assert figures == dict.fromkeys(figures, 1.0) == summarize(list(reversed(records)), retrieval_measures(4096))
    assert all(record.steps == record.evidence for record in records)


def test_ablations_search_without_their_labels_and_gold_with_those_of_the_question_or_its_evidence(
    everything: Path,
) -> None:
    for method, kind in (("no-scope", "scope"), ("no-event", "event_type"), ("no-entity", "entity_type")):
        assert all(not (record.labels or {})[kind] for record in read_records(everything, f"stitch-{method}"))
    for record in read_records(everything, "stitch-unlabeled"):
        assert not any((record.labels or {}).values())
        assert record.diagnostics is not None
        assert record.diagnostics[-1] == 1.0
    gold = {record.question: record for record in read_records(everything, "stitch-gold")}
    assert gold["q1"].labels == {"scope": ("day 1",), "event_type": (), "entity_type": ()}
    assert gold["q2"].labels == {"scope": ("day 1",), "event_type": ("tell",), "entity_type": ()}
    assert gold["q2"].matched["s5"] == {"scope": ("day 1",), "event_type": ("tell",)}


def test_a_method_with_a_window_of_its_own_is_not_held_to_the_budget(everything: Path, tmp_path: Path) -> None:
    assert all(record.steps[:2] == ("s5", "s4") for record in read_records(everything, "recent"))
    assert all(len(record.context_steps or ()) == 6 for record in read_records(everything, "full-context"))
    run(job(tmp_path, "full-context", "recent", budget_tokens=1))
    recall = {name: summarize(read_records(tmp_path, name), retrieval_measures(1))["budget_recall"]
              for name in ("full-context", "recent")}  # fmt: skip
    assert recall == {"full-context": 1.0, "recent": 0.0}


def test_methods_that_share_a_memory_note_what_it_took_once(everything: Path) -> None:
    notes = {(note.method, note.trajectory): note for note in read_prepared(everything)}
    assert len(notes) == 2 * len(METHODS)
    assert notes["stitch", "t1"].seconds == notes["auto", "t1"].seconds
    assert notes["stitch", "t1"].steps == 6


def test_a_stopped_run_goes_on_with_the_questions_that_are_left_of_each_method(tmp_path: Path) -> None:
    run(job(tmp_path, "bm25", "recent"))
    path = record_file(tmp_path, "bm25")
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(whole[1] + whole[2][:40])  # one line lost, one cut by the kill
    run(job(tmp_path, "bm25", "recent", "oracle"))
    assert path.read_bytes().startswith(whole[1])
    for method in ("bm25", "recent", "oracle"):
        lines = record_file(tmp_path, method).read_bytes().splitlines()
        assert sorted(json.loads(line)["question"] for line in lines) == ["q1", "q2", "q3"]


@pytest.mark.slow
def test_several_processes_give_the_same_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stitch.bench.harness._WORTH_WORKERS", 1)
    for name, workers in (("one", 1), ("two", 2)):
        run(job(tmp_path / name, "bm25", workers=workers))
    found = [
        sorted((r.question, r.steps, sorted(r.shown.items())) for r in read_records(tmp_path / name, "bm25"))
        for name in ("one", "two")
    ]
    assert found[0] == found[1]


class ScriptedAnswerer:
    """Answers by question; fails where it is told None, and has no budget left after so many."""

    name = "scripted"

    def __init__(self, *answers: str | None, budget: int = 9) -> None:
        self._answers = dict(zip((question.text for question in data().questions), answers, strict=True))
        self._budget, self.contexts = budget, list[str]()

    def answer(self, question: str, *, context: str, domain: str) -> str | Unscored:
        if len(self.contexts) == self._budget:
            raise BudgetSpentError("spent")
        self.contexts.append(context)
        return self._answers[question] or Unscored("cut off")


def answering(folder: Path, method: str, answerer: ScriptedAnswerer, **more: Any) -> Job:
    return job(folder, method, contexts=True, asked=AnswerModels(answerer, ContainmentJudge(), **more))


def test_with_an_answerer_answers_are_judged_and_failures_kept(tmp_path: Path) -> None:
    answerer = ScriptedAnswerer("It costs $291.72.", "Hermes Hall", None)
    run(answering(tmp_path, "bm25", answerer))
    records = read_records(tmp_path, "bm25")
    row = summarize(records, came_measures())
    assert (row["f1"], row["answer_in_context"]) == (0.5, 1.0)
    assert sorted(record.answered.reason for record in records if record.answered) == ["", "", "cut off"]
    assert row.reasons["f1"] == "1 of 3 are not scored: cut off (1)"
    assert all("<memory>" in context for context in answerer.contexts)


def test_what_was_answered_before_the_budget_was_spent_is_kept(tmp_path: Path) -> None:
    with pytest.raises(BudgetSpentError):
        run(answering(tmp_path, "bm25", ScriptedAnswerer(*["Hermes Hall"] * 3, budget=1)))
    first = record_file(tmp_path, "bm25").read_bytes()
    assert first.count(b"\n") == 1
    whole = ScriptedAnswerer(*["Hermes Hall"] * 3)
    run(answering(tmp_path, "bm25", whole, threads=3))
    assert record_file(tmp_path, "bm25").read_bytes().startswith(first)
    assert len(whole.contexts) == 2


def settings(**changes: Any) -> RunSettings:
    fields = {"suite": "retrieval", "set": "toy", "data_sha256": "0", "k": 200, "budget_tokens": 4096,
              "tokenizer": "pieces-1", "labels": "local-1", "embedder": "x"}  # fmt: skip
    return RunSettings(**{**fields, **changes})


def test_a_run_folder_belongs_to_its_settings_and_the_program_that_made_it(tmp_path: Path) -> None:
    first = claim(tmp_path / "r", new_manifest(settings()))
    assert claim(tmp_path / "r", new_manifest(settings(), command="again")) == first
    with pytest.raises(SettingsError, match="budget_tokens is 4096 there, 1024 now") as raised:
        claim(tmp_path / "r", new_manifest(settings(budget_tokens=1024)))
    assert "--out" in raised.value.hint
    for name in ("code", "python"):
        other = first.model_copy(update={"versions": {**first.versions, name: "another"}})
        with pytest.raises(SettingsError, match=f"another program: {name} {first.versions[name]} there, another now"):
            claim(tmp_path / "r", other)
    assert read_manifest(tmp_path / "r") == first


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no run"):
        claim(tmp_path, new_manifest(settings()))
    with pytest.raises(InputError, match="is no run"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="is no manifest"):
        read_manifest(tmp_path)
    record_file(tmp_path, "bm25").write_bytes(b"nonsense\n")
    with pytest.raises(InputError, match=r"bm25\.jsonl:1 is damaged"):
        read_records(tmp_path, "bm25")
    mend(tmp_path / "absent.jsonl")


def test_methods_are_chosen_by_name_and_gold_needs_a_set_that_has_it() -> None:
    assert method_names(None) == DEFAULT_METHODS
    assert method_names("all") == tuple(METHODS)
    assert method_names("bm25, stitch") == ("bm25", "stitch")
    for text, message in (("bm26", "no method 'bm26'"), ("bm25,bm25", "named twice"), (" , ", "no method is named")):
        with pytest.raises(InputError, match=message):
            method_names(text)
    assert missing_for("stitch-gold", data(labeled=False)) == "the set has no gold labels"
    assert missing_for("stitch-gold", data()) is missing_for("stitch", data(labeled=False)) is None


@pytest.mark.parametrize("name", ["bm25", "stitch", "themes"])
def test_what_is_shown_in_each_budget_is_what_stands_in_a_context_of_so_many_tokens(name: str) -> None:
    (method,) = make_methods([name], data())
    with closing(method):
        method.prepare([trip("t1")])
        asked = Inquiry("q", "t1", "Apollo Resort")
        found = method.search(asked, k=200, budget_tokens=60)
        for budget, shown in found.shown.items():
            assert method.search(asked, k=200, budget_tokens=budget).context_steps == shown
    assert len(found.shown[60]) < len(found.shown[512])
    assert found.shown.keys() == {60, 512, 1024, 2048, 4096}


def test_gold_labels_are_continued_as_any_others() -> None:
    session = GoldLabeler({"t1": GOLD}).begin("t1")
    steps = trip("t1").steps
    session.label(steps[:4])
    other = GoldLabeler({"t1": GOLD}).begin("t1", session.save())
    assert other.label(steps[4:]) == session.label(steps[4:])
    assert other.inventory() == session.inventory()
    assert {scope.name: scope.steps for scope in session.inventory().scopes} == {"day 1": 4, "day 2": 2}
    assert session.inventory().event_types == {"ask": 3, "tell": 3}
    assert GoldLabeler({}).begin("t9").label(steps[:1])[0].intent == ContextualIntent()
    question = Question("q", "t", "x", "?", None, ("s1", "s9"))
    assert gold_filter(question, {"s1": GoldLabels(("a", "b"))}) == IntentFilter(scopes=("a + b",))
    assert gold_filter(question, {}) == IntentFilter()


def write_data(folder: Path) -> Path:
    steps = {each.id: [step.model_dump(include={"id", "role", "content"}) for step in each.steps]
             for each in data().trajectories}  # fmt: skip
    names = {"id": "id", "trajectory": "trajectory", "type": "type", "text": "question", "answer": "answer",
             "evidence": "evidence"}  # fmt: skip
    return write_set(folder, steps, [{there: getattr(each, own) for own, there in names.items()}
                                     for each in data().questions])  # fmt: skip


def call(*arguments: str) -> Any:
    result = CliRunner().invoke(group, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_the_retrieval_command_keeps_its_contract(tmp_path: Path) -> None:
    given = ("retrieval", "--data", str(write_data(tmp_path / "toy")))
    arguments = (*given, "--methods", "stitch,bm25,stitch-gold", "--out", str(tmp_path / "r"))
    figures = json.loads(call(*arguments, "--json").stdout)
    assert (figures["set"], figures["questions"]) == ("toy", 3)
    row = figures["methods"]["stitch"]
    assert {"recall@5", "recall@10", "recall@20", "all@10", "mrr", "ndcg@10", "budget_recall", "search_p50_ms",
            "search_p95_ms", "by_type"} <= set(row)  # fmt: skip
    assert row["by_type"]["price"]["questions"] == 2
    for inside in (row, row["by_type"]["price"], figures["methods"]["bm25"]):
        assert list(inside["recall_in"]) == list(inside["all_in"]) == ["512", "1024", "2048", "4096"]
        assert inside["recall_in"]["512"] >= inside["all_in"]["512"]
    assert figures["methods"]["stitch-gold"] is None
    assert figures["reasons"]["stitch-gold"] == {"all": "the set has no gold labels"}
    assert figures["ingest"]["steps"] == 12
    assert figures["ingest"]["steps_per_s"] > 0
    assert {(p["a"], p["b"], p["metric"]) for p in figures["paired"]} == {
        ("stitch", "bm25", "recall@10"),
        ("stitch", "bm25", "budget_recall"),
    }
    assert json.loads(call(*arguments, "--json").stdout) == figures  # nothing was run again
    table = call(*arguments)
    assert "stitch-gold is left out" in table.stderr
    assert "recall@10" in table.stdout
    with pytest.raises(SettingsError, match="limit is None there, 1 now"):
        call(*arguments, "--limit", "1")
    assert json.loads(call(*given, "--methods", "bm25", "--limit", "1", "--json").stdout)["questions"] == 1


def test_the_came_command_keeps_its_contract(tmp_path: Path) -> None:
    folder = tmp_path / "traj-0"
    folder.mkdir()
    turns = [
        {"id": f"trip-x-turn-{i}", "role": role, "content": f"{text} ----TIMESTAMP: 2025-05-15T08:00",
         "partition": ["trip-x", "day-1"], "action": "PROPOSE" if i == 1 else "",
         "action_object": "Apollo Seaside Resort" if i == 1 else ""}
        for i, (role, text) in enumerate(SAID)
    ]  # fmt: skip
    question = {
        "id": "Q1", "type": "type 4", "content": "What is the plan for day 1?", "answer_turn_ids": ["trip-x-turn-1"],
        "answer": {"free_form_answer": "Stay at Apollo Seaside Resort; Visit Muse Gallery and Nyx Tower"},
    }  # fmt: skip
    (folder / "turns.jsonl").write_text("\n".join(map(json.dumps, turns)))
    (folder / "questions.jsonl").write_text(json.dumps(question))
    arguments = ("came", "--data", str(tmp_path), "--methods", "stitch,bm25,stitch-gold")
    figures = json.loads(call(*arguments, "--json").stdout)
    assert (figures["trajectories"], figures["questions"]) == (1, 1)
    row = figures["methods"]["stitch"]
    assert row["answer_in_context"] == pytest.approx(2 / 3, abs=1e-6)
    assert row["entity_resolution_recall"] == 1.0
    assert row["f1"] is None
    assert row["context_tokens"] > 0
    assert set(row["by_domain"]) == {"travel"}
    assert set(row["by_type"]) == {"type_4"}
    assert "Q_GT@MAX" in row["label_diagnostics"]
    assert figures["methods"]["bm25"]["entity_resolution_recall"] is None
    assert figures["reasons"]["bm25"]["entity_resolution_recall"] == "the method resolves nothing"
    assert figures["reasons"]["stitch"]["f1"] == "no model answered: see --answers"
    table = call(*arguments)
    assert "| method | answer_in_context |" in table.stdout
    assert "not scored: no model answered: see --answers" in table.stdout


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("sgd_interleaved", 0.357, marks=pytest.mark.slow),
        ("ikat", 0.949),
        pytest.param("qmsum", 0.144, marks=pytest.mark.slow),
    ],
)
def test_the_published_bm25_baselines_are_met(
    shared_data: Callable[[str], Path], tmp_path: Path, name: str, expected: float
) -> None:
    from stitch.bench.data.sets import load_questions

    run(job(tmp_path, "bm25", data=load_questions(shared_data(f"memory_qa/{name}"))))
    figures = summarize(read_records(tmp_path, "bm25"), retrieval_measures(4096))
    assert figures["recall@10"] == pytest.approx(expected, abs=0.01)

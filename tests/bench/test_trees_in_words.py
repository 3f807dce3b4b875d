"""Requests about trees in words, from end to end: what a scripted model writes is compared with gold."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from doubles.teaching import Pupil
from stitch import open_memory
from stitch.bench.training.paths import PathTask, path_lessons
from stitch.bench.trees.sets import load_tree_set
from stitch.bench.trees.suite import command, figures_in_words, run_in_words
from stitch.label.model.compiled import write_compiled
from stitch.lm import LanguageModel
from stitch.pipelines.optimize.compiling import compile_program
from stitch.signatures.programs import TreeProgram
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, fields_of

DOMAIN = Path(__file__).parent / "in_words"
REQUESTS = [json.loads(line) for line in (DOMAIN / "requests.jsonl").read_text().splitlines()]


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(DOMAIN, tmp_path / "domain")


def understand(system, user):
    """A model that understands the requests above, but for the fourth, whose kind it gets wrong."""
    fields = fields_of(user)
    words = json.loads(fields["request"])["request"] if "request" in fields else ""
    known = {each["words"]: each for each in REQUESTS}
    if "`tasks`" in system:
        kind = "read" if words.startswith("when") else known[words]["kind"]
        return {"tasks": [{"kind": kind, "request": words, "query": known[words]["paths"][0]}], "question": ""}
    if "`operations`" in system:
        operation = (
            {"op": "delete", "id": "b"}
            if "market" in words
            else {"op": "set", "id": "a", "field": "cost", "value": "CAD 3"}
        )
        return {"operations": [json.dumps(operation)], "message": "done"}
    if "`remove`" in system:
        return {"remove": []}
    return {"answer": "This one."}


def test_reads_writes_and_versions_are_compared_with_gold_and_counted(folder):
    model = LanguageModel("scripted", completion=ScriptedCompletion(understand))
    told = figures_in_words(run_in_words(load_tree_set(folder), model))
    assert told["exact"] == {"requests": 2, "f1": 1, "exact_share": 1}
    assert told["version"] == {"requests": 1, "f1": 1, "exact_share": 1}
    assert told["edits"] == {"requests": 2, "exact_share": 1}
    assert told["kind"] == 0.8
    assert 10 <= told["calls"] <= 12
    assert told["tokens"] > 1000
    assert told["unusable"] == 0


def test_a_reply_that_cannot_be_used_is_counted_and_finds_nothing(folder):
    model = LanguageModel("scripted", completion=ScriptedCompletion(lambda system, user: "no"))
    told = figures_in_words(run_in_words(load_tree_set(folder), model))
    assert (told["unusable"], told["kind"], told["edits"]["exact_share"]) == (5, 0, 0)
    assert told["exact"]["f1"] == 0


def test_the_command_asks_a_model_over_http(folder):
    with LoopbackProvider(understand) as provider:
        server = ("--language-model", "m", "--base-url", provider.base_url)
        done = CliRunner().invoke(command, ["--data", str(folder), "--in-words", *server, "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.output)["in_words"]["calls"] == len(provider.requests)
        table = CliRunner().invoke(command, ["--data", str(folder), "--in-words", *server]).output
        assert "in words, end to end" in table
        assert "kind of request told: 0.8" in table


@pytest.fixture
def task(folder):
    domain = load_tree_set(folder)
    return PathTask([domain]), {lesson.given.id: lesson for lesson in path_lessons(domain)}


def marked(task, id_, *tasks, question=""):
    own, lessons = task
    said = [dict(zip(("kind", "query"), each, strict=True), request="") for each in tasks]
    reply = {"tasks": said, "question": question} if tasks or question else "no"
    model = LanguageModel("scripted", completion=ScriptedCompletion(lambda system, user: reply))
    return own.mark(lessons[id_], own.run(TreeProgram(), lessons[id_], model=model))


def test_a_query_is_marked_by_the_nodes_that_it_finds(task):
    right = marked(task, "1", ("read", "//Day[2]/Stop"))
    assert (right.score, right.feedback) == (1.0, "")
    half = marked(task, "1", ("read", "//Stop"))
    assert half.parts == {"nodes": pytest.approx(2 / 3), "kind": 1.0}
    assert half.feedback == "1 of 1 nodes were found; not meant are a. Right would have been //Day[2]/Stop."
    wrong = marked(task, "1", ("delete", "//Day[1]/Stop"))
    assert wrong.score == 0
    assert "missing are b; not meant are a" in wrong.feedback
    assert "It is of the kind 'read', not 'delete'." in wrong.feedback


def test_what_cannot_be_asked_or_was_not_said_is_told(task):
    assert "cannot be asked: cannot read" in marked(task, "1", ("read", "//Stop[")).feedback
    assert "no node has the type 'Stpo'" in marked(task, "1", ("read", "//Stpo")).feedback
    assert marked(task, "1", question="Which day?").feedback == "It gave no task, and asked 'Which day?'."
    unusable = marked(task, "1")
    assert (unusable.score, unusable.parts) == (0.0, {"nodes": 0.0, "kind": 0.0})
    assert marked(task, "4", ("versions", '/Version[message ~= "cheaper"]')).score == 1.0


def test_a_lesson_tells_nothing_of_gold_to_who_runs_it(task):
    own, lessons = task
    assert own.cost(lessons["1"]).calls == 1
    assert own.cost(lessons["1"]).tokens > 500
    assert len({lesson.key for lesson in lessons.values()}) == len(REQUESTS)
    assert {lesson.wanted for lesson in lessons.values()} >= {
        "read //Day[2]/Stop",
        'versions /Version[message ~= "cheaper"]',
    }


def test_the_prompt_is_compiled_adopted_if_it_is_better_and_used_by_its_setting(folder, tmp_path):
    lesson = "A stop is asked for by its type."
    pupil = Pupil(
        well=understand,
        poorly=lambda system, user: {"tasks": [{"kind": "read", "request": "", "query": "//Day"}], "question": ""},
        lesson=lesson,
        example="//Stop",
        alone=lambda message: "by the water" in message or "day 2" in message,
    )
    model = LanguageModel("scripted", completion=ScriptedCompletion(pupil))
    domain = load_tree_set(folder)
    lessons = list(path_lessons(domain))
    made = compile_program(
        PathTask([domain]), lessons[:3], held_back=lessons[3:], optimizer="bootstrap", model=model, seed=0
    )
    assert made.adopted
    assert made.compiled.provenance.after.parts["nodes"] > made.compiled.provenance.before.parts["nodes"]
    assert made.compiled.predictors["route"].demos
    write_compiled(tmp_path / "path.json", made.compiled, plain=PathTask([domain]).program())

    with (
        LoopbackProvider(understand) as provider,
        open_memory(tmp_path / "m", model="m", base_url=provider.base_url, labels="local", filter="local",
                    path_program=str(tmp_path / "path.json")) as memory,
    ):  # fmt: skip
        tree = memory.trees.create("trip", str(folder / "tree.xml"))
        found = tree.request("the stop of day 2", confirm=False)[0].selection
        assert found is not None
        assert found.ids == ("b",)
        shown = json.dumps(made.compiled.predictors["route"].demos[0]["request"])
        assert json.loads(shown)[:20] in str(provider.requests[0])

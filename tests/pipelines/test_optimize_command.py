"""`stitch optimize` from end to end, over HTTP, and what it says when it cannot."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from doubles.lessons import days, label_poorly, labeling_pupil, write_asked_days, write_lines
from stitch.testing.model import LoopbackProvider, label_by_rules


@pytest.fixture
def provider():
    with LoopbackProvider(labeling_pupil()) as provider:
        yield provider


def test_optimizing_over_http_and_using_what_came_of_it(stitch, provider, labeled, tmp_path):
    server = ("--model", "m", "--base-url", provider.base_url)
    code, out, err = stitch("optimize", "windowed", "--train", labeled, "--optimizer", "gepa", *server,
                         "--reflection-model", "thinker", "--out", "p.json", "--limit", "3", "--json")  # fmt: skip
    assert code == 0
    models = [request.body["model"] for request in provider.requests]
    assert {"m", "thinker"} == set(models)
    assert 0 < models.count("thinker") <= 20, "the other model reflects, and answers nothing"
    assert err == "stitch: 3 examples held back are too few to decide (p = 0.500); give more with --valid or --limit\n"
    done = json.loads(out)
    assert done["adopted"]
    assert (done["changed"], done["cost_alone"], done["too_few_to_decide"]) == (True, False, True)
    assert done["after"]["score"] > done["before"]["score"]
    assert done["model_calls"] == len(provider.requests)
    assert done["model_tokens"] > 0
    assert (done["out"], done["model_cost_usd"]) == ("p.json", None)
    assert json.loads(Path("p.json").read_text())["metadata"]["stitch"]["provenance"]["optimizer"] == "gepa"

    write_lines(tmp_path / "trip.jsonl", [{key: row[key] for key in ("role", "content")} for row in days(30)["steps"]])
    code, out, _ = stitch("ingest", "trip.jsonl", "--memory", "m", "--labels", "model", *server, "--program", "p.json")
    assert code == 0
    assert "plan of day 2" in stitch("labels", "--memory", "m")[1]
    code, _, err = stitch("ingest", "trip.jsonl", "--memory", "n", "--labels", "model", "--stepwise", *server,
                       "--program", "p.json")  # fmt: skip
    assert code == 2
    assert "is for 'windowed', not for 'stepwise'" in err
    code, _, err = stitch("query", "What?", "--memory", "m", "--filter", "model", *server, "--program", "p.json")
    assert (code, "is for 'windowed', not for 'filter'" in err) == (2, True)


def test_what_is_worse_is_not_kept(stitch, tmp_path, labeled):
    judged = write_lines(tmp_path / "others.jsonl", (days(n) for n in range(20, 24)))

    def misled(system, user):
        message = user.rpartition("}[[ ## ")[2]
        trained = any(f"place {n}-" in message for n in range(12))
        if "}[[ ## " in user:
            return (label_by_rules if trained else label_poorly)(system, user)
        return (label_poorly if trained and "place 1-" not in message else label_by_rules)(system, user)

    with LoopbackProvider(misled) as provider:
        call = ("optimize", "windowed", "--train", labeled, "--valid", judged, "--model", "m", "--base-url",
                provider.base_url, "--out", "p.json")  # fmt: skip
        code, out, err = stitch(*call, "--json")
        assert (code, json.loads(out)["adopted"], json.loads(out)["out"]) == (1, False, None)
        assert "the compiled program is worse on the examples held back, and was not kept" in err
        assert not Path("p.json").exists()


@pytest.mark.parametrize(
    "target", ["windowed", "answerer", *(pytest.param(name, marks=pytest.mark.slow) for name in ("stepwise", "filter"))]
)
def test_a_dry_run_calls_nothing(stitch, provider, target, tmp_path):
    folder = write_asked_days(tmp_path / "asked", steps=16)
    call = ("optimize", target, "--train", folder, "--model", "m", "--base-url", provider.base_url, "--dry-run")
    code, out, _ = stitch(*call)
    assert (code, out.startswith(f"{target} by bootstrap: about ")) == (0, True)
    cost = json.loads(stitch(*call, "--json")[1])
    assert cost["model_calls"] > 0
    assert cost["model_tokens"] > cost["model_calls"]
    assert (provider.requests, list(tmp_path.glob("*.program.json"))) == ([], [])


def test_generated_came_data_teach_labels_and_filters(stitch, provider, tmp_path):
    assert stitch("generate", "came", "--domain", "travel", "--size", "S", "--seed", "1", "--out", "came")[0] == 0
    for target in ("windowed", "filter"):
        code, out, err = stitch("optimize", target, "--train", "came", "--model", "m", "--base-url", provider.base_url,
                             "--dry-run", "--json")  # fmt: skip
        assert (code, err) == (0, "")
        assert json.loads(out)["train_examples"] > 2


def test_mistakes_are_one_line_with_a_next_step(stitch, labeled, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "taken.json").write_text("{}")
    bare = [{**row, "steps": [{k: v for k, v in s.items() if k != "gold"} for s in row["steps"]]}
            for row in map(days, range(6))]  # fmt: skip
    plain = write_lines(tmp_path / "plain.jsonl", bare)
    half = write_lines(tmp_path / "half.jsonl", (days(n) for n in range(6, 18)))
    asked = write_asked_days(tmp_path / "asked")
    write_lines(tmp_path / "mute" / "trajectories.jsonl", bare)
    questions = [json.loads(line) for line in (asked / "questions.jsonl").read_text().splitlines()]
    write_lines(tmp_path / "mute" / "questions.jsonl", ({**q, "evidence": [], "answer": None} for q in questions))
    stitch("ingest", plain, "--memory", "m")
    model = ("--model", "m", "--base-url", "http://127.0.0.1:1/v1")
    mistakes = {
        "there is no target 'everything'": ("everything", "--train", labeled, *model),
        "there is no optimizer 'luck'": ("windowed", "--train", labeled, "--optimizer", "luck", *model),
        "no model is named": ("windowed", "--train", labeled),
        "holds no labeled trajectory": ("windowed", "--train", "empty.jsonl", *model),
        "'plain.jsonl' holds no labeled trajectory": ("stepwise", "--train", "plain.jsonl", *model),
        "'mute' holds no labeled trajectory": ("windowed", "--train", "mute", *model),
        "nobody has corrected a label": ("windowed", "--train", "m", *model),
        "6 examples of --valid are in --train": ("windowed", "--train", labeled, "--valid", half, *model),
        "24 examples of --valid are in --train": ("filter", "--train", asked, "--valid", asked, *model),
        "the file 'taken.json' is there": ("windowed", "--train", labeled, "--out", "taken.json", *model),
        "there is no folder 'nowhere'": ("windowed", "--train", labeled, "--out", "nowhere/p.json", *model),
        "there are no data at 'gone'": ("windowed", "--train", "gone", *model),
        "there are no data at 'away'": ("filter", "--train", "away", *model),
        "holds no questions, and 'filter' learns": ("filter", "--train", labeled, *model),
        "names the evidence of a question": ("filter", "--train", "mute", *model),
        "has the answer to a question": ("answerer", "--train", "mute", *model),
    }
    for message, arguments in mistakes.items():
        code, out, err = stitch("optimize", *arguments)
        assert (code, out) == (2, ""), message
        said, _, hint = err.partition("\n  next: ")
        assert message in said, err
        assert said.startswith("stitch: ")
        assert "\n" not in said
        assert hint.strip(), err


def test_a_budget_that_is_spent_leaves_no_file(stitch, labeled, provider):
    code, _, err = stitch("optimize", "windowed", "--train", labeled, "--model", "m", "--base-url", provider.base_url,
                       "--model-budget-tokens", "50000")  # fmt: skip
    assert (code, "budget of 50000 tokens is spent" in err, "--dry-run" in err) == (6, True, True)
    assert not Path("windowed.program.json").exists()


HEEDING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from stitch.cli import main; main()"


@pytest.mark.slow
def test_an_interruption_leaves_no_file(labeled):
    # In a process of its own: an interruption may come while a lock of some library is held, which then stays so.
    asked = threading.Event()
    calls = []

    def script(system, user):
        calls.append(1)
        if len(calls) == 20:
            asked.set()
        return label_poorly(system, user)

    with LoopbackProvider(script) as provider:
        options = ("--train", labeled, "--model", "m", "--base-url", provider.base_url, "--out", "p.json")
        command = [sys.executable, "-c", HEEDING, "optimize", "windowed", *map(str, options)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert asked.wait(120)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert "stitch: interrupted; nothing was kept, and the same command begins anew" in err.splitlines()
    assert [file.name for file in Path().iterdir()] == ["days.jsonl"]


def test_corrections_teach_and_stay(stitch, provider, tmp_path):
    for n in range(6):
        rows = [{key: row[key] for key in ("role", "content")} for row in days(n)["steps"]]
        write_lines(tmp_path / f"trip-{n}.jsonl", rows)
    assert stitch("ingest", *(f"trip-{n}.jsonl" for n in range(6)), "--memory", "m")[0] == 0
    code, _, err = stitch("correct", "3", "--scope", "plan of day 2", "--memory", "m")
    assert (code, "6 trajectories have a step '3'" in err, "--trajectory" in err) == (2, True, True)
    code, _, err = stitch("correct", "99", "--scope", "x", "--memory", "m")
    assert (code, "no trajectory has a step '99'" in err) == (2, True)
    for n in range(6):
        assert stitch("correct", "3", "--trajectory", f"trip-{n}", "--scope", "plan of day 2", "--event", "tell price",
                   "--entity", "price", "--by", "ann", "--memory", "m")[0] == 0  # fmt: skip
    model = ("--model", "m", "--base-url", provider.base_url)
    code, out, err = stitch("optimize", "windowed", "--train", "m", "--limit", "3", "--out", "said.json", *model)
    assert out.startswith("windowed by bootstrap: learned from 3 examples, judged on 2 others\nbefore: ")
    code, out, err = stitch(
        "optimize", "windowed", "--train", "m", "--model", "m", "--base-url", provider.base_url, "--json"
    )
    done = json.loads(out)
    assert (done["train_examples"], done["held_back_examples"]) == (4, 2)
    assert (code, done["changed"], done["out"]) == (1, False, None)  # nobody's examples were better than none
    assert "nothing that was tried does better" in err
    assert not Path("windowed.program.json").exists()
    assert {"scope_bcubed", "event_bcubed"} <= done["after"]["parts"].keys()


@pytest.mark.slow
def test_a_log_folder_lets_the_same_command_go_on_and_pay_nothing_twice(stitch, labeled, tmp_path):
    options = ("optimize", "windowed", "--train", labeled, "--optimizer", "gepa", "--limit", "3", "--log", "log",
               "--out", "p.json", "--json")  # fmt: skip
    with LoopbackProvider(labeling_pupil()) as whole:
        server = ("--model", "m", "--base-url", whole.base_url)
        assert stitch(*options[:-4], "elsewhere", *options[-3:], *server)[0] == 0
        Path("p.json").rename("whole.json")
    needed = len(whole.requests)
    with LoopbackProvider(labeling_pupil()) as provider:
        server = ("--model", "m", "--base-url", provider.base_url)
        code, _, err = stitch(*options, *server, "--budget-calls", "20")
        assert code != 0
        assert "the budget of 20 calls is spent" in err
        assert "the replies so far are kept in 'log'" in err
        code, out, _ = stitch(*options, *server)
        assert code == 0
        paid = len(provider.requests)
        assert needed - 2 <= paid <= needed + 4  # replies under way when the budget was spent may come twice
        Path("p.json").unlink()
        again = json.loads(stitch(*options, *server)[1])
    assert len(provider.requests) == paid
    assert again["model_calls"] == again["recalled_calls"] == json.loads(out)["model_calls"]
    assert json.loads(out)["after"] == again["after"]
    assert 18 <= json.loads(out)["recalled_calls"] <= 24  # some were under way when the budget was spent
    assert {"replies.jsonl", "optimizer.log", "held_back.json"} <= {file.name for file in Path("log").iterdir()}
    marks = json.loads(Path("log/held_back.json").read_text())
    assert [set(mark) for mark in marks] == [{"key", "before", "after"}] * 3

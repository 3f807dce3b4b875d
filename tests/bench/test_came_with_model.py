"""CAME-Bench with a model over real HTTP on this machine: generated, labeled, answered, judged, reported.

The replies are those of a middling model: fenced, with talk, sometimes of no use. Nothing is paid twice.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.sets import write_came
from stitch.bench.commands import group
from stitch.bench.generate.command import group as generating
from stitch.bench.kept import FOLDER
from stitch.testing.model import LoopbackProvider, failure, fields_of, label_by_rules

Reply = Callable[[str, str], Any]


def middling(system: str, user: str) -> Any:
    """What a middling model replies to each of the prompts."""
    fields = fields_of(user)
    if "quoted_steps" in fields:
        prices = re.findall(r"\$[\d.]+\d", fields["quoted_steps"])
        said = {"reasoning": "it stands there", "answer": prices[0] if prices else "Question not answerable"}
        return f"Sure.\n```json\n{json.dumps(said)}\n```"
    if "reference_entries" in fields:
        wanted, given = json.loads(fields["reference_entries"]), json.loads(fields["given_entries"])
        return f"```json\n{json.dumps({'correct_entries': f'{len(set(wanted) & set(given))} of {len(given)}'})}\n```"
    if "reference_plan" in fields:
        return {"reasoning": "compared", "correct_slots": "0", "given_slots": 1}
    if "reference_answer" in fields:
        verdict = "CORRECT" if fields["reference_answer"] in user else "WRONG"
        return f"<think>{{hm}}</think>{json.dumps({'reasoning': 'read', 'verdict': verdict})}"
    if "known_event_types" in fields and "question" in fields:
        return {"scopes": [], "event_types": ["give answer"], "entity_types": ["price"]}
    return f"Here you are:\n```json\n{json.dumps(label_by_rules(system, user))}\n```"


def kind_of(body: Any) -> str:
    """What a request asks for."""
    user = str(body["messages"][-1]["content"])
    marks = {"quoted_steps": "answer", "reference_": "judge", "known_scopes ## ]]": "label", "scopes ## ]]": "label"}
    kind = next((name for mark, name in marks.items() if f"[[ ## {mark}" in user), "other")
    return "filter" if "[[ ## question ## ]]" in user and kind == "label" else kind


def asked(provider: LoopbackProvider) -> Counter[str]:
    return Counter(kind_of(request.body) for request in provider.requests)


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Callable[[LoopbackProvider], None]:
    def use(provider: LoopbackProvider) -> None:
        given = {"MODEL": "openai/m", "BASE_URL": provider.base_url, "OFFLINE": "true", "PRICE_PROMPT": "1",
                 "PRICE_REPLY": "1", "MODEL_CONCURRENCY": "1", "MODEL_RETRIES": "0"}  # fmt: skip
        for name, value in given.items():
            monkeypatch.setenv(f"STITCH_{name}", value)

    return use


TORN = '{"reasoning": "I was interr'
GOLDS = {"type_1": "$1", "type_2": "$76.22", "type_3": "$2; $3", "type_4": "Stay at A; Lunch at B"}


def came(data: Path, out: Path, *more: str, catch: bool = False) -> Any:
    arguments = ["came", "--data", str(data), "--out", str(out), "--answers", "--json", *more]
    return CliRunner().invoke(group, arguments, catch_exceptions=catch)


@contextmanager
def provider_of(
    settings: Callable[[LoopbackProvider], None], reply: Reply = middling, **options: Any
) -> Iterator[LoopbackProvider]:
    with LoopbackProvider(reply, **options) as provider:
        settings(provider)
        yield provider


def test_the_whole_loop_runs_against_a_server(tmp_path: Path, settings: Any) -> None:
    data, out = tmp_path / "trip", tmp_path / "run"
    CliRunner().invoke(
        generating,
        ["came", "--domain", "travel", "--size", "S", "--seed", "5", "--out", str(data)],
        catch_exceptions=False,
    )
    with provider_of(settings) as provider:
        more = ("--methods", "stitch,recent", "--labels", "model", "--limit", "4")
        said = json.loads(came(data, out, *more).stdout)
        first = asked(provider)
        again = json.loads(came(data, out, *more).stdout)
        assert asked(provider) == first  # everything is there already
    assert again["methods"]["stitch"]["f1"] == said["methods"]["stitch"]["f1"]
    assert set(first) == {"label", "filter", "answer", "judge"}
    row = said["methods"]["stitch"]
    assert (row["answered"], row["scored"], row["unscored"]) == (4, 4, 0)
    assert set(row["by_type"]) == {"type_1", "type_2", "type_3", "type_4"}
    assert row["model_cost_usd"] > 0
    assert said["ingest"]["model_calls"] == first["label"]
    assert {pair["metric"] for pair in said["paired"]} >= {"f1", "answer_in_context"}
    results = " ".join(CliRunner().invoke(group, ["results", str(out)], catch_exceptions=False).stdout.split())
    assert "no language model took part" not in results
    assert "labels by openai/m windowed" in results
    assert "verdicts by openai/m temperature=0 top_p=0.9" in results
    assert "US$" in results
    assert f"- labels: {first['label']} calls," in results
    assert "0 have labels that stand in, 0 replies were cut or of no use." in results
    assert "not scored: " not in results
    CliRunner().invoke(group, ["report", str(out), "--out", str(tmp_path / "page.html")], catch_exceptions=False)
    assert re.search(r"<td>\d right", (tmp_path / "page.html").read_text(encoding="utf-8"))


def test_a_reply_of_no_use_is_asked_for_once_more_and_then_by_the_same_command(tmp_path: Path, settings: Any) -> None:
    data, out = write_came(tmp_path / "toy", GOLDS.items()), tmp_path / "run"
    broken = {"judge": 3, "answer": 1}

    def reply(system: str, user: str) -> Any:
        kind = kind_of({"messages": [{"content": user}]})
        if broken.get(kind, 0):
            broken[kind] -= 1
            return TORN
        return middling(system, user)

    with provider_of(settings, reply) as provider:
        row = json.loads(came(data, out, "--methods", "recent").stdout)["methods"]["recent"]
        assert (row["answered"], row["scored"], row["unscored"]) == (4, 3, 1)
        before = asked(provider)
        told = " ".join(CliRunner().invoke(group, ["results", str(out)], catch_exceptions=False).stdout.split())
        assert (
            "not scored: 1 of 4 are not scored: not judged: the reply of 'openai/m' is no whole JSON object (1)" in told
        )
        assert "| 3 | 1 | 10 |" in told  # scored, unscored, calls
        assert before == {"answer": 5, "judge": 5}  # one answer and one verdict at the second try, one at none
        row = json.loads(came(data, out, "--methods", "recent").stdout)["methods"]["recent"]
        assert (row["answered"], row["scored"], row["unscored"]) == (4, 4, 0)
        assert asked(provider) - before == {"judge": 1}
    assert row["model_calls"] == 11
    with provider_of(settings, faults=[None, None, failure(401)]) as down:
        rows = [
            json.loads(came(data, tmp_path / "down", "--methods", "recent").stdout)["methods"]["recent"] for _ in "12"
        ]
    assert [row["unscored"] for row in rows] == [1, 0]
    assert asked(down).total() == 8  # four answers, three verdicts, and what was refused


def kept_replies(run: Path) -> list[bytes]:
    """The whole lines of replies that a run has on disk."""
    return (run / FOLDER / "replies.jsonl").read_bytes().split(b"\n")[:-1]


@pytest.mark.slow
def test_a_run_that_is_killed_pays_nothing_twice(tmp_path: Path, settings: Any) -> None:
    data, out = write_came(tmp_path / "toy", GOLDS.items()), tmp_path / "run"
    command = [sys.executable, "-m", "stitch", "bench", "came", "--data", str(data), "--out", str(out),
               "--answers", "--json", "--methods", "stitch,recent", "--labels", "model"]  # fmt: skip
    running: list[subprocess.Popen[bytes]] = []
    with provider_of(settings) as whole:
        came(data, tmp_path / "whole", "--methods", "stitch,recent", "--labels", "model")
    needed = asked(whole)

    def reply(system: str, user: str) -> Any:
        if len(provider.requests) >= 6 and running:
            running.pop().kill()
        return middling(system, user)

    with provider_of(settings, reply) as provider:
        running.append(process := subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.DEVNULL))
        assert process.wait() == -9
        before, kept = len(provider.requests), len(kept_replies(out))
        said = json.loads(came(data, out, "--methods", "stitch,recent", "--labels", "model").stdout)
    assert kept > 0
    assert asked(provider).total() - needed.total() <= before - kept  # what the dead process was waiting for
    assert said["methods"]["recent"]["scored"] == 4
    assert said["methods"]["recent"]["model_calls"] >= 4


def test_an_answer_is_asked_for_with_the_context_as_it_stands(tmp_path: Path, settings: Any) -> None:
    """Its own elements are elements; what a step said of such is not, and is escaped once."""
    data = write_came(tmp_path / "toy", [("type_2", "$76.22")])
    turns = (data / "turns.jsonl").read_text().replace("a night", "a night </step> <|im_end|> & so on")
    (data / "turns.jsonl").write_text(turns)
    with provider_of(settings) as provider:
        came(data, tmp_path / "run", "--methods", "recent")
    shown = next(fields_of(str(r.body["messages"][-1]["content"])) for r in provider.requests)["quoted_steps"]
    assert shown.startswith("<memory>\n<step 0 user ")
    assert "It is $76.22 a night &lt;/step> &lt;|im_end|> & so on.\n</memory>" in shown


@pytest.mark.parametrize("form", ["neutral", "openai"])
def test_answers_and_verdicts_go_out_and_come_in_as_batches(tmp_path: Path, settings: Any, form: str) -> None:
    data, out, requests = write_came(tmp_path / "toy", GOLDS.items()), tmp_path / "run", tmp_path / "requests.jsonl"
    with provider_of(settings) as live:
        wanted = json.loads(came(data, tmp_path / "live", "--methods", "recent").stdout)["methods"]["recent"]
    rounds: list[int] = []
    more: tuple[str, ...] = ()
    with provider_of(settings) as provider:
        while True:
            result = came(data, out, "--methods", "recent", "--batch", str(requests), "--batch-format", form, *more)
            lines = [json.loads(line) for line in requests.read_text().splitlines()]
            rounds.append(len(lines))
            if not lines:
                break
            replies = tmp_path / f"replies-{len(rounds)}.jsonl"
            replies.write_text("".join(json.dumps(replied(line)) + "\n" for line in lines) + "no reply\n\n")
            more = ("--replies", str(replies))
            assert f"{len(lines)} requests lie in" in result.stderr
        assert not provider.requests
    assert rounds == [4, 3, 0]  # the answers, then the verdicts on those that are not exactly right
    row = json.loads(result.stdout)["methods"]["recent"]
    assert {name: row[name] for name in ("f1", "scored", "model_calls")} == {
        name: wanted[name] for name in ("f1", "scored", "model_calls")
    }
    assert "line 4: it is no JSON" in result.stderr
    assert asked(live).total() == 7


def test_replies_to_what_was_not_asked_are_named_and_the_same_twice_changes_nothing(
    tmp_path: Path, settings: Any
) -> None:
    data, out, requests = write_came(tmp_path / "toy", GOLDS.items()), tmp_path / "run", tmp_path / "requests.jsonl"
    replies, odd = tmp_path / "replies.jsonl", tmp_path / "odd.jsonl"
    with provider_of(settings) as provider:
        first = came(data, out, "--methods", "recent", "--batch", str(requests))
        told = json.loads(first.stdout)
        assert told["awaited"] == 4
        assert told["questions"] == len(GOLDS)  # what needs no answer is told of all, while answers are awaited
        lines = [json.dumps(replied(json.loads(line))) + "\n" for line in requests.read_text().splitlines()]
        odd.write_text('{"id": "%s", "reply": "x"}\n[1]\n{"id": "zz", "reply": {}}\n' % ("ab" * 16))
        again = came(data, out, "--methods", "recent", "--batch", str(requests), "--replies", str(odd))
        assert f"0 replies taken in from {odd}\n" in again.stderr
        for problem in ("line 1: nothing was asked from here by the id 'abab", "line 2: it is no JSON object",
                        "line 3: nothing was asked from here by the id 'zz'"):  # fmt: skip
            assert problem in again.stderr
        assert len(requests.read_text().splitlines()) == 4
        replies.write_text("\ufeff" + "".join(lines[:2]) + lines[2][:40])
        half = came(data, out, "--methods", "recent", "--batch", str(requests), "--replies", str(replies))
        assert "2 replies taken in" in half.stderr
        assert "line 3: it is no JSON" in half.stderr
        replies.write_text("".join(lines))
        more = ("--replies", str(replies), "--replies", str(replies))
        rest = came(data, out, "--methods", "recent", "--batch", str(requests), *more)
        assert "2 replies taken in" in rest.stderr
        assert ", 2 were there already" in rest.stderr
        assert ", 4 were there already" in rest.stderr
        other = came(data, out, "--methods", "recent", "--batch", str(replies), "--replies", str(replies), catch=True)
        assert "would overwrite the replies" in str(other.exception)
        assert replies.read_text() == "".join(lines)
    assert not provider.requests


def test_replies_of_no_use_are_asked_for_again_until_they_are_of_use(tmp_path: Path, settings: Any) -> None:
    data, out, requests = write_came(tmp_path / "toy", GOLDS.items()), tmp_path / "run", tmp_path / "requests.jsonl"
    with provider_of(settings, lambda system, user: TORN) as useless:
        row = json.loads(came(data, out, "--methods", "recent").stdout)["methods"]["recent"]
    assert (row["unscored"], asked(useless).total()) == (4, 8)
    ids: list[set[str]] = []
    more: tuple[str, ...] = ()
    result = None
    with provider_of(settings) as provider:
        for count in range(1, 8):
            result = came(data, out, "--methods", "recent", "--batch", str(requests), *more)
            lines = [json.loads(line) for line in requests.read_text().splitlines()]
            ids.append({line["id"] for line in lines})
            if "nothing is left to ask" in result.stderr:
                break
            replies = tmp_path / f"replies-{count}.jsonl"
            said = ({"id": line["id"], "reply": TORN} if count <= 3 else replied(line) for line in lines)
            replies.write_text("".join(json.dumps(line) + "\n" for line in said))
            more = ("--replies", str(replies))
    assert not provider.requests
    assert [len(own) for own in ids] == [4, 4, 0, 4, 3, 0]  # what is of no use twice is left to the next command
    assert len(set.union(*ids)) == sum(map(len, ids))  # and asked by an id of its own each time
    assert result is not None
    row = json.loads(result.stdout)["methods"]["recent"]
    assert (row["scored"], row["unscored"]) == (4, 0)


def replied(line: Any) -> Any:
    """The line of a reply to the line of a request, as somebody else writes it."""
    body = line.get("body", line)
    system, user = (message["content"] for message in body["messages"])
    said = middling(system, user)
    text = said if isinstance(said, str) else json.dumps(said)
    if "custom_id" not in line:
        return {"id": line["id"], "reply": text, "usage": {"prompt_tokens": 10, "reply_tokens": 5}}
    message = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}],
               "usage": {"prompt_tokens": 10, "completion_tokens": 5}}  # fmt: skip
    return {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": message}}


def test_a_batch_needs_a_run_with_answers(tmp_path: Path, settings: Any) -> None:
    data = write_came(tmp_path / "toy", GOLDS.items())
    with provider_of(settings):
        arguments = ["came", "--data", str(data), "--batch", str(tmp_path / "b"), "--json"]
        assert "goes on with a run with answers" in str(CliRunner().invoke(group, arguments).exception)
        odd = came(data, tmp_path / "r", "--methods", "recent", "--batch", str(tmp_path / "no" / "b"), catch=True)
        assert "cannot be written" in str(odd.exception)


def test_how_the_model_answers_and_who_judges_is_said(tmp_path: Path, settings: Any) -> None:
    data, out = write_came(tmp_path / "toy", GOLDS.items()), tmp_path / "run"
    more = ("--judge-model", "openai/judge", "--answer-temperature", "0.5", "--answer-effort", "low", "--seed", "3",
            "--judge-top-p", "0.8")  # fmt: skip
    with provider_of(settings) as provider:
        row = json.loads(came(data, out, "--methods", "recent", *more).stdout)["methods"]["recent"]
        with pytest.raises(Exception, match="holds a run of other settings"):
            came(data, out, "--methods", "recent")
        priced = json.loads(
            came(data, tmp_path / "priced", "--methods", "recent", *more, "--judge-price", "2", "3").stdout
        )["methods"]["recent"]
    assert row["model_cost_usd"] is None  # nobody said what the judge costs
    assert priced["model_cost_usd"] > 0
    answer, judge = (next(r.body for r in provider.requests if kind_of(r.body) == kind) for kind in ("answer", "judge"))
    assert (answer["model"], answer["temperature"], answer["reasoning_effort"], answer["seed"]) == ("m", 0.5, "low", 3)
    assert (judge["model"], judge["temperature"], judge["top_p"], judge["seed"]) == ("judge", 0.0, 0.8, 3)
    manifest = json.loads((out / "manifest.json").read_text())["settings"]
    assert manifest["answerer"] == "openai/m temperature=0.5 effort=low seed=3"
    assert manifest["judge"] == "openai/judge temperature=0 top_p=0.8 seed=3"

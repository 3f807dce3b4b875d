"""Windows labeled elsewhere and labels written in a file: taken in once, checked as replies, never against a person."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.talk import hotel_talk as steps
from stitch.cli.main import cli
from stitch.core import Step
from stitch.errors import InputError, ReplyError, SettingsError
from stitch.factory import open_memory
from stitch.label.local import LocalLabeler
from stitch.label.model.offline import OfflineLabeler
from stitch.label.model.written import WrittenLabeler, read_written
from stitch.lifecycle.relabel import NumberedLine
from stitch.lifecycle.selection import Selector
from stitch.lm.batch import read_reply, write_request
from stitch.memory import Memory
from stitch.parts import offline_labeler
from stitch.testing.model import LoopbackProvider, label_by_rules

HAND = "hand windowed-3"
WINDOW = 20


def filled(folder: Path, *, trajectories: int = 2, number: int = 40, **settings: Any) -> Memory:
    memory = open_memory(folder, **settings)
    for n in range(trajectories):
        memory.add_many(steps(number), trajectory=f"t{n}")
    return memory


def answer(request: dict[str, Any]) -> Any:
    system, user = (message["content"] for message in request["messages"])
    return label_by_rules(system, user)


def labeler_of(name: str = "hand", **options: Any) -> OfflineLabeler:
    return OfflineLabeler(name, fallback=LocalLabeler(), **{"window_steps": WINDOW, **options})


def exported(memory: Memory, name: str = "hand", **options: Any) -> list[dict[str, Any]]:
    handover = memory.lifecycle.handover(labeler_of(name, **options))
    return [json.loads(write_request(window)) for window in handover.windows()]


def imported(memory: Memory, replies: Sequence[Any], name: str = "hand", **options: Any) -> Any:
    lines = [
        NumberedLine("replies", n, reply if isinstance(reply, bytes) else json.dumps(reply).encode())
        for n, reply in enumerate(replies, start=1)
    ]
    return memory.lifecycle.handover(labeler_of(name, **options)).take_in(lines)


def replied(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": request["id"], "reply": answer(request), **more}


def makers(memory: Memory, trajectory: str = "t0") -> list[str | None]:
    return [entry.labels.made_by if entry.labels else None for entry in memory.steps(trajectory)]


def test_rounds_of_export_and_import_give_the_labels_that_the_model_would_have_given(tmp_path: Path) -> None:
    with filled(tmp_path / "a", number=60) as memory:
        rounds = 0
        while requests := exported(memory, "m"):
            assert {request["trajectory"] for request in requests} == {"t0", "t1"}
            taken = imported(memory, [replied(request) for request in requests], "m")
            assert (taken.windows, taken.repeated, taken.rejections) == (2, 0, ())
            rounds += 1
        assert rounds == 3
        elsewhere = [entry.labels for entry in memory.steps("t0")]
        assert memory.status().stored == 120
        found = memory.search("hotel", k=200).hits
        assert {hit.snippet.labeled_by for hit in found} == {"m windowed-3"}
    with (
        LoopbackProvider(label_by_rules) as provider,
        filled(
            tmp_path / "b", number=60, labels="model", model="m", base_url=provider.base_url, window=WINDOW
        ) as memory,
    ):
        memory.flush()
        assert [entry.labels for entry in memory.steps("t0")] == elsewhere
        assert memory.lifecycle.relabel().steps == 0


def test_imports_change_nothing_a_second_time_and_go_on_after_a_part(tmp_path: Path) -> None:
    with filled(tmp_path, trajectories=4) as memory:
        replies = [replied(request) for request in exported(memory)]
        assert imported(memory, replies[:1]).windows == 1
        before = [entry.labels for entry in memory.steps("t0")]
        taken = imported(memory, replies * 2)
        assert (taken.windows, taken.steps, taken.repeated, taken.rejections) == (3, 60, 5, ())
        assert [entry.labels for entry in memory.steps("t0")] == before
        assert {len(request["steps"]) for request in exported(memory)} == {20}


def spoiled(request: dict[str, Any], change: Callable[[list[Any]], object]) -> dict[str, Any]:
    reply = answer(request)
    change(reply["readings"])
    return {"id": request["id"], "reply": reply}


def cut_off(returned: dict[str, Any], *, chars: int = -40) -> dict[str, Any]:
    """A reply that ends in the middle."""
    return {**returned, "reply": json.dumps(returned["reply"])[:chars]}


BAD: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no json": (lambda request: b"{", "no JSON"),
    "no object": (lambda request: b"[]", "no JSON object"),
    "the request": (lambda request: request, "its reply is missing"),
    "no reply": (lambda request: {"id": request["id"]}, "no 'reply'"),
    "no id": (lambda request: {"reply": answer(request)}, "no 'id'"),
    "unknown id": (lambda request: {"id": "window 7", "reply": answer(request)}, "no window has the id"),
    "gone": (lambda request: {"id": "stitch-0123456789ab-9999-24-0123456789abcdef", "reply": {}}, "not as they were"),
    "too few": (lambda request: spoiled(request, lambda readings: readings.pop()), "labeled other steps"),
    "wrong numbers": (lambda request: spoiled(request, lambda readings: readings[0].update(n=99)), "other steps"),
    "wrong shape": (lambda request: {"id": request["id"], "reply": {"readings": "none"}}, "labeled other steps"),
    "prose": (lambda request: {"id": request["id"], "reply": "all good!"}, "no whole JSON object"),
    "empty": (lambda request: {"id": request["id"], "reply": " "}, "is empty"),
    "cut": (lambda request: cut_off(replied(request, finish_reason="length")), "labeled other steps"),
    "cut at once": (lambda request: cut_off(replied(request, finish_reason="length"), chars=20), "was cut"),
    "no scope": (lambda request: spoiled(request, lambda readings: readings[0].update(scope="")), "no scope"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_line_that_cannot_be_used_is_named_and_all_others_are_stored(tmp_path: Path, kind: str) -> None:
    make, reason = BAD[kind]
    with filled(tmp_path, number=10) as memory:
        first, second = exported(memory)
        before = [entry.labels for entry in memory.steps("t0")]
        taken = imported(memory, [make(first), b"\n", replied(second)])
        assert taken.windows == 1
        assert [(rejection.source, rejection.line) for rejection in taken.rejections] == [("replies", 1)]
        assert reason in taken.rejections[0].reason
        assert [entry.labels for entry in memory.steps("t0")] == before
        assert [request["id"] for request in exported(memory)] == [first["id"]]
        assert set(makers(memory, "t1")) == {HAND}


def test_what_a_person_corrected_stays(tmp_path: Path) -> None:
    with filled(tmp_path, trajectories=1, number=10) as memory:
        memory.lifecycle.correct("3", trajectory="t0", labels={"scope": "the trip"}, by="ann")
        assert [request["steps"] for request in exported(memory)] == [["0", "1", "2"]]
        requests = exported(memory, window_steps=2)
        memory.lifecycle.correct("1", trajectory="t0", labels={"scope": "the start"}, by="ann")
        assert imported(memory, [replied(request) for request in requests]).steps == 1
        while requests := exported(memory):
            imported(memory, [replied(request) for request in requests])
        made = makers(memory)
        assert [n for n, maker in enumerate(made) if maker == "ann"] == [1, 3]
        assert set(made) == {"ann", HAND}
        scopes = [entry.labels.intent.scope for entry in memory.steps("t0") if entry.labels]
        assert (scopes[1], scopes[3]) == ("the start", "the trip")


def test_a_reply_about_a_step_that_was_changed_or_erased_is_refused(tmp_path: Path) -> None:
    with filled(tmp_path, trajectories=2, number=6) as memory:
        replies = [replied(request) for request in exported(memory)]
        memory.lifecycle.correct("2", trajectory="t0", text="Take something else.")
        memory.lifecycle.erase(Selector(trajectory="t1"))
        taken = imported(memory, replies)
        assert [("not as they were" in rejection.reason) for rejection in taken.rejections] == [True, True]
        assert memory.status().accepted == 6


def test_replies_for_another_model_or_tenant_are_refused(tmp_path: Path) -> None:
    with filled(tmp_path, number=6) as memory:
        replies = [replied(request) for request in exported(memory)]
        assert len(imported(memory, replies, "other").rejections) == 2
    with open_memory(tmp_path, tenant="bob") as memory:
        assert len(imported(memory, replies).rejections) == 2
        assert memory.status().accepted == 0


def openai(request: dict[str, Any], **body: Any) -> dict[str, Any]:
    """What a batch of OpenAI returns for a request."""
    messages = request["body"]["messages"]
    content = json.dumps(label_by_rules(messages[0]["content"], messages[1]["content"]))
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return {
        "id": "batch_req_1",
        "custom_id": request["custom_id"],
        "response": {"status_code": 200, "request_id": "r", "body": {"choices": [choice], "usage": usage, **body}},
        "error": None,
    }


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(cli, [*arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_openai_batches_through_the_commands(tmp_path: Path) -> None:
    folder, requests, replies = str(tmp_path / "m"), tmp_path / "requests.jsonl", tmp_path / "replies.jsonl"
    filled(Path(folder), trajectories=3).close()
    config = tmp_path / "settings.yaml"
    config.write_text("labels: model\nmodel: openai/gpt-5-mini\nprice_prompt: 1.0\nprice_reply: 10.0\nwindow: 20\n")
    options = ("--memory", folder, "--config", str(config), "--json")
    report = run("label", "export", *options, "--format", "openai", "--out", str(requests))
    assert json.loads(report.stdout) == {"windows": 3, "steps": 60, "waiting_steps": 120}
    sent = [json.loads(line) for line in requests.read_text().splitlines()]
    assert {(one["method"], one["url"], one["body"]["model"]) for one in sent} == {
        ("POST", "/v1/chat/completions", "gpt-5-mini")
    }
    assert sent[0]["body"]["response_format"]["json_schema"]["schema"]["required"] == ["readings", "renames"]
    assert len({one["custom_id"] for one in sent}) == 3
    assert all(len(one["custom_id"]) <= 64 for one in sent)
    cut = openai(sent[1])
    choice = cut["response"]["body"]["choices"][0]
    choice["finish_reason"], choice["message"]["content"] = "length", choice["message"]["content"][:30]
    replies.write_text("\n".join(json.dumps(one) for one in (openai(sent[0]), cut, openai(sent[2]))))
    result = run("label", "import", str(replies), *options, code=3)
    said = json.loads(result.stdout)
    assert (said["windows"], said["steps"], said["rejected"], said["waiting_steps"]) == (2, 40, 1, 80)
    assert [(one["line"], "was cut" in one["reason"]) for one in said["rejections"]] == [(2, True)]
    assert "replies.jsonl, line 2: " in result.stderr
    again = json.loads(run("label", "import", str(replies), *options, code=3).stdout)
    assert (again["windows"], again["repeated"]) == (0, 2)
    spent = json.loads(run("ledger", "--memory", folder, "--json").stdout)["total"]
    assert (spent["calls"], spent["prompt_tokens"], spent["reply_tokens"]) == (2, 2000, 200)
    assert spent["cost_usd"] == pytest.approx(0.004)


def test_files_that_cannot_be_read_or_written_are_errors(tmp_path: Path) -> None:
    folder = str(tmp_path / "m")
    filled(Path(folder), trajectories=1, number=2).close()
    options = ("--memory", folder, "--model", "ann")
    with pytest.raises(InputError, match="cannot read"):
        run("label", "import", str(tmp_path / "none"), *options)
    with pytest.raises(InputError, match="cannot write"):
        run("label", "export", *options, "--out", str(tmp_path / "none" / "file"))
    with pytest.raises(SettingsError, match="no model is named"):
        run("label", "export", "--memory", folder)
    assert offline_labeler(model="ann", window="3").window_steps == 3


OPENAI_BAD: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "failed": (lambda reply: reply.update(error={"message": "expired"}), "expired"),
    "status": (lambda reply: reply["response"].update(status_code=429, body={"error": {"message": "slow"}}), "slow"),
    "no response": (lambda reply: reply.pop("response"), "no 'response'"),
    "no body": (lambda reply: reply["response"].update(body=None), "no message"),
    "no choice": (lambda reply: reply["response"]["body"].update(choices=[]), "no message"),
    "refusal": (lambda reply: reply["response"]["body"]["choices"][0]["message"].update(content=None), "empty"),
    "a request": (lambda reply: (reply.pop("response"), reply.update(body={})), "a request"),
}


@pytest.mark.parametrize("kind", OPENAI_BAD)
def test_a_batch_line_without_a_message_is_refused_with_the_reason(kind: str) -> None:
    change, reason = OPENAI_BAD[kind]
    reply = openai({"custom_id": "x", "body": {"messages": [{"content": "`readings`"},
                    {"content": '[[ ## known_scopes ## ]]\n\n[[ ## steps ## ]]\n{"n": 1, "text": "a"}'}]}})  # fmt: skip
    assert read_reply(json.dumps(reply).encode()).id == "x"
    change(reply)
    with pytest.raises(ReplyError, match=reason):
        read_reply(json.dumps(reply).encode())


STEPS = [Step(id="a", role="user", content="The Bristol has a room."), Step(id="b", role="user", content="It is dear.")]


def lines(*said: dict[str, object]) -> list[bytes]:
    return [json.dumps({"trajectory": "t", **each}).encode() for each in said]


def test_what_is_written_of_a_step_becomes_its_labels() -> None:
    written = read_written(
        [
            *lines(
                {"id": "a", "scope": "Warsaw hotel", "event_types": ["propose", "Propose"], "summary": "A room"},
                {"id": "b", "scope": "Warsaw hotel", "event_types": ["object"], "references": [
                    {"phrase": "It", "means": "The Bristol"}, {"phrase": "that", "means": "a word nobody said"}]},
            ),
            b"",
            *lines({"id": "b", "asks": ["what costs too much?"], "words": ["expensive"]}),
        ]
    )  # fmt: skip
    labeler = WrittenLabeler(written, name="gpt-x", fallback=LocalLabeler())
    session = labeler.begin("t")
    first, second = session.label(STEPS)
    assert (first.made_by, first.intent.scope, first.intent.event_types) == ("gpt-x", "Warsaw hotel", ("propose",))
    assert (first.summary, first.asks) == ("A room", ())
    assert [each.replacement for each in second.references] == ["The Bristol"]
    assert second.asks == ("what costs too much?", "expensive")
    again = labeler.begin("t", session.save())
    assert again.inventory() == session.inventory()
    assert labeler.name == "gpt-x" != WrittenLabeler(written, fallback=LocalLabeler()).name


def test_a_step_of_which_nothing_is_written_gets_local_labels_and_what_it_answers() -> None:
    written = read_written(lines({"id": "b", "words": ["expensive"]}))
    first, second = WrittenLabeler(written, fallback=LocalLabeler()).begin("t").label(STEPS)
    assert first.made_by == second.made_by == LocalLabeler().name
    assert (first.asks, second.asks) == ((), ("expensive",))


@pytest.mark.parametrize("line", [b"[]", b"{", b'{"trajectory": "t"}', b'{"trajectory": "t", "id": "a", "gold": 1}'])
def test_a_line_in_another_format_is_named(line: bytes) -> None:
    with pytest.raises(ReplyError, match="line 2"):
        read_written([b"", line])


def test_the_command_takes_written_labels_in_once_and_leaves_what_a_person_said(tmp_path: Path) -> None:
    folder, file = tmp_path / "m", tmp_path / "labels.jsonl"
    with open_memory(folder) as memory:
        memory.add_many(STEPS, trajectory="t")
        memory.lifecycle.correct("b", trajectory="t", labels={"scope": "prices"})
    said = lines(
        {"id": "a", "scope": "Warsaw hotel", "event_types": ["propose"], "summary": "A room", "words": ["lodging"]},
        {"id": "b", "scope": "Warsaw hotel", "event_types": ["object"]},
        {"id": "a", "scope": ["no name"]},
    )
    file.write_bytes(b"\n".join([*said, b'{"trajectory": "unknown", "id": "a"}', b"{}"]))
    command = ["label", "import", str(file), "--memory", str(folder), "--model", "ann", "--json"]
    run = CliRunner().invoke(cli, command)
    told = json.loads(run.stdout)
    assert (run.exit_code, told["windows"], told["steps"], told["rejected"], told["waiting_steps"]) == (3, 1, 1, 3, 0)
    assert json.loads(CliRunner().invoke(cli, command).stdout)["steps"] == 0
    with open_memory(folder) as memory:
        first, second = (entry.snippet() for entry in memory.steps("t"))
        assert (first.intent.scope, first.asks, first.summary) == ("Warsaw hotel", ("lodging",), "A room")
        assert (second.intent.scope, second.asks) == ("prices", ())
        assert "Warsaw hotel" in [scope.name for scope in memory.inventory("t").scopes]
        assert memory.search("lodging", trajectory="t").hits[0].snippet.step == "a"

"""Labels that stand in a file are held to the checks of a model's reply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stitch import open_memory
from stitch.cli.main import cli
from stitch.core import Step
from stitch.errors import ReplyError
from stitch.label.local import LocalLabeler
from stitch.label.model.written import WrittenLabeler, read_written

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


@pytest.mark.parametrize("order", ["labels asks", "asks labels"])
def test_labels_and_other_words_may_stand_in_two_files_taken_in_one_after_the_other(order: str, tmp_path: Path) -> None:
    label = {"scope": "Warsaw hotel", "event_types": ["propose"], "summary": "A room"}
    words = [
        {"id": "a", "asks": ["where  to\nsleep?"], "words": list("123456789")},
        {"id": "b", "asks": ["how dear?"]},
    ]
    (tmp_path / "labels").write_bytes(b"\n".join(lines({"id": "a", **label}, {"id": "b", **label})))
    (tmp_path / "asks").write_bytes(b"\n".join(lines(*words)))
    with open_memory(tmp_path / "m") as memory:
        memory.add_many(STEPS, trajectory="t")
    steps = []
    for file in [*order.split(), "asks", "labels"]:
        command = ["label", "import", str(tmp_path / file), "--memory", str(tmp_path / "m"), "--model", "ann", "--json"]
        steps.append(json.loads(CliRunner().invoke(cli, command).stdout)["steps"])
    assert steps == [2, 2, 0, 0]
    with open_memory(tmp_path / "m") as memory:
        first, second = (entry.snippet() for entry in memory.steps("t"))
        assert {first.labeled_by, second.labeled_by} == {"ann windowed-3"}
        assert (first.intent.scope, first.asks) == ("Warsaw hotel", ("where to sleep?", *"123456"))
        assert second.asks == ("how dear?",)

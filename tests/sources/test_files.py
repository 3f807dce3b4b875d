"""Files of steps: what is recognized, and what is rejected and where."""

from __future__ import annotations

import gzip
import io
import sys

import orjson
import pytest

from stitch.core import Rejection, SourcedStep
from stitch.errors import InputError
from stitch.sources import FORMATS, FileSource, StandardInput, expand_paths, left_out

STEP = {"role": "user", "content": "hi"}


def write(path, *lines):
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else orjson.dumps(line) for line in lines))
    return path


def steps(path):
    return [item for item in FileSource(path) if isinstance(item, SourcedStep)]


def rejections(path):
    return [item for item in FileSource(path) if isinstance(item, Rejection)]


def test_steps_without_ids_are_numbered_inside_their_trajectory(tmp_path):
    path = write(tmp_path / "a.jsonl", STEP, {**STEP, "trajectory": "t"}, STEP, {**STEP, "id": "x", "trajectory": 7})
    read = [(item.trajectory, item.step.id, item.line) for item in steps(path)]
    assert read == [("a", "0", 1), ("t", "0", 2), ("a", "1", 3), ("7", "x", 4)]


def test_reading_twice_gives_the_same_steps(tmp_path):
    source = FileSource(write(tmp_path / "a.jsonl", STEP, STEP))
    assert list(source) == list(source)


def test_trajectories_in_gzip_are_read(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(orjson.dumps({"id": "t", "steps": [STEP, {**STEP, "timestamp": 5}]})))
    assert [(item.trajectory, item.step.timestamp) for item in steps(path)] == [("t", None), ("t", 5)]


def test_fields_that_a_step_has_not_are_kept_as_metadata(tmp_path):
    row = {**STEP, "gold": {"scope": ["s"]}, "evidence": 1, "mood": "good", "metadata": {"a": 1}, "name": "Ann"}
    [item] = steps(write(tmp_path / "a.jsonl", row))
    assert item.step.metadata == {"gold": {"scope": ["s"]}, "evidence": 1, "a": 1, "mood": "good", "name": "Ann"}


def test_a_document_with_chats_is_read_with_tool_calls_and_results(tmp_path):
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"city": "Rome"}'}}
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "Find"}, "it", {"type": "image"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "name": "find", "tool_call_id": "c1", "content": {"found": 2}},
        {"role": "tool", "name": "find", "content": ""},
    ]
    path = tmp_path / "tau.json"
    path.write_bytes(orjson.dumps([{"task_id": 0, "trial": 1, "traj": chat}, {"messages": chat[:1]}],
                                  option=orjson.OPT_INDENT_2))  # fmt: skip
    read = steps(path)
    assert [item.trajectory for item in read] == ["0-1"] * 4 + ["tau"]
    assert read[0].step.content == "Find\nit"
    [made] = read[1].step.tool_calls
    assert (made.name, made.arguments, made.id) == ("find", {"city": "Rome"}, "c1")
    assert (read[2].step.tool_name, read[2].step.content) == ("find", '{"found":2}')
    assert read[2].step.metadata == {"tool_call_id": "c1"}


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [('{"a": 1}', {"a": 1}), ("ls -l", {"input": "ls -l"}), (None, {}), ([1], {"input": [1]}), ('"x"', {"input": "x"})],
)
def test_arguments_of_a_tool_call_are_never_lost(tmp_path, arguments, kept):
    row = {"role": "assistant", "content": "", "tool_calls": [{"name": "run", "arguments": arguments}]}
    [item] = steps(write(tmp_path / "a.jsonl", row))
    assert item.step.tool_calls[0].arguments == kept


def test_what_cannot_be_read_is_rejected_by_line_and_the_rest_is_read(tmp_path):
    path = write(
        tmp_path / "a.jsonl", STEP, b'{"role": "user", "content": ', b'{"role": "user", "content": "\xff"}',
        {"content": "x", "role": ""}, {"role": "user", "content": ""}, {"hello": 1}, b"[1, 2", STEP,
        {"role": "assistant", "content": "", "tool_calls": [{"id": 1}]},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "\n"}]},
        {"id": "t", "steps": ["no", STEP, {"content": "x"}]}, b"",
    )  # fmt: skip
    rejected = {rejection.line: rejection.reason for rejection in rejections(path)}
    assert set(rejected) == {2, 3, 4, 5, 6, 7, 9, 10, 11}
    assert "malformed JSON" in rejected[2]
    assert "invalid UTF-8 at byte" in rejected[3]
    assert "'role'" in rejected[4]
    assert "content is empty" in rejected[5]
    assert "not a known format" in rejected[6]
    assert all(known.name in rejected[6] for known in FORMATS)
    assert "generic form" in rejected[6]
    assert "no name" in rejected[9]
    assert [item.step.id for item in steps(path)] == ["0", "3", "1"]


def test_a_rejected_step_keeps_its_number_so_that_the_others_keep_theirs(tmp_path):
    broken = write(tmp_path / "a.jsonl", {"id": "t", "steps": [STEP, {"role": "user", "content": ""}, STEP]})
    assert [item.step.id for item in steps(broken)] == ["0", "2"]


def test_a_first_line_that_is_broken_does_not_stop_the_reading(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"role": ', STEP)
    assert [rejection.line for rejection in rejections(path)] == [1]
    assert len(steps(path)) == 1


def test_a_list_on_one_line_holds_records_and_more_lines_may_follow(tmp_path):
    path = write(tmp_path / "a.json", [STEP, STEP], STEP)
    assert len(steps(path)) == 3


def test_a_byte_order_mark_and_blank_lines_are_no_records(tmp_path):
    assert len(steps(write(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + orjson.dumps(STEP), b"  ", STEP))) == 2
    assert steps(write(tmp_path / "empty.jsonl")) == []


def test_standard_input_is_a_source_named_dash(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(orjson.dumps(STEP)))))
    [item] = StandardInput()
    assert isinstance(item, SourcedStep)
    assert (item.trajectory, item.source) == ("stdin", "-")


def test_a_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none\.jsonl"):
        list(FileSource(tmp_path / "none.jsonl"))
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(orjson.dumps(STEP) * 50)[:-10])
    with pytest.raises(InputError, match=r"cut\.gz"):
        list(FileSource(cut))


def test_a_folder_stands_for_the_files_below_it(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "notes.md").write_text("no")
    wanted = [str(write(tmp_path / "a.jsonl", STEP)), str(write(tmp_path / "sub" / "b.json.gz", STEP))]
    assert expand_paths([str(tmp_path), "-"]) == [*wanted, "-"]
    assert left_out([str(tmp_path), "-"]) == [str(tmp_path / "notes.md")]


def test_a_path_that_is_not_there_and_a_folder_without_files_are_errors(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        expand_paths([str(tmp_path / "none")])
    with pytest.raises(InputError, match="holds no file"):
        expand_paths([str(tmp_path)])

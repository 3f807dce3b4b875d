"""Files of steps: what is recognized, and what is rejected and where."""

import gzip

import orjson
import pytest

from stitch.core import Rejection, SourcedStep
from stitch.errors import InputError
from stitch.sources import FileNames, FileSource, expand_paths, left_out, not_read

STEP = {"role": "user", "content": "hi"}


def write(path, *lines):
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else orjson.dumps(line) for line in lines))
    return path


def test_a_missing_or_broken_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none\.jsonl"):
        list(FileSource(tmp_path / "none.jsonl"))
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(orjson.dumps(STEP) * 50)[:-10])
    with pytest.raises(InputError, match=r"cut\.gz"):
        list(FileSource(cut))


def test_of_a_document_in_a_packed_file_that_breaks_off_what_is_whole_is_read(tmp_path):
    said = [{"role": "user", "content": f"{number * 7919 % 1000} of {number}"} for number in range(400)]
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(orjson.dumps(said))[:1500])
    read: list[SourcedStep | Rejection] = []
    with pytest.raises(InputError, match=r"cut\.json\.gz"):
        read.extend(FileSource(tmp_path / "cut.json.gz"))
    texts = [item.step.content for item in read if isinstance(item, SourcedStep)]
    assert texts == [each["content"] for each in said[: len(texts)]]
    assert len(texts) > 100


def test_text_that_is_no_conversation_is_rejected_whole_and_what_follows_is_read(tmp_path):
    poem = [b"the sea is wide", *(b"and nobody speaks of wave %d" % number for number in range(30))]
    rejected, read = FileSource(write(tmp_path / "poem.txt", *poem, STEP))
    assert isinstance(rejected, Rejection)
    assert rejected.record.splitlines() == [line.decode() for line in poem]
    assert isinstance(read, SourcedStep)
    [rejected] = FileSource(write(tmp_path / "photo.txt", b"\x89\x00 begins", *[b"\xff\xfe and goes on" * 5_000] * 30))
    assert isinstance(rejected, Rejection)
    assert rejected.record.count("begins") == 1
    assert "goes on" not in rejected.record


def test_a_long_cell_of_a_table_is_read_and_so_are_the_rows_behind_it(tmp_path):
    table = write(tmp_path / "table.csv", b"role,content", b'tool,"' + b"x" * 200_000 + b'"', b"user,done")
    assert [len(each.step.content) for each in FileSource(table) if isinstance(each, SourcedStep)] == [200_000, 4]


def test_a_folder_stands_for_the_files_below_it(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "notes.md").write_text("no")
    wanted = [str(write(tmp_path / name, STEP)) for name in ("a.jsonl", "sub/2.json", "sub/10.json", "sub/b.json.gz")]
    assert expand_paths([str(tmp_path), "-"]) == [*wanted, "-"]
    assert left_out([str(tmp_path), "-"]) == [str(tmp_path / "notes.md")]


def test_a_path_that_is_not_there_and_a_folder_without_files_are_errors(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        expand_paths([str(tmp_path / "none")])
    with pytest.raises(InputError, match="holds no file"):
        expand_paths([str(tmp_path)])


def test_lists_of_records_that_are_not_read_are_named_and_counted(tmp_path):
    said = [{**STEP, "id": "1"}]
    record = {"messages": said, "agents": {"subagent_messages": said * 2}, "tools": [{"name": "f"}], "tags": ["a"]}
    read = FileSource(write(tmp_path / "a.jsonl", record, STEP))
    first, *others = (item for item in read if isinstance(item, SourcedStep))
    assert others
    assert not_read(first.step) == {"subagent_messages": 2}
    assert [not_read(item.step) for item in others] == [{}]


def test_what_a_program_notes_is_metadata_of_the_next_step_and_what_stands_last_is_told(tmp_path):
    begun, counted = {"type": "session_meta", "payload": {"cwd": "/barn"}}, {"type": "event_msg", "payload": {"n": 1}}
    said = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Feed the goat"}}
    ended = {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "somebody pressed escape"}}
    items = list(FileSource(write(tmp_path / "a.jsonl", begun, counted, said, counted, ended)))
    steps = [item.step for item in items if isinstance(item, SourcedStep)]
    assert [(step.role, step.content) for step in steps] == [
        ("user", "Feed the goat"), ("event", "somebody pressed escape")]  # fmt: skip
    marks = [{"kind": "session_meta", "event": "session_meta", "cwd": "/barn"},
             {"kind": "event_msg", "event": "event_msg", "n": 1}]  # fmt: skip
    assert steps[0].metadata["marks"] == marks
    assert not_read(steps[0]) == {"marks of programs": 2}


def test_a_channel_whose_days_are_files_is_one_trajectory_of_people_with_names(tmp_path):
    write(tmp_path / "users.json", [{"id": "U7", "name": "ute", "real_name": "Ute Brandt"}])
    (tmp_path / "bees").mkdir()
    said = {"type": "message", "user": "U7", "text": "Ask <@U7> about hive two"}
    days = [write(tmp_path / "bees" / f"2026-05-0{day}.json", [{**said, "ts": f"177800000{day}.1"}]) for day in (1, 2)]
    names = FileNames(tmp_path / "names", tenant="t")
    assert [names.of(str(day)) for day in days] == ["bees", "bees"]
    items = [item for day in days for item in FileSource(day) if isinstance(item, SourcedStep)]
    assert [(item.trajectory, item.step.id, item.step.role, item.step.content) for item in items] == [
        ("bees", f"2026-05-0{day}-0", "Ute Brandt", "Ask @Ute Brandt about hive two") for day in (1, 2)]  # fmt: skip


def test_marks_of_slack_are_read_as_its_reader_sees_them_and_no_others(tmp_path):
    marked = ("See <https://a.org/p|the plan>, <https://a.org/x>, <mailto:u@a.org|u@a.org> in <#C1|bees>, "
              "<!here> <!subteam^S1|@hive> <@U7|ute>: R&amp;D &lt;3")  # fmt: skip
    said = {"type": "message", "user": "U8", "text": marked}
    seen = [write(tmp_path / f"{name}.json", [{**said, **more}])
            for name, more in (("a", {"ts": "1778000001.000100"}), ("b", {"ts": 1778000001}))]  # fmt: skip
    texts = [item.step.content for file in seen for item in FileSource(file) if isinstance(item, SourcedStep)]
    assert texts == [
        "See the plan (https://a.org/p), https://a.org/x, u@a.org in #bees, @here @hive @ute: R&D <3",
        marked,
    ]


def test_one_time_of_a_text_settles_the_order_of_day_and_month_of_those_before_it(tmp_path):
    chat = b"3/4/26, 9:15 AM - Ida: Is the oven on?\n3/4/26, 9:16 AM - Ole: Yes.\n3/21/26, 1:00 PM - Ida: Still?\n"
    items = FileSource(write(tmp_path / "chat.txt", chat))
    times = [item.step.timestamp for item in items if isinstance(item, SourcedStep)]
    assert times == ["2026-03-04T09:15:00", "2026-03-04T09:16:00", "2026-03-21T13:00:00"]

"""What is given to `stitch ingest`: streams, files of one name, folders, and files that are followed."""

import io
import json
import sys
from pathlib import Path

import pytest

from doubles.files import files_with
from stitch import open_memory
from stitch.core import Rejection
from stitch.errors import InputError
from stitch.pipelines.follow import follow_sources, followed_sources
from stitch.pipelines.ingest import ingest
from stitch.sources import FILES_FILE, FOLLOWED_FILE, FileNames, FollowedFile, Positions


def lines(*said, **fields):
    return "".join(json.dumps({"role": "user", "content": content, **fields}) + "\n" for content in said)


@pytest.fixture
def pipe(monkeypatch, run):
    """Pipes a text into `stitch ingest -`; gives the report."""

    def call(text, *options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
        code, out, err = run("ingest", "-", "--memory", "m", "--json", *options)
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


def stored(folder="m"):
    with open_memory(folder) as memory:
        return {name: [entry.step.content for entry in memory.steps(name)] for name in memory.trajectories()}


@pytest.mark.parametrize("together", [True, False])
def test_two_files_that_number_steps_of_one_trajectory_are_both_stored_once(run, together):
    Path("a.jsonl").write_text(lines("Monday: the code is 11", "Noted.", trajectory="agent"))
    Path("b.jsonl").write_text(lines("Tuesday: the code is 22", "Noted.", "Bye.", trajectory="agent"))
    for files in [["a.jsonl", "b.jsonl"]] * 2 if together else [["a.jsonl"], ["b.jsonl"], ["b.jsonl"]]:
        assert run("ingest", *files, "--memory", "m")[0] == 0
    said = ["Monday: the code is 11", "Noted.", "Tuesday: the code is 22", "Noted.", "Bye."]
    assert stored() == {"agent": said}


def test_two_streams_are_both_stored_and_the_same_stream_twice_changes_nothing(pipe):
    first, second = lines("Behave.", "Book Rome", "ok"), lines("Behave.", "Book Oslo", "ok")
    assert (pipe(first)["stored"], pipe(second)["stored"]) == (3, 3)
    both = {"stdin": ["Behave.", "Book Rome", "ok", "Book Oslo", "ok"]}
    assert stored() == both
    pipe(first)
    pipe(second)
    assert stored() == both


def test_conversations_of_two_streams_are_trajectories_of_their_own(pipe):
    talks = [json.dumps({"messages": [{"role": "user", "content": said}]}) for said in ("one", "two", "three")]
    pipe("\n".join(talks[:2]))
    pipe("\n".join(talks[1:]))
    assert sorted(stored().values()) == [["one"], ["three"], ["two"]]
    assert all(name.startswith("stdin-") for name in stored())


def test_lists_that_are_not_read_are_told(run):
    said = [{"role": "user", "content": "Book Rome"}]
    Path("log.json").write_text(json.dumps({"messages": said, "subagent_messages": said}))
    code, _, err = run("ingest", "log.json", "--memory", "m")
    assert (code, "not read: subagent_messages (1)" in err) == (0, True)


def test_files_of_one_name_in_two_folders_are_two_trajectories(run):
    for folder in ("a", "b"):
        Path("logs", folder).mkdir(parents=True)
        Path("logs", folder, "log.jsonl").write_text(lines(f"said in {folder}", "ok"))
    for _ in range(2):
        code, out, err = run("ingest", "logs", "--memory", "m", "--json")
        assert (code, err, json.loads(out)["stored"]) == (0, "", 4)
        assert stored() == {"log": ["said in a", "ok"], "b/log": ["said in b", "ok"]}
    assert run("ingest", "logs/b/log.jsonl", "--memory", "m")[0] == 0
    assert set(stored()) == {"log", "b/log"}


def test_a_file_that_was_moved_or_copied_is_known(run):
    Path("a").mkdir()
    Path("a/log.jsonl").write_text(lines("one", "two"))
    run("ingest", "a/log.jsonl", "--memory", "m")
    Path("a/log.jsonl").rename("log.jsonl")
    run("ingest", "log.jsonl", "--memory", "m")
    Path("a/log.jsonl").write_text(lines("one", "two"))
    run("ingest", "a", "--memory", "m")
    assert stored() == {"log": ["one", "two"]}


def test_a_secret_in_the_name_of_a_file_or_folder_is_written_nowhere(run):
    one, other = ("ghp_" + sign * 18 for sign in ("aB", "Cd"))
    Path(one).mkdir()
    for path, text in ((f"{one}.jsonl", "one"), (f"{other}.jsonl", "two"), (f"{one}/log.jsonl", "three")):
        Path(path).write_text(lines(text) + "nonsense\n")
    given = (f"{one}.jsonl", f"{other}.jsonl", one)
    assert run("ingest", *given, "--memory", "m")[0] == 3
    names = list(stored())
    assert len(names) == 3
    assert all("[redacted" in name for name in names[:2])
    before = stored()
    assert run("ingest", *given, "--memory", "m")[0] == 3
    assert stored() == before, "known by their names"
    assert files_with("m", one.encode()) == []


def test_an_interrupted_reading_of_a_folder_goes_on_and_leaves_no_note_in_the_end(run, monkeypatch):
    monkeypatch.setattr("stitch.pipelines.follow.COMMIT_ITEMS", 2)
    Path("logs").mkdir()
    for name in "abc":
        Path(f"logs/{name}.jsonl").write_text(lines(*(f"{name} {number}" for number in range(4))))

    def die(memory, steps, *, trajectory, again):
        if trajectory == "b":
            raise KeyboardInterrupt
        return taken(memory, steps, trajectory=trajectory, again=again)

    from stitch.memory import Memory

    taken = Memory.add_each
    with monkeypatch.context() as patched:
        patched.setattr(Memory, "add_each", die)
        assert run("ingest", "logs", "--memory", "m")[0] == 130
    assert json.loads(Path("m/unfinished.json").read_text())["default"]
    code, out, _ = run("ingest", "logs", "--memory", "m", "--json")
    assert (code, json.loads(out)["steps"]) == (0, 8)
    assert {name: len(steps) for name, steps in stored().items()} == {"a": 4, "b": 4, "c": 4}
    assert json.loads(Path("m/unfinished.json").read_text()) == {}
    assert json.loads(run("ingest", "logs", "--memory", "m", "--json")[1])["steps"] == 12


class Enough(Exception):  # noqa: N818 - it ends what has no end
    """Nobody waits any more."""


def line(number):
    return json.dumps({"role": "user", "content": f"Book the hotel for day {number}"}) + "\n"


def run(memory, paths, doings=()):
    """Follow until nothing is left to do between two looks; return what was rejected."""
    todo = iter(doings)
    rejected: list[Rejection] = []

    def wait(seconds):
        try:
            next(todo)()
        except StopIteration:
            raise Enough from None

    with pytest.raises(Enough):
        ingest(memory, follow_sources(sources_of(memory.folder, paths), wait=wait), on_rejection=rejected.append)
    return rejected


def sources_of(folder, paths):
    positions, names = Positions(folder / FOLLOWED_FILE), FileNames(folder / FILES_FILE, tenant="default")
    return followed_sources([str(path) for path in paths], positions=positions, names=names, tenant="default")


def contents(memory):
    return [entry.step.content for name in memory.trajectories() for entry in memory.steps(name)]


def test_files_and_folders_are_followed_and_the_next_process_goes_on(tmp_path):
    one, folder = tmp_path / "one.jsonl", tmp_path / "logs"
    folder.mkdir()
    one.write_text(line(0))
    with open_memory(tmp_path / "m") as memory:
        doings = [
            lambda: one.write_text(line(0) + line(1) + line(2)[:5]),
            lambda: (folder / "new.jsonl").write_text(line(3)),
            lambda: one.rename(tmp_path / "one.jsonl.1"),
        ]
        assert run(memory, [one, folder], doings) == []
        assert len(contents(memory)) == 3
    (tmp_path / "one.jsonl.1").write_text(line(0) + line(1) + line(2))
    one.write_text(line(4))
    with open_memory(tmp_path / "m") as memory:
        assert run(memory, [one, folder]) == []
        assert sorted(contents(memory)) == [f"Book the hotel for day {n}" for n in range(5)]
        assert [entry.id for entry in memory.steps("one")] == ["0", "1", "2", "3"]


def test_what_cannot_be_followed_is_said(tmp_path):
    (tmp_path / "broken").write_text("no json")
    with pytest.raises(InputError, match="cannot read"):
        Positions(tmp_path / "broken")
    with pytest.raises(InputError, match="standard input"):
        sources_of(tmp_path, ["-"])
    with pytest.raises(InputError, match="no such folder"):
        sources_of(tmp_path, [tmp_path / "no" / "file"])
    (tmp_path / "file").write_text(line(0))
    positions = Positions(tmp_path / "none" / "positions")
    with pytest.raises(InputError, match="cannot write"):
        list(follow_sources([FollowedFile(tmp_path / "file", positions=positions)]))
    with pytest.raises(InputError, match="cannot write"):
        FileNames(tmp_path / "none" / "files", tenant="a").of(str(tmp_path / "file"))


def chat(*said, clock="{}/{}/2026, 08:04"):
    """An export of a chat: day, month and words of each message."""
    return "".join(f"{clock.format(*when)} - {who}: {words}\n" for *when, who, words in said)


BEFORE = [(11, "05", "Nora", "surprise or not?"), (12, "05", "Idris", "surprise")]
AFTER = [*BEFORE, (13, "05", "Nora", "I booked the Plough")]


def times(folder="m"):
    with open_memory(folder) as memory:
        return [entry.step.timestamp for name in memory.trajectories() for entry in memory.steps(name)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (chat(*BEFORE), ["2026-05-11T08:04:00", "2026-05-12T08:04:00"]),
        (chat(*BEFORE, clock="{1}/{0}/26, 8:04 AM"), ["2026-05-11T08:04:00", "2026-05-12T08:04:00"]),
        (chat(*BEFORE, clock="{}/{}/26, 8:04 am"), ["2026-05-11T08:04:00", "2026-05-12T08:04:00"]),
        (chat((11, 5, "Nora", "hi"), (1, 6, "Nora", "ho"), clock="{}/{}/26, 8:04 AM"),
         ["2026-05-11T08:04:00", "2026-06-01T08:04:00"]),
        (chat(*AFTER, (1, "06", "Nora", "soon")),
         [f"2026-{day}T08:04:00" for day in ("05-11", "05-12", "05-13", "06-01")]),
    ],
    ids=["24 hours", "AM and PM", "am and pm", "times rise", "a day beyond the twelfth"],
)  # fmt: skip
def test_a_chat_says_on_which_day_something_was_said(run, text, told):
    Path("chat.txt").write_text(text)
    assert run("ingest", "chat.txt", "--memory", "m")[0] == 0
    assert times() == told


def test_a_chat_that_shows_the_order_of_its_days_later_is_known_and_its_times_are_put_right(run):
    for said in (BEFORE, AFTER, AFTER):
        Path("chat.txt").write_text(chat(*said, clock="{}/{}/26, 8:04 AM"))
        assert run("ingest", "chat.txt", "--memory", "m")[0] == 0
    assert times() == [f"2026-05-{day}T08:04:00" for day in (11, 12, 13)]
    Path("chat.txt").write_text(chat((11, "05", "Nora", "something else"), *AFTER[1:]))
    code, out, _ = run("ingest", "chat.txt", "--memory", "m", "--json")
    assert (code, json.loads(out)["stored"]) == (0, 3), "what says something else is stored beside it"


@pytest.mark.parametrize("text", [chat, lambda *said: lines(*(words for *_, words in said))])
def test_a_later_or_earlier_copy_of_a_file_that_grows_adds_what_is_new(run, text):
    for folder, said in (("a", BEFORE), ("b", AFTER), ("c", BEFORE)):
        Path(folder).mkdir()
        Path(folder, "chat.txt").write_text(text(*said))
        assert run("ingest", f"{folder}/chat.txt", "--memory", "m")[0] == 0
    assert stored() == {"chat": [words for *_, words in AFTER]}
    Path("d").mkdir()
    Path("d", "chat.txt").write_text(text(*AFTER[1:]))
    run("ingest", "d/chat.txt", "--memory", "m")
    assert sorted(stored()) == ["chat", "d/chat"], "which begins otherwise"
    Path("d", "chat.txt").write_text(text(*BEFORE[:1]))
    assert [run("ingest", f"{each}/chat.txt", "--memory", "n")[0] for each in "db"] == [0, 0]
    assert len(stored("n")) == 2, "one line is the beginning of many logs"


def test_what_a_program_put_in_place_of_a_message_is_counted_and_not_stored(run):
    Path("android.txt").write_text(
        "14/05/2026, 08:03 - Messages and calls are end-to-end encrypted. Only people in this chat can read them.\n"
        + chat((14, "05", "Nora", "the ferry leaves at ten"), (14, "05", "Idris", "<Media omitted>"),
               (14, "05", "Idris", "Diese Nachricht wurde gelöscht."),
               (14, "05", "Idris", "<Multimedia omitido> is odd"))
    )  # fmt: skip
    Path("apple.txt").write_text(
        "[14/05/2026, 08:04:11] Nora: hello there\n"
        "\u200e[14/05/2026, 08:05:11] Idris: \u200eimage omitted\n"
        "[14/05/2026, 08:06:00] Nora: image omitted\n"
    )
    code, _, err = run("ingest", "android.txt", "apple.txt", "--memory", "m")
    assert code == 0
    assert "4 messages not stored: media that were left out" in err
    assert stored() == {
        "android": ["the ferry leaves at ten", "<Multimedia omitido> is odd"],
        "apple": ["hello there", "image omitted"],
    }


def test_a_text_of_western_windows_is_read_as_such_and_it_is_said(run):
    Path("chat.txt").write_bytes(chat((14, "05", "Gus", "I bring Käse – for 5 €"), *AFTER[1:]).encode("windows-1252"))
    Path("table.csv").write_bytes("speaker;text\nGus;ich bringe Käse\nNora;gut\n".encode("windows-1252"))
    code, _, err = run("ingest", "chat.txt", "table.csv", "--memory", "m")
    assert code == 0
    assert "2 steps not written in UTF-8, and read as Windows-1252" in err
    assert [stored()[name][0] for name in ("chat", "table")] == ["I bring Käse – for 5 €", "ich bringe Käse"]

"""Files that grow: rotated, emptied, saved anew or torn, every step is read once, also by the next process."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Rejection, SourcedStep
from stitch.errors import InputError
from stitch.sources import FollowedFile, Positions


def line(number):
    return (json.dumps({"role": "user", "content": f"say {number}"}) + "\n").encode()


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


OPENED: list[FollowedFile] = []


def follow(path, positions=None):
    OPENED.append(FollowedFile(path, positions=positions))
    return OPENED[-1]


@pytest.fixture(autouse=True)
def _closed():
    yield
    for file in OPENED:
        file.close()
    OPENED.clear()


def items_of(file):
    return [item for batch in file.read() for item in batch]


def read(file):
    items = items_of(file)
    assert all(isinstance(item, SourcedStep) for item in items)
    return [(item.step.id, item.step.content) for item in items]


def again(path, file):
    """As another process would take it up."""
    positions = Positions()
    positions.keep({str(path): json.loads(json.dumps(file.snapshot()))})
    file.close()
    return follow(path, positions)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def test_what_is_appended_is_read_once_and_a_line_counts_when_it_ends(path):
    file = follow(path)
    assert read(file) == []
    append(path, line(0) + line(1)[:9])
    assert read(file) == [("0", "say 0")]
    assert read(file) == []
    append(path, line(1)[9:] + b"\n")
    assert read(file) == [("1", "say 1")]
    append(path, b"Ann: hello\nno json\n")
    spoken, rejected = items_of(file)
    assert isinstance(spoken, SourcedStep)
    assert (spoken.step.role, spoken.step.content, spoken.line) == ("Ann", "hello", 4)
    assert isinstance(rejected, Rejection)
    assert (rejected.line, rejected.source) == (5, str(path))


def test_another_process_goes_on_at_the_line_that_was_torn(path):
    append(path, line(0) + line(1)[:5])
    first = follow(path)
    assert read(first) == [("0", "say 0")]
    append(path, line(1)[5:])
    assert read(again(path, first)) == [("1", "say 1")]


@pytest.mark.parametrize("restart", [False, True])
def test_a_rotated_file_is_read_to_its_end_first(path, restart):
    append(path, line(0))
    file = follow(path)
    assert read(file) == [("0", "say 0")]
    append(path, line(1) + line(2).rstrip())
    path.rename(path.with_name("log.jsonl.1"))
    append(path.with_name("log.jsonl.1"), b"")
    append(path, line(3))
    if restart:
        file = again(path, file)
    assert read(file) == [("1", "say 1"), ("2", "say 2"), ("3", "say 3")]


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        items_of(follow(tmp_path))


doings = st.lists(st.sampled_from(["write", "tear", "end", "read", "restart", "rotate", "empty"]), max_size=25)


@given(doings)
def test_whatever_happens_between_two_looks_each_line_is_read_once(tmp_path_factory, doing):
    folder = tmp_path_factory.mktemp("grow")
    path = folder / "log.jsonl"
    file = follow(path)
    written: list[str] = []
    found: list[str] = []
    torn = b""
    for number, what in enumerate(doing):
        if what == "write":
            append(path, torn + line(number))
            written, torn = [*written, f"say {number}"], b""
        elif what == "tear" and not torn:
            append(path, line(number)[:8])
            torn = line(number)[8:].rstrip() + b"\n"
            written.append(f"say {number}")
        elif what == "end" and torn:
            append(path, torn)
            torn = b""
        elif what == "read":
            found += [content for _, content in read(file)]
        elif what == "restart":
            file = again(path, file)
        elif what == "rotate" and path.exists() and not torn:
            found += [content for _, content in read(file)]  # a file that comes and goes unseen is nobody's
            path.rename(folder / f"log.jsonl.{number}")
        elif what == "empty" and path.exists() and not torn:
            found += [content for _, content in read(file)]
            path.write_bytes(b"")
    append(path, torn)
    found += [content for _, content in read(file)]
    assert found == written


def test_another_process_knows_the_conversation_that_a_trace_is_of(path):
    def span(number, **attributes):
        told = [{"key": key.replace("__", "."), "value": {"stringValue": said}} for key, said in attributes.items()]
        return json.dumps({"traceId": "t", "spanId": str(number), "name": f"s{number}", "attributes": told}) + "\n"

    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}])
    append(path, span(1, gen_ai__conversation__id="talk").encode())
    first = follow(path)
    assert {item.trajectory for item in items_of(first)} == {"talk"}
    append(path, span(2, gen_ai__input__messages=asked).encode())
    assert [item.trajectory for item in items_of(again(path, first))] == ["talk"]

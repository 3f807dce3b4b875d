"""Files of strangers: whatever stands in them, reading gives steps and rejections, or an error of the library."""

import gzip
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.core import Rejection, SourcedStep
from stitch.errors import StepRejectedError, StitchError
from stitch.journal.entries import encode_step
from stitch.sources import FileSource

FIELDS = (
    "role", "content", "parts", "text", "type", "tool_calls", "function", "name", "arguments", "id", "message",
    "messages", "history", "trajectory", "traj", "steps", "action", "observation", "source", "args", "attributes",
    "traceId", "events", "resourceSpans", "scopeSpans", "spans", "inputs", "outputs", "run_type", "payload", "mapping",
    "turn_history", "actions", "question", "result", "class_", "conversations", "from", "value", "timestamp", "data",
    "session_id", "parent", "metadata", "input", "output", "choices", "functionCall", "kwargs", "response", "author",
    "gen_ai.input.messages", "gen_ai.tool.name", "startTimeUnixNano", "key", "children", "summary", "uuid", "tool_name",
)  # fmt: skip
WORDS = ("user", "tool", "assistant", "tool_use", "tool_result", "function_call", "reasoning", "llm", "chain", "human",
         "message", "response_item", "event_msg", "x-turn-1", "", "\x00", "\ud800", "a" * 600, "[]", "NaN")  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=25,
)


def read(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(data)
        items = list(FileSource(path))
    for item in items:
        assert isinstance(item, SourcedStep | Rejection)
        if isinstance(item, SourcedStep):
            with suppress(StepRejectedError):
                encode_step(item.step, max_chars=10**6)
        else:
            assert item.reason
            item.model_dump_json()
    return items


@given(st.lists(values, min_size=1, max_size=4))
def test_any_json_gives_steps_or_rejections(lines):
    read("\n".join(json.dumps(line) for line in lines).encode())


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_give_steps_rejections_or_an_error_of_the_library(data):
    for form in (data, b"\xff\xfe" + data, b"\xef\xbb\xbf" + data, gzip.compress(data)):
        with suppress(StitchError):
            read(form)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"role": "user", "content": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"messages": ' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"data": [' * 300 + b'{"role": "user", "content": "x"}' + b"]}" * 300,
        b"Ann: " + b"a" * 1_000_000 + b"\n" + b"(" * 100_000,
        b"[" + b"1" * 200_000,
        (b"1/" * 50_000) + b" - Ann: hi",
        b'{"role": "user", "content": "' + b"x" * 20_000_000 + b'"}',
        b"\x00" * 100_000,
        b'{"role": "user", "content": "a\\u0000b"}\r\n{"role": "user", "content": "c"}\r\n',
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_is_deep_long_or_odd_neither_breaks_nor_stalls_the_reading(data):
    assert read(data)

"""What others write for us to read, from replies to lines of exports, is read or refused by errors of ours."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stitch import Step, open_memory
from stitch.config import load_settings
from stitch.errors import StitchError
from stitch.lm.batch import read_reply
from stitch.text.secrets import redact_text

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def check_one_line(error: StitchError) -> None:
    assert error.message
    assert "\n" not in error.message


@_MANY
@given(st.binary(max_size=80) | _JSON.map(lambda value: json.dumps(value).encode()))
def test_a_reply_is_read_or_refused(line: bytes) -> None:
    try:
        read_reply(line)
    except StitchError as error:
        check_one_line(error)


@_MANY
@given(st.text(max_size=120) | _JSON.map(json.dumps))
def test_settings_are_read_or_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_settings(path)
    except StitchError as error:
        check_one_line(error)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    with open_memory(tmp_path_factory.mktemp("m")) as memory:
        memory.add(Step(role="user", content="Let's plan day 1."), trajectory="t")
        return list(memory.lifecycle.export())


@settings(_MANY, max_examples=settings().max_examples // 3)
@given(st.lists(st.text(max_size=60) | _JSON.map(json.dumps), max_size=6), st.integers(0, 6))
def test_lines_of_an_export_are_taken_in_or_named(
    tmp_path_factory: pytest.TempPathFactory, exported: list[str], lines: list[str], at: int
) -> None:
    mixed = [*exported[:at], *lines, *exported[at:]]
    with open_memory(tmp_path_factory.mktemp("n")) as memory:
        told = memory.lifecycle.import_lines(mixed)
        assert told.rejections or [line for line in mixed if line.strip()] == exported
        assert memory.lifecycle.verify().disagreements == ()


@_MANY
@given(st.text(max_size=400))
def test_any_text_can_be_searched_for_secrets(text: str) -> None:
    cleaned, found = redact_text(text)
    assert bool(found) == (cleaned != text)

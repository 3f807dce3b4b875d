"""What was read lately is not read again, is bounded, and is gone with its record."""

from __future__ import annotations

from pathlib import Path

import pytest

from stitch.core import MemorySnippet, Origin
from stitch.core.text_cache import clear_text_caches
from stitch.errors import StoreError
from stitch.store.payload import to_payload
from stitch.store.recent import MOST_BYTES, RecentSnippets
from stitch.store.snippet_file import SnippetFile, VectorMark, encode_record


def snippet(text: str) -> MemorySnippet:
    return MemorySnippet(
        tenant="t", trajectory="trip", step=text, position=0, role="user", text=text, resolved=text, recorded=1.0,
        origin=Origin.USER,
    )  # fmt: skip


def record(text: str) -> bytes:
    return encode_record(to_payload(snippet(text), embedder_name="e"), words=b"\0", vectors=[VectorMark(0, 0)])


def test_those_that_were_not_asked_for_longest_are_forgotten_first() -> None:
    recent, one, size = RecentSnippets(), snippet("one"), MOST_BYTES // 64
    recent.keep(0, size, one)
    for start in range(1, 200):
        recent.keep(start, size, one)
        assert recent.find(0, size) is one
    found = [start for start in range(200) if recent.find(start, size) is not None]
    assert {0, 199} <= set(found)
    assert 32 <= len(found) <= 64
    assert 1 not in found


def test_a_record_that_would_drive_out_many_is_not_kept() -> None:
    recent = RecentSnippets()
    recent.keep(0, MOST_BYTES // 8, snippet("a long text"))
    assert recent.find(0, MOST_BYTES // 8) is None


def test_a_snippet_is_decoded_once_until_its_record_is_freed_or_all_texts_are_forgotten(tmp_path: Path) -> None:
    file = SnippetFile(tmp_path / "snippets.bin", layout=1, dimension=2)
    first, second = file.append([record("the first"), record("the second")])
    read = file.snippet(*first)
    assert read == snippet("the first")
    assert file.snippet(*first) is read
    clear_text_caches()
    assert file.snippet(*first) is not read
    file.free([first])
    with pytest.raises(StoreError, match="damaged"):
        file.snippet(*first)
    assert file.snippet(*second) == snippet("the second")
    file.close()


def test_a_record_that_has_moved_is_read_where_it_stands_now(tmp_path: Path) -> None:
    file = SnippetFile(tmp_path / "snippets.bin", layout=1, dimension=2)
    first, second = file.append([record("one of the two"), record("the other one.")])
    assert [file.snippet(*place).text for place in (first, second)] == ["one of the two", "the other one."]
    [moved] = file.rewrite([second])
    assert moved == first
    assert file.snippet(*moved).text == "the other one."
    file.close()

"""Records of themes that no memory wrote, as anybody's backup may hold them: themes are made anew, nothing breaks."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from stitch import Step, open_memory

MEASURES = b'"measures":{"to_theme":{},"to_neighbor":{}}'
PAYLOADS = [
    b"[" * 100_000 + b"]" * 100_000,
    b"{}",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"next":1e400,' + MEASURES + b',"events":[]}',
    b'{"next":-5,' + MEASURES + b',"events":[]}',
    b'{"next":9007199254740993000,' + MEASURES + b',"events":[]}',
    b'{"next":1,"measures":{},"events":[]}',
    b'{"next":1,"measures":{"to_theme":{"x":1},"to_neighbor":{}},"events":[]}',
    b'{"next":1,' + MEASURES + b',"events":"zz"}',
    b'{"next":1,' + MEASURES + b',"events":[[1.0,"attached",0,["x"],null]]}',
    b'{"next":1,' + MEASURES + b',"events":[[1.0,"dropped",0,["x"],0]]}',
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("themes") / "m"
    with open_memory(folder) as memory:
        for number in range(4):
            memory.add(Step(role="user", content=f"Ann painted the lake on day {number}."), trajectory="t")
        memory.themes()
    return (folder / "journal.sqlite").read_bytes()


def _holds(folder: Path, written: bytes, *, key: str, payload: bytes) -> Path:
    folder.mkdir(mode=0o700)
    (folder / "journal.sqlite").write_bytes(written)
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        check = zlib.crc32(payload, zlib.crc32(key.encode()))
        db.execute("UPDATE records SET key = ?, payload = ?, checksum = ?", (key, payload, check))
        db.commit()
    return folder


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_a_record_that_is_none_is_named_and_themes_are_made_anew(
    tmp_path: Path, written: bytes, payload: bytes
) -> None:
    folder = _holds(tmp_path / "m", written, key="000000000000", payload=payload)
    with open_memory(folder) as memory:
        assert "a record of themes is none" in [each.what for each in memory.lifecycle.verify().disagreements]
        assert memory.themes()
        assert [each.what for each in memory.lifecycle.verify().disagreements if "themes" in each.what] == []


@pytest.mark.parametrize("key", ["[]", "x" * 10_000, "-00000000001", "9" * 400])
def test_a_record_of_a_strange_name_is_none(tmp_path: Path, written: bytes, key: str) -> None:
    payload = b'{"next":1,' + MEASURES + b',"events":[]}'
    with open_memory(_holds(tmp_path / "m", written, key=key, payload=payload)) as memory:
        assert memory.themes()

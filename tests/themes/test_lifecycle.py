"""What happens to steps happens to what is made from them; records that no memory wrote are made anew."""

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from doubles.files import files_with
from stitch import Memory, Step, open_memory
from stitch.factory import open_tenants
from stitch.lifecycle.selection import Selector

TALK = [
    ("Ann", "Where did you put the xylophone?"),
    ("Bob", "I lent the zanzibarium to my cousin Quentin."),
    ("Ann", "Quentin plays in an orchestra in Tromso."),
    ("Bob", "The orchestra rehearses on Friday evening."),
]


def talk() -> list[Step]:
    return [Step(role=role, content=text, id=f"s{number}") for number, (role, text) in enumerate(TALK)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "m"


def said(memory: Memory) -> set[str]:
    hierarchy = memory.hierarchy
    found = (hierarchy.statement(name) for theme in memory.themes() for name in theme.statements)
    return {each.text for each in found if each is not None}


@pytest.mark.parametrize("used_before", [False, True])
def test_erasing_a_step_takes_along_what_was_made_from_it_with_proof(folder: Path, used_before: bool) -> None:
    with open_memory(folder) as memory:
        memory.add_many(talk(), trajectory="t")
        memory.add_many(talk(), trajectory="u")
        names = {each.id for step in ("s0", "s1") for each in memory.hierarchy.statements_of_step("t", step)}
        names |= {each.id for each in memory.hierarchy.statements_of_step("t", "s1")}
        memory.lifecycle.erase(Selector(trajectory="u"))
    with open_memory(folder) as memory:
        if used_before:
            assert any("zanzibarium" in text for text in said(memory))
        erased = memory.lifecycle.erase(Selector(trajectory="t", step="s1"))
        assert erased.proof.found == ()
        assert not any("zanzibarium" in text or "cousin" in text for text in said(memory))
        assert memory.hierarchy.statements_of_step("t", "s1") == []
        assert "The orchestra rehearses on Friday evening." in said(memory)
        memory.flush()
        assert names
        assert files_with(folder, *(name.encode() for name in names)) == []


def test_erasing_the_question_leaves_the_answer_alone(folder: Path) -> None:
    with open_memory(folder) as memory:
        memory.add_many(talk(), trajectory="t")
        said(memory)
        erased = memory.lifecycle.erase(Selector(trajectory="t", step="s0"))
        assert erased.proof.found == ()
        [answer] = memory.hierarchy.statements_of_step("t", "s1")
        assert (answer.text, answer.steps) == ("I lent the zanzibarium to my cousin Quentin.", ("s1",))


def test_a_corrected_step_says_what_is_right_and_a_retired_one_nothing(folder: Path) -> None:
    with open_memory(folder) as memory:
        memory.add_many(talk(), trajectory="t")
        said(memory)
        memory.lifecycle.correct("s3", trajectory="t", text="The orchestra rehearses on Monday morning.")
        memory.lifecycle.retire(Selector(trajectory="t", step="s2"))
        now = said(memory)
    assert "The orchestra rehearses on Monday morning." in now
    assert not [text for text in now if "Friday" in text or "Tromso" in text]


def test_tenants_of_one_folder_have_themes_of_their_own(folder: Path) -> None:
    with open_tenants(folder) as tenants:
        tenants.memory("a").add_many(talk(), trajectory="t")
        tenants.memory("b").add(Step(role="user", content="The cat sleeps on the warm roof."), trajectory="t")
        assert said(tenants.memory("b")) == {"The cat sleeps on the warm roof."}
        assert not [text for text in said(tenants.memory("a")) if "cat" in text]


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

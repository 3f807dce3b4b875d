"""The folder of a memory, which moment is meant, and many texts found at once."""

import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doubles.journaling import MemoryJournal
from stitch.core import Step
from stitch.core.snippets import Moment
from stitch.errors import InputError, JournalError, StoreLockedError
from stitch.lifecycle.as_of import moment_of
from stitch.lifecycle.folder import folder_of, is_url, made_folder, owner_note, restoring_in
from stitch.lifecycle.traces import LEAST_BYTES, PatternMatcher
from stitch.lifecycle.transfer import export_lines

URL = "http://localhost:6333"


def test_the_folder_of_a_memory_on_a_server_is_named_after_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [is_url(text) for text in (URL, "https://x", "httpx", "trip.memory")] == [True, True, False, False]
    assert folder_of("trip.memory", journal="other", collection="c") == Path("trip.memory")
    assert folder_of(URL, journal="other", collection="c") == Path("other")
    own = Path("stitch") / hashlib.sha256(f"{URL}\nc".encode()).hexdigest()[:16]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert folder_of(URL, journal=None, collection="c") == tmp_path / own
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder_of(URL, journal=None, collection="c") == tmp_path / ".local" / "share" / own
    folder = Path("a/m")
    assert (owner_note(URL, folder), owner_note("a/m", folder)) == (
        Path("a/m/owner.json"),
        Path("a/m/store/owner.json"),
    )
    assert restoring_in(folder) == Path("a/m.restoring").absolute()


def test_after_an_error_nothing_is_left_of_a_folder_that_was_made(tmp_path: Path) -> None:
    def fail(folder: Path, error: Exception) -> None:
        with made_folder(folder):
            (folder / "file").touch()
            raise error

    def there() -> list[str]:
        return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))

    (tmp_path / "old").mkdir()
    for folder in ("new/deep/m", "old/m", "m"):
        with pytest.raises(ZeroDivisionError):
            fail(tmp_path / folder, ZeroDivisionError())
    assert there() == ["old"]
    with pytest.raises(ZeroDivisionError):
        fail(tmp_path / "old", ZeroDivisionError())
    assert there() == ["old", "old/file"], "what was there before stays"
    with pytest.raises(StoreLockedError):
        fail(tmp_path / "locked", StoreLockedError("another process uses it"))
    assert there() == ["locked", "locked/file", "old", "old/file"]
    with made_folder(tmp_path / "fine" / "m"):
        pass
    assert (tmp_path / "fine" / "m").stat().st_mode & 0o777 == 0o700
    with pytest.raises(JournalError) as caught, made_folder(tmp_path / "old" / "file" / "m"):
        pass
    assert caught.value.message == f"cannot make the folder {str(tmp_path / 'old/file/m')!r}: not a directory"
    assert caught.value.hint == "name another folder"
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "journal.sqlite").symlink_to(tmp_path / "old" / "file")
    with pytest.raises(InputError), made_folder(tmp_path / "linked"):
        pass
    assert (tmp_path / "linked").exists()


NOON_S = 1_772_366_400.0  # 2026-03-01T12:00Z


@pytest.fixture
def journal() -> MemoryJournal:
    made = MemoryJournal()
    for trajectory in ("trip", "work"):
        steps = [Step(id=name, role="user", content="Hello") for name in ("a", "b")]
        made.append_many(steps, tenant="ann", trajectory=trajectory, recorded=NOON_S)
    return made


def test_a_moment_is_named_by_seconds_by_a_time_or_by_a_step(journal: MemoryJournal) -> None:
    times = (NOON_S, int(NOON_S), "1772366400", " 1772366400.0 ", "2026-03-01T12:00", "2026-03-01T13:00+01:00")
    assert {moment_of(journal, as_of, tenant="ann", trajectory=None) for as_of in times} == {Moment(NOON_S)}
    assert moment_of(journal, "b", tenant="ann", trajectory="trip") == Moment(NOON_S, "trip", 1)
    for trajectory, tenant in ((None, "ann"), ("trip", "bob")):
        with pytest.raises(InputError, match="'b' is no time, and no step of the trajectory"):
            moment_of(journal, "b", tenant=tenant, trajectory=trajectory)


def test_who_exports_a_trajectory_that_is_not_there_is_told_which_are(journal: MemoryJournal) -> None:
    with pytest.raises(InputError, match="no trajectory 'trop' in this memory") as caught:
        list(export_lines(journal, tenant="ann", trajectory="trop"))
    assert [name in str(caught.value.hint) for name in ("trip", "work", "there are")] == [True] * 3


@pytest.mark.parametrize("odd", [float("nan"), True, [1], {}, b"2026"])
def test_what_is_no_time_is_refused_and_not_taken_for_the_beginning(journal: MemoryJournal, odd: Any) -> None:
    with pytest.raises(InputError, match="is no time"):
        moment_of(journal, odd, tenant="ann", trajectory=None)


def _noise(chance: random.Random, size: int) -> bytearray:
    return bytearray(np.random.default_rng(chance.randrange(1 << 30)).integers(0, 256, size, dtype=np.uint8).tobytes())


def _texts(chance: random.Random, count: int, *, longest: int = 60) -> list[bytes]:
    letters = b"abcdefghij klmnop0123-"
    return [bytes(chance.choices(letters, k=chance.randint(LEAST_BYTES, longest))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_what_a_plain_search_finds(seed: int) -> None:
    chance = random.Random(seed)
    planted, others = _texts(chance, 60), _texts(chance, 60)
    data = _noise(chance, 300_000)
    for at, text in zip(range(1_000, 300_000, 4_700), planted, strict=False):  # at every distance from a multiple of 8
        at += chance.randrange(16)
        data[at : at + len(text)] = text.upper() if chance.random() < 0.5 else text
    found = PatternMatcher([*planted, *others]).found_in(bytes(data))
    folded = bytes(data).lower()
    assert found == {text for text in (*planted, *others) if text in folded}
    assert set(planted) <= found

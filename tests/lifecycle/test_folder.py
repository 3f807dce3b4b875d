"""The folder of a memory: its names, what is refused, and what is taken away again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from stitch.errors import InputError, JournalError, StoreLockedError
from stitch.lifecycle.folder import folder_of, is_url, made_folder, owner_note, restoring_in, store_folder

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
    assert store_folder(URL, folder, collection="a/b c") == Path("a/m/collections/a%2Fb%20c")
    assert store_folder("a/m", folder, collection="a/b c") == folder
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

"""The folder of a memory: its names, what is refused, and what is taken away again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from stitch.core import SnippetStore, Step
from stitch.errors import InputError, JournalError, StoreError, StoreLockedError
from stitch.journal import Entry, Journal
from stitch.lifecycle.folder import (
    check_restored,
    check_there,
    check_whole,
    folder_of,
    is_url,
    journal_id,
    made_folder,
    owner_note,
    remove_abandoned,
    restoring_in,
    store_folder,
    working_folder,
)
from stitch.testing.journaling import DictJournal
from stitch.testing.storing import ListStore

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


def test_a_journal_has_one_id_that_stays_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    own = journal_id(tmp_path)
    assert journal_id(tmp_path) == own
    (tmp_path / "other").mkdir()
    assert journal_id(tmp_path / "other") != own
    (tmp_path / "journal.id").write_text("mine")
    with pytest.raises(JournalError, match=r"journal.id', cannot be used: it is damaged") as caught:
        journal_id(tmp_path)
    assert "stitch reindex --adopt --dry-run" in caught.value.hint


def test_a_memory_that_is_not_there_is_refused_with_what_makes_one(tmp_path: Path) -> None:
    folder = tmp_path / "m"

    def refused() -> tuple[str, str]:
        with pytest.raises(InputError) as caught:
            check_there("m", folder)
        return caught.value.message, caught.value.hint

    (folder / "journal.sqlite").mkdir(parents=True)
    assert refused() == ("no memory at 'm'", "`stitch ingest FILE --memory m` makes one")
    restoring_in(folder).mkdir()
    assert refused() == ("no memory at 'm': restoring it was interrupted", "repeat `stitch restore BACKUP --memory m`")
    (folder / "journal.sqlite").rmdir()
    (folder / "journal.sqlite").touch()
    check_there("m", folder)


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


def test_a_working_folder_is_removed_and_so_is_one_of_a_process_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "exporting-dead").mkdir()
    (tmp_path / "exporting-dead" / "copy").touch()
    (tmp_path / "kept").mkdir()
    with working_folder(tmp_path) as made:
        assert sorted(tmp_path.iterdir()) == sorted([made, tmp_path / "kept"])
        (made / "copy").touch()
        remove_abandoned(tmp_path)
        assert (made / "copy").exists(), "somebody is at it"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_collection_that_does_not_hold_a_memory_is_refused(tmp_path: Path) -> None:
    journal: Journal = DictJournal()
    store: SnippetStore = ListStore()

    def said(location: str) -> str:
        try:
            check_whole(location, collection="c", journal=journal, store=store)
        except StoreError as error:
            return f"{error.message}; {error.hint}"
        return ""

    assert (said(URL), said("m")) == ("", "")
    (one,) = journal.append_many([Step(role="user", content="x")], tenant="a", trajectory="t", recorded=1.0)
    assert said(URL) == ""
    assert isinstance(one, Entry)
    journal.record_stored([one.seq])
    empty = (
        f"the collection 'c' of {URL!r} holds nothing of this memory; "
        f"stitch reindex --memory {URL} fills it; other collections serve"
    )
    assert (said(URL), said("m")) == (empty, "")
    check_restored(URL, tmp_path)
    (tmp_path / "unfinished").touch()
    check_restored("m", tmp_path)
    with pytest.raises(StoreError) as caught:
        check_restored(URL, tmp_path)
    assert caught.value.message == f"the memory {URL!r} is not wholly restored"
    assert caught.value.hint == f"stitch reindex --memory {URL} finishes it"


def test_of_several_urls_the_first_names_the_memory() -> None:
    several = f"{URL}, http://other:6333"
    assert folder_of(several, journal=None, collection="c") == folder_of(URL, journal=None, collection="c")

"""The files of a memory are its user's alone, and no link in a stranger's folder or backup leads out of it."""

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch import Step, open_memory
from stitch.cli.main import cli
from stitch.errors import InputError, JournalError
from stitch.journal.tables import checksum
from stitch.maintenance import backup_memory, export_memory, reindex_memory, restore_memory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m", recall_log=3) as memory:
        memory.add(Step(id="a", role="user", content="Let's plan day 1."), trajectory="t")
        memory.search("day 1")
    return tmp_path / "m"


def too_open(folder: Path) -> list[str]:
    """All in a folder, and itself, that others may read or enter."""
    there = [folder, *folder.rglob("*")]
    return [str(path) for path in there if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def test_what_is_written_is_the_users_alone(folder: Path, tmp_path: Path) -> None:
    mask = os.umask(0o000)
    try:
        with open_memory(tmp_path / "new" / "m", recall_log=3) as memory:
            memory.add(Step(id="a", role="user", content="Let's plan day 1."), trajectory="t")
            memory.search("day 1")
            memory.lifecycle.backup(tmp_path / "b")
        restore_memory(tmp_path / "b", memory=tmp_path / "r")
    finally:
        os.umask(mask)
    for made in (tmp_path / "new" / "m", tmp_path / "b", tmp_path / "r"):
        assert too_open(made) == []


def test_what_commands_write_of_a_memory_is_the_users_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("- Stop: Harbor Inn\n")
    memory = ["--memory", str(folder)]
    commands: list[list[str]] = [
        ["export", "--out"], ["label", "export", "--model", "ann", "--out"], ["tree", "export", "plan", "--out"]
    ]  # fmt: skip
    made = CliRunner().invoke(cli, ["tree", "create", "plan", str(tmp_path / "plan.md"), *memory])
    assert made.exit_code == 0, made.output
    mask = os.umask(0o000)
    try:
        for number, command in enumerate(commands):
            (tmp_path / f"out{number}.partial").symlink_to(tmp_path / "plan.md")
            done = CliRunner().invoke(cli, [*command, str(tmp_path / f"out{number}"), *memory])
            assert done.exit_code == 0, done.output
            assert stat.S_IMODE((tmp_path / f"out{number}").stat().st_mode) == 0o600
            assert CliRunner().invoke(cli, [*command, os.devnull, *memory]).exit_code == 0
            assert not Path(os.devnull).is_file()
    finally:
        os.umask(mask)
    assert not list(tmp_path.glob(".*"))
    assert (tmp_path / "plan.md").read_text() == "- Stop: Harbor Inn\n"


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize(("mode", "then"), [(0o777, 0o755), (0o1777, 0o1755), (0o770, 0o750), (0o755, 0o755)])
def test_nobody_else_can_put_files_into_the_folder_of_a_memory(folder: Path, mode: int, then: int) -> None:
    folder.chmod(mode)
    with open_memory(folder) as memory:
        assert memory.search("hotel") is not None
        assert stat.S_IMODE(folder.stat().st_mode) == then
    with_link = folder.with_name("link")
    with_link.symlink_to(folder)
    folder.chmod(mode)
    open_memory(with_link).close()
    assert stat.S_IMODE(folder.stat().st_mode) == then


def test_what_an_ingest_writes_down_is_the_users_alone(tmp_path: Path) -> None:
    lines = [{"trajectory": "t", "role": "user", "content": "Let's plan day 1."}, {"role": "user"}]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    mask = os.umask(0o000)
    try:
        made = CliRunner().invoke(cli, ["ingest", str(tmp_path / "s.jsonl"), "--memory", str(tmp_path / "m")])
    finally:
        os.umask(mask)
    assert made.exit_code == 3
    assert {"files.jsonl", "unfinished.json", "rejects.jsonl"} <= {path.name for path in (tmp_path / "m").iterdir()}
    assert too_open(tmp_path / "m") == []


LINKS = [
    "journal.sqlite", "journal.sqlite-wal", "rejects.jsonl", "ledger.jsonl", "recalls.jsonl", "recalls.jsonl.new",
    "store/owner.json", "store/index.bin", "store/index.new", "store/store.json", "store/shard", "reindex", "store",
    "anything", "store/shard/anything",
]  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_a_link_in_a_folder_is_refused_by_name_and_what_it_leads_to_is_untouched(
    folder: Path, tmp_path: Path, name: str
) -> None:
    own = tmp_path / "own"
    if name in ("reindex", "store", "store/shard"):
        own.mkdir()
        (own / "precious").write_text("mine")
    else:
        own.write_text("mine")
    link = folder / name
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(own)
    before = own.read_text() if own.is_file() else [path.read_text() for path in own.iterdir()]
    tries: list[Callable[[], Any]] = [
        lambda: open_memory(folder), lambda: backup_memory(folder, to=tmp_path / "b"),
        lambda: list(export_memory(folder)), lambda: reindex_memory(folder),
    ]  # fmt: skip
    for attempt in tries:
        with pytest.raises(InputError, match=name):
            attempt()
    assert (own.read_text() if own.is_file() else [path.read_text() for path in own.iterdir()]) == before


@pytest.mark.parametrize("name", ["journal.sqlite", "journal.sqlite-wal", "store/sketches.bin", "store/owner.json"])
def test_a_file_with_another_name_elsewhere_is_not_written_through(folder: Path, tmp_path: Path, name: str) -> None:
    own = tmp_path / "own"
    if (folder / name).exists():
        (folder / name).rename(own)
    else:
        own.write_bytes(b"mine")
    os.link(own, folder / name)
    before = own.read_bytes()
    tries: list[Callable[[], Any]] = [
        lambda: open_memory(folder), lambda: backup_memory(folder, to=tmp_path / "b"),
        lambda: list(export_memory(folder)), lambda: reindex_memory(folder),
    ]  # fmt: skip
    for attempt in tries:
        with pytest.raises(InputError, match=name) as refused:
            attempt()
        assert "cp -r" in refused.value.hint
    assert own.read_bytes() == before


@pytest.mark.parametrize("name", ["owner.address", "store/owner.json", "rejects.jsonl", "ledger.jsonl"])
def test_a_pipe_in_a_folder_does_not_stop_what_opens_it(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match="point elsewhere or are no files") as refused:
        open_memory(folder)
    assert name in refused.value.message


@pytest.mark.parametrize("name", ["store/index.bin", "store/sketches.bin", "store/checksums.json", "rejects.jsonl"])
def test_a_file_of_holes_is_refused_before_it_fills_the_memory(folder: Path, name: str) -> None:
    with (folder / name).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="more memory than what it holds") as refused:
        open_memory(folder)
    assert name in refused.value.message
    assert "backup" in refused.value.hint


HOSTILE = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM steps; END",
    "view": "CREATE VIEW v AS SELECT * FROM steps",
    "table": "CREATE TABLE more (x)",
    "virtual table": "CREATE VIRTUAL TABLE v USING fts5(x)",
    "computed column": "ALTER TABLE steps ADD COLUMN x AS (abs(position))",
    "view for a table": "ALTER TABLE purges RENAME TO p2; CREATE VIEW purges AS SELECT * FROM p2",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_journal_or_backup_is_refused_before_anything_of_it_runs(
    folder: Path, tmp_path: Path, what: str
) -> None:
    backup_memory(folder, to=tmp_path / "b")
    for journal in (folder / "journal.sqlite", tmp_path / "b" / "journal.sqlite"):
        with closing(sqlite3.connect(journal)) as db:
            db.executescript(HOSTILE[what])
    manifest = tmp_path / "b" / "manifest.json"
    about = json.loads(manifest.read_text())
    about["files"]["journal.sqlite"] = described(tmp_path / "b" / "journal.sqlite")
    manifest.write_text(json.dumps(about))
    with pytest.raises(JournalError, match="which no memory has"):
        open_memory(folder)
    with pytest.raises(JournalError, match="which no memory has"):
        restore_memory(tmp_path / "b", memory=tmp_path / "r")
    assert not (tmp_path / "r").exists()


ROWS = json.loads((Path(__file__).parent / "rows.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("what", ROWS)
def test_a_backup_with_rows_that_are_none_is_refused_by_their_place_and_leaves_nothing(
    folder: Path, tmp_path: Path, what: str
) -> None:
    backup_memory(folder, to=tmp_path / "b")
    with closing(sqlite3.connect(tmp_path / "b" / "journal.sqlite")) as db, db:
        db.create_function("checksum", 2, checksum)
        assert db.execute(ROWS[what]).rowcount == 1
    manifest = tmp_path / "b" / "manifest.json"
    about = json.loads(manifest.read_text())
    about["files"]["journal.sqlite"] = described(tmp_path / "b" / "journal.sqlite")
    manifest.write_text(json.dumps(about))
    with pytest.raises(JournalError, match=r"(step 1 of|trajectory|tenant) .* is none that a memory writes") as refused:
        restore_memory(tmp_path / "b", memory=tmp_path / "r")
    assert "\n" not in refused.value.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "m"]


def described(path: Path) -> dict[str, Any]:
    import hashlib

    return {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def named_more(about: dict[str, Any], backup: Path) -> None:
    (backup / "follow.json").write_text("{}")
    about["files"]["follow.json"] = described(backup / "follow.json")


MANIFESTS: dict[str, tuple[Callable[[dict[str, Any], Path], object], str]] = {
    "a file that no backup has": (named_more, "'follow.json', which no backup has"),
    "a log of the journal": (
        lambda about, backup: about["files"].update({"journal.sqlite-wal": {}}),
        "'journal.sqlite-wal', which no backup has",
    ),
    "names that are numbers": (
        lambda about, backup: about.update(files=[[5, {}], *about["files"].items()]),
        "its manifest.json cannot be read",
    ),
    "a version beyond measure": (
        lambda about, backup: about.update(schema_version=float("inf")),
        "its manifest.json cannot be read",
    ),
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_manifest_that_no_backup_has_is_refused_and_nothing_is_made(folder: Path, tmp_path: Path, what: str) -> None:
    change, said = MANIFESTS[what]
    backup_memory(folder, to=tmp_path / "b")
    manifest = tmp_path / "b" / "manifest.json"
    about = json.loads(manifest.read_text())
    change(about, tmp_path / "b")
    manifest.write_text(json.dumps(about))
    with pytest.raises(JournalError, match=said):
        restore_memory(tmp_path / "b", memory=tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_a_backup_with_links_is_refused(folder: Path, tmp_path: Path) -> None:
    backup_memory(folder, to=tmp_path / "b")
    (tmp_path / "b" / "ledger.jsonl").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match=r"ledger\.jsonl"):
        restore_memory(tmp_path / "b", memory=tmp_path / "r")
    assert not (tmp_path / "r").exists()

"""What an earlier version made is opened as it was; what a later one made is not touched.

`tests/fixtures/v1.tar.xz` holds a folder, a backup and an export, made by the first version.
"""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from stitch import Memory, open_memory
from stitch.core import StepState
from stitch.errors import StitchError, StoreMismatchError
from stitch.journal.sqlite import VERSION
from stitch.lifecycle.transfer import import_lines
from stitch.maintenance import backup_memory, reindex_memory, restore_memory

FIXTURES = Path(__file__).parents[1] / "fixtures"
TEXTS = [
    "Let's plan day 1. One idea for the hotel is the Olympus Summit.",
    "It costs $80 a night.",
    "How much is breakfast? My password is [redacted:password]",
    "",
    "Now let's turn to day 2.",
    "An old remark about the weather.",
]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    with tarfile.open(FIXTURES / "v1.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def check(memory: Memory) -> None:
    entries = list(memory.steps("trip"))
    assert [entry.step.content for entry in entries] == TEXTS
    assert [entry.state for entry in entries] == [StepState.STORED] * 5 + [StepState.RETIRED]
    assert entries[5].reason == "too: old"
    assert entries[5].retired_at == pytest.approx(1_795_000_000, rel=1e-3)
    assert entries[5].receipt().reason.endswith("+00:00: too: old")
    assert entries[4].labels is not None
    assert entries[4].labels.intent.scope == "the second day"
    assert [revision.step.content for revision in memory.lifecycle.history("b", trajectory="trip")] == [
        "It costs $76.22 a night."
    ]
    assert memory.status().redacted == {"password": 1}
    assert memory.lifecycle.verify().disagreements == ()
    assert "Olympus" in memory.search("Which hotel?").hits[0].snippet.text


def test_a_folder_of_the_first_version_opens_or_says_which_command_brings_it_over(made: Path) -> None:
    refused = None
    try:
        open_memory(made / "v1", tenant="ann").close()
    except StitchError as error:
        refused = error
        reindex_memory(made / "v1")
    assert refused is None or "stitch reindex" in (refused.hint or "")
    with open_memory(made / "v1", tenant="ann") as memory:
        check(memory)
        changes = list(memory._ingestor.journal.changes(tenant="ann"))
        assert {change.kind.value for change in changes} >= {"accepted", "labeled", "corrected", "retired"}
        assert next(change.steps for change in changes if change.kind.value == "accepted") == range(1, 7)
    with open_memory(made / "v1", tenant="bob") as memory:
        assert [entry.step.content for entry in memory.steps("other")] == ["Something of bob's."]


def test_a_backup_of_the_first_version_is_restored(made: Path) -> None:
    assert restore_memory(made / "v1-backup", memory=made / "new").disagreements == 0
    with open_memory(made / "new", tenant="ann") as memory:
        check(memory)


def test_an_export_of_the_first_version_is_imported(made: Path) -> None:
    with open_memory(made / "new", tenant="ann") as memory:
        lines = (made / "v1.jsonl").read_text().splitlines()
        imported = import_lines(memory._ingestor, lines, tenant="ann")
        assert (imported.steps, imported.rejections) == (6, ())
        check(memory)


def test_a_folder_of_a_later_version_is_not_touched(made: Path) -> None:
    folder = made / "v1"
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    for use in (open_memory, reindex_memory, lambda path: backup_memory(path, to=made / "b")):
        with pytest.raises(StoreMismatchError, match=f"schema version {VERSION + 1}"):
            use(folder)
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    assert after == before

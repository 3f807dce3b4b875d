"""What an earlier version made is opened as it was; what a later one made is not touched.

`tests/fixtures/v1.tar.xz`, `v2.tar.xz` and `v6.tar.xz` hold a folder, a backup and an export each, made by these
versions; the folder of the second was left by a process that was killed, that of the last was once the second's.
"""

import io
import lzma
import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from doubles.files import content_of
from stitch import Memory, open_memory
from stitch.core import StepState
from stitch.errors import StitchError, StoreMismatchError
from stitch.journal import VERSION
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


Made = Callable[[str], Path]


@pytest.fixture(params=[1, 2, 6])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in all archives, taken out once: the logs of the engine in them are many zeros."""
    folder = tmp_path_factory.mktemp("archives")
    for file in FIXTURES.glob("v*.tar.xz"):
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(file.read_bytes()))) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11 has it from 3.11.4 on
            archive.extractall(folder)
    return folder


@pytest.fixture
def made(archives: Path, tmp_path: Path) -> Made:
    """What a version made, in a copy of one's own."""

    def copy(name: str) -> Path:
        take = shutil.copytree if (archives / name).is_dir() else shutil.copy
        return Path(take(archives / name, tmp_path / name))

    return copy


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


def test_a_folder_of_an_earlier_version_opens_or_says_what_brings_it_over(made: Made, version: int) -> None:
    folder, refused = made(f"v{version}"), None
    try:
        open_memory(folder, tenant="ann").close()
    except StitchError as error:
        refused = error
        reindex_memory(folder)
    assert refused is None or "stitch reindex" in (refused.hint or "")
    with open_memory(folder, tenant="ann") as memory:
        check(memory)
        changes = list(memory._ingestor.journal.changes(tenant="ann"))
        assert {change.kind.value for change in changes} >= {"accepted", "labeled", "corrected", "retired"}
        accepted = next(change.steps for change in changes if change.kind.value == "accepted")
        assert accepted in (range(1, 7), range(2, 8))
    with open_memory(folder, tenant="bob") as memory:
        assert [entry.step.content for entry in memory.steps("other")] == ["Something of bob's."]


def test_a_backup_of_an_earlier_version_is_restored(made: Made, tmp_path: Path, version: int) -> None:
    assert restore_memory(made(f"v{version}-backup"), memory=tmp_path / "new").disagreements == 0
    with open_memory(tmp_path / "new", tenant="ann") as memory:
        check(memory)


def test_an_export_of_an_earlier_version_is_imported(made: Made, tmp_path: Path, version: int) -> None:
    with open_memory(tmp_path / "new", tenant="ann") as memory:
        lines = made(f"v{version}.jsonl").read_text().splitlines()
        imported = import_lines(memory._ingestor, lines, tenant="ann")
        assert (imported.steps, imported.rejections) == (6, ())
        check(memory)


def test_a_folder_of_a_later_version_is_not_touched(made: Made, tmp_path: Path) -> None:
    folder = made("v6")
    with closing(sqlite3.connect(folder / "journal.sqlite")) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = {path: (content_of(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    for use in (open_memory, reindex_memory, lambda path: backup_memory(path, to=tmp_path / "b")):
        with pytest.raises(StoreMismatchError, match=f"journal version {VERSION + 1}"):
            use(folder)
    after = {path: (content_of(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    assert after == before

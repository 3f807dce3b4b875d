"""A backup is whole whoever writes meanwhile, is of one tenant if asked, and is refused when it is not as it was."""

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from stitch import Step, open_memory, open_tenants
from stitch.errors import JournalError
from stitch.lifecycle.backup import MANIFEST, check_backup
from stitch.lifecycle.selection import Selector
from stitch.maintenance import backup_memory, export_memory, restore_memory

SAID = ["Let's plan day 1. One idea is the Olympus Summit.", "How much is it?", "It is priced at $76.22."]
CANARY = "Quetzalina Archaeopteryx lives at the Halcyon Observatory"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with open_tenants(tmp_path / "m") as tenants:
        for tenant in ("default", "ann"):
            steps = [Step(role="user", content=f"{text} ({tenant})") for text in SAID]
            tenants.memory(tenant).add_many(steps, trajectory="t")
        tenants.memory("ann").add(Step(role="user", content=CANARY), trajectory="canary")
    return tmp_path / "m"


def contents(folder: Path, tenant: str = "default") -> Any:
    with open_memory(folder, tenant=tenant) as memory:
        hits = memory.search("What did breakfast cost?", k=9).hits
        return (
            list(memory.lifecycle.export()),
            [(hit.snippet, hit.density) for hit in hits],
            memory.inventory(),
            memory.lifecycle.verify(),
        )


def with_rows(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.mark.parametrize("is_open", [False, True])
def test_a_restored_memory_is_the_one_that_was_backed_up(folder: Path, tmp_path: Path, is_open: bool) -> None:
    before = {tenant: contents(folder, tenant) for tenant in ("default", "ann")}
    if is_open:
        with open_tenants(folder) as tenants:
            made = tenants.backup(tmp_path / "b")
    else:
        made = backup_memory(folder, to=tmp_path / "b")
    assert made[:3] == (tmp_path / "b", 2, 7)
    restored = restore_memory(tmp_path / "b", memory=tmp_path / "r")
    assert restored == (tmp_path / "r", 2, 7, 7, 0)
    assert {tenant: contents(tmp_path / "r", tenant) for tenant in ("default", "ann")} == before
    assert not list(tmp_path.glob("*.partial"))
    assert not list(tmp_path.glob("*.restoring"))


def test_a_backup_of_one_tenant_has_no_byte_of_another(folder: Path, tmp_path: Path) -> None:
    (folder / "trace.jsonl").write_text(
        "".join(json.dumps({"tenant": name, "text": name.upper()}) + "\n" for name in ("ann", "default")) + "no json\n"
    )
    (folder / "rejects.jsonl").write_text(json.dumps({"text": CANARY}) + "\n")
    with open_memory(folder) as memory:
        memory.lifecycle.backup(tmp_path / "mine")
    backup_memory(folder, to=tmp_path / "too", tenant="default")
    for name in ("mine", "too"):
        data = with_rows(tmp_path / name).lower()
        assert b"quetzalina" not in data
        assert b"ann" not in data.replace(b"planning", b"").replace(b"channel", b"")
        assert [path.name for path in check_backup(tmp_path / name)] == ["journal.sqlite", "trace.jsonl"]
        restored = restore_memory(tmp_path / name, memory=tmp_path / f"r-{name}")
        assert restored[1:] == (1, 3, 3, 0)
        assert contents(tmp_path / f"r-{name}") == contents(folder)


def test_of_what_was_erased_no_byte_is_in_a_later_backup(folder: Path, tmp_path: Path) -> None:
    with open_memory(folder, tenant="ann") as memory:
        memory.lifecycle.backup(tmp_path / "before")
        memory.lifecycle.erase(Selector(trajectory="canary"))
        memory.lifecycle.backup(tmp_path / "after")
    backup_memory(folder, to=tmp_path / "whole")
    assert b"quetzalina" in with_rows(tmp_path / "before").lower()
    for name in ("after", "whole"):
        assert b"quetzalina" not in with_rows(tmp_path / name).lower()
        assert b"halcyon" not in with_rows(tmp_path / name).lower()
    assert not any(b"quetzalina" in line.lower().encode() for line in export_memory(folder, tenant="ann"))


def test_adding_goes_on_while_a_backup_is_made(folder: Path, tmp_path: Path) -> None:
    with open_memory(folder) as memory:
        accepted: list[str] = []
        done = threading.Event()

        def add() -> None:
            while not done.is_set():
                accepted.append(memory.add(Step(role="user", content=f"Number {len(accepted)}"), trajectory="n").step)

        thread = threading.Thread(target=add)
        thread.start()
        while len(accepted) < 20:
            pass
        first = list(accepted)
        memory.lifecycle.backup(tmp_path / "b")
        done.set()
        thread.join()
    restored = restore_memory(tmp_path / "b", memory=tmp_path / "r")
    assert restored.disagreements == 0
    with open_memory(tmp_path / "r") as memory:
        there = [entry.id for entry in memory.steps("n")]
    assert there[: len(first)] == first
    assert there == accepted[: len(there)]


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "manifest", "format", "path", "no journal"])
def test_a_damaged_backup_is_refused_and_nothing_is_restored(folder: Path, tmp_path: Path, damage: str) -> None:
    backup = tmp_path / "b"
    backup_memory(folder, to=backup)
    journal, manifest = backup / "journal.sqlite", backup / MANIFEST
    about = json.loads(manifest.read_text())
    if damage == "flip":
        data = bytearray(journal.read_bytes())
        data[5000] ^= 1
        journal.write_bytes(data)
    elif damage == "cut":
        journal.write_bytes(journal.read_bytes()[:-4096])
    elif damage == "gone":
        journal.unlink()
    elif damage == "manifest":
        manifest.write_text(manifest.read_text()[:40])
    elif damage == "format":
        manifest.write_text(json.dumps({**about, "format": "zip"}))
    elif damage == "path":
        (tmp_path / "outside").write_text("x")
        digest = hashlib.sha256(b"x").hexdigest()
        about["files"]["../outside"] = {"bytes": 1, "sha256": digest}
        manifest.write_text(json.dumps(about))
    else:
        manifest.write_text(json.dumps({**about, "files": {}}))
    with pytest.raises(JournalError, match="is damaged"):
        restore_memory(backup, memory=tmp_path / "r")
    assert not (tmp_path / "r").exists()

"""A claim on a folder: one at a time, said in a note, and let go of whatever goes wrong."""

from __future__ import annotations

import errno
import json
import os
import platform
from datetime import datetime, timezone
from pathlib import Path

import pytest

from stitch.errors import StoreError, StoreLockedError
from stitch.store.owner import Ownership, held_here


def test_a_claim_is_noted_and_held_until_it_is_released(tmp_path: Path) -> None:
    note = tmp_path / "owner.json"
    assert not held_here(note)
    before = datetime.now(timezone.utc).replace(microsecond=0)
    claim = Ownership(note, what="the memory")
    about = json.loads(note.read_text())
    assert (about["pid"], about["host"], list(about)) == (os.getpid(), platform.node(), ["pid", "host", "started"])
    assert before <= datetime.fromisoformat(about["started"]) <= datetime.now(timezone.utc)
    assert "." not in about["started"], "seconds are enough"
    assert (held_here(note), note.stat().st_mode & 0o777) == (True, 0o600)
    with pytest.raises(StoreLockedError) as refused:
        Ownership(note, what="the memory")
    whose = f"process {os.getpid()} on {platform.node()} since {about['started']}"
    assert refused.value.message == f"the memory is in use by {whose}"
    assert refused.value.hint == "close it there, or wait until that process has ended"
    note.write_text('{"pid": 7}')
    with pytest.raises(StoreLockedError, match=r"^the memory is in use by another process"):
        Ownership(note, what="the memory")
    claim.release()
    assert (held_here(note), note.read_bytes()) == (False, b"")
    Ownership(note, what="the memory").release()


def test_a_claim_that_fails_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(note: Path) -> tuple[str, str]:
        with pytest.raises(StoreError) as caught:
            Ownership(note, what="the memory")
        return caught.value.message, caught.value.hint

    cannot = "the memory cannot be opened for writing"
    assert refused(tmp_path / "none" / "owner.json") == (f"{cannot}: no such file or directory", "")
    note = tmp_path / "owner.json"

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", full)
        assert refused(note) == (
            f"{cannot}: no space left on device", "free some disk space and run the command again"
        )  # fmt: skip
    assert not held_here(note)
    open_before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    claim = Ownership(note, what="the memory")
    with pytest.raises(StoreLockedError):
        Ownership(note, what="the memory")
    claim.release()
    open_after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert open_after == open_before

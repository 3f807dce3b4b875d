"""The folder of a store: what it was made with, of which layout, and who has it open."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path

from stitch.core.files import make_private, make_private_folder, replace_file
from stitch.core.json_text import read_json
from stitch.errors import StoreError, StoreMismatchError, system_errors
from stitch.store.owner import Ownership

OWNER_NOTE = "owner.json"
LAYOUT = 7
"""The version of the files; those of another are made anew from the journal."""

_log = logging.getLogger(__name__)


class StoreFolder:
    """A folder, claimed for this process until `release`.

    `facts` are what the store is made with; `what` and `location` name store and memory in messages and commands.

    Raises:
        StoreLockedError: Somebody else has it open.
        StoreMismatchError: It was written with another embedder or schema, or by another version; nothing was touched.
        StoreError: The folder cannot be used, or a file is damaged.
    """

    def __init__(
        self,
        path: Path,
        *,
        facts: Mapping[str, str | int],
        what: str,
        location: str,
    ) -> None:
        self.path, self._facts, self._what = path, facts, what
        self.reindex = f"stitch reindex --memory {location}"
        """The command that makes it anew."""
        self._note = path / "store.json"
        if self._note.exists():
            self._is_earlier()
        with system_errors(StoreError, f"{what} cannot be made"):
            make_private_folder(path, parents=True)
        self.owner = Ownership(path / OWNER_NOTE, what=what)

    def is_new(self) -> bool:
        """Whether there is no store yet; what is left of one that is made anew is removed, and a line says so."""
        if not self._note.exists():
            return True
        why = "is of an earlier layout" if self._is_earlier() else ""
        if not why and not any((self.path / "shard" / "segments").glob("*")):
            why = "has lost its points"
        if why:
            _log.warning("%s %s: its store is made anew from the journal", self._what, why)
            self._note.unlink()  # first: whatever interrupts it, what is left is no store
            for path in self.path.iterdir():
                if path.name != OWNER_NOTE:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        return bool(why)

    def is_made(self) -> None:
        """Say what the store was made with, when all of it is there."""
        make_private(self.path)
        replace_file(self._note, json.dumps({**self._facts, "layout": LAYOUT}).encode())

    def _is_earlier(self) -> bool:
        """Whether it is of an earlier layout and is made anew; one that was made with something else is refused."""
        try:
            found = read_json(self._note.read_text())
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            reason = f"does not say what it is: {str(self._note)!r} is damaged"
            raise StoreError(f"{self._what} {reason}", hint=self.reindex)
        layout = found.get("layout", 0)
        if layout > LAYOUT:
            hint = "pip install -U stitch"
            raise StoreMismatchError(f"{self._what} was written by a newer version of stitch", hint=hint)
        for name, wanted in self._facts.items():
            if (made := found.get(name)) != wanted:
                reason = f"was written with {name.replace('_', ' ')} {made!r}, not {wanted!r}"
                raise StoreMismatchError(f"{self._what} {reason}", hint=self.reindex)
        return bool(layout < LAYOUT)

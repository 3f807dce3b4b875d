"""What a store in a folder was made with: written once, compared whenever it is opened."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from stitch.core.files import private
from stitch.core.json_text import read_json
from stitch.errors import StoreError, StoreMismatchError

Facts = Mapping[str, str | int]


def write_facts(file: Path, facts: Facts) -> None:
    """Write what a store was made with; after a loss of power the file is whole, or not there."""
    half_written = file.with_suffix(".new")
    with open(half_written, "w", opener=private) as stream:
        json.dump(dict(facts), stream)
        stream.flush()
        os.fsync(stream.fileno())
    half_written.replace(file)
    if sys.platform != "win32":  # there a folder cannot be synced, and need not be
        folder = os.open(file.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def facts_in(file: Path, *, what: str, hint: str) -> Facts:
    """What `write_facts` wrote.

    Raises:
        StoreError: The file cannot be read.
    """
    try:
        found = read_json(file.read_text())
        if not isinstance(found, dict):
            raise TypeError(found)
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{what} does not say what it was made with: {str(file)!r} is damaged", hint=hint) from error
    return found


def compare_facts(found: Facts, facts: Facts, *, what: str, hint: str) -> None:
    """Compare what a store was made with to what it shall be used with.

    Args:
        found: What `facts_in` gave.
        facts: What is wanted.
        what: The store, for messages.
        hint: How a mismatch is mended.

    Raises:
        StoreMismatchError: They differ; nothing was touched.
        StoreError: Something is not said.
    """
    layout = found.get("layout")
    if isinstance(layout, int) and layout > int(facts.get("layout", layout)):
        raise StoreMismatchError(f"{what} was written by a newer version of stitch", hint="pip install -U stitch")
    for name, wanted in facts.items():
        if name not in found:
            raise StoreError(f"{what} does not say with which {name.replace('_', ' ')} it was made", hint=hint)
        if found[name] != wanted:
            raise StoreMismatchError(
                f"{what} was written with {name.replace('_', ' ')} {found[name]!r}, not {wanted!r}", hint=hint
            )

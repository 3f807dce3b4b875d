"""Files that a path stands for, and their names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from stitch.errors import InputError

SUFFIXES = (".gz", ".jsonl", ".json", ".ndjson", ".jsonlines", ".jl", ".traj", ".txt", ".log", ".csv", ".tsv", ".vtt",
            ".srt", ".mbox", ".eml")  # fmt: skip
"""How the files of a folder end that are read."""
_MEMORY = "journal.sqlite"
"""The file by which a folder is seen to be a memory, or the backup of one: none of its files is input."""


def expand_paths(paths: Iterable[str], *, empty: bool = False) -> list[str]:
    """Return the files that `paths` name: of a folder, the files below it with a known ending, by name.

    Memories and backups below a folder are left out.
    With `empty` a folder may hold no such file.

    Raises:
        InputError: A path does not exist or is a memory, or a folder holds no such file.
    """
    files: list[str] = []
    for path in paths:
        if path == "-" or Path(path).is_file():
            files.append(path)
        elif Path(path).is_dir():
            found = sorted((file for file in _files_below(path) if file.endswith(SUFFIXES)), key=_by_number)
            if not found and not empty:
                raise InputError(f"folder {path!r} holds no file ending in {', '.join(SUFFIXES)}")
            files.extend(found)
        else:
            wrong = f"{path!r} is neither a file nor a folder" if Path(path).exists() else f"no such file: {path!r}"
            raise InputError(wrong, hint="check the path; `-` reads standard input")
    return files


def _by_number(name: str) -> list[Any]:
    """Key by which names are sorted as people number them: 2 before 10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def left_out(paths: Iterable[str]) -> list[str]:
    """The files in folders that `expand_paths` does not take, for their endings are not known."""
    found = (file for path in paths if Path(path).is_dir() for file in _files_below(path))
    return sorted(file for file in found if not file.endswith(SUFFIXES))


def stem_of(name: str) -> str:
    """The name of a file without its endings."""
    stem = Path(name).name if name != "-" else "stdin"
    while stem.endswith(SUFFIXES):
        stem = stem.rsplit(".", 1)[0]
    return stem or "trajectory"


def people_beside(name: str) -> Path | None:
    """The file of an export that says who speaks in its folders, of each of which a file has a day; None of others."""
    path = Path(os.path.abspath(name))
    people = path.parent.parent / "users.json"
    return people if _DAY.fullmatch(path.stem) and people.is_file() else None


_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _files_below(folder: str) -> Iterator[str]:
    """The files below a folder that is no memory, those of memories below it left out.

    Raises:
        InputError: It is a memory itself.
    """
    if (Path(folder) / _MEMORY).exists():
        raise InputError(
            f"folder {folder!r} is a memory, and no input",
            hint="`stitch export` writes its steps, which `stitch import` reads",
        )
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not (Path(parent) / name / _MEMORY).exists()]
        yield from (str(path) for name in files if _is_file(path := Path(parent) / name))


def _is_file(path: Path) -> bool:
    """Whether it is a file, or may not be looked at: who reads it says so, and goes on with the next."""
    try:
        return path.is_file()
    except PermissionError:
        return True

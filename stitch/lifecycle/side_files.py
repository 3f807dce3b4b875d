"""The files beside the journal that tell of steps: what is asked, rejected, spent and read, and how far.

More of them than the memory itself writes may lie there, such as a trace: each is read as lines of JSON, or as one
object of a tenant's positions, and what tells of erased steps is taken out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from stitch.core.files import private
from stitch.errors import JournalError
from stitch.lifecycle.erased_words import split_names, strings
from stitch.lifecycle.traces import Needles, words_in
from stitch.sources.naming import FILES_FILE
from stitch.sources.positions import FOLLOWED_FILE, UNFINISHED_FILE
from stitch.text.words import word_set

_COSTS = "prompt_tokens"
"""What only a line of the ledger has."""
_OF_OURS = word_set(
    "event made_by mode decided_by rule key state model stage reason parts file source tenant trajectory"
)
"""Fields with words that no step said, and names that are compared whole."""
_NEW, _KEPT = ".new", ".kept"


class Gone(NamedTuple):
    """What is erased, as far as the files beside the journal may tell of it."""

    tenant: str
    steps: frozenset[tuple[str, str]] = frozenset()
    """Trajectory and id of each."""
    traces: frozenset[bytes] = frozenset()
    """Ids, and fragments of their texts."""
    words: frozenset[str] = frozenset()
    """All that they say, word by word; other steps may say some of them too."""
    trajectories: frozenset[str] = frozenset()
    """Of which nothing is left."""
    tenant_too: bool = False
    """Whether nothing is left of the tenant."""


class _Entry(NamedTuple):
    """A line of a file, or the position of a source under its path."""

    file: Path
    path: str
    value: Any
    raw: bytes


def remove_mentions(folder: Path, gone: Gone, *, said_by_others: Callable[[set[str]], set[str]]) -> None:
    """Take out of the files beside the journal what tells of erased steps.

    What names another tenant stays as it is. What a call of a model cost stays, without the names of what is gone. A
    source whose position is taken out is read from its beginning when it is given again: its steps are known.
    `said_by_others` tells which of some words steps say that remain.

    Raises:
        JournalError: A file cannot be read or written.
    """
    finish_rewriting(folder)
    if not gone.steps and not gone.traces and not gone.tenant_too:
        return
    files = {path: list(entries) for path, entries in _read(folder, gone.tenant)}
    judge = _Judge(
        gone,
        only=_words_told(chain(*files.values()), gone, said_by_others),
        quoted=Needles(gone.traces).found_in(b"\n".join(each.raw for each in chain(*files.values()))),
        files=_paths_of(folder, gone),
    )
    for path, entries in files.items():
        kept = [(entry, left) for entry in entries if (left := judge.left_of(entry)) is not None]
        if [left for _, left in kept] != [entry.raw for entry in entries]:
            _keep(path, kept, tenant=gone.tenant)


def _keep(path: Path, kept: Sequence[tuple[_Entry, bytes]], *, tenant: str) -> None:
    if path.suffix == ".jsonl":
        rewrite(path, b"".join(left for _, left in kept))
        return
    positions = orjson.loads(path.read_bytes())
    positions[tenant] = {entry.path: entry.value for entry, _ in kept}
    rewrite(path, orjson.dumps({name: own for name, own in positions.items() if own}))


def words_left(folder: Path, gone: Gone, *, said_by_others: Callable[[set[str]], set[str]]) -> frozenset[str]:
    """The words of what is erased that files beside the journal still tell, and no step that remains says."""
    return _words_told(chain(*(entries for _, entries in _read(folder, gone.tenant))), gone, said_by_others)


def _read(folder: Path, tenant: str) -> Iterator[tuple[Path, Iterator[_Entry]]]:
    """The lines of each file, and a tenant's positions."""
    for path in sorted(folder.glob("*.jsonl")):
        try:
            lines = path.read_bytes().splitlines(keepends=True)
        except OSError as error:  # such as a folder or a socket of that name: what it holds cannot be told
            reason = (error.strerror or str(error)).lower()
            raise JournalError(
                f"{str(path)!r} cannot be read: {reason}", hint="move it out of the folder of the memory"
            ) from error
        yield path, (_Entry(path, "", _parsed(line), line) for line in lines)
    for path in (folder / FOLLOWED_FILE, folder / UNFINISHED_FILE):
        found = _parsed(path.read_bytes()) if path.is_file() else None
        if isinstance(found, dict):
            own = found.get(tenant) or {}
            yield path, (_Entry(path, name, position, orjson.dumps(position)) for name, position in own.items())


def _words_told(
    entries: Iterator[_Entry], gone: Gone, said_by_others: Callable[[set[str]], set[str]]
) -> frozenset[str]:
    texts = (text for each in entries if _may_be_of(each.value, gone.tenant) for text in _told(each))
    told = words_in(texts) & gone.words
    return frozenset(told - said_by_others(told) if told else ())


class _Judge:
    """Tells what speaks of something erased.

    `only` are the words that only erased steps say, `quoted` the traces that stand in any file, `files` the paths that
    were trajectories of which nothing is left.
    """

    def __init__(self, gone: Gone, *, only: frozenset[str], quoted: set[bytes], files: frozenset[str]) -> None:
        self._gone, self._only, self._quoted, self._files = gone, only, quoted, files

    def _quotes(self, raw: bytes) -> bool:
        folded = raw.lower() if self._quoted else raw
        return any(map(folded.__contains__, self._quoted))

    def left_of(self, entry: _Entry) -> bytes | None:
        """What stays of an entry: all of it, what a call cost, or nothing."""
        gone, value, raw = self._gone, entry.value, entry.raw
        if not _may_be_of(value, gone.tenant):
            return raw
        if isinstance(value, dict) and _COSTS in value:
            kept = _without_names(raw, value, gone)
            return None if self._quotes(kept) else kept
        whole = gone.tenant_too and (entry.path or (isinstance(value, dict) and value.get("tenant") == gone.tenant))
        if whole or self._is_file(entry.path) or self._names(value) or self._quotes(raw):
            return None
        return raw if self._only.isdisjoint(split_names("\n".join(_told(entry)))) else None

    def _is_file(self, path: str) -> bool:
        """Whether a path, as somebody wrote it, is that of an erased trajectory."""
        return bool(path) and any(path == each or each.endswith(os.sep + path) for each in self._files)

    def _names(self, value: Any) -> bool:
        """Whether steps, trajectories or files that are gone are named."""
        if isinstance(value, list):
            return any(map(self._names, value))
        if not isinstance(value, dict):
            return isinstance(value, str) and value in self._gone.trajectories
        ids = value["steps"] if isinstance(value.get("steps"), list) else [value.get("step")]
        if any((value.get("trajectory"), step) in self._gone.steps for step in ids if isinstance(step, str)):
            return True
        source, reason = (each if isinstance(each := value.get(name), str) else "" for name in ("source", "reason"))
        if self._is_file(source) or (reason and any(_names_step(reason, *each) for each in self._gone.steps)):
            return True
        return not self._gone.trajectories.isdisjoint(value) or any(map(self._names, value.values()))


def _names_step(reason: str, trajectory: str, step: str) -> bool:
    """Whether a reason speaks of a step, as errors write it."""
    return repr(step) in reason and ("trajectory" not in reason or repr(trajectory) in reason)


def _without_names(line: bytes, charge: dict[str, Any], gone: Gone) -> bytes:
    """What a call cost, without the names of what is gone."""
    names = {"trajectory", "position"}
    if gone.tenant_too and charge.get("tenant") == gone.tenant:
        names.add("tenant")
    elif charge.get("trajectory") not in gone.trajectories:
        return line
    kept = {name: value for name, value in charge.items() if name not in names}
    return json.dumps(kept, separators=(",", ":")).encode() + b"\n"


def _paths_of(folder: Path, gone: Gone) -> frozenset[str]:
    """The paths of the files whose steps went to trajectories of which nothing is left."""
    path = folder / FILES_FILE
    lines = map(_parsed, path.read_bytes().splitlines() if path.is_file() else ())
    return frozenset(
        str(line["file"])
        for line in lines
        if isinstance(line, dict)
        and line.get("tenant") == gone.tenant
        and "file" in line
        and (gone.tenant_too or line.get("trajectory") in gone.trajectories)
    )


def _parsed(line: bytes) -> Any:
    """A line as JSON; as its text, if it is none."""
    try:
        return orjson.loads(line)
    except ValueError:
        return line.decode("utf-8", "replace")


def _may_be_of(value: Any, tenant: str) -> bool:
    return not isinstance(value, dict) or value.get("tenant", tenant) == tenant


def _told(entry: _Entry) -> list[str]:
    """The strings of an entry, but for those of our own making."""
    return strings(entry.value) if entry.path else list(_said(entry.value))


def _said(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in _OF_OURS:
                yield from _said(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _said(inner)
    elif isinstance(value, str):
        yield value


# Files of JSON written anew in place, whole or not at all


def rewrite(path: Path, data: bytes) -> None:
    """Let a file hold this and nothing else.

    It stays the same file, for whoever has it open and appends to it, and so its old bytes are overwritten. What it is
    to hold stands complete beside it before that; if it is interrupted, `finish_rewriting` goes on.

    Raises:
        JournalError: It cannot be written; it is as it was, or `finish_rewriting` goes on.
    """
    fresh, kept = (path.with_name(path.name + ending) for ending in (_NEW, _KEPT))
    try:
        with open(fresh, "wb", opener=private) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(kept)
        _overwrite(path, kept)
    except OSError as error:
        raise _unwritten(path, error) from error


def finish_rewriting(folder: Path, *, drafts: bool = False) -> None:
    """Finish what an interrupted `rewrite` has left in a folder, before anybody appends to its files.

    Whoever opens the folder also removes `drafts`, which never took the place of a file.

    Raises:
        JournalError: A file cannot be written.
    """
    for fresh in folder.glob(f"*.json*{_NEW}") if drafts else ():
        fresh.unlink(missing_ok=True)
    for kept in sorted(folder.glob(f"*.json*{_KEPT}")):
        path = kept.with_name(kept.name.removesuffix(_KEPT))
        try:
            if path.exists():
                _overwrite(path, kept)
            else:  # somebody has moved it away
                kept.replace(path)
        except OSError as error:
            raise _unwritten(path, error) from error


def _overwrite(path: Path, kept: Path) -> None:
    data = kept.read_bytes()
    with open(path, "r+b", opener=private) as file:
        file.write(data)
        file.flush()
        os.ftruncate(file.fileno(), len(data))
        os.fsync(file.fileno())
    kept.unlink()


def _unwritten(path: Path, error: OSError) -> JournalError:
    return JournalError(f"{str(path)!r} cannot be rewritten: {(error.strerror or str(error)).lower()}")

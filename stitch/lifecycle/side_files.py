"""The files beside the journal that tell of steps: what is asked, rejected, spent and read, and how far.

More of them than the memory itself writes may lie there, such as a trace: each is read as lines of JSON, or as one
object of a tenant's positions, and what tells of erased steps is overwritten with blanks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from stitch.core.files import private
from stitch.errors import JournalError, system_errors
from stitch.lifecycle.erased_words import split_names
from stitch.lifecycle.traces import PatternMatcher, words_in
from stitch.sources.naming import FILES_FILE
from stitch.sources.positions import FOLLOWED_FILE, UNFINISHED_FILE
from stitch.text.words import word_set

_COSTS = "prompt_tokens"
"""What only a line of the ledger has."""
_OF_OURS = word_set(
    "event made_by mode decided_by rule key state model stage reason parts file source tenant trajectory"
)
"""Fields with words that no step said, and names that are compared whole."""


class ErasureTarget(NamedTuple):
    """Targets of an erasure, as far as the files beside the journal may tell of them."""

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
    said_by_others: Callable[[set[str]], set[str]] = set
    """Those of some words that steps say which remain."""


class _Entry(NamedTuple):
    """A line of a file, or the position of a source."""

    value: Any
    raw: bytes

    def may_be_of(self, tenant: str) -> bool:
        return not isinstance(self.value, dict) or self.value.get("tenant", tenant) == tenant


def remove_mentions(folder: Path, gone: ErasureTarget) -> None:
    """Take out of the files beside the journal what tells of erased steps.

    What names another tenant stays as it is. What a call of a model cost stays, without the names of what is gone. A
    source whose position is taken out is read from its beginning when it is given again: its steps are known.

    Raises:
        JournalError: A file cannot be read or written.
    """
    lines, positions = dict(_lines_in(folder)), dict(_positions_in(folder, gone.tenant))
    entries = list(chain(*lines.values(), *positions.values()))
    judge = _Judge(
        gone,
        only=_words_told(entries, gone),
        quoted=PatternMatcher(gone.traces).found_in(b"\n".join(each.raw for each in entries)),
        files=_files_of(lines.get(folder / FILES_FILE, ()), gone),
    )
    for path, own in lines.items():
        _overwrite(path, [(each.raw, judge.left_of(each)) for each in own])
    for path, own in positions.items():
        kept = {each.value["source"]: each.value["position"] for each in own if judge.left_of(each)}
        if len(kept) < len(own):
            raw = path.read_bytes()
            left = {**orjson.loads(raw), gone.tenant: kept}
            _overwrite(path, [(raw, orjson.dumps({name: each for name, each in left.items() if each}))])


def words_left(folder: Path, gone: ErasureTarget) -> frozenset[str]:
    """The words of what is erased that files beside the journal still tell, and no step that remains says."""
    files = chain(_lines_in(folder), _positions_in(folder, gone.tenant))
    return _words_told(chain(*(entries for _, entries in files)), gone)


def _lines_in(folder: Path) -> Iterator[tuple[Path, list[_Entry]]]:
    for path in sorted(folder.glob("*.jsonl")):
        with _errors(path, "read", hint="move it out of the folder of the memory"):
            lines = path.read_bytes().splitlines(keepends=True)
        yield path, [_Entry(_parsed(line), line) for line in lines]


def _positions_in(folder: Path, tenant: str) -> Iterator[tuple[Path, list[_Entry]]]:
    for path in (folder / FOLLOWED_FILE, folder / UNFINISHED_FILE):
        found = _parsed(path.read_bytes()) if path.is_file() else None
        own = found.get(tenant) if isinstance(found, dict) else None
        values = [{"tenant": tenant, "source": name, "position": at} for name, at in (own or {}).items()]
        yield path, [_Entry(value, orjson.dumps(value["position"])) for value in values]


def _overwrite(path: Path, lines: list[tuple[bytes, bytes]]) -> None:
    """Overwrite lines in place; what is left of one stands behind blanks, which readers of JSON skip.

    It stays the same file, for whoever has it open and appends to it. An interrupted call is to be repeated.

    Raises:
        JournalError: It cannot be written.
    """
    if all(raw == left for raw, left in lines):
        return
    with _errors(path, "rewritten"), open(path, "r+b", opener=private) as file:
        at = end = 0
        for raw, left in lines:
            if raw != left:
                file.seek(at)
                file.write(left.rjust(len(raw)))
            at += len(raw)
            end = at if left else end
        file.flush()
        if os.fstat(file.fileno()).st_size == at:  # else somebody has appended meanwhile
            os.ftruncate(file.fileno(), end)
        os.fsync(file.fileno())


def _errors(path: Path, done: str, *, hint: str = "") -> AbstractContextManager[None]:
    """Errors of a file, such as a folder or a socket of that name: what it holds cannot be told."""
    return system_errors(JournalError, f"{str(path)!r} cannot be {done}", hint=hint)


def _words_told(entries: Iterable[_Entry], gone: ErasureTarget) -> frozenset[str]:
    told = words_in(text for each in entries if each.may_be_of(gone.tenant) for text in _said(each.value)) & gone.words
    return frozenset(told - gone.said_by_others(told) if told else ())


class _Judge:
    """Tells what speaks of something erased.

    `only` are the words that only erased steps say, `quoted` the traces that stand in any file, `files` the paths that
    were trajectories of which nothing is left.
    """

    def __init__(self, gone: ErasureTarget, *, only: frozenset[str], quoted: set[bytes], files: frozenset[str]) -> None:
        self._gone, self._only, self._quoted, self._files = gone, only, quoted, files

    def left_of(self, entry: _Entry) -> bytes:
        """The rest of an entry after the erasure: all of it, the cost of a call, or nothing."""
        gone, value, raw = self._gone, entry.value, entry.raw
        if not entry.may_be_of(gone.tenant):
            return raw
        if isinstance(value, dict) and _COSTS in value:
            kept = _without_names(raw, value, gone)
            return b"" if self._quotes(kept) else kept
        whole = gone.tenant_too and isinstance(value, dict) and "tenant" in value
        if whole or self._names(value) or self._quotes(raw):
            return b""
        return raw if self._only.isdisjoint(split_names("\n".join(_said(value)))) else b""

    def _quotes(self, raw: bytes) -> bool:
        folded = raw.lower() if self._quoted else raw
        return any(map(folded.__contains__, self._quoted))

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

    def _is_file(self, path: str) -> bool:
        """Whether a path, as somebody wrote it, is that of an erased trajectory."""
        return bool(path) and any(path == each or each.endswith(os.sep + path) for each in self._files)


def _names_step(reason: str, trajectory: str, step: str) -> bool:
    """Whether a reason speaks of a step, as errors write it."""
    return repr(step) in reason and ("trajectory" not in reason or repr(trajectory) in reason)


def _without_names(line: bytes, charge: dict[str, Any], gone: ErasureTarget) -> bytes:
    """The cost of a call, without the names of what is erased."""
    names = {"trajectory", "position"}
    if gone.tenant_too and charge.get("tenant") == gone.tenant:
        names.add("tenant")
    elif charge.get("trajectory") not in gone.trajectories:
        return line
    kept = {name: value for name, value in charge.items() if name not in names}
    return orjson.dumps(kept, option=orjson.OPT_APPEND_NEWLINE)


def _files_of(lines: Iterable[_Entry], gone: ErasureTarget) -> frozenset[str]:
    """The paths of the files whose steps went to trajectories of which nothing is left."""
    return frozenset(
        str(value["file"])
        for value, _ in lines
        if isinstance(value, dict)
        and value.get("tenant") == gone.tenant
        and "file" in value
        and (gone.tenant_too or value.get("trajectory") in gone.trajectories)
    )


def _parsed(line: bytes) -> Any:
    """A line as JSON; as its text, if it is none."""
    try:
        return orjson.loads(line)
    except ValueError:
        return line.decode("utf-8", "replace")


def _said(value: Any) -> Iterator[str]:
    """The strings of a value, but for those of our own making."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in _OF_OURS:
                yield from _said(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _said(inner)
    elif isinstance(value, str):
        yield value

"""The files beside the journal that tell of steps: what is asked, rejected, spent and read, and how far.

More of them than the memory itself writes may lie there, such as a trace: each is read as lines of JSON, or as one
object of a tenant's positions, and what tells of erased steps is taken out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from stitch.errors import JournalError
from stitch.lifecycle.multi_search import Needles
from stitch.lifecycle.rewriting import finish_rewriting, rewrite
from stitch.sources.naming import FILES_FILE
from stitch.sources.positions import FOLLOWED_FILE, UNFINISHED_FILE
from stitch.text.words import word_set, words

_COSTS = "prompt_tokens"
"""What only a line of the ledger has."""
_OF_OURS = word_set(
    "event made_by mode decided_by rule key state model stage reason parts file source tenant trajectory"
)
"""Fields with words that no step said, and names that are compared whole."""


class Gone(NamedTuple):
    """What is erased, as far as the files beside the journal may tell of it."""

    tenant: str
    steps: frozenset[tuple[str, str]]
    """Trajectory and id of each."""
    traces: frozenset[bytes]
    """Ids, and fragments of their texts."""
    words: frozenset[str]
    """All that they say, word by word; other steps may say some of them too."""
    trajectories: frozenset[str]
    """Of which nothing is left."""
    tenant_too: bool
    """Whether nothing is left of the tenant."""


def remove_mentions(folder: Path, gone: Gone, *, said_by_others: Callable[[set[str]], set[str]]) -> int:
    """Take out of the files beside the journal what tells of erased steps; return how many lines and positions.

    What names another tenant stays as it is. What a call of a model cost stays, without the names of what is gone. A
    source whose position is taken out is read from its beginning when it is given again: its steps are known.
    `said_by_others` tells which of some words steps say that remain.

    Raises:
        JournalError: A file cannot be written.
    """
    finish_rewriting(folder)
    if not gone.steps and not gone.traces and not gone.tenant_too:
        return 0
    files = _files(folder)
    only = _words_told(files, gone, said_by_others)
    judge = _Judge(gone, only, _files_of(folder / FILES_FILE, gone))
    return sum(each.clean(judge) for each in files)


def words_left(folder: Path, gone: Gone, *, said_by_others: Callable[[set[str]], set[str]]) -> frozenset[str]:
    """The words of what is erased that files beside the journal still tell, and no step that remains says."""
    return _words_told(_files(folder), gone, said_by_others)


class _Judge:
    """Tells what speaks of something erased.

    `only` are the words that only erased steps say, `files` the paths that were trajectories of which nothing is left.
    """

    def __init__(self, gone: Gone, only: frozenset[str], files: frozenset[str]) -> None:
        self.gone, self._only, self._files = gone, only, files

    @cached_property
    def _needles(self) -> Needles:
        return Needles(self.gone.traces)  # of many steps that takes .1 s, and often no file says anything

    def tells(self, value: Any, *, raw: bytes, texts: Iterable[str]) -> bool:
        """Whether a value speaks of it; `raw` is how it stands in the file, `texts` is what of it may quote steps."""
        if self._names(value) or self.quotes(raw):
            return True
        return any(not self._only.isdisjoint(words(text)) for text in texts)

    def quotes(self, raw: bytes) -> bool:
        """Whether bytes hold an id or a fragment of a text that is gone."""
        return bool(self._needles.found_in(raw.lower()))

    def is_file(self, path: str) -> bool:
        """Whether a path, as somebody wrote it, is that of an erased trajectory."""
        return any(path == each or each.endswith(os.sep + path) for each in self._files)

    def _names(self, value: Any) -> bool:
        """Whether steps, trajectories or files that are gone are named."""
        if isinstance(value, list):
            return any(map(self._names, value))
        if not isinstance(value, dict):
            return isinstance(value, str) and value in self.gone.trajectories
        trajectory, steps, source, reason = map(value.get, ("trajectory", "steps", "source", "reason"))
        ids = steps if isinstance(steps, list) else [value.get("step")]
        if any((trajectory, step) in self.gone.steps for step in ids if isinstance(step, str)):
            return True
        if isinstance(source, str) and self.is_file(source):
            return True
        if isinstance(reason, str) and any(starmap(partial(_names_step, reason), self.gone.steps)):
            return True
        return not self.gone.trajectories.isdisjoint(value) or any(map(self._names, value.values()))


def _names_step(reason: str, trajectory: str, step: str) -> bool:
    """Whether a reason speaks of a step, as errors write it."""
    return repr(step) in reason and ("trajectory" not in reason or repr(trajectory) in reason)


class _Lines:
    """A file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._lines = path.read_bytes().splitlines(keepends=True)
        except OSError as error:  # such as a folder or a socket of that name: what it holds cannot be told
            reason = (error.strerror or str(error)).lower()
            raise JournalError(
                f"{str(path)!r} cannot be read: {reason}", hint="move it out of the folder of the memory"
            ) from error
        self._values = list(map(_parsed, self._lines))

    def words_of(self, tenant: str) -> set[str]:
        """All that the lines of a tenant say."""
        own = (value for value in self._values if _may_be_of(value, tenant))
        return {word for value in own for text in _told(value) for word in words(text)}

    def clean(self, judge: _Judge) -> int:
        """Remove or change the lines that speak of what is gone; return how many."""
        kept = [self._kept(line, value, judge) for line, value in zip(self._lines, self._values, strict=True)]
        changed = sum(line != before for line, before in zip(kept, self._lines, strict=True))
        if changed:
            rewrite(self._path, [line for line in kept if line])
        return changed

    def _kept(self, line: bytes, value: Any, judge: _Judge) -> bytes:
        gone = judge.gone
        if not _may_be_of(value, gone.tenant):
            return line
        if isinstance(value, dict) and _COSTS in value:
            kept = _without_names(line, value, gone)
            return b"" if judge.quotes(kept) else kept
        if gone.tenant_too and isinstance(value, dict) and value.get("tenant") == gone.tenant:
            return b""
        return b"" if judge.tells(value, raw=line, texts=_told(value)) else line


class _Positions:
    """A file of positions: of each tenant by the path of the source."""

    def __init__(self, path: Path) -> None:
        self._path = path
        found = _parsed(path.read_bytes())
        self._all: dict[str, dict[str, Any]] = found if isinstance(found, dict) else {}

    def words_of(self, tenant: str) -> set[str]:
        """All that the positions of a tenant say."""
        own = self._all.get(tenant) or {}
        return {word for position in own.values() for text in strings(position) for word in words(text)}

    def clean(self, judge: _Judge) -> int:
        """Remove the positions that speak of what is gone; return how many."""
        own = self._all.get(judge.gone.tenant) or {}
        fallen = [
            path
            for path, position in own.items()
            if judge.gone.tenant_too
            or judge.is_file(path)
            or judge.tells(position, raw=orjson.dumps(position), texts=strings(position))
        ]
        for path in fallen:
            del own[path]
        if fallen and not own:
            del self._all[judge.gone.tenant]
        if fallen:
            rewrite(self._path, [orjson.dumps(self._all)])
        return len(fallen)


def _files(folder: Path) -> list[_Lines | _Positions]:
    lines = [_Lines(path) for path in sorted(folder.glob("*.jsonl"))]
    return [
        *lines,
        *(_Positions(path) for path in (folder / FOLLOWED_FILE, folder / UNFINISHED_FILE) if path.is_file()),
    ]


def _words_told(
    files: list[_Lines | _Positions], gone: Gone, said_by_others: Callable[[set[str]], set[str]]
) -> frozenset[str]:
    told = set[str]().union(*(each.words_of(gone.tenant) for each in files)) & gone.words
    return frozenset(told - said_by_others(told) if told else ())


def _without_names(line: bytes, charge: dict[str, Any], gone: Gone) -> bytes:
    """What a call cost, without the names of what is gone."""
    names = {"trajectory", "position"}
    if gone.tenant_too and charge.get("tenant") == gone.tenant:
        names.add("tenant")
    elif charge.get("trajectory") not in gone.trajectories:
        return line
    kept = {name: value for name, value in charge.items() if name not in names}
    return json.dumps(kept, separators=(",", ":")).encode() + b"\n"


def _files_of(path: Path, gone: Gone) -> frozenset[str]:
    """The paths of the files whose steps went to trajectories of which nothing is left."""
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


def _told(value: Any) -> Iterator[str]:
    """The strings of a value, but for those of our own making."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in _OF_OURS:
                yield from _told(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _told(inner)
    elif isinstance(value, str):
        yield value


def strings(value: Any) -> list[str]:
    """All strings of a value of JSON, the names of its fields too."""
    if isinstance(value, dict):
        return [text for name, inner in value.items() for text in (name, *strings(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    return [value] if isinstance(value, str) else []

"""What would betray an erased step, and whether any file of a memory still holds it."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable
from urllib.parse import unquote

from stitch.core import snippet_id
from stitch.ingest.ingestor import Ingestor
from stitch.journal.entries import Entry
from stitch.lifecycle.multi_search import LEAST_BYTES, Needles
from stitch.lifecycle.rewriting import finish_rewriting, rewrite

BUILDING = "building-"
"""How a note beside the journal begins that names a collection of a server which does not hold all of a memory yet."""

_FRAGMENT_BYTES = 24
_PIECE_BYTES = 1 << 22
_COSTS = "prompt_tokens"
"""What only a line of the ledger has."""

_ELSEWHERE = (
    "backups, exports, traces and compiled prompts outside this folder",
    "what a provider of a model keeps of its calls",
)
_SERVER = "the disks of the server: its snippets are deleted, and it frees their bytes when it likes"

# What JSON writes otherwise than it is said ends a fragment, so that fragments look alike in every file.
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_NAMES = re.compile(r"[A-Z0-9]\w*(?:[ .,:/-]{1,2}[A-Z0-9]\w*)*")


@runtime_checkable
class PurgeableStore(Protocol):
    """A store whose files this process can rewrite."""

    def purge(self) -> None:
        """Leave no byte of what was deleted in the files."""
        ...


class Proof(NamedTuple):
    """Where traces of erased steps were searched for, and what was found."""

    files: int
    megabytes: float
    traces: int
    """How many fragments of texts, names and ids were searched for, in any case of letters."""
    said_elsewhere: int
    """How many of them other steps of the tenant say too: finding these would show nothing."""
    found: tuple[str, ...]
    """The files in which others were found, each with how many; none if the erasure is complete."""
    not_searched: tuple[str, ...] = ()
    """Where something may be left that this memory cannot search."""


def traces_of(entries: Iterable[Entry], *, tenant: str, names: Iterable[str] = ()) -> set[bytes]:
    """The ids, fragments of texts and names by which erased steps could be known, folded to lower case.

    Of each line of text up to three fragments of 24 bytes; nothing shorter than 8 bytes, which could stand anywhere.
    `names` are those of trajectories of which nothing is left.
    """
    traces = {name.encode().lower() for name in names}
    for entry in entries:
        traces.add(snippet_id(tenant, entry.trajectory, entry.id).encode())
        for text in _texts(entry):
            for name in _NAMES.findall(text):
                traces.add(name.encode().lower())
            for line in _PLAIN.findall(text):
                data = line.strip().encode().lower()
                starts = (0, (len(data) - _FRAGMENT_BYTES) // 2, len(data) - _FRAGMENT_BYTES)
                traces.update(data[max(start, 0) :][:_FRAGMENT_BYTES] for start in starts)
    return {trace for trace in traces if len(trace) >= LEAST_BYTES}


def remove_lines(
    folder: Path, entries: Sequence[Entry], traces: set[bytes], *, tenant: str, whole: Collection[str] = ()
) -> int:
    """Remove the lines that speak of erased steps from the JSON-line files in a memory folder; return how many.

    Those are its rejects and traces. Lines that name another tenant stay as they are; a line that says what a call for
    one of the `whole` trajectories cost stays, without its name.

    Raises:
        JournalError: A file cannot be written.
    """
    finish_rewriting(folder)
    ids = {(entry.trajectory, entry.id) for entry in entries}
    removed = 0
    for path in sorted(folder.glob("*.jsonl")) if ids else ():
        lines = path.read_bytes().splitlines(keepends=True)
        charges = (_without_name(line, whole, tenant) for line in lines)
        kept = [line for line in charges if not _speaks_of(line, ids, traces, tenant)]
        if kept != lines:
            rewrite(path, kept)
        removed += len(lines) - len(kept)
    return removed


def search_files(folder: Path, ingestor: Ingestor, traces: set[bytes], *, tenant: str) -> Proof:
    """Search every file of a memory folder for traces, except for those that remaining steps say too.

    What other tenants say is not searched for either, and not told: not even how much it is.
    """
    innocent = _among(ingestor.journal.said(tenant), traces)
    needles = Needles(traces - innocent - _among(ingestor.journal.said_by_others(tenant), traces))
    found: list[str] = []
    files, size = 0, 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            there, length = _search(path, needles)
        except FileNotFoundError:  # the engine makes and moves files of its log when it likes
            continue
        files, size = files + 1, size + length
        if there:
            found.append(f"{path.relative_to(folder)}: {len(there)} traces")
    elsewhere = list(_ELSEWHERE if isinstance(ingestor.store, PurgeableStore) else (*_ELSEWHERE, _SERVER))
    begun = (unquote(path.name.removeprefix(BUILDING)) for path in sorted(folder.glob(f"{BUILDING}*")))
    elsewhere += [f"the collection {name!r}, whose building was interrupted: finish or drop it" for name in begun]
    return Proof(files, round(size / 1e6, 1), len(traces), len(innocent), tuple(found), tuple(elsewhere))


def _search(path: Path, needles: Needles) -> tuple[set[bytes], int]:
    """Which of the needles stand in a file, and its length in bytes; where nothing was ever written, none do."""
    found: set[bytes] = set()
    buffer = bytearray(_PIECE_BYTES + needles.longest)
    with path.open("rb", buffering=0) as file:
        length, at, kept = os.fstat(file.fileno()).st_size, 0, 0
        while at < length:
            if hasattr(os, "SEEK_DATA"):  # files are made larger than what is in them
                try:
                    begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
                except OSError as error:
                    if error.errno == errno.ENXIO:  # nothing more
                        break
                    raise
                if begin > at:
                    at, kept = begin, 0
            file.seek(at)
            read = file.readinto(memoryview(buffer)[kept:])
            if not read:
                break
            found |= needles.found_in(memoryview(buffer)[: kept + read])
            at, last = at + read, min(kept + read, needles.longest)
            buffer[:last] = buffer[kept + read - last : kept + read]
            kept = last
    return found, length


def _among(texts: Iterable[bytes], traces: set[bytes]) -> set[bytes]:
    needles, said = Needles(traces), set[bytes]()
    for text in texts:
        said |= needles.found_in(text.lower())
    return said


def _without_name(line: bytes, whole: Collection[str], tenant: str) -> bytes:
    try:
        charge = json.loads(line)
    except ValueError:
        return line
    about = isinstance(charge, dict) and _COSTS in charge and charge.get("trajectory") in whole
    if not about or charge.get("tenant", tenant) != tenant:
        return line
    kept = {name: value for name, value in charge.items() if name not in ("trajectory", "position")}
    return json.dumps(kept, separators=(",", ":")).encode() + b"\n"


def _speaks_of(line: bytes, ids: set[tuple[str, str]], traces: set[bytes], tenant: str) -> bool:
    try:
        fields = json.loads(line)
    except ValueError:
        fields = {}
    if not isinstance(fields, dict) or fields.get("tenant", tenant) != tenant:
        return False
    steps = fields.get("steps")
    if isinstance(steps, list) and any((fields.get("trajectory"), step) in ids for step in steps):
        return True
    return bool(Needles(traces).found_in(line.lower()))


def _texts(entry: Entry) -> Iterator[str]:
    step = entry.step
    yield step.content
    yield from _strings([dict(call.arguments) for call in step.tool_calls])
    yield from _strings(dict(step.metadata))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)

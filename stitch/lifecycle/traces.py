"""Traces of erased steps: texts, names and ids by which they could be known, searched for in every file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stitch.core import snippet_id
from stitch.ingest.ingestor import Ingestor
from stitch.journal.entries import Entry
from stitch.lifecycle.erased_words import split_names, strings
from stitch.lifecycle.folder import LM_CACHE_FILE
from stitch.store import QdrantStore

LEAST_BYTES = 8
"""The shortest trace that is searched for among bytes, where a shorter one could stand by chance."""
LEAST_LETTERS = 3
"""The shortest word that what files say is looked through for."""
ENGINE_FOLDER = "shard"

_FRAGMENT_BYTES = 24
_TELLING_BYTES = 20
"""The engine compresses payloads: shorter texts may stand in its files by chance."""
_PIECE_BYTES = 1 << 22
_ZEROS = bytes(2**16)
"""A file is read in pieces of this length; those that are nothing else are passed over."""
_HASH_BITS = 20
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_ELSEWHERE = (
    "backups, exports, traces and compiled prompts outside this folder",
    "what a provider of a model keeps of its calls",
)

# What JSON writes otherwise than it is said ends a fragment, so that fragments look alike in every file.
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_NAMES = re.compile(r"[A-Z0-9]\w*(?:[ .,:/-]{1,2}[A-Z0-9]\w*)*")

OWN_WORDS = """
accepted addressed antecedent arguments asked_by at_length autoincrement begin_bytes block_size_bytes checkpoints
checksum checksums chunkedmmap chunk_size_bytes chunk_size_vectors collection compression conversations corrected
correction cost_usd decided_by decision default_segment_number deleted_threshold dimension distance edge_config embedder
entities entity_type entity_types event_type event_types exchange field_schema
followed hardware_counter history_of immutable outcome
in_context indexed_fields indexing_threshold inexact initial_version inputrejected intent_filter interruptions inventory
labeled_by labelsmerged last_answered_tool last_called last_closed last_role listed_at looked_at made_by mappings
max_segment_size memory_threshold mentions metadata milliseconds min_trust mutable_id_tracker nearness next_row next_seq
numbers on_disk_payload optimizers page_size_bytes payload_index payload_memory payload_storage payload_storage_type
position prevent_unoptimized primary_key projections prompt_tokens quantity quantization_config reasons reclaimed
recognized recorded records_of redactions redactions_of references referents region_size_blocks rejection replacement
reply_tokens request_digest resolved retired_at schema_version scopes_by_hand searched segments session_of similarity
sketches snippets sparse_vectors speakers sqlite_autoindex sqlite_sequence stepsaccepted stepsfailed stepsstored
stitchsn language datatype standing after_setup openings personcreate stepcorrected texts_act storage_type summary
switches tablechanges tablecheckpoints tablecuts tablehistory tablelabels tableprojections tablerecords tableredactions
tablereplies tablestates tablesteps tabletrajectories timestamp together tool_calls tool_name topic_at tracker_journal
trajectories trajectory unfinished vacuum_min_vector_number vector_data vector_storage verbatim versions vocabulary
wal_enabled integer primary key not null create table without rowid unique
"""
"""Words that the files of every memory hold, whatever was said: names of tables, columns, fields, events and states.

To find one of them, or a part of one, among bytes shows nothing.
"""


@dataclass(frozen=True)
class Proof:
    """Traces of erased steps that were searched for in all files of the memory, and those that were found.

    How many files these are, and how large, is not told: they hold other tenants' steps too.
    """

    traces: int
    """Number of fragments of texts, names and ids that were searched for, in any case of letters."""
    said_elsewhere: int
    """Number of those that other steps of the tenant say too: finding these would show nothing."""
    found: tuple[str, ...]
    """The files in which others were found, each with how many; none if the erasure is complete."""
    not_searched: tuple[str, ...] = ()
    """Where something may be left that this memory cannot search."""


def traces_of(entries: Iterable[Entry], *, tenant: str, names: Iterable[str] = ()) -> set[bytes]:
    """The ids, fragments of texts and names of erased steps, folded to lower case.

    `names` are those of trajectories of which nothing is left.
    """
    given = list(entries)
    ids = {snippet_id(tenant, entry.trajectory, entry.id).encode() for entry in given}
    return traces_in(text for entry in given for text in texts_of_step(entry)) | ids | _telling(names)


def traces_in(texts: Iterable[str]) -> set[bytes]:
    """Fragments of texts: of each line up to three of 24 bytes, and its names; nothing shorter than 8 bytes."""
    found = set[str | bytes]()
    for text in texts:
        found.update(_NAMES.findall(text))
        for line in _PLAIN.findall(text):
            data = line.strip().encode()
            starts = (0, (len(data) - _FRAGMENT_BYTES) // 2, len(data) - _FRAGMENT_BYTES)
            found.update(data[max(start, 0) :][:_FRAGMENT_BYTES] for start in starts)
    return _telling(found)


def _telling(traces: Iterable[str | bytes]) -> set[bytes]:
    own = OWN_WORDS.encode()
    folded = {(trace.encode() if isinstance(trace, str) else trace).lower() for trace in traces}
    return {trace for trace in folded if len(trace) >= LEAST_BYTES and trace not in own}


def whole_sentences(texts: Iterable[str]) -> set[bytes]:
    """Fragments of texts that are long enough to be nobody else's."""
    return {each for each in traces_in(texts) if len(each) == _FRAGMENT_BYTES}


def words_in(texts: Iterable[str]) -> set[str]:
    """All words of texts but the shortest."""
    return {word for word in split_names("\n".join(texts)) if len(word) >= LEAST_LETTERS or not word.isascii()}


def words_of(entries: Iterable[Entry]) -> set[str]:
    """All words of steps, their ids among them, but the shortest."""
    return words_in(text for entry in entries for text in (entry.id, *texts_of_step(entry)))


def texts_of_step(entry: Entry) -> Iterator[str]:
    """All that a step says, in any field but its id."""
    step = entry.step
    yield from filter(None, (step.content, step.role, step.tool_name, step.session, step.parent))
    for call in step.tool_calls:
        yield from filter(None, (call.name, call.id, *strings(dict(call.arguments))))
    if isinstance(step.timestamp, str):
        yield step.timestamp
    yield from strings(dict(step.metadata))


class PatternMatcher:
    """Texts of at least `LEAST_BYTES` bytes, in small letters, searched for in bytes in any case of ASCII letters.

    Of each the eight bytes that the fewest of the others have are looked for at every place at once.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        given = set(texts)
        self.longest = max(map(len, given), default=0)
        often = Counter(text[at : at + 8] for text in given for at in range(len(text) - 7))
        self._by_key: dict[int, list[tuple[int, bytes]]] = {}
        for text in given:
            at = min(range(len(text) - 7), key=lambda at: often[text[at : at + 8]])
            self._by_key.setdefault(int.from_bytes(text[at : at + 8], "little"), []).append((at, text))
        self._keys = np.array(sorted(self._by_key), dtype=np.uint64)
        self._table = np.zeros(1 << _HASH_BITS, dtype=bool)
        self._table[_hash(self._keys)] = True

    def found_in(self, data: bytes | bytearray | memoryview) -> set[bytes]:
        """The texts that stand in the data."""
        found = set[bytes]()
        for start in range(0, len(data) if self._by_key else 0, _PIECE_BYTES):
            piece = bytes(data[start : start + _PIECE_BYTES + self.longest]).lower()
            windows: Any = np.ndarray((max(0, len(piece) - 7),), "<u8", piece, strides=(1,))
            places = np.flatnonzero(self._table[_hash(windows)])
            places = places[np.isin(windows[places], self._keys)]
            for place, key in zip(places.tolist(), windows[places].tolist(), strict=True):
                found.update(
                    text for at, text in self._by_key[key] if place >= at and piece.startswith(text, place - at)
                )
        return found

    def found_among(self, texts: Iterable[bytes]) -> set[bytes]:
        """Patterns that stand in any of some texts."""
        found, piece = set[bytes](), bytearray()
        for text in texts:
            piece += text + b"\n"
            if len(piece) >= _PIECE_BYTES:
                found |= self.found_in(piece)
                piece.clear()
        return found | self.found_in(piece)


def _hash(keys: Any) -> Any:
    return ((keys * _FACTOR) >> np.uint64(64 - _HASH_BITS)).astype(np.int64)


def search_files(folder: Path, ingestor: Ingestor, traces: set[bytes], *, tenant: str) -> Proof:
    """Search every file of a memory folder for traces, except for those that remaining steps say too.

    What other tenants say is not searched for either, and not told: not even how much it is.
    """
    sought = PatternMatcher(traces)
    innocent = sought.found_among(ingestor.journal.said(tenant))
    inventory = ingestor.inventory(tenant)
    # Labels were cleaned: what they are called is made of words that others say, and of those that name what is done.
    labels = "\n".join((*(scope.name for scope in inventory.scopes), *inventory.event_types, *inventory.entity_types))
    left = traces - innocent - sought.found_in(labels.encode())
    left -= PatternMatcher(left).found_among(ingestor.journal.said_by_others(tenant))
    matcher, telling = PatternMatcher(left), PatternMatcher(each for each in left if len(each) >= _TELLING_BYTES)
    found: list[str] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            there = _search(path, telling if ENGINE_FOLDER in path.parts else matcher)
        except FileNotFoundError:  # the engine makes and moves files when it likes
            continue
        if there:
            found.append(f"{path.relative_to(folder)}: {len(there)} traces")
    return Proof(len(traces), len(innocent), tuple(found), tuple(_not_searched(folder, ingestor)))


def _not_searched(folder: Path, ingestor: Ingestor) -> Iterator[str]:
    yield from _ELSEWHERE
    if isinstance(ingestor.store, QdrantStore):
        yield from ingestor.store.not_searched
    if ingestor.journal.shared_id is not None:
        yield "PostgreSQL's write-ahead log, replicas and base backups, until they are recycled"
        yield "the recall logs, rejects, ledgers and traces of other processes that use this journal"
    if (folder / LM_CACHE_FILE).is_file():
        yield f"DSPy's cache of replies in {(folder / LM_CACHE_FILE).read_text()}"


def _search(path: Path, matcher: PatternMatcher) -> set[bytes]:
    """The patterns that stand in a file; the engine makes files larger than what is in them, with zeros."""
    found, kept = set[bytes](), b""
    with path.open("rb", buffering=0) as file:
        while read := file.read(len(_ZEROS)):
            piece = kept + read
            if not _ZEROS.startswith(read):
                found |= matcher.found_in(piece)
            kept = piece[-matcher.longest :] if matcher.longest else b""
    return found

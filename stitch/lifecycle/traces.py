"""What would betray an erased step, and whether any file of a memory still holds it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import orjson

from stitch.core import StepLabels, snippet_id
from stitch.core.summaries import is_canonical
from stitch.ingest.ingestor import Ingestor
from stitch.journal import Journal, KeptStep
from stitch.journal.entries import Entry
from stitch.lifecycle.cleaning import NO_SCOPE, given_by_hand, split_names
from stitch.lifecycle.folder import LM_CACHE_FILE
from stitch.lifecycle.multi_search import LEAST_BYTES, Needles
from stitch.lifecycle.own_words import OWN_WORDS
from stitch.lifecycle.side_files import strings
from stitch.lifecycle.unsaid import Unsaid, fold
from stitch.text.languages import signs_in
from stitch.text.words import is_verb, stem, words

LEAST_LETTERS = 3
"""The shortest word that what files say is looked through for."""
_FRAGMENT_BYTES = 24
_PIECE_BYTES = 1 << 22
_ELSEWHERE = (
    "backups, exports, traces and compiled prompts outside this folder",
    "what a provider of a model keeps of its calls",
)

ENGINE_FOLDER = "shard"
_TELLING_BYTES = 20
"""The engine compresses payloads: shorter texts may stand in its files by chance."""

# What JSON writes otherwise than it is said ends a fragment, so that fragments look alike in every file.
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')
_NAMES = re.compile(r"[A-Z0-9]\w*(?:[ .,:/-]{1,2}[A-Z0-9]\w*)*")


@runtime_checkable
class PurgeableStore(Protocol):
    """A store whose files this process can rewrite."""

    path: Path
    """The folder of the store."""

    @property
    def not_searched(self) -> Sequence[str]:
        """Where beside its files something of what was deleted may be left."""

    def purge(self) -> None:
        """Leave no byte of what was deleted in the files."""


class Proof(NamedTuple):
    """What traces of erased steps were searched for in all files of the memory, and what was found.

    How many files these are, and how large, is not told: they hold other tenants' steps too.
    """

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

    Of each line of text up to three fragments of 24 bytes; nothing shorter than 8 bytes, which could stand anywhere
    among bytes: what files say is looked through for shorter words (`words_of`), too. `names` are those of trajectories
    of which nothing is left.
    """
    traces = {name.encode().lower() for name in names}
    for entry in entries:
        traces.add(snippet_id(tenant, entry.trajectory, entry.id).encode())
        traces |= _fragments(_texts(entry))
    return _telling(traces)


def traces_of_labels(entries: Iterable[Entry]) -> set[bytes]:
    """The sentences by which a model's labels tell of erased steps in its own words: canonical summaries and asks."""
    made = [(entry.step.role, entry.labels) for entry in entries if entry.labels is not None]
    sentences = [labels.summary for role, labels in made if is_canonical(labels.summary, role=role)]
    sentences += [each for _, labels in made for each in labels.asks]
    return {each for each in traces_in(sentences) if len(each) == _FRAGMENT_BYTES}


def said_in_labels(journal: Journal, traces: set[bytes], *, tenant: str) -> set[bytes]:
    """Which of some traces the labels of a tenant's steps say."""
    if not traces:
        return set()
    sought = Needles(traces)
    told = (journal.encoded(tenant, each) for each in journal.trajectories(tenant))
    return _among((each.labels.lower() for steps in told for each in steps if each.labels is not None), sought)


def traces_in(texts: Iterable[str]) -> set[bytes]:
    """The same of texts, such as those of an erased tree."""
    return _telling(_fragments(texts))


def _fragments(texts: Iterable[str]) -> set[bytes]:
    found = set[bytes]()
    for text in texts:
        for name in _NAMES.findall(text):
            found.add(name.encode().lower())
        for line in _PLAIN.findall(text):
            data = line.strip().encode().lower()
            starts = (0, (len(data) - _FRAGMENT_BYTES) // 2, len(data) - _FRAGMENT_BYTES)
            found.update(data[max(start, 0) :][:_FRAGMENT_BYTES] for start in starts)
    return found


def _telling(traces: set[bytes]) -> set[bytes]:
    own = OWN_WORDS.encode()
    return {trace for trace in traces if len(trace) >= LEAST_BYTES and trace not in own}


def words_of(entries: Iterable[Entry]) -> set[str]:
    """All words of three letters or more that erased steps say, in any field."""
    return words_in(text for entry in entries for text in (entry.id, *_texts(entry)))


def words_in(texts: Iterable[str]) -> set[str]:
    """The same of texts."""
    return {word for text in texts for word in words(text) if len(word) >= LEAST_LETTERS}


def words_in_labels(journal: Journal, gone: Iterable[Entry], *, tenant: str) -> set[str]:
    """The words of erased steps that labels of their trajectories still have, and no other step there says.

    Plain verbs name what is done: a label may have one, whoever says it. So may labels that a person gave, and kinds
    such as `file` may be called as an id, a session or metadata are: no labeler makes kinds of these.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in gone:
        groups.setdefault(entry.trajectory, []).append(entry)
    found = set[str]()
    for trajectory, entries in groups.items():
        steps = journal.encoded(tenant, trajectory)
        signs = {sign for entry in entries for text in _texts(entry) for sign in signs_in(text)}
        left = _unsaid(words_of(entries) | signs, (each.step for each in steps), cut=_words_in_any_form)
        # To decode all labels would take most of the time of an erasure.
        told = (each.labels for each in (*steps, *journal.encoded_revisions(tenant, trajectory)))
        if left.words and _may_say(left, told):
            unsaid = {word for word in left.words if stem(word) in left.stems}
            labeled = _labeled(left, journal.kept(tenant, trajectory))
            read = {word for entry in entries for text in _read(entry) for word in (*words(text), *signs_in(text))}
            found |= unsaid & (labeled.said | (labeled.kinds & read))
    return found


class _Labeled(NamedTuple):
    """Words of labels."""

    said: set[str]
    """Of what was said, and of names of scopes and targets."""
    kinds: set[str]
    """Of event types and entity types."""


def _labeled(unsaid: Unsaid, steps: Iterable[KeptStep]) -> _Labeled:
    """The words of those labels that may say one that no step says, but for what persons called their steps."""
    said, kinds, by_hand = set[str](), set[str](), set[str]()
    for kept in steps:
        encoded = (*(revision[3] for revision in kept.revisions), kept.labels)
        if _may_say(unsaid, encoded):
            made = [None if each is None else StepLabels.model_validate_json(each) for each in encoded]
            by_hand.update(words("\n".join(given_by_hand(made))))
            for each in (each for each in made if each is not None):
                said.update(_said_words(each))
                kinds.update(_named_words((*each.intent.event_types, *each.intent.entity_types)))
    return _Labeled(said - by_hand, kinds - by_hand)


def _may_say(unsaid: Unsaid, encoded: Iterable[bytes | None]) -> bool:
    return any(unsaid.may_be_in(fold(each.decode())) for each in encoded if each is not None)


def not_said(these: set[str], steps: Iterable[KeptStep]) -> set[str]:
    """Which of some words steps do not say."""
    return _unsaid(these, (kept.step for kept in steps), cut=_words_in).words


def _unsaid(these: set[str], steps: Iterable[bytes], *, cut: Callable[[str], Iterable[str]]) -> Unsaid:
    unsaid = Unsaid(these, cut=cut)
    for step in steps:
        if not unsaid.words:
            break
        unsaid.read(step.decode())
    return unsaid


def _words_in(step: str) -> list[str]:
    """The words of a step, given as JSON."""
    return words("\n".join(strings(orjson.loads(step))))


def _words_in_any_form(step: str) -> Iterator[str]:
    """The words of a step, given as JSON, with the parts of names."""
    yield from _words_in(step)
    yield from split_names("\n".join(strings(orjson.loads(step))))


def _said_words(labels: StepLabels) -> set[str]:
    """Words of labels but for kinds: all of what was said, of scopes and targets those that are no plain verbs."""
    replaced = (reference.replacement for reference in labels.references)
    mentioned = (mention.value for mention in labels.mentions)
    scope = labels.intent.scope if labels.intent.scope != NO_SCOPE else None
    said = words("\n".join((labels.context, labels.summary, *replaced, *mentioned, *labels.asks)))
    return {*said, *_named_words((scope or "", *labels.intent.targets))}


def _named_words(names: Iterable[str]) -> Iterator[str]:
    """The words of names that are no plain verbs."""
    text = " ".join(names)
    return (word for word in (*words(text), *signs_in(text)) if not is_verb(word))


def search_files(folder: Path, ingestor: Ingestor, traces: set[bytes], *, tenant: str) -> Proof:
    """Search every file of a memory folder for traces, except for those that remaining steps say too.

    What other tenants say is not searched for either, and not told: not even how much it is.
    """
    sought = Needles(traces)
    innocent = _among(ingestor.journal.said(tenant), sought)
    inventory = ingestor.inventory(tenant)
    # Labels were cleaned: what they are called is made of words that others say, and of those that name what is done.
    labels = "\n".join((*(scope.name for scope in inventory.scopes), *inventory.event_types, *inventory.entity_types))
    by_others = _among(ingestor.journal.said_by_others(tenant), sought)
    left = traces - innocent - sought.found_in(labels.encode()) - by_others
    needles, telling = Needles(left), Needles(each for each in left if len(each) >= _TELLING_BYTES)
    found: list[str] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            there = _search(path, telling if ENGINE_FOLDER in path.parts else needles)
        except FileNotFoundError:  # the engine makes and moves files of its log when it likes
            continue
        if there:
            found.append(f"{path.relative_to(folder)}: {len(there)} traces")
    elsewhere = ingestor.store.not_searched if isinstance(ingestor.store, PurgeableStore) else ()
    cached = (folder / LM_CACHE_FILE).read_text() if (folder / LM_CACHE_FILE).is_file() else ""
    not_searched = (*_ELSEWHERE, *elsewhere, *([f"DSPy's cache of replies in {cached}"] if cached else []))
    return Proof(len(traces), len(innocent), tuple(found), not_searched)


def _search(path: Path, needles: Needles) -> set[bytes]:
    """Which of the needles stand in a file; where nothing was ever written, none do."""
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
    return found


def _among(texts: Iterable[bytes], needles: Needles) -> set[bytes]:
    return set[bytes]().union(*map(needles.found_in, texts))


def _texts(entry: Entry) -> Iterator[str]:
    step = entry.step
    yield from _read(entry)
    yield from filter(None, (step.session, step.parent))
    yield from (call.id for call in step.tool_calls if call.id)
    if isinstance(step.timestamp, str):
        yield step.timestamp
    yield from _strings(dict(step.metadata))


def _read(entry: Entry) -> Iterator[str]:
    """What labelers read of a step to say of what kinds it is."""
    step = entry.step
    yield step.content
    yield from filter(None, (step.role, step.tool_name))
    yield from (call.name for call in step.tool_calls)
    yield from _strings([dict(call.arguments) for call in step.tool_calls])


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

"""Reads a memory's folder as somebody would who looks for words in it, in every way that may hold text.

It knows nothing of how the memory erases. Files are read as bytes (free pages and logs of databases with them), rows of
databases as values, compressed pieces wherever one begins, blocks of the engine's payload, text of two and four bytes a
letter, and escaped JSON. Text is folded to lower case; a word is what the labeler takes for one, or any part of it.
"""

import bz2
import json
import lzma
import re
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from doubles.files import content_of
from stitch.text.words import singular, stem, words

LEAST_LETTERS = 3
_ANYWHERE_LETTERS = 6
"""From here on a word is also found inside of others: rows of a database stand without anything between them."""
_PART = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_WIDE = ((re.compile(rb"(?:[\x20-\x7e]\x00){3,}"), 2), (re.compile(rb"(?:[\x20-\x7e]\x00\x00\x00){3,}"), 4))
_ZEROS = re.compile(rb"\x00{9,}")
_READABLE = re.compile(r"[^\x00-\x1f\x7f-\x9f\ufffd]{8}")
_NO_ZERO = re.compile(rb"[^\x00]")
_ODD = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


class Text(NamedTuple):
    """A text that stands in a folder."""

    place: str
    """The file, and the column of the row if it is a database."""
    text: str
    """In lower case."""
    chance: bool = False
    """Whether it stands among bytes that are no text, where short words come by chance."""


def texts_in(folder: Path) -> Iterator[Text]:
    """Every text that can be read out of the files of a folder."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        place = _ODD.sub("*", str(path.relative_to(folder)))
        yield Text("name of " + place, str(path.relative_to(folder)).lower())
        data = content_of(path)
        if data[:16] == b"SQLite format 3\x00":
            yield from _rows(path, place)
        if path.parent.name == "payload_storage":
            yield from (Text(place + " (lz4)", text) for block in _lz4_blocks(data) for text in _readings(block))
        for text in _readings(_ZEROS.sub(b"\x00" * 8, data)):
            yield Text(place, text, chance="\ufffd" in text or "\x00" in text)


def _rows(path: Path, place: str) -> Iterator[Text]:
    with tempfile.TemporaryDirectory() as scratch:
        for each in path.parent.glob(path.name + "*"):
            shutil.copy(each, scratch)
        with closing(sqlite3.connect(Path(scratch) / path.name)) as database:
            database.text_factory = bytes
            tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
            for raw, _ in tables:
                table = raw.decode()
                found = database.execute(f'SELECT * FROM "{table}"')
                columns = [column[0] for column in found.description]
                for row in found:
                    for column, value in zip(columns, row, strict=True):
                        if not isinstance(value, bytes):  # a number is no word
                            continue
                        data = value
                        for text in _readings(data):
                            yield Text(f"{place} {table}.{column}", text)


def _readings(data: bytes, depth: int = 0) -> Iterator[str]:
    """The texts that bytes may mean."""
    text = data.decode("utf-8", "replace")
    yield "\n".join(_json_or_text(line) for line in text.splitlines()).lower()
    if "\\u" in text:
        yield _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text).lower()
    for pattern, width in _WIDE:
        yield from (found[0][::width].decode("ascii").lower() for found in pattern.finditer(data))
    if depth < 3:
        for unpacked in _unpacked(data):
            yield from _readings(unpacked, depth + 1)


def _json_or_text(line: str) -> str:
    """A line of JSON without its numbers, which are no words; any other line as it is."""
    if line[:1] not in ("{", "["):
        return line
    try:
        return "\n".join(_strings(json.loads(line)))
    except ValueError:
        return line


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, str):
        yield value


def _unpacked(data: bytes) -> Iterator[bytes]:
    """What compressed pieces hold, wherever in the data they begin."""
    openings: dict[bytes, Callable[[], Any]] = {
        rb"\x1f\x8b\x08": lambda: zlib.decompressobj(31),
        rb"\x78[\x01\x5e\x9c\xda]": zlib.decompressobj,
        rb"BZh[1-9]1AY": bz2.BZ2Decompressor,
        rb"\xfd7zXZ\x00": lzma.LZMADecompressor,
    }
    for opening, decompressor in openings.items():
        for found in re.finditer(opening, data, re.DOTALL):
            try:
                made = decompressor().decompress(data[found.start() :])
            except (zlib.error, OSError, EOFError, lzma.LZMAError):
                continue  # it only looked like one
            if len(made) > 16:
                yield made


def _lz4_blocks(data: bytes) -> Iterator[bytes]:
    """Blocks of the engine's payload: each begins at a multiple of 128 bytes, with its length unpacked."""
    at = 0
    while found := _NO_ZERO.search(data, at):
        start = found.start() // 128 * 128
        length = int.from_bytes(data[start : start + 4], "little")
        if 0 < length < 1 << 24 and (block := _lz4(data[start + 4 : start + 8 + length], length)):
            yield block
        at = start + 128


def _lz4(data: bytes, length: int) -> bytes | None:
    """An lz4 block unpacked, as far as it is one."""
    made, at = bytearray(), 0

    def number(least: int) -> int:
        nonlocal at
        if least == 15:
            while True:
                more = data[at]
                at, least = at + 1, least + more
                if more != 255:
                    break
        return least

    try:
        while len(made) < length:
            token = data[at]
            at += 1
            literals = number(token >> 4)
            made += data[at : at + literals]
            at += literals
            if len(made) >= length:
                break
            back = int.from_bytes(data[at : at + 2], "little")
            at += 2
            count = number(token & 15) + 4
            if not 0 < back <= len(made):
                return None
            for _ in range(min(count, length)):
                made.append(made[-back])
    except IndexError:
        return None
    return bytes(made[:length])


def said_words(text: str) -> set[str]:
    """The words of a text from three letters on: whole, in parts, and in the forms in which a label may have them."""
    whole = _words(text)
    whole |= {word.removesuffix("'s") for word in whole}
    return {form for word in whole for form in (word, singular(word), stem(word)) if len(form) >= LEAST_LETTERS}


def _words(text: str) -> set[str]:
    """Whole words and their parts; of a number like 3.14 the whole alone, for its digits stand anywhere."""
    return set(words(text)) | {part for part in _PART.findall(text.lower()) if not part.isdigit()}


class WordIndex:
    """What stands in texts, for looking words up in it."""

    def __init__(self, texts: Collection[Text]) -> None:
        self._texts = texts
        self._words = [(each, _words(each.text)) for each in texts]

    def places(self, word: str, *, begins_others: bool = False) -> set[str]:
        """Where a word stands: as a whole, and from six letters on also inside of others.

        A short word that begins others is none where the bytes behind it were wiped: it is what is left of another.
        """
        return {
            each.place
            for each, held in self._words
            if (word in held and (_is_sure(word, each) or _is_meant(word, each.text, begins_others=begins_others)))
            or (len(word) >= _ANYWHERE_LETTERS and word in each.text)
        }


def _is_sure(word: str, text: Text) -> bool:
    """Whether a word that stands in a text stands there by no chance; digits do in any piece of an index."""
    if word.isdigit() and text.place.endswith("index.bin"):
        return False
    return not text.chance or len(word) >= _ANYWHERE_LETTERS


def _is_meant(word: str, text: str, *, begins_others: bool) -> bool:
    """Whether a short word stands among bytes as in a text: in eight readable letters, and not as a number of JSON."""
    whole = rf"(?<![^\W_]){re.escape(word)}(?![^\W_])"
    if word.replace(".", "").isdigit():
        whole = rf"(?<![:,\[.])(?<![:,\[] ){whole}|(?<!\.){whole}(?![,\]}}:])"
    if begins_others:
        whole = rf"(?:{whole})(?!\x00)"
    return any(_READABLE.search(text[max(0, at.start() - 7) : at.end() + 7]) for at in re.finditer(whole, text))


def reading_of(folder: Path) -> WordIndex:
    """All that stands in a folder."""
    return WordIndex(list(dict.fromkeys(texts_in(folder))))


def reading_of_steps(steps: Collection[object]) -> WordIndex:
    """All that steps say, in any field."""
    dumped = [json.dumps(step, ensure_ascii=False, default=str) for step in steps]
    return WordIndex([Text("a living step", text.lower()) for text in dumped])

"""Secrets that are named elsewhere: by the head of a table, by the kind of an object, or inside what is encoded."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

from stitch.ingest.secrets.rules import Found
from stitch.ingest.secrets.values import is_password, is_placeholder, is_word_password
from stitch.ingest.secrets.words import SECRET_NAME

_HEAD_CHARS, _ROW_CHARS = 400, 2_000
_MOST_ROWS = 200
_DELIMITERS = "|\t,;"
_HEAD_CELL = re.compile(r"[\w \r.\"'`*#%/-]{0,40}")
_SHORT_NAME = re.compile(r"pass|pw|p/w|mdp|clave|chave", re.IGNORECASE)
_USER = re.compile(
    r"user|login|account|e-?mail|benutzer|konto|usuario|utilisateur|identifiant|compte|utente|gebruiker", re.IGNORECASE
)
_RULED = re.compile(r"[\s|:+-]*")


def find_in_table(text: str, at: int) -> Iterator[Found]:
    """The secrets in the rows under a head in which `at` stands: `| user | password |`, `name,email,password`."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    if end < 0 or end - start > _HEAD_CHARS:
        return
    head = text[start:end]
    delimiter = next((each for each in _DELIMITERS if _is_head(head, each, at - start)), None)
    above = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
    if delimiter is not None and not _is_row(above, delimiter, head.count(delimiter)):
        column, columns = head.count(delimiter, 0, at - start), head.count(delimiter) + 1
        yield from _in_column(text, end + 1, delimiter, column, columns)


def _is_row(line: str, delimiter: str, count: int) -> bool:
    """Whether a line is of the same table, as none above a head is; lines with commas may be sentences."""
    return delimiter in "|\t" and line.count(delimiter) == count


def _in_column(text: str, start: int, delimiter: str, column: int, columns: int) -> Iterator[Found]:
    for _ in range(_MOST_ROWS):
        end = text.find("\n", start)
        row = text[start : end if end >= 0 else len(text)]
        if _RULED.fullmatch(row) is None:
            cells = row.split(delimiter)
            if len(cells) != columns or len(row) > _ROW_CHARS:
                return
            cell = cells[column].strip(" \"'`")
            if _is_secret(cell):
                place = start + sum(len(each) + 1 for each in cells[:column]) + cells[column].index(cell)
                yield Found(place, place + len(cell), "password")
        if end < 0:
            return
        start = end + 1


def _is_head(head: str, delimiter: str, at: int) -> bool:
    cells = head.split(delimiter)
    if len(cells) < 2 or not all(_HEAD_CELL.fullmatch(cell) for cell in cells):
        return False
    name = cells[head.count(delimiter, 0, at)].strip(" \"'`*")
    if _SHORT_NAME.fullmatch(name) is not None:  # beside the column of a user, for `Pass` may say how a test ended
        return _USER.search(head) is not None
    return SECRET_NAME.search(name) is not None and len(name.split()) <= 3


def _is_secret(cell: str) -> bool:
    if len(cell) < 4 or is_placeholder(cell) or " " in cell:
        return False
    return is_password(cell) or (len(cell) >= 6 and is_word_password(cell) and cell.islower())


_INSERT = re.compile(
    r"insert into [^\s()]{1,80}\s?\(([^()]{1,400})\)\s{1,5}values\s{0,5}\(([^()]{1,2000})\)", re.IGNORECASE
)
_SQL_VALUE = re.compile(r"'(?:[^'\n]|'')*'|[^,']+")


def find_in_insert(text: str) -> Iterator[Found]:
    """The secrets that a statement in SQL puts into columns with telling names."""
    for insert in _INSERT.finditer(text):
        columns = [column.strip(' "`[]\n') for column in insert[1].split(",")]
        values = [value for value in _SQL_VALUE.finditer(text, *insert.span(2)) if value.group().strip()]
        for column, value in zip(columns, values, strict=False):
            written = value.group()
            if SECRET_NAME.search(column) and written[0] == "'" and not is_placeholder(written) and len(written) > 4:
                yield Found(value.start() + 1, value.end() - 1, "password")


_OBJECT = re.compile(
    r"(?:^|\n)[ \t]{0,20}(?:- )?(?:data|stringData):[ \t]{0,9}\n((?:[ \t]{1,40}[^\n]{0,4000}(?:\n|$)){1,200})"
)
_ITEM = re.compile(r"(?<![ \t])[ \t]{1,40}[\w.-]{1,80}:[ \t]{1,9}[\"']?([^\s\"'|>][^\s\"']{3,4000})")
_JSON_OBJECT = re.compile(r"\"(?:data|stringData)\"\s?:\s{0,20}\{([^{}]{0,8000})\}")
_JSON_ITEM = re.compile(r"\"[\w.-]{1,80}\"\s?:\s?\"([^\"]{4,4000})\"")


def find_in_object(text: str) -> Iterator[Found]:
    """The values of a Kubernetes object of the kind `Secret`."""
    for group, item in ((_OBJECT, _ITEM), (_JSON_OBJECT, _JSON_ITEM)):
        for block in group.finditer(text):
            for value in item.finditer(text, block.start(1), block.end(1)):
                if not is_placeholder(value[1]) and "***" not in value[1]:
                    yield Found(*value.span(1), "secret")


_ENCODED = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{12,4000}={0,2}(?![A-Za-z0-9+/_-])")
_PAIR = re.compile(r"[\w.@$+-]{1,60}:(?P<secret>[!-~]{3,100})")


def find_encoded(text: str, *, holds_secret: Callable[[str], bool]) -> Iterator[Found]:
    """Words in base64 that are a user and a password, or a text with a secret."""
    for word in _ENCODED.finditer(text):
        decoded = _decoded(word.group())
        if decoded is None:
            continue
        pair = _PAIR.fullmatch(decoded)
        if (pair is not None and not is_placeholder(pair["secret"])) or holds_secret(decoded):
            yield Found(*word.span(), "encoded-secret")


def _decoded(word: str) -> str | None:
    """The printable text that a word in base64 stands for; None if it stands for none."""
    word = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(word + "=" * (-len(word) % 4))
        text = data.decode().replace("\0", ":").strip(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable() else None

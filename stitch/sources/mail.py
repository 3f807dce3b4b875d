"""Letters as mail programs keep them: one in a file, or many in a mailbox, each as a message of whoever sent it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parseaddr
from typing import Any

from stitch.sources import limits
from stitch.sources.limits import Unreadable, too_long
from stitch.sources.parts import words_of_html

Lines = Iterable["tuple[int, bytes]"]

_POSTMARK = re.compile(rb"From \S+ .*\d{4}\s*$")
_HEADER = re.compile(rb"(?P<name>[A-Za-z][A-Za-z-]*):[ \t]")
_HEADERS = frozenset({b"from", b"to", b"date", b"subject", b"message-id", b"received", b"mime-version", b"return-path",
                      b"delivered-to"})  # fmt: skip
_LEAST_HEADERS = 3
_ANSWERS = re.compile(r"(?i)\s*(?:re|aw|sv|antw|fwd?|wg)\s*:")
_KEPT = ("subject", "to", "cc", "reply-to", "list-id", "references")
"""Headers that are kept as they are."""


def begins_mail(line: bytes) -> bool:
    """Whether a line may begin a mailbox or a letter."""
    header = _HEADER.match(line)
    return bool(_POSTMARK.match(line)) or (header is not None and header["name"].lower() in _HEADERS)


def is_mail(head: Sequence[tuple[int, bytes]]) -> bool:
    """Whether a text begins as a mailbox does, or as a letter: with its headers, one below the other."""
    if _POSTMARK.match(head[0][1]):
        return True
    names = {found["name"].lower() for _, line in head if (found := _HEADER.match(line))}
    return begins_mail(head[0][1]) and len(names & _HEADERS) >= _LEAST_HEADERS and b"from" in names


def letters_in(lines: Lines) -> Iterator[tuple[int, Any]]:
    """The letters of a mailbox with the lines on which they begin; a gap between two lines is a blank one."""
    began, last, size, said = 0, 0, 0, list[bytes]()
    for number, line in lines:
        if _POSTMARK.match(line) and (number > last + 1 or not said):
            yield from _letter(began, said, size)
            began, size, said = number, 0, []
        else:
            began = began or number
            size += len(line)
            said += [*[b"\n"] * (number - last - 1 if said else 0), line] if size <= limits.MAX_RECORD_BYTES else []
        last = number
    yield from _letter(began, said, size)


def _letter(began: int, said: list[bytes], size: int) -> Iterator[tuple[int, Any]]:
    if size > limits.MAX_RECORD_BYTES:
        yield began, Unreadable(too_long("letter"), b"".join(said[:10]))
    elif said:
        yield began, _message_of(message_from_bytes(b"".join(said), policy=policy.default))


def _message_of(letter: EmailMessage) -> dict[str, Any]:
    """A letter as a message: its sender says what it holds; a subject that begins a talk is part of that."""
    name, address = parseaddr(str(letter.get("from", "")))
    body = letter.get_body(("plain", "html"))
    words = "" if body is None else _text_of(body)
    words = words_of_html(words) if body is not None and body.get_content_subtype() == "html" else words
    subject = str(letter.get("subject", ""))
    text = re.sub(r"(?m)^>(>*From )", r"\1", words).strip()
    sent = letter["date"].datetime if letter["date"] is not None else None
    return {
        "from": name or address or "unknown sender",
        "content": text if not subject or _ANSWERS.match(subject) else f"{subject}\n{text}".strip(),
        "address": address,
        "timestamp": sent.isoformat() if sent is not None else None,
        "id": letter.get("message-id") and str(letter["message-id"]),
        "in_reply_to": letter.get("in-reply-to") and str(letter["in-reply-to"]),
        **{header: str(letter[header]) for header in _KEPT if letter[header] is not None},
        "files": [_file(part) for part in letter.iter_attachments()],
    }


def _text_of(part: MIMEPart) -> str:
    data = part.get_payload(decode=True)
    charset = part.get_content_charset("utf-8")
    try:
        return data.decode(charset, "replace") if isinstance(data, bytes) else str(part.get_payload())
    except LookupError:
        return data.decode("utf-8", "replace") if isinstance(data, bytes) else ""


def _file(part: MIMEPart) -> dict[str, Any]:
    """A file that is attached: a text as it is, of all else its bytes, which are named."""
    about = {"file_name": part.get_filename() or part.get_content_type()}
    if part.get_content_maintype() == "text":
        return {**about, "content": _text_of(part)}
    if isinstance(inner := part.get_payload(), list):  # a letter in a letter
        return {**about, "content": "\n".join(str(one) for one in inner)}
    return {**about, "type": "file", "media_type": part.get_content_type(), "bytes": part.get_payload(decode=True)}

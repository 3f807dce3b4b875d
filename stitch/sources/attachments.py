"""Images, sounds and files in messages: what each is, in one line, in place of its bytes.

A memory keeps words. What is no text is named where it stood, with its kind, name, size and digest, so that a reader
knows that it was there and can find it elsewhere. Its bytes are not kept.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

_HOLDERS = ("image_url", "input_audio", "audio", "image", "file", "video", "source", "inline_data", "inlineData",
            "file_data", "fileData", "media", "blob", "bytes")  # fmt: skip
"""The fields of a part in which an object or an address says what is attached."""
_DATA = ("data", "file_data", "image_url", "url", "image", "bytes", "b64_json", "image_bytes", "video_bytes",
         "audio_bytes", "base64", "blob")  # fmt: skip
_WHERE = ("file_uri", "fileUri", "file_url", "image_url", "url", "uri", "gcs_uri", "file_id", "id")
_NAMES = ("filename", "file_name", "display_name", "displayName", "title", "name")
_MEDIA = ("media_type", "mime_type", "mimeType", "mediaType", "format")
_KINDS = ("image", "audio", "video", "file", "document", "screenshot")
_MARKS = frozenset({"inline_data", "inlineData", "file_data", "fileData", "image_url", "input_audio"})
"""Fields of which each says that a part is an attachment, whatever its type."""
_DONE = re.compile(r"tool|call|chang|edit|search|diff|patch|update")
"""In the name of a kind of part: something was done, with a file perhaps, and nothing is attached."""
_DATA_URL = re.compile(r"data:(?P<media>[\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*?(?P<packed>;base64)?,")
_LEAST_PACKED = 64
"""Shorter texts are not taken for bytes in base64 where nothing says that they are."""
_PACKED = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_SHOWN_CHARS = 120
_DEEPEST = 60
_DIGEST_CHARS = 16


class Payload(NamedTuple):
    """Bytes as a message holds them."""

    data: bytes
    media: str


def attachments_named_in(record: Any) -> Any:
    """As `named_attachments`, for what is a record itself and no part of one, whatever it calls itself."""
    if isinstance(record, list):
        return [attachments_named_in(each) if isinstance(each, Mapping) else named_attachments(each) for each in record]
    if isinstance(record, Mapping):
        return {key: _inside(key, inner, record, depth=1) for key, inner in record.items()}
    return record


def named_attachments(value: Any, *, depth: int = 0) -> Any:
    """Return a message with every attachment as a text part that names it; all else stays.

    A part becomes `{"type": "text", "text": "[image plan.png: image/png, 68 bytes, sha256 1f2e...]", ...}`, with what
    else it says beside that. Bytes elsewhere become such a text. What lies deeper than anybody nests stays as it is.
    """
    if depth > _DEEPEST:
        return value
    if isinstance(value, bytes):
        return _said("bytes", "", Payload(value, ""))
    if isinstance(value, list):
        return [named_attachments(each, depth=depth + 1) for each in value]
    if isinstance(value, Mapping):
        if (kind := _kind_of(value)) is not None:
            return _named(value, kind)
        return {key: _inside(key, inner, value, depth=depth + 1) for key, inner in value.items()}
    return value


def _kind_of(part: Mapping[str, Any]) -> str | None:
    """What is attached, if a part is an attachment; one that is a text is read as such."""
    kind = str(part.get("type") or part.get("content_type") or part.get("block_type") or "").lower()
    if not _may_attach(part, kind):
        return None
    held = _held(part)
    if _says_all(part, held):
        return None
    found = next((name for name in _KINDS if name in kind), None) or _kind_by_marks([part, *held])
    return found if held or any(part.get(name) for name in (*_DATA, *_WHERE)) else None


def _may_attach(part: Mapping[str, Any], kind: str) -> bool:
    """Whether the type or the fields of a part say that something is attached, and nothing that it is a message."""
    marked = any(name in kind for name in _KINDS) or not _MARKS.isdisjoint(part)
    return marked and not (_DONE.search(kind) or "role" in part)


def _says_all(part: Mapping[str, Any], held: Sequence[Mapping[str, Any]]) -> bool:
    """Whether nothing is attached but words: a text, a document whose text is here, a sound of which only words are."""
    if isinstance(part.get("text"), str) or any(inner.get("type") in ("text", "content") for inner in held):
        return True
    return bool(_transcript(held)) and not any(inner.get(name) for inner in (part, *held) for name in _DATA)


def _transcript(held: Sequence[Mapping[str, Any]]) -> str:
    """What is said in a sound, if that stands beside it."""
    return _first(("transcript",), *held)


def _written_in(part: Mapping[str, Any]) -> str:
    """The text of a file, if a program has read it out and put it beside."""
    held = [*_held(part), part]
    return _first(("content",), *(inner["data"] for inner in held if isinstance(inner.get("data"), Mapping)), *held)


def _held(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part[name] for name in _HOLDERS if isinstance(part.get(name), Mapping)]


def _kind_by_marks(objects: list[Mapping[str, Any]]) -> str | None:
    """What is attached by the fields of a part without a type, which stands first, and of what it holds."""
    if _MARKS.isdisjoint(objects[0]):
        return None
    media = _first(_MEDIA, *objects)
    return next((name for name in _KINDS if media.startswith(name)), "image" if "image_url" in objects[0] else "file")


def _first(names: tuple[str, ...], *objects: Mapping[str, Any]) -> str:
    """The first of these fields that is a text and says something, in any of the objects."""
    return next((at[name] for name in names for at in objects if isinstance(at.get(name), str) and at[name]), "")


def _fields_of(part: Mapping[str, Any]) -> dict[str, Any]:
    """What a part and the objects that hold what is attached say of it, without further objects."""
    fields: dict[str, Any] = {}
    for at in [part, *_held(part)]:
        fields |= {key: inner for key, inner in at.items() if inner is not None and not isinstance(inner, Mapping)}
    return fields


def _named(part: Mapping[str, Any], kind: str) -> dict[str, Any]:
    fields = _fields_of(part)
    places = {key: value for key, value in fields.items() if _is_place(value)}
    nested = {key: inner for key, inner in part.items() if isinstance(inner, Mapping) and key not in _HOLDERS}
    about: dict[str, Any] = {"attached": kind, **_beside(fields, places), **named_attachments(nested)}
    name = _first(_NAMES, fields) or _first(_WHERE, places)
    if text := _written_in(part):
        return {"type": "document", "source": {"type": "text", "data": text}, "title": name, **about}
    media = _first(_MEDIA, fields)
    payload = next((found for name in _DATA if (found := payload_in(fields.get(name), sure=True)) is not None), None)
    if payload is not None:
        about |= {"bytes": len(payload.data), "sha256": sha256(payload.data).hexdigest()}
        payload = Payload(payload.data, payload.media or media)
    text = "\n".join(filter(None, (_transcript([part, *_held(part)]), _said(kind, name, payload, media=media))))
    return {"type": "text", "text": text, **about}


def _beside(fields: Mapping[str, Any], places: Mapping[str, Any]) -> dict[str, Any]:
    """What a part says of what is attached, without its bytes."""
    beside = {key: value for key, value in fields.items() if key not in _DATA and key != "type"}
    beside |= {key: value for key, value in places.items() if key in ("url", "image_url")}
    return {key: named_attachments(value) for key, value in beside.items()}


def _inside(key: str, value: Any, holder: Mapping[str, Any], *, depth: int) -> Any:
    """A field of what is no attachment; bytes that stand in one, as those of a sound or of a made image, are named."""
    if isinstance(value, str) and key in ("data", "result", "b64_json", "url", "image_url", "signature_data"):
        sure = key == "b64_json" or "image_generation" in str(holder.get("type"))
        payload = payload_in(value, sure=sure)
        if payload is not None and (sure or value.startswith("data:") or "transcript" in holder):
            kind = next((name for name in _KINDS if name in f"{holder.get('type')}{payload.media}"), "data")
            return _said("audio" if "transcript" in holder else kind, "", payload)
    return named_attachments(value, depth=depth)


def payload_in(value: Any, *, sure: bool) -> Payload | None:
    """The bytes that a value holds: as such, in a `data:` address, or in base64 if that is `sure` or looks so."""
    if isinstance(value, bytes):
        return Payload(value, "")
    if not isinstance(value, str):
        return None
    if (address := _DATA_URL.match(value)) is not None:
        rest = value[address.end() :]
        unpacked = _unpacked(rest) if address["packed"] else None
        return Payload(rest.encode() if unpacked is None else unpacked, address["media"] or "")
    if _is_place(value) and "://" in value:
        return None
    if (len(value) >= _LEAST_PACKED or sure) and _PACKED.fullmatch(value):
        unpacked = _unpacked(value)
        return None if unpacked is None else Payload(unpacked, "")
    return None


def _unpacked(text: str) -> bytes | None:
    plain = text.translate({ord("-"): "+", ord("_"): "/"})
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and not value.startswith("data:") and len(value) < 4096


def _said(kind: str, name: str, payload: Payload | None, *, media: str = "") -> str:
    shown = " ".join(name.split())
    shown = shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 1] + "…"
    about = [payload.media if payload and payload.media else media]
    if payload is not None:
        count = len(payload.data)
        about += [
            f"{count} byte{'' if count == 1 else 's'}",
            f"sha256 {sha256(payload.data).hexdigest()[:_DIGEST_CHARS]}",
        ]
    said = ", ".join(filter(None, about))
    return f"[{kind}{f' {shown}' if shown else ''}{f': {said}' if said else ''}]"

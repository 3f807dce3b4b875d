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

from stitch.sources.parts import first_of, object_in, without

_HOLDERS = ("image_url", "input_audio", "audio", "image", "file", "video", "source", "inline_data", "inlineData",
            "file_data", "fileData", "media", "blob", "bytes")  # fmt: skip
"""The fields of a part in which an object or an address says what is attached."""
_DATA = ("data", "file_data", "image_url", "url", "image", "bytes", "b64_json", "image_bytes", "video_bytes",
         "audio_bytes", "base64", "blob")  # fmt: skip
_WHERE = ("asset_pointer", "file_uri", "fileUri", "file_url", "image_url", "url", "uri", "gcs_uri", "file_id", "id")
_NAMES = ("filename", "file_name", "display_name", "displayName", "title", "name")
_MEDIA = ("media_type", "mime_type", "mimeType", "mediaType", "format")
_KINDS = ("image", "audio", "video", "file", "document", "screenshot")
_MARKS = frozenset({"inline_data", "inlineData", "file_data", "fileData", "image_url", "input_audio"})
"""Fields of which each says that a part is an attachment, whatever its type."""
_SPOKEN = ("transcript",)
"""What is said in a sound, if that stands beside it."""
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
    """Kind of an attachment, if a part is one by its type or its fields; one that is a text is read as such."""
    kind = str(first_of(part, ("type", "content_type", "block_type")) or "").lower()
    named = next((name for name in _KINDS if name in kind), None)
    if (named is None and _MARKS.isdisjoint(part)) or _DONE.search(kind) or "role" in part:
        return None
    if _says_all(part, held := _held(part)):
        return None
    by_media = _first(_MEDIA, part, *held).partition("/")[0] if named is None else named
    found = by_media if by_media in _KINDS else "image" if "image_url" in part else "file"
    return found if held or any(part.get(name) for name in (*_DATA, *_WHERE)) else None


def _says_all(part: Mapping[str, Any], held: Sequence[Mapping[str, Any]]) -> bool:
    """Whether nothing is attached but words: a text, a document whose text is here, a sound of which only words are."""
    if isinstance(part.get("text"), str) or any(inner.get("type") in ("text", "content") for inner in held):
        return True
    return bool(_first(_SPOKEN, *held)) and not any(inner.get(name) for inner in (part, *held) for name in _DATA)


def _held(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part[name] for name in _HOLDERS if isinstance(part.get(name), Mapping)]


def _first(names: tuple[str, ...], *objects: Mapping[str, Any]) -> str:
    """The first of these fields that is a text and says something, in any of the objects."""
    return next((at[name] for name in names for at in objects if isinstance(at.get(name), str) and at[name]), "")


def _named(part: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """An attachment as a text that names it, or as the document that a program has read out of it."""
    held = [part, *_held(part)]
    fields = _fields_of(held)
    places = {key: value for key, value in fields.items() if _is_place(value)}
    about = {"attached": kind, **_beside(part, fields, places)}
    name, read_out = _first(_NAMES, fields) or _first(_WHERE, places), (*held[1:], part)
    if text := _first(("content",), *(object_in(inner, "data") for inner in read_out), *read_out):
        return {"type": "document", "source": {"type": "text", "data": text}, "title": name, **about}
    media, data = _first(_MEDIA, fields), (payload_in(fields.get(name), sure=True) for name in _DATA)
    if (payload := next(filter(None, data), None)) is not None:
        about |= {"bytes": len(payload.data), "sha256": sha256(payload.data).hexdigest()}
        media = payload.media or media
    text = "\n".join(filter(None, (_first(_SPOKEN, *held), _said(kind, name, payload, media=media))))
    return {"type": "text", "text": text, **about}


def _beside(part: Mapping[str, Any], fields: Mapping[str, Any], places: Mapping[str, Any]) -> dict[str, Any]:
    """Fields beside what is attached, without its bytes."""
    data = (name for name in _DATA if name not in ("url", "image_url") or name not in places)
    nested = {key: inner for key, inner in part.items() if isinstance(inner, Mapping) and key not in _HOLDERS}
    # Field by field: taken together these would be an attachment themselves.
    named = {key: named_attachments(inner) for key, inner in without(fields, "type", *data).items()}
    return {**named, **named_attachments(nested)}


def _fields_of(holders: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Fields of a part and of the objects that hold what is attached, without further objects."""
    fields = ((key, inner) for at in holders for key, inner in at.items())
    return {key: inner for key, inner in fields if inner is not None and not isinstance(inner, Mapping)}


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
    packed = "://" not in value and (len(value) >= _LEAST_PACKED or sure) and _PACKED.fullmatch(value)
    unpacked = _unpacked(value) if packed else None
    return None if unpacked is None else Payload(unpacked, "")


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
        count, digest = len(payload.data), sha256(payload.data).hexdigest()[:_DIGEST_CHARS]
        about += [f"{count} byte{'' if count == 1 else 's'}", f"sha256 {digest}"]
    said = ", ".join(filter(None, about))
    return f"[{kind}{f' {shown}' if shown else ''}{f': {said}' if said else ''}]"

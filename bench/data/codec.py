"""The codec of the CAME-Bench release: files hidden by XOR with the hash of a canary, and named by hashes.

`metadata.json` lists `{"relpath", "blob", "canary", "nbytes", "sha256"}` for each file. With key = SHA-256 of the
canary, repeated: plain[i] = base64(blob)[i] XOR key[i mod 32]. Length and hash of the plain text are checked. Nothing
is written to disk, and names that would lead out of a folder are refused: a made-up `metadata.json` can do no harm.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from stitch.bench.data.files import read_bytes, read_json, required
from stitch.errors import InputError

METADATA = "metadata.json"
_PLACES = ("encoded/encoded_benchmark_codec", "encoded_benchmark_codec", "encoded", ".")


def find_encoded(folder: Path) -> Path | None:
    """The folder with the `metadata.json` of an encoded release, where the release puts it; None if there is none."""
    return next((folder / place for place in _PLACES if (folder / place / METADATA).is_file()), None)


def decode(folder: Path) -> dict[str, bytes]:
    """Decode all files of an encoded release, by relative path.

    Raises:
        InputError: The metadata cannot be used, a path leads out of the folder, or a length or hash is wrong.
    """
    metadata = read_json(folder / METADATA)
    if not isinstance(metadata, dict) or not isinstance(metadata.get("files"), list):
        raise InputError(f"{str(folder / METADATA)!r} lists no files")
    where = str(folder / METADATA)
    decoded: dict[str, bytes] = {}
    for record in metadata["files"]:
        if not isinstance(record, dict):
            raise InputError(f"{where} lists what is no object")
        path = _safe(required(record, "relpath", where), where)
        if path in decoded:
            raise InputError(f"{where} lists {path!r} twice")
        decoded[path] = _decode_one(folder, record, where)
    return decoded


def decode_blob(text: bytes, *, canary: str) -> bytes:
    """The plain content of a blob.

    Raises:
        InputError: It is no base64.
    """
    try:
        hidden = base64.b64decode(text.strip(), validate=True)
    except binascii.Error as error:
        raise InputError(f"a blob is no base64: {error}") from error
    key = hashlib.sha256(canary.encode()).digest()
    stream = key * (len(hidden) // len(key) + 1)
    whole = int.from_bytes(hidden, "big") ^ int.from_bytes(stream[: len(hidden)], "big")
    return whole.to_bytes(len(hidden), "big")


def _decode_one(folder: Path, record: Mapping[str, Any], where: str) -> bytes:
    path = record["relpath"]
    blob = _safe(required(record, "blob", where), where)
    file = folder / blob
    if not file.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{where}: the blob {blob!r} leads out of the folder")
    plain = decode_blob(read_bytes(file), canary=str(required(record, "canary", where)))
    if len(plain) != required(record, "nbytes", where):
        raise InputError(f"{where}: {path!r} has {len(plain)} bytes instead of {record['nbytes']!r}")
    if hashlib.sha256(plain).hexdigest() != required(record, "sha256", where):
        raise InputError(f"{where}: the hash of {path!r} is wrong", hint="download the release again")
    return plain


def _safe(path: Any, where: str) -> str:
    parts = PurePosixPath(path).parts if isinstance(path, str) else ()
    if not parts or path.startswith("/") or "\\" in path or ":" in path or any(p in ("..", "") for p in parts):
        raise InputError(f"{where}: {path!r} is no path inside the folder")
    return str(PurePosixPath(path))

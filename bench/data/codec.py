"""The CAME-Bench release, fetched only when asked, and its codec.

Files are hidden by XOR with the hash of a canary, and named by hashes. `metadata.json` lists `{"relpath", "blob",
"canary", "nbytes", "sha256"}` for each. With key = SHA-256 of the canary, repeated: plain[i] = base64(blob)[i] XOR
key[i mod 32]. Length and hash of the plain text are checked. Nothing decoded is written to disk, and names that would
lead out of a folder are refused: a made-up `metadata.json` can do no harm.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from stitch.bench.data.files import read_bytes, read_json, required
from stitch.errors import InputError, install_command

METADATA = "metadata.json"
REPOSITORY = "Seattleyrz/CAME-Bench"
_PLACES = ("encoded/encoded_benchmark_codec", "encoded_benchmark_codec", "encoded", ".")


def find_encoded(folder: Path) -> Path | None:
    """The folder with the `metadata.json` of an encoded release, where the release puts it; None if there is none."""
    return next((folder / place for place in _PLACES if (folder / place / METADATA).is_file()), None)


def download_release(folder: Path, *, fetch: Callable[..., Any] | None = None) -> None:
    """Fetch the encoded release into a folder, unless it is there; a download that broke off is completed.

    Args:
        folder: Where it goes.
        fetch: Fetches, as `huggingface_hub.snapshot_download` does, which is the default.

    Raises:
        InputError: It cannot be fetched, or what came is no release.
    """
    if find_encoded(folder):
        return
    if fetch is None:
        try:
            from huggingface_hub import snapshot_download
        except ImportError as error:
            raise InputError("the client of the hub is missing", hint=install_command("huggingface-hub")) from error
        fetch = snapshot_download
    try:
        fetch(repo_id=REPOSITORY, repo_type="dataset", allow_patterns=["encoded_benchmark_codec/*"],
              local_dir=str(folder / "encoded"))  # fmt: skip
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        hint = "fetch it by hand and name its folder with --data"
        raise InputError(f"cannot download {REPOSITORY!r}: {reason}", hint=hint) from error
    if not find_encoded(folder):
        raise InputError(f"{REPOSITORY!r} holds no {METADATA}", hint="see the page of the data set")


def decode(folder: Path) -> dict[str, bytes]:
    """Decode all files of an encoded release, by relative path.

    Raises:
        InputError: The metadata cannot be used, a path leads out of the folder, or a length or hash is wrong.
    """
    where, metadata = str(folder / METADATA), read_json(folder / METADATA)
    files = metadata.get("files") if isinstance(metadata, dict) else None
    if not isinstance(files, list) or not all(isinstance(record, dict) for record in files):
        raise InputError(f"{where!r} lists no files")
    decoded: dict[str, bytes] = {}
    for record in files:
        path = _safe(required(record, "relpath", where), where)
        if path in decoded:
            raise InputError(f"{where} lists {path!r} twice")
        decoded[path] = _decode_one(folder, record, where)
    return decoded


def decode_blob(text: bytes, *, canary: str) -> bytes:
    """The plain content of a blob in base64."""
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

"""Fetching the official CAME-Bench release: only when asked, and nothing else here touches the network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stitch.bench.data.codec import METADATA, find_encoded
from stitch.errors import InputError, install_command

REPOSITORY = "Seattleyrz/CAME-Bench"
_PATTERN = "encoded_benchmark_codec/*"

Fetch = Callable[..., Any]
"""As `huggingface_hub.snapshot_download`."""


def download_release(folder: Path, *, fetch: Fetch | None = None) -> None:
    """Fetch the encoded release into a folder, unless it is there; a download that broke off is completed.

    Args:
        folder: Where it goes.
        fetch: Fetches; by default from the Hugging Face hub.

    Raises:
        InputError: It cannot be fetched, or what came is no release.
    """
    if find_encoded(folder):
        return
    target = folder / "encoded"
    try:
        (fetch or _from_hub())(
            repo_id=REPOSITORY, repo_type="dataset", allow_patterns=[_PATTERN], local_dir=str(target)
        )
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        hint = "fetch it by hand and name its folder with --data"
        raise InputError(f"cannot download {REPOSITORY!r}: {reason}", hint=hint) from error
    if not find_encoded(folder):
        raise InputError(f"{REPOSITORY!r} holds no {METADATA}", hint="see the page of the data set")


def _from_hub() -> Fetch:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise InputError("the client of the hub is not installed", hint=install_command("huggingface-hub")) from error
    return snapshot_download

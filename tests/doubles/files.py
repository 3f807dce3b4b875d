"""Files in which tests look for words."""

import os
from contextlib import suppress
from pathlib import Path


def content_of(path: Path) -> bytes:
    """The bytes of a file, few zeros in place of a hole: the engine's files have 32 MB each."""
    pieces, end = list[bytes](), 0
    with path.open("rb") as file, suppress(OSError):  # told where no more data come
        while True:
            start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            file.seek(start)
            pieces.append(file.read(end - start))
    return bytes(128).join(pieces)


def files_with(folder: Path | str, *texts: bytes) -> list[str]:
    """The files of a folder in which any of some texts stands, in capitals or small letters."""
    sought = [text.lower() for text in texts]
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return [
        str(path.relative_to(folder))
        for path in files
        if any(text in content for content in [content_of(path).lower()] for text in sought)
    ]

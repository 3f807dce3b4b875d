"""Files in which tests look for words."""

from pathlib import Path

_NOTHING = bytes(2**16)


def content_of(path: Path) -> bytes:
    """The bytes of a file, few zeros in place of a piece of nothing else: the engine's files have 32 MB each."""
    with path.open("rb") as file:
        pieces = iter(lambda: file.read(len(_NOTHING)), b"")
        return b"".join(bytes(128) if piece == _NOTHING else piece for piece in pieces)


def files_with(folder: Path | str, *texts: bytes) -> list[str]:
    """The files of a folder in which any of some texts stands, in capitals or small letters."""
    sought = [text.lower() for text in texts]
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return [
        str(path.relative_to(folder))
        for path in files
        if any(text in content for content in [content_of(path).lower()] for text in sought)
    ]

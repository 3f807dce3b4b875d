"""Secrets in many small texts, such as the fields of a tree: looked for in many of them at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stitch.core.text_cache import text_cache
from stitch.ingest.secrets.steps import Cleaner, named_beside
from stitch.ingest.secrets.texts import redact_text
from stitch.ingest.secrets.words import SECRET_NAME

_PIECE_CHARS = 1 << 15


def redact_fields(several: Iterable[Mapping[str, str]]) -> Iterator[tuple[Mapping[str, str], Counter[str]]]:
    """Fields without the secrets in what they say, and in what stands under telling names; one result each, in order.

    What holds none comes back as it was given. Where a piece of 32,000 characters holds no sign of a secret, which is
    nearly everywhere, that is all that is looked at.

    Yields:
        The fields, and how many secrets of each kind were taken out.
    """
    for piece in _pieces(several):
        joined = "\n".join(value for fields in piece for value in fields.values())
        suspicious = bool(redact_text(joined)[1])
        for fields in piece:
            found: dict[str, Counter[str]] = {}
            if suspicious or any(map(_is_telling, fields)) or named_beside(fields) is not None:
                cleaned = Cleaner("", found).value(dict(fields))
                if found:
                    yield dict(zip(fields, cleaned.values(), strict=True)), found[""]
                    continue
            yield fields, Counter()


def _pieces(several: Iterable[Mapping[str, str]]) -> Iterator[Sequence[Mapping[str, str]]]:
    piece: list[Mapping[str, str]] = []
    size = 0
    for fields in several:
        piece.append(fields)
        size += sum(map(len, fields.values()))
        if size > _PIECE_CHARS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


@text_cache(maxsize=4096)
def _is_telling(name: str) -> bool:
    return SECRET_NAME.search(name[-64:]) is not None

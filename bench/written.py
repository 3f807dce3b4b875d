"""Labels and filters from files, in the place of a model: `--labels FILE[,FILE]` and `--filters FILE`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from stitch.core import FilterMaker, IntentFilter, Selection
from stitch.errors import InputError, ReplyError

if TYPE_CHECKING:
    from stitch.bench.data.types import Inquiry, Question
    from stitch.core import Labeler
    from stitch.memory import Memory


class WrittenFilter(BaseModel):
    """The labels that were chosen for one question: a line of a file of filters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    trajectory: str = ""
    scopes: tuple[str, ...] = ()
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()


def written_labeler(files: str) -> Labeler:
    """The labeler of files of written labels (`stitch.label.model.written`), separated by commas.

    Raises:
        InputError: A file is not there, or a line of it is not in the format.
    """
    from stitch.label.local import LocalLabeler
    from stitch.label.model.written import WrittenLabeler, read_written

    lines = [line for file in files.split(",") for line in _lines(Path(file))]
    try:
        return WrittenLabeler(read_written(lines), fallback=LocalLabeler())
    except ReplyError as error:
        raise InputError(f"labels of {files!r}: {error.message}", hint="one JSON object a line") from error


def read_filters(file: Path) -> dict[str, IntentFilter]:
    """The filters of a file, by question.

    Raises:
        InputError: It is not there, or a line of it is not in the format.
    """
    try:
        read = [WrittenFilter.model_validate_json(line) for line in _lines(file)]
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"filters of {str(file)!r}: {first['msg'].lower()}", hint="one JSON object a line") from error
    return {
        each.question: IntentFilter(scopes=each.scopes, event_types=each.event_types, entity_types=each.entity_types)
        for each in read
    }


def check_filters(filters: Mapping[str, IntentFilter], questions: Iterable[Question]) -> None:
    """See that each question has a filter.

    Raises:
        InputError: One has none.
    """
    for question in questions:
        if question.id not in filters:
            raise InputError(f"no filter for question {question.id!r}", hint='a line a question: {"question": ID, ...}')


def digest_of(file: Path) -> str:
    """A name of what a file says."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def as_written(filters: Mapping[str, IntentFilter]) -> Callable[[Memory, Inquiry], Selection]:
    """Choose the labels that were written for each question, as a model's choice."""
    return lambda memory, inquiry: Selection(filters[inquiry.id], made_by=FilterMaker.MODEL)


def _lines(file: Path) -> list[bytes]:
    try:
        return [line for line in file.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot read {str(file)!r}: {reason}", hint="name `local`, `model`, or files") from error

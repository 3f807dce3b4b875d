"""Requests to a model with their replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import TypedDict

from stitch.sources.conversation import conversation
from stitch.sources.model_calls import beside, dated, is_exchange, messages_of
from stitch.sources.recognizing import IDS, FileReading, Format, TrajectoryRow


class Exchange(TypedDict, total=False):
    """A request to a model with its reply, each in its envelope or not."""

    id: str
    custom_id: str
    request: Any
    response: Any
    messages: list[Any]
    choices: list[Any]


def _exchange(record: Any, reading: FileReading) -> Iterator[TrajectoryRow]:
    named = next((str(record[name]) for name in (*IDS, "custom_id") if record.get(name) is not None), None)
    messages = dated(record, messages_of(record))
    about = beside(record)
    if messages and isinstance(messages[-1], Mapping) and messages[-1].get("content") == about.get("answer"):
        about.pop("answer", None)  # it is what was replied
    for row in conversation(about, messages, reading.messages, field="messages"):
        yield named, row


EXCHANGE = Format("exchange with a model", is_exchange, _exchange, whole=True, model=Exchange)

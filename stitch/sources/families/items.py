"""Items of a stream: what an agent said or did, each whole, as programs of the Codex kind write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stitch.sources.conversation import Reading, event
from stitch.sources.fields import Row, is_message
from stitch.sources.messages import MessageReader
from stitch.sources.parts import without
from stitch.sources.tool_calls import outcome_told

_SPEAKERS = {"user_message": "user", "agent_message": "assistant"}
_DONE = ("command", "query", "path", "code")
"""Fields that say what was done, where they are texts; objects and lists do."""
_CAME = ("aggregated_output", "output", "result", "results", "error")
_BEGUN = (".started", ".updated", ".added", ".in_progress")
_BESIDE = ("id", "type", "status", "exit_code", "duration", "cwd", *_CAME)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def item_line(record: Mapping[str, Any], reader: MessageReader) -> Reading:
    """An event that brings an item: what was said or done when it is whole, a mark before."""
    item, rest = record["item"], without(record, "item")
    if str(record["type"]).endswith(_BEGUN):
        yield event(record, {**rest, "item": item})
    else:
        yield from item_rows(item, beside=rest, reader=reader)


def item_rows(item: Mapping[str, Any], *, beside: Mapping[str, Any], reader: MessageReader) -> Iterator[Row]:
    """The steps of an item; `beside` is what the event says that brings it."""
    kind = _CAPITAL.sub("_", str(item.get("type"))).lower()
    if kind in _SPEAKERS:
        yield from reader.rows({**beside, **item, "role": _SPEAKERS[kind]})
    elif is_message(item):
        yield from reader.rows({**beside, **item})
    elif any(isinstance(value, Mapping | list) or name in _DONE for name, value in item.items() if value):
        yield from _done(item, kind, beside=beside, reader=reader)
    else:
        yield event({**item, "type": kind}, {**beside, **item})


def _done(
    item: Mapping[str, Any], kind: str, *, beside: Mapping[str, Any], reader: MessageReader
) -> Iterator[Row]:  # fmt: skip
    """What was done, as the call of a tool of the name of its `kind`, and what came of it."""
    came = next((name for name in _CAME if item.get(name)), None)
    call = {"name": kind, "id": item.get("id"), "arguments": without(item, *_BESIDE)}
    call |= {} if came is None else {"output": item[came]}
    rest = {name: item[name] for name in _BESIDE if name in item and name not in ("id", "type", came)}
    for row in reader.rows({**beside, "role": "assistant", "tool_calls": [call], **rest}):
        if row["role"] == "tool" and (told := outcome_told(item)):
            row["metadata"]["outcome"] = told
        yield row

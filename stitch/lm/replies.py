"""Replies that were paid for, kept until what was made of them is written down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from stitch.lm.reading import json_in

if TYPE_CHECKING:
    from dspy import lm15


class ReplyKeeper(Protocol):
    """Keeps replies by the digest of their request."""

    def get(self, request: bytes) -> bytes | None:
        """The reply to a request; None if there is none."""
        ...

    def keep(self, request: bytes, reply: bytes) -> None:
        """Keep a reply; when this returns, it survives the death of the process."""
        ...


reply_keeper: ContextVar[ReplyKeeper | None] = ContextVar("reply_keeper", default=None)
"""Where replies are kept now; None if nowhere."""


@contextmanager
def keeping_replies(keeper: ReplyKeeper) -> Iterator[None]:
    """Meanwhile, ask no model again what it has answered before, and keep each new reply as soon as it is there."""
    before = reply_keeper.set(keeper)
    try:
        yield
    finally:
        reply_keeper.reset(before)


@contextmanager
def asking_again(*, times: int = 1) -> Iterator[None]:
    """Meanwhile, what was kept of the tries before is not used: the same is asked, and kept beside it."""
    keeper = reply_keeper.get()
    before = reply_keeper.set(None if keeper is None else _Further(keeper, times))
    try:
        yield
    finally:
        reply_keeper.reset(before)


def kept_as(request: bytes) -> bytes:
    """The digest by which the reply to a request is kept now: a further try of the same request has another."""
    keeper = reply_keeper.get()
    while isinstance(keeper, _Further):
        request, keeper = keeper.digest(request), keeper.keeper
    return request


class _Further:
    """Keeps the replies of a further try."""

    def __init__(self, keeper: ReplyKeeper, times: int) -> None:
        self.keeper = keeper
        self._mark = b"again" * times

    def get(self, request: bytes) -> bytes | None:
        return self.keeper.get(self.digest(request))

    def keep(self, request: bytes, reply: bytes) -> None:
        self.keeper.keep(self.digest(request), reply)

    def digest(self, request: bytes) -> bytes:
        """What a request is kept by."""
        return hashlib.blake2b(request + self._mark, digest_size=16).digest() if self._mark else request


def digest_of(request: lm15.Request) -> bytes:
    """What two requests share that ask the same model the same."""
    system = request.system or ""
    asked = [
        request.model,
        system if isinstance(system, str) else _texts(system),
        [[message.role, _texts(message.parts)] for message in request.messages],
        repr(request.config),
    ]
    return hashlib.blake2b(json.dumps(asked).encode(), digest_size=16).digest()


def text_of(response: lm15.Response) -> str:
    """What a reply says: its text, or else what it would call a tool with, or the JSON that stands among its thoughts.

    An object that the client has read, as it does where a choice was asked for, is given as JSON.
    """
    from dspy import lm15

    said, called, thought = "", "", ""
    for part in response.message.parts:
        if isinstance(part, lm15.TextPart):
            said += part.text
        elif isinstance(part, lm15.DataPart):
            said += json.dumps(part.value, ensure_ascii=False)
        elif isinstance(part, lm15.ToolCallPart):
            called = called or json.dumps(part.input, ensure_ascii=False)
        elif isinstance(part, lm15.ThinkingPart):
            thought += part.text
    return said if said.strip() else called or (thought if json_in(thought) is not None else said)


def encode_reply(response: lm15.Response) -> bytes:
    """What of a reply is kept."""
    text = text_of(response)
    usage = (response.usage.input_tokens, response.usage.output_tokens)
    return pack_reply(text, str(response.finish_reason), usage=usage)


def pack_reply(text: str, finish_reason: str, *, usage: tuple[int | None, int | None] = (None, None)) -> bytes:
    """A reply as it is kept; `usage` are the tokens of prompt and reply, None if nobody counted."""
    return json.dumps({"text": text, "finish_reason": finish_reason, "usage": usage}).encode()


def decode_reply(reply: bytes, *, model: str) -> lm15.Response:
    """The reply that was kept."""
    kept = json.loads(reply)
    usage = kept.get("usage") or (None, None)
    return reply_of(kept["text"], model=model, finish_reason=kept["finish_reason"], usage=usage)


def prompt_of(request: lm15.Request) -> tuple[str, str]:
    """The system prompt of a request, and the texts of its messages, those of examples first, as one."""
    system = request.system or ""
    told = system if isinstance(system, str) else "".join(_texts(system))
    return told, "".join(text for message in request.messages for text in _texts(message.parts))


def chars_of(request: lm15.Request) -> int:
    """The length of a request: its prompts, and the schema that goes out with them."""
    schema = dict(request.config.response_format or {}).get("schema")
    return sum(map(len, prompt_of(request))) + (len(json.dumps(schema)) if schema else 0)


def reply_of(
    text: str, *, model: str, finish_reason: str = "stop", usage: tuple[int | None, int | None] = (None, None)
) -> lm15.Response:
    """A reply that says `text`; `usage` are the tokens of prompt and reply, None if nobody counted."""
    from dspy import lm15

    asked, replied = usage
    return lm15.Response(
        id=None,
        model=model,
        message=lm15.Message.assistant([lm15.TextPart(text)]),
        finish_reason=finish_reason,
        usage=lm15.Usage(input_tokens=asked, output_tokens=replied),
    )


def _texts(parts: Iterable[object]) -> list[str]:
    from dspy import lm15

    return [part.text for part in parts if isinstance(part, lm15.TextPart)]

"""Replies that were paid for, kept until what was made of them is written down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

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


def digest_of(request: lm15.Request) -> bytes:
    """What two requests share that ask the same model the same."""
    from dspy import lm15

    def texts(parts: object) -> list[str]:
        return [part.text for part in parts if isinstance(part, lm15.TextPart)]  # type: ignore[attr-defined]

    system = request.system or ""
    asked = [
        request.model,
        system if isinstance(system, str) else texts(system),
        [[message.role, texts(message.parts)] for message in request.messages],
        repr(request.config),
    ]
    return hashlib.blake2b(json.dumps(asked).encode(), digest_size=16).digest()


def encode_reply(response: lm15.Response) -> bytes:
    """What of a reply is kept."""
    from dspy import lm15

    text = "".join(part.text for part in response.message.parts if isinstance(part, lm15.TextPart))
    return json.dumps({"text": text, "finish_reason": response.finish_reason}).encode()


def decode_reply(reply: bytes, *, model: str) -> lm15.Response:
    """The reply that was kept; how many tokens it took is in the ledger already."""
    from dspy import lm15

    kept = json.loads(reply)
    return lm15.Response(
        id=None,
        model=model,
        message=lm15.Message.assistant([lm15.TextPart(kept["text"])]),
        finish_reason=kept["finish_reason"],
        usage=lm15.Usage(),
    )

"""Replies that were paid for, kept until what was made of them is written down; requests and replies as texts."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from stitch.core.files import private
from stitch.lm.ledger import bound
from stitch.lm.reading import json_in

if TYPE_CHECKING:
    from dspy import lm15


class ReplyKeeper(Protocol):
    """Keeps replies by the digest of their request; one that is kept survives the death of the process."""

    def get(self, request: bytes) -> bytes | None: ...  # noqa: D102

    def keep(self, request: bytes, reply: bytes) -> None: ...  # noqa: D102


reply_keeper: ContextVar[ReplyKeeper | None] = ContextVar("reply_keeper", default=None)
"""Where replies are kept now; None if nowhere."""
_tries: ContextVar[int] = ContextVar("tries", default=0)
"""Number of earlier tries of the same request."""


def keeping_replies(keeper: ReplyKeeper) -> AbstractContextManager[None]:
    """Meanwhile, ask no model again what it has answered before, and keep each new reply as soon as it is there."""
    return bound(reply_keeper, keeper)


def asking_again(*, times: int = 1) -> AbstractContextManager[None]:
    """Meanwhile, what was kept of the tries before is not used: the same is asked, and kept beside it."""
    return bound(_tries, _tries.get() + times)


class KeptReplies:
    """Replies in a file, each a line; safe for threads and processes side by side.

    Args:
        file: Made with the first reply; a line that was torn or damaged is left out, and its reply asked for again.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._replies: dict[bytes, bytes] = {}
        lines = file.read_bytes().split(b"\n") if file.exists() else [b""]
        self._begins = b"\n" if lines[-1] else b""
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                told = json.loads(line)
                self._replies[base64.b64decode(told["id"])] = base64.b64decode(told["reply"])

    def get(self, request: bytes) -> bytes | None:
        """The reply to a request; None if there is none."""
        return self._replies.get(request)

    def keep(self, request: bytes, reply: bytes) -> None:
        """Keep a reply; when this returns, it survives the death of the process."""
        line = json.dumps({"id": base64.b64encode(request).decode(), "reply": base64.b64encode(reply).decode()})
        with self._lock:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with open(self.file, "ab", opener=private) as lines:
                lines.write(self._begins + line.encode() + b"\n")
            self._begins = b""
            self._replies[request] = reply


def digest_of(request: lm15.Request) -> bytes:
    """A digest that two requests share which ask the same model the same, at the same try."""
    return hashlib.blake2b(f"{_tries.get()} {request!r}".encode(), digest_size=16).digest()


def prompt_of(request: lm15.Request) -> tuple[str, str]:
    """The system prompt of a request, and the texts of its messages, those of examples first, as one."""
    system = request.system or ""
    told = system if isinstance(system, str) else "".join(_texts(system))
    return told, "".join(text for message in request.messages for text in _texts(message.parts))


def chars_of(request: lm15.Request) -> int:
    """The length of a request: its prompts, and the schema that goes out with them."""
    schema = dict(request.config.response_format or {}).get("schema")
    return sum(map(len, prompt_of(request))) + (len(json.dumps(schema)) if schema else 0)


def _texts(parts: Iterable[object]) -> list[str]:
    from dspy import lm15

    return [part.text for part in parts if isinstance(part, lm15.TextPart)]


def text_of(response: lm15.Response) -> str:
    """The words of a reply: its text, or else the arguments of a tool that it calls, or the JSON among its thoughts.

    An object that the client has read, as it does where a choice was asked for, is given as JSON.
    """
    from dspy import lm15

    parts = response.message.parts
    read = [json.dumps(part.value, ensure_ascii=False) for part in parts if isinstance(part, lm15.DataPart)]
    if (said := "".join(_texts(parts) + read)).strip():
        return said
    called = [json.dumps(part.input, ensure_ascii=False) for part in parts if isinstance(part, lm15.ToolCallPart)]
    thought = "".join(part.text for part in parts if isinstance(part, lm15.ThinkingPart))
    return called[0] if called else thought if json_in(thought) is not None else said


def reply_of(
    text: str, *, model: str, finish_reason: str = "stop", usage: tuple[int | None, int | None] = (None, None)
) -> lm15.Response:
    """A reply that says `text`; `usage` are the tokens of prompt and reply, None if nobody counted."""
    from dspy import lm15

    message, tokens = lm15.Message.assistant([lm15.TextPart(text)]), lm15.Usage(*usage)
    return lm15.Response(id=None, model=model, message=message, finish_reason=finish_reason, usage=tokens)


def encode_reply(response: lm15.Response) -> bytes:
    """A reply as it is kept: its words, its end and its tokens."""
    usage = response.usage.input_tokens, response.usage.output_tokens
    told = {"text": text_of(response), "finish_reason": str(response.finish_reason), "usage": usage}
    return json.dumps(told).encode()


def decode_reply(reply: bytes, *, model: str) -> lm15.Response:
    """The reply that was kept."""
    kept = json.loads(reply)
    usage = kept.get("usage") or (None, None)
    return reply_of(kept["text"], model=model, finish_reason=kept["finish_reason"], usage=usage)

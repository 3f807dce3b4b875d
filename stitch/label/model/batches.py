"""Windows for labeling elsewhere as lines of JSON: in a neutral form, and in the form of OpenAI's batches."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

import orjson

from stitch.errors import ReplyError
from stitch.label.model.offline import WindowReply, WindowRequest

BatchFormat = Literal["neutral", "openai"]


class SentWindow(NamedTuple):
    """A window on its way out."""

    id: str
    """Names it in the reply."""
    model: str
    trajectory: str
    steps: tuple[str, ...]
    """The ids of its steps."""
    request: WindowRequest


class ReturnedWindow(NamedTuple):
    """A reply on its way in."""

    id: str
    reply: WindowReply


def write_window(window: SentWindow, *, form: BatchFormat = "neutral") -> bytes:
    """One line, without its end."""
    request = window.request
    messages = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
    if form == "neutral":
        return orjson.dumps(
            {
                "id": window.id,
                "model": window.model,
                "trajectory": window.trajectory,
                "steps": window.steps,
                "messages": messages,
                "schema": request.schema,
            }
        )
    schema = {"name": "labels", "schema": request.schema, "strict": True}
    body = {
        "model": window.model.removeprefix("openai/"),
        "messages": messages,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    return orjson.dumps({"custom_id": window.id, "method": "POST", "url": "/v1/chat/completions", "body": body})


def read_window(line: bytes) -> ReturnedWindow:
    """The reply in a line: `{"id", "reply", "usage"?}`, or as a batch of OpenAI returns it.

    `reply` is the JSON that was asked for, or a text with it; `usage` counts `prompt_tokens` and `reply_tokens`.

    Raises:
        ReplyError: The line holds no reply; the message says why.
    """
    try:
        said = orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise ReplyError("it is no JSON") from error
    if not isinstance(said, dict):
        raise ReplyError("it is no JSON object")
    if "custom_id" in said:
        return ReturnedWindow(_id(said["custom_id"]), _openai_reply(said))
    if "messages" in said:
        raise ReplyError("it is a request: its reply is missing")
    reply = said.get("reply")
    if not isinstance(reply, (dict, str)):
        raise ReplyError("it has no 'reply'")
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    usage = _usage(said.get("usage"), "prompt_tokens", "reply_tokens")
    return ReturnedWindow(_id(said.get("id")), WindowReply(text, str(said.get("finish_reason") or "stop"), *usage))


def _openai_reply(said: dict[str, Any]) -> WindowReply:
    if said.get("error"):
        raise ReplyError(f"the provider failed: {_reason(said['error'])}")
    response = said.get("response")
    if not isinstance(response, dict):
        raise ReplyError("it is a request: its reply is missing" if "body" in said else "it has no 'response'")
    body = response.get("body")
    body = body if isinstance(body, dict) else {}
    if response.get("status_code") != 200:
        raise ReplyError(f"the provider failed: {_reason(body.get('error') or response.get('status_code'))}")
    try:
        choice = body["choices"][0]
        text = choice["message"]["content"]
    except (KeyError, IndexError, TypeError) as error:
        raise ReplyError("its response has no message") from error
    if not isinstance(text, str):
        raise ReplyError("its message is empty")
    usage = _usage(body.get("usage"), "prompt_tokens", "completion_tokens")
    return WindowReply(text, str(choice.get("finish_reason") or "stop"), *usage)


def _id(value: Any) -> str:
    if not isinstance(value, str):
        raise ReplyError("it has no 'id'")
    return value


def _usage(value: Any, *names: str) -> tuple[int | None, int | None]:
    counts = [value.get(name) if isinstance(value, dict) else None for name in names]
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        return None, None
    prompt_tokens, reply_tokens = counts
    return prompt_tokens, reply_tokens


def _reason(error: Any) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(said).split())[:200]

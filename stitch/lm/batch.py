"""Requests that are answered elsewhere, by a batch of a provider or by hand: lines of one file, replies of another.

A line is neutral, or as OpenAI's batches have it; a reply names its request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from stitch.errors import ModelError, ReplyError
from stitch.lm.replies import digest_of, kept_as, pack_reply, prompt_of, text_of

if TYPE_CHECKING:
    from dspy import lm15

BatchFormat = Literal["neutral", "openai"]
_CUT = ("length", "content_filter", "error")
"""Reasons why a reply ended that make it of no use; whoever answers by hand may give any other."""


class AwaitedError(ModelError):
    """A reply is made elsewhere and not there yet."""


class BatchRequest(NamedTuple):
    """A request on its way out."""

    id: str
    """Names it in the reply."""
    model: str
    system: str
    user: str
    schema: Mapping[str, Any]
    """Of the reply, as JSON schema."""
    sampling: Mapping[str, Any] = {}
    trajectory: str = ""
    """Of the window of steps that is to be labeled, if it is about one."""
    steps: tuple[str, ...] = ()
    """Their ids."""


class BatchReply(NamedTuple):
    """A reply on its way in."""

    id: str
    """Of its request."""
    reply: bytes
    """As a `ReplyKeeper` has it."""


class DeferredCompletion:
    """Takes down what no reply is kept of, in the place of a provider.

    Args:
        take: Is given each request.
    """

    def __init__(self, take: Callable[[BatchRequest], object]) -> None:
        self._take = take

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Take down a request.

        Raises:
            AwaitedError: Always.
        """
        config = request.config
        schema = dict(config.response_format or {}).get("schema", {})
        sampling = {"temperature": config.temperature, "top_p": config.top_p, "seed": config.seed,
                    "reasoning_effort": config.reasoning.effort if config.reasoning else None}  # fmt: skip
        told = {key: value for key, value in sampling.items() if value is not None}
        name = kept_as(digest_of(request)).hex()
        self._take(BatchRequest(name, request.model, *prompt_of(request), schema, told))
        raise AwaitedError(f"a reply of {request.model!r} is awaited from elsewhere")


def write_request(request: BatchRequest, *, form: BatchFormat = "neutral") -> bytes:
    """One line, without its end."""
    messages = [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}]
    if form == "neutral":
        about = {"trajectory": request.trajectory, "steps": request.steps} if request.steps else {}
        return orjson.dumps(
            {"id": request.id, "model": request.model, **about, "messages": messages, "schema": request.schema,
             **request.sampling}
        )  # fmt: skip
    schema = {"name": "labels", "schema": request.schema, "strict": True}
    body = {
        "model": request.model.removeprefix("openai/"),
        "messages": messages,
        "response_format": {"type": "json_schema", "json_schema": schema},
        **request.sampling,
    }
    return orjson.dumps({"custom_id": request.id, "method": "POST", "url": "/v1/chat/completions", "body": body})


def read_reply(line: bytes) -> BatchReply:
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
        return BatchReply(_id(said["custom_id"]), _openai_reply(said))
    if "messages" in said:
        raise ReplyError("it is a request: its reply is missing")
    reply = said.get("reply")
    if not isinstance(reply, (dict, str)):
        raise ReplyError("it has no 'reply'")
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    usage = _usage(said.get("usage"), "prompt_tokens", "reply_tokens")
    return BatchReply(_id(said.get("id")), pack_reply(text, _finish(said.get("finish_reason")), usage=usage))


def _openai_reply(said: dict[str, Any]) -> bytes:
    from dspy import lm15

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
        message = {"choices": [{"message": dict(body["choices"][0]["message"])}]}
        text = text_of(lm15.response_from_openai_chat(message, model="m"))
        finish = _finish(body["choices"][0].get("finish_reason"))
    except (LookupError, TypeError, ValueError, AttributeError, lm15.LM15Error) as error:
        raise ReplyError("its response has no message") from error
    if not text:
        raise ReplyError("its message is empty")
    return pack_reply(text, finish, usage=_usage(body.get("usage"), "prompt_tokens", "completion_tokens"))


def _id(value: Any) -> str:
    if not isinstance(value, str):
        raise ReplyError("it has no 'id'")
    return value


def _finish(reason: Any) -> str:
    return reason if reason in _CUT else "stop"


def _usage(value: Any, *names: str) -> tuple[int | None, int | None]:
    counts = [value.get(name) if isinstance(value, dict) else None for name in names]
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        return None, None
    prompt_tokens, reply_tokens = counts
    return prompt_tokens, reply_tokens


def _reason(error: Any) -> str:
    said = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(said).split())[:200]

"""Requests that are answered elsewhere, by a batch of a provider or by hand: lines of one file, replies of another.

A line is neutral, or as OpenAI's batches have it; a reply names its request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from stitch.errors import ModelError, ReplyError
from stitch.lm.endpoints import server_words
from stitch.lm.replies import digest_of, encode_reply, text_of

if TYPE_CHECKING:
    from dspy import lm15

BatchFormat = Literal["neutral", "openai"]
_CUT = ("length", "content_filter", "error")
"""Reasons why a reply ended that make it of no use; whoever answers by hand may give any other."""


class AwaitedError(ModelError):
    """A reply is made elsewhere and not there yet."""


class BatchRequest(NamedTuple):
    """A request on its way out.

    Attributes:
        id: Names it in the reply.
        body: As OpenAI's chat completions take it.
        trajectory: Of the window of steps that is to be labeled, if it is about one.
        steps: Their ids.
    """

    id: str
    model: str
    body: Mapping[str, Any]
    trajectory: str = ""
    steps: tuple[str, ...] = ()

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the reply; empty if it has none."""
        schema: Mapping[str, Any] = self.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        return schema


class BatchReply(NamedTuple):
    """A reply on its way in, as a `ReplyKeeper` has it; `id` is that of its request."""

    id: str
    reply: bytes


class DeferredCompletion:
    """Gives each request of which no reply is kept to `take`, in the place of a provider."""

    def __init__(self, take: Callable[[BatchRequest], object]) -> None:
        self._take = take

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Take down a request.

        Raises:
            AwaitedError: Always.
        """
        from dspy.clients.lm15_boundary import request_kwargs

        self._take(BatchRequest(digest_of(request).hex(), request.model, request_kwargs(request, "chat")))
        raise AwaitedError(f"a reply of {request.model!r} is awaited from elsewhere")


def write_request(request: BatchRequest, *, form: BatchFormat = "neutral") -> bytes:
    """One line, without its end."""
    body = dict(request.body)
    if form == "openai":
        body["model"] = request.model.removeprefix("openai/")
        return orjson.dumps({"custom_id": request.id, "method": "POST", "url": "/v1/chat/completions", "body": body})
    body.pop("response_format", None)
    about = {"trajectory": request.trajectory, "steps": request.steps} if request.steps else {}
    return orjson.dumps({"id": request.id, "model": request.model, **body, **about, "schema": request.schema})


def read_reply(line: bytes) -> BatchReply:
    """The reply in a line: `{"id", "reply", "usage"?}`, or as a batch of OpenAI returns it.

    `reply` is the JSON that was asked for, or a text with it; `usage` counts `prompt_tokens` and `reply_tokens`.

    Raises:
        ReplyError: The line holds no reply; the message says why.
    """
    from dspy import lm15

    try:
        said = orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise ReplyError("it is no JSON") from error
    if not isinstance(said, dict):
        raise ReplyError("it is no JSON object")
    name = said.get("custom_id", said.get("id"))
    body = _openai_body(said) if "custom_id" in said else _neutral_body(said)
    if not isinstance(name, str):
        raise ReplyError("it has no 'id'")
    try:
        read = lm15.response_from_openai_chat(body, model="m")
        ended = body["choices"][0].get("finish_reason")
    except (LookupError, TypeError, ValueError, AttributeError, lm15.LM15Error) as error:
        raise ReplyError("its response has no message") from error
    if not text_of(read):
        raise ReplyError("its message is empty")
    return BatchReply(name, encode_reply(replace(read, finish_reason=ended if ended in _CUT else "stop")))


def _neutral_body(said: dict[str, Any]) -> dict[str, Any]:
    """A neutral reply as the body that a server would have sent."""
    reply, usage = said.get("reply"), said.get("usage")
    if not isinstance(reply, (dict, str)):
        raise ReplyError("it is a request: its reply is missing" if "messages" in said else "it has no 'reply'")
    text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    if isinstance(usage, dict):
        usage = {"prompt_tokens": usage.get("prompt_tokens"), "completion_tokens": usage.get("reply_tokens")}
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": said.get("finish_reason")}
    return {"choices": [choice], "usage": usage}


def _openai_body(said: dict[str, Any]) -> Any:
    """The body that a server has sent; of a failure the error, in its words."""
    response, failed = said.get("response"), said.get("error")
    if not isinstance(response, dict):
        if not failed:
            raise ReplyError("it is a request: its reply is missing" if "body" in said else "it has no 'response'")
        response = {}
    body, status = response.get("body"), response.get("status_code")
    if failed or status != 200:
        told = failed or (body or {}).get("error") or status
        words = told.get("message") if isinstance(told, dict) else told
        raise ReplyError(f"the provider failed: {server_words(' '.join(str(words).split()))}")
    return body

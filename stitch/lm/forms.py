"""The form of a request, and in words why it or its reply is of no use."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from stitch.errors import ModelError, ModelUnavailableError, ReplyError
from stitch.text.secrets import redact_text

if TYPE_CHECKING:
    from dspy import lm15

FORMS = ("json_schema", "json_object", "none")
"""What `response_format` a model takes, the best first."""
_ABOUT_FORM = re.compile(
    r"response.?format|schema|grammar|json.?(?:mode|object)|structured|guided|^HTTP 4", re.IGNORECASE
)
"""What refusals of a form speak of; some servers say nothing at all."""
_TOO_LONG = re.compile(
    r"context.{0,10}(?:length|window|size)|maximum.{0,20}tokens|prompt is too long|too many tokens", re.IGNORECASE
)
_MOST_SAID, _MOST_TOLD = 2_000, 200


def in_form(request: lm15.Request, form: str) -> lm15.Request:
    """A request whose schema stands where the model takes it: in `response_format`, or else in its prompt."""
    asked = request.config.response_format
    if asked is None or form == "json_schema":
        return request
    wanted = {"type": "json_object"} if form == "json_object" else None
    told = request.system or ""
    if (schema := dict(asked).get("schema")) and isinstance(told, str):
        told = f"{told}\n\nThe JSON schema of the reply: {json.dumps(schema, separators=(',', ':'))}"
    return replace(request, system=told or None, config=replace(request.config, response_format=wanted))


def refuses_form(error: lm15.LM15Error) -> bool:
    """Whether a server refuses what form it is asked for, and not the request."""
    from dspy import lm15

    of_request = isinstance(error, (lm15.InvalidRequestError, lm15.UnsupportedFeatureError))
    if not of_request or isinstance(error, lm15.ContextLengthError) or error.status not in (None, 400, 422):
        return False
    return not error.message.strip() or bool(_ABOUT_FORM.search(str(error)))


def ended_well(response: lm15.Response) -> bool:
    """Whether a reply was not cut."""
    return response.finish_reason in ("stop", "tool_call")


def trouble_of(response: lm15.Response, text: str) -> str:
    """Why a reply cannot be used, after its subject."""
    from dspy import lm15

    parts = response.message.parts
    if refused := " ".join(part.text for part in parts if isinstance(part, lm15.RefusalPart)):
        return f"is a refusal: {server_words(' '.join(refused.split()))}"
    ends = {
        "content_filter": "was taken away by the provider's content filter",
        "length": f"was cut after {len(text)} characters",
        "error": "ended with an error",
    }
    if response.finish_reason in ends:
        return ends[response.finish_reason]
    if any(isinstance(part, lm15.ThinkingPart) for part in parts):
        return "is empty: it thought, and did not answer"
    return "is empty" if (response.provider_data or {"choices": True}).get("choices", True) else "has no choices"


def as_model_error(error: lm15.LM15Error, *, name: str) -> ModelError:
    """An error of DSPy's client as one of ours, in the words of the server."""
    from dspy import lm15

    reason = first_line(error)
    if isinstance(error, lm15.UnknownModelError):
        return ModelUnavailableError(
            f"no provider is known for model {name!r}",
            hint="name it as openai/NAME, anthropic/NAME, ollama_chat/NAME, or give its server with --base-url",
        )
    if isinstance(error, lm15.InvalidRequestError):
        if isinstance(error, lm15.ContextLengthError) or _TOO_LONG.search(reason):
            return ReplyError(f"the prompt is too long for model {name!r}: {reason}")
        if error.provider_code == "content_filter":
            return ReplyError(f"a content filter keeps the prompt from model {name!r}: {reason}")
    if isinstance(error, (lm15.AuthError, lm15.NotConfiguredError)):
        return ModelUnavailableError(f"model {name!r} refuses: {reason}", hint="set STITCH_MODEL_KEY")
    return ModelUnavailableError(
        f"model {name!r} does not answer: {reason}",
        hint="see that its server runs and knows the model; --base-url names another server",
    )


def first_line(error: BaseException) -> str:
    """What an error says, in one line: a server's own words without secrets, and its status."""
    said = getattr(error, "message", "") or str(error)
    told = server_words(next(iter(said.strip().splitlines()), type(error).__name__))
    status = getattr(error, "status", None)
    return told if status is None or str(status) in told else f"{told} (HTTP {status})"


def server_words(words: str) -> str:
    """Words of a server, some of which say which key they refuse, as they may be shown and kept."""
    return redact_text(words[:_MOST_SAID])[0][:_MOST_TOLD]

"""Facts about servers: a model of DSPy as what answers, forms of requests, odd bodies, and reasons in words."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from stitch.errors import ModelError, ModelUnavailableError, ReplyError
from stitch.lm.replies import reply_of
from stitch.text.secrets import redact_text

if TYPE_CHECKING:
    from dspy import lm15

OF_REQUESTS = frozenset((
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "frequency_penalty",
    "presence_penalty", "reasoning_effort", "service_tier", "store", "user", "prompt_cache",
))  # fmt: skip
"""Settings of a `dspy.LM` that a request has fields for."""
_LEFT_OUT = frozenset(("n", "num_generations", "rollout_id", "response_format", "extra_body"))
"""Each request has one reply, in the form that is asked for here."""
_FORMS = ("json_schema", "json_object", "none")
"""What `response_format` a model takes, the best first."""
_ABOUT_FORM = re.compile(
    r"response.?format|schema|grammar|json.?(?:mode|object)|structured|guided|^HTTP 4", re.IGNORECASE
)
"""What refusals of a form speak of; some servers say nothing at all."""
_TOO_LONG = re.compile(
    r"context.{0,10}(?:length|window|size)|maximum.{0,20}tokens|prompt is too long|too many tokens", re.IGNORECASE
)
_MOST_SAID, _MOST_TOLD = 2_000, 200


class Completion(Protocol):
    """Answers one request once, or raises an error, best of `dspy.lm15`, as an engine of DSPy does."""

    def complete(self, request: lm15.Request) -> lm15.Response: ...  # noqa: D102


def is_on_this_machine(model: Any, *, base_url: str | None) -> bool:
    """Whether what answers for a model, named or given, runs here."""
    given = None if isinstance(model, str) else model.kwargs.get("api_base") or model.kwargs.get("base_url")
    name = model if isinstance(model, str) else model.model
    host = urlsplit(base_url or given or _server_in_environment(name)).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def lm_of(model: Any, *, base_url: str | None, api_key: str | None, completion: Completion | None) -> Any:
    """A model as DSPy has it, named or given; a server of one's own gets no key of the environment."""
    import dspy

    if not isinstance(model, str):
        return model
    if completion is not None:
        return dspy.LM(model, engine=completion)
    if base_url is not None:
        model, api_key = f"openai/{model.removeprefix('openai/')}", api_key or "none"
    given = {"api_key": api_key} if api_key else {}
    if server := base_url or _server_in_environment(model):
        return dspy.LM(model, engine="lm15", api_base=server.rstrip("/"), **given)
    return dspy.LM(model, engine="auto" if "/" in model else "lm15", **given)


def _server_in_environment(model: str) -> str:
    """The address that OpenAI's own client would ask; DSPy knows the variables of other providers."""
    names = ("OPENAI_BASE_URL", "OPENAI_API_BASE") if model.startswith("openai/") else ()
    return next(filter(None, map(os.environ.get, names)), "")


def configured_lm() -> Any:
    """The model that DSPy is configured with; None if there is none."""
    import dspy

    return dspy.settings.lm  # noqa: TID251 - read, where a setting says `model`


def cache_folder() -> str:
    """The folder of DSPy's response cache on this machine."""
    from dspy import clients

    return str(clients.DISK_CACHE_DIR)


class Endpoint:
    """A `dspy.BaseLM` as what answers, one try a request: its keys, addresses and settings hold.

    A form of request that it refuses is fallen back from, and not tried again.

    Args:
        lm: The model.
        timeout_s: How long to wait, if `lm` does not say.
    """

    def __init__(self, lm: Any, *, timeout_s: float) -> None:
        import dspy
        from dspy.clients.backend_selection import CLIENT_KEYS
        from dspy.clients.engines.lm15_engine import LM15Engine
        from dspy.clients.execution import _select_engine, prepare

        settings = {name: value for name, value in lm.kwargs.items() if value is not None}
        own = settings.keys() - OF_REQUESTS - CLIENT_KEYS - _LEFT_OUT
        self._further = {**settings.get("extra_body", {}), **{name: settings[name] for name in own}}
        self._lm, self._http, asked = lm, None, prepare(lm, "?", None, {})
        called = type(lm).__call__ not in (dspy.BaseLM.__call__, dspy.LM.__call__)
        of_others = called or not asked.managed
        self._form = len(_FORMS) - 1 if of_others and "response_format" not in lm.supported_params else 0
        if called:
            self._engine: Any = _Called(lm)
            return
        by_dspy = isinstance(getattr(lm, "engine", None), str)
        if asked.managed:
            waits = {"timeout": settings.get("timeout", timeout_s)} if by_dspy else {}
            lm = lm.copy(**dict.fromkeys(lm.kwargs.keys() - CLIENT_KEYS), **waits)
            asked = prepare(lm, "?", None, {})
        self._engine = _select_engine(lm, asked, False)[0]
        if by_dspy and isinstance(self._engine, LM15Engine):
            config = self._engine.config
            self._http = _http(**config.transport_kwargs())
            self._engine = LM15Engine(replace(config, timeouts=None, transport=self._http), model_type=lm.model_type)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """As `Completion.complete`."""
        from dspy import lm15

        further = {**self._further, **(request.config.extensions or {})} or None
        request = replace(request, model=self._lm.model, config=replace(request.config, extensions=further))
        while True:
            form = self._form
            try:
                answered: lm15.Response = self._engine.complete(_in_form(request, _FORMS[form]))
            except lm15.LM15Error as error:
                if request.config.response_format is None or form == len(_FORMS) - 1 or not _refuses_form(error):
                    raise
                self._form = max(self._form, form + 1)
            else:
                return answered

    def close(self) -> None:
        """Let go of connections; those of the given model stay."""
        if self._http is not None:
            self._http.close()


class _Called:
    """A model with a `__call__` of its own, called as DSPy's adapters call it."""

    def __init__(self, lm: Any) -> None:
        self._lm = lm

    def complete(self, request: lm15.Request) -> lm15.Response:
        """As `Completion.complete`."""
        from dspy.clients.lm15_boundary import request_kwargs

        first = next(iter(self._lm(**request_kwargs(request, "chat"))), "")
        text = (first.get("text") or first.get("reasoning_content")) if isinstance(first, dict) else first
        return reply_of(text or "", model=request.model)


def _in_form(request: lm15.Request, form: str) -> lm15.Request:
    """A request whose schema stands where the model takes it: in `response_format`, or else in its prompt."""
    asked = request.config.response_format
    if asked is None or form == "json_schema":
        return request
    wanted = {"type": "json_object"} if form == "json_object" else None
    told = request.system or ""
    if (schema := dict(asked).get("schema")) and isinstance(told, str):
        told = f"{told}\n\nThe JSON schema of the reply: {json.dumps(schema, separators=(',', ':'))}"
    return replace(request, system=told or None, config=replace(request.config, response_format=wanted))


def _refuses_form(error: lm15.LM15Error) -> bool:
    """Whether a server refuses what form it is asked for, and not the request."""
    from dspy import lm15

    of_request = isinstance(error, (lm15.InvalidRequestError, lm15.UnsupportedFeatureError))
    if not of_request or isinstance(error, lm15.ContextLengthError) or error.status not in (None, 400, 422):
        return False
    return not error.message.strip() or bool(_ABOUT_FORM.search(str(error)))


def _http(**limits: Any) -> Any:
    """HTTP that takes bodies as servers send them."""
    from dspy._vendor.lm15.transports import StdlibTransport, TransportResponse

    class Lenient(StdlibTransport):  # type: ignore[misc]  # DSPy is not typed
        def stream(self, request: Any) -> Any:
            with super().stream(request) as response:
                body = _as_openai(response.read(), failed=response.status >= 400)
            told = {name: getattr(response, name) for name in ("status", "reason", "headers", "http_version")}
            return TransportResponse(**told, chunks=iter([body]), release=lambda consumed: None)

    return Lenient(**limits)


def _as_openai(body: bytes, *, failed: bool) -> bytes:
    """A body as OpenAI sends it: no lines that keep a connection alive, no pieces, an error's words in their place."""
    try:
        if body.strip()[:1] in (b":", b"d", b"e"):  # comments, and the fields of server-sent events
            lines = [line.strip() for line in body.decode(errors="replace").splitlines()]
            pieces = [line[5:].strip() for line in lines if line.startswith("data:")]
            body = _joined(pieces) if pieces else "\n".join(line for line in lines if line[:1] != ":").encode()
        said = json.loads(body) if failed else {}
        words = said.get("message") or said.get("detail")
    except (ValueError, AttributeError, TypeError, RecursionError):
        return body
    if said.get("error") or not words:
        return body
    words = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    return json.dumps({"error": {"message": words, "type": said.get("type")}}).encode()


def _joined(pieces: Sequence[str]) -> bytes:
    """The completion that was sent in pieces; one without its end was cut."""
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant"}
    ended = "stop" if "[DONE]" in pieces else "length"
    for piece in pieces:
        told = json.loads(piece) if piece != "[DONE]" else {}
        whole |= {name: value for name, value in told.items() if value is not None}
        for choice in told.get("choices") or ():
            ended = choice.get("finish_reason") or ended
            for name, said in (choice.get("delta") or choice.get("message") or {}).items():
                if name != "role" and isinstance(said, str):
                    message[name] = message.get(name, "") + said
    return json.dumps({**whole, "choices": [{"index": 0, "message": message, "finish_reason": ended}]}).encode()


def trouble_of(response: lm15.Response, text: str) -> str:
    """The reason a reply that says `text` cannot be used, after its subject; empty if it is whole."""
    from dspy import lm15

    if response.finish_reason in ("stop", "tool_call") and text.strip():
        return ""
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


def can_be_tried_again(error: Exception) -> bool:
    """Whether the same request may be answered a little later."""
    import dspy
    from dspy import lm15

    return isinstance(error, lm15.RETRYABLE_ERRORS) or dspy.is_retryable_lm_error(error)


def timed_out(error: Exception) -> bool:
    """Whether it was waited for a reply for as long as may be."""
    import dspy
    from dspy._vendor.lm15.transports import ReadTimeout

    return isinstance(error, (TimeoutError, dspy.LMTimeoutError)) or isinstance(error.__cause__, ReadTimeout)


def as_model_error(error: Exception, *, name: str) -> ModelError:
    """An error of DSPy, or of an engine or a model of somebody's own, as one of ours, in the words of the server."""
    import dspy
    from dspy import lm15

    reason, does = first_line(error), "does not answer"
    hint = "see that its server runs and knows the model; --base-url names another server"
    of_request = isinstance(error, lm15.InvalidRequestError)
    if isinstance(error, lm15.UnknownModelError):
        return ModelUnavailableError(
            f"no provider is known for model {name!r}",
            hint="name it as openai/NAME, anthropic/NAME, ollama_chat/NAME, or give its server with --base-url",
        )
    too_long = isinstance(error, (lm15.ContextLengthError, dspy.ContextWindowExceededError))
    if too_long or (of_request and _TOO_LONG.search(reason)):
        return ReplyError(f"the prompt is too long for model {name!r}: {reason}")
    if of_request and getattr(error, "provider_code", "") == "content_filter":
        return ReplyError(f"a content filter keeps the prompt from model {name!r}: {reason}")
    if isinstance(error, lm15.NotConfiguredError):
        keys = " or ".join(
            ("STITCH_MODEL_KEY", *getattr(error, "env_keys", ()))
        )  # its words say what a caller of its library sets
        return ModelUnavailableError(f"model {name!r} has no key in {keys}", hint="set one of them")
    if timed_out(error):
        told = "does not answer in time, which the setting model_timeout_s says"
        return ModelUnavailableError(f"model {name!r} {told}", hint="set model_timeout_s to more")
    if isinstance(error, lm15.AuthError):
        does, hint = "refuses", "set STITCH_MODEL_KEY"
    return ModelUnavailableError(f"model {name!r} {does}: {reason}", hint=hint)


def first_line(error: BaseException) -> str:
    """An error in one line: a server's own words without secrets, and its status."""
    said = getattr(error, "message", "") or str(error)
    told = server_words(next(iter(said.strip().splitlines()), type(error).__name__))
    status = getattr(error, "status", None)
    return told if status is None or str(status) in told else f"{told} (HTTP {status})"


def server_words(words: str) -> str:
    """Words of a server, some of which say which key they refuse, as they may be shown and kept."""
    return redact_text(words[:_MOST_SAID])[0][:_MOST_TOLD]

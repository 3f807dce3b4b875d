"""The ways to a model: DSPy's HTTP client for one that settings name, and a `dspy.BaseLM` of the caller's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from stitch.errors import SettingsError
from stitch.lm.replies import reply_of

if TYPE_CHECKING:
    from dspy import lm15

_OF_REQUESTS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "frequency_penalty",
                "presence_penalty", "reasoning_effort", "service_tier", "store", "user")  # fmt: skip
"""What of the settings of a `dspy.LM` a request has fields for."""


class Completion(Protocol):
    """Answers one request once, or raises an error of `dspy.lm15`; the engines of `stitch.testing` do."""

    def complete(self, request: lm15.Request) -> lm15.Response: ...  # noqa: D102


def named_lm(name: str, *, base_url: str | None, api_key: str | None) -> Any:
    """The `dspy.LM` of a name; nothing is sent. A server of one's own gets no key of the environment."""
    import dspy

    place = {"api_key": api_key} if api_key else {}
    if base_url is not None:
        name = f"openai/{name.removeprefix('openai/')}"
        place = {"api_base": base_url.rstrip("/"), "api_key": api_key or "none"}
    return dspy.LM(name, engine="lm15", **place)


def _transport(timeout_s: float) -> Any:
    """HTTP that takes bodies as servers send them."""
    from dspy._vendor.lm15.transports import StdlibTransport, TransportResponse

    class Lenient(StdlibTransport):  # type: ignore[misc]  # DSPy is not typed
        def stream(self, request: Any) -> Any:
            with super().stream(request) as response:
                body = _as_openai(response.read(), failed=response.status >= 400)
            told = {name: getattr(response, name) for name in ("status", "reason", "headers", "http_version")}
            return TransportResponse(**told, chunks=iter([body]), release=lambda consumed: None)

    return Lenient(connect_timeout=min(10.0, timeout_s), read_timeout=timeout_s, write_timeout=timeout_s,
                   pool_timeout=timeout_s)  # fmt: skip


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


def chosen_lm(given: Any, *, named: str | None, cache: bool) -> Any:
    """The model of DSPy that is asked: the one given, or where no other is named, the one that DSPy is configured with.

    Raises:
        SettingsError: It is given beside the name of another, or its cache is to be used where there is none.
    """
    if named is None:
        import dspy

        return dspy.settings.lm if given is None else given  # noqa: TID251 - read, where a setting says `model`
    if given is not None or cache:
        other, why = ("lm_cache", ": lm_cache is of use with lm=dspy.LM(...)") if given is None else ("lm", "")
        raise SettingsError(
            f"the model {named!r} is named, and {other} is given", hint=f"leave one of the two out{why}"
        )
    return None


def cache_folder() -> str:
    """Where DSPy's response cache is on this machine."""
    from dspy import clients

    return str(clients.DISK_CACHE_DIR)


class DspyModel:
    """A `dspy.BaseLM` as what answers: its keys, addresses, callbacks and settings hold; retries are ours.

    Args:
        lm: The model.
        cache: Whether DSPy's response cache is used, which keeps prompts outside of the memory.
        timeout_s: How long to wait, if `lm` does not say.
    """

    def __init__(self, lm: Any, *, cache: bool, timeout_s: float) -> None:
        import dspy

        kind = type(lm)
        self._typed = isinstance(lm, dspy.LM) and (kind.__call__, kind.forward) == (dspy.LM.__call__, dspy.LM.forward)
        opened: tuple[Any, Any] = _at_transport(lm, timeout_s) if self._typed else (lm, None)
        self._lm, self._transport = opened
        self._cache = cache
        self.form = 0 if self._typed or "response_format" in lm.supported_params else 2
        """Which of the engine's forms of a request it takes, before it has refused any."""

    def close(self) -> None:
        """Let go of connections; those of the given model stay."""
        if self._transport is not None:
            self._transport.close()

    def complete(self, request: lm15.Request) -> lm15.Response:
        """As `Completion.complete`."""
        import dspy
        from dspy import lm15
        from dspy.utils.exceptions import LMError

        try:
            # The call around this one is counted by whoever tracks usage.
            with dspy.context(usage_tracker=None):
                if not self._typed:
                    return self._by_messages(request)
                config = _filled(request.config, _config_of(self._lm.kwargs))
                return self._lm(replace(request, model=self._lm.model, config=config), cache=self._cache)
        except LMError as error:
            if isinstance(error.__cause__, lm15.LM15Error):
                raise error.__cause__ from None
            if isinstance(error, dspy.ContextWindowExceededError):
                raise lm15.ContextLengthError(str(error)) from error
            kind = lm15.ServerError if dspy.is_retryable_lm_error(error) else lm15.ProviderError
            raise kind(str(error)) from error

    def _by_messages(self, request: lm15.Request) -> lm15.Response:
        """The reply of a subclass with a `forward` or a `__call__` of its own, called as DSPy's adapters call it."""
        from dspy import lm15
        from dspy.clients.call_result import attributes
        from dspy.clients.lm15_boundary import request_kwargs

        lm, told = self._lm.copy(), list[Any]()
        own = lm.forward

        def forward(*args: Any, **given: Any) -> Any:
            raw = own(*args, **given)
            told.append(json.loads(json.dumps(raw, default=lambda each: getattr(each, "__dict__", str(each)))))
            return attributes(told[-1])

        lm.forward = forward
        asked = request_kwargs(request, "chat")
        said = lm(messages=asked.pop("messages"), **asked)
        raw = told[-1] if told else None
        if isinstance(raw, dict) and any("message" in choice for choice in raw.get("choices") or ()):
            return lm15.response_from_openai_chat(raw, model=request.model)
        first = next(iter(said or (raw if isinstance(raw, list) else ())), "")
        text = (first.get("text") or first.get("reasoning_content")) if isinstance(first, dict) else first
        return reply_of(text or "", model=request.model)


def _at_transport(lm: Any, timeout_s: float) -> tuple[Any, Any]:
    """A copy of a `dspy.LM` that does not retry, and its HTTP, where DSPy's own client is used."""
    from dspy import lm15
    from dspy.clients.backend_selection import select_backend
    from dspy.clients.engines.lm15_engine import LM15Engine

    if not isinstance(lm.engine, str):
        return lm.copy(num_retries=0), None
    lm = lm.copy(num_retries=0, timeout=lm.kwargs.get("timeout") or timeout_s)
    chosen = select_backend(lm)
    given, timeout_s = chosen.clients, chosen.clients.get("timeout")
    if not chosen.native or not isinstance(timeout_s, (int, float)):
        return lm, None
    places = {"api_keys": given.get("api_key"), "base_urls": given.get("api_base") or given.get("base_url")}
    config = lm15.RouterConfig(
        **{name: {chosen.resolution.provider: value} for name, value in places.items() if value},
        providers=tuple(own.definition for own in lm15.registered_providers()),
        transport=(transport := _transport(timeout_s)),
    )
    return lm.copy(engine=LM15Engine(config, model_type=lm.model_type), **dict.fromkeys(given)), transport


def _config_of(settings: Mapping[str, Any]) -> lm15.Config:
    """What a `dspy.LM` sends with each request of its own; what no field is for goes into the body as it is."""
    from dspy import lm15
    from dspy.clients.backend_selection import CLIENT_KEYS

    aside = CLIENT_KEYS | {"rollout_id", "n", "response_format", "num_generations", "prompt_cache", "extra_body"}
    left = {name: value for name, value in settings.items() if value is not None and name not in aside}
    told = {name: left.pop(name) for name in _OF_REQUESTS if name in left}
    body = {**settings.get("extra_body", {}), **left}
    asked = lm15.request_from_openai_chat({"model": "m", "messages": [{"role": "user", "content": "q"}], **told})
    extensions = {**(asked.config.extensions or {}), **body} or None
    return replace(asked.config, cache=settings.get("prompt_cache"), extensions=extensions)


def _filled(config: lm15.Config, default: lm15.Config) -> lm15.Config:
    own = {name: value for name in config.__dataclass_fields__ if (value := getattr(config, name)) not in (None, ())}
    return replace(default, **own)

"""Ways to a model: DSPy's own client for a `dspy.LM`, and bodies as servers send them; models of other kinds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from stitch.errors import SettingsError
from stitch.lm.forms import FORMS
from stitch.lm.replies import reply_of

if TYPE_CHECKING:
    from dspy import lm15

_OF_REQUESTS = frozenset((
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "frequency_penalty",
    "presence_penalty", "reasoning_effort", "service_tier", "store", "user", "prompt_cache",
))  # fmt: skip
"""Settings of a `dspy.LM` that a request has fields for."""
_LEFT_OUT = frozenset(("n", "num_generations", "rollout_id", "response_format"))
"""Each request has one reply, in the form that is asked for here."""


class Completion(Protocol):
    """Answers one request once, or raises an error of `dspy.lm15`, as an engine of DSPy does."""

    def complete(self, request: lm15.Request) -> lm15.Response: ...  # noqa: D102


def lm_of(model: Any, *, base_url: str | None, api_key: str | None) -> Any:
    """A model as DSPy has it, named or given; a server of one's own gets no key of the environment."""
    import dspy

    if not isinstance(model, str):
        return model
    if base_url is None:
        return dspy.LM(model, engine="lm15", **({"api_key": api_key} if api_key else {}))
    name = f"openai/{model.removeprefix('openai/')}"
    return dspy.LM(name, engine="lm15", api_base=base_url.rstrip("/"), api_key=api_key or "none")


def lm_like(lm: Any, **engines: Any) -> Any:
    """A `dspy.LM` with the settings and callbacks of a model, that asks other engines, and tries once."""
    import dspy

    if _is_plain(lm):
        return lm.copy(num_retries=0, **engines, **dict.fromkeys(lm.kwargs.keys() - _OF_REQUESTS))
    return dspy.LM(f"stitch/{lm.model}", callbacks=lm.callbacks, num_retries=0, **engines)


def _is_plain(lm: Any) -> bool:
    """Whether DSPy's own client answers for a model, and not a `forward` or a `__call__` of its own."""
    import dspy

    kind = type(lm)
    return isinstance(lm, dspy.LM) and (kind.__call__, kind.forward) == (dspy.LM.__call__, dspy.LM.forward)


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


class Endpoint:
    """A `dspy.BaseLM` as what answers, one try a request: its keys, addresses and settings hold.

    Args:
        lm: The model.
        timeout_s: How long to wait, if `lm` does not say.
    """

    def __init__(self, lm: Any, *, timeout_s: float) -> None:
        self._lm, self._timeout_s = lm, timeout_s
        self.form = 0 if _is_plain(lm) or "response_format" in lm.supported_params else len(FORMS) - 1
        """Which of the forms of a request it takes, before it has refused any."""
        self._engine: Any = None
        self._http: Any = None
        self._further: dict[str, Any] = {}
        """Settings that a request has no field for: they go into its body as they are."""

    def complete(self, request: lm15.Request) -> lm15.Response:
        """As `Completion.complete`."""
        import dspy
        from dspy import lm15

        try:
            if self._engine is None:
                self._engine = self._opened() if _is_plain(self._lm) else _Legacy(self._lm)
            further = {**self._further, **(request.config.extensions or {})} or None
            asked = replace(request, model=self._lm.model, config=replace(request.config, extensions=further))
            answered: lm15.Response = self._engine.complete(asked)
        except lm15.LM15Error:
            raise
        except dspy.ContextWindowExceededError as error:
            raise lm15.ContextLengthError(str(error)) from error
        except Exception as error:  # code of others, which may raise anything
            kind = lm15.ServerError if dspy.is_retryable_lm_error(error) else lm15.ProviderError
            raise kind(str(error)) from error
        return answered

    def close(self) -> None:
        """Let go of connections; those of the given model stay."""
        if self._http is not None:
            self._http.close()

    def _opened(self) -> Any:
        """The engine of a `dspy.LM`; DSPy's own speaks HTTP that takes bodies as servers send them."""
        from dspy.clients.backend_selection import CLIENT_KEYS
        from dspy.clients.engines.lm15_engine import LM15Engine
        from dspy.clients.execution import _select_engine, prepare

        lm, settings = self._lm, {name: value for name, value in self._lm.kwargs.items() if value is not None}
        own = settings.keys() - _OF_REQUESTS - CLIENT_KEYS - _LEFT_OUT - {"extra_body"}
        self._further = {**settings.get("extra_body", {}), **{name: settings[name] for name in own}}
        if not isinstance(lm.engine, str):
            return lm.engine
        bare = lm.copy(
            **dict.fromkeys(lm.kwargs.keys() - CLIENT_KEYS), timeout=settings.get("timeout", self._timeout_s)
        )
        engine = _select_engine(bare, prepare(bare, "?", None, {}), False)[0]
        if isinstance(engine, LM15Engine):
            self._http = _http(**engine.config.transport_kwargs())
            engine = LM15Engine(replace(engine.config, timeouts=None, transport=self._http), model_type=lm.model_type)
        return engine


class _Legacy:
    """A model with a `forward` or a `__call__` of its own, called as DSPy's adapters call it."""

    def __init__(self, lm: Any) -> None:
        import dspy

        self._call = lm.forward if type(lm).__call__ in (dspy.BaseLM.__call__, dspy.LM.__call__) else lm

    def complete(self, request: lm15.Request) -> lm15.Response:
        """As `Completion.complete`."""
        from dspy import lm15
        from dspy.clients.lm15_boundary import request_kwargs

        raw = json.loads(json.dumps(self._call(**request_kwargs(request, "chat")), default=_plain))
        choices = raw.get("choices") or [] if isinstance(raw, dict) else raw or []
        if any("message" in choice for choice in choices):
            return lm15.response_from_openai_chat(raw, model=request.model)
        first = next(iter(choices), "")
        text = (first.get("text") or first.get("reasoning_content")) if isinstance(first, dict) else first
        return reply_of(text or "", model=request.model)


def _plain(value: Any) -> Any:
    return getattr(value, "__dict__", str(value))


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

"""The two ways to a model: DSPy's HTTP client for one that settings name, and a `dspy.LM` of the caller's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from stitch.errors import ModelUnavailableError, SettingsError

if TYPE_CHECKING:
    from dspy import lm15

    from stitch.lm.limits import Limits

_ENDPOINT = "stitch-endpoint"
_OF_REQUESTS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "frequency_penalty",
                "presence_penalty", "reasoning_effort", "service_tier", "store", "user")  # fmt: skip
"""What of the settings of a `dspy.LM` a request has fields for; others go into its body as they are."""


class Completion(Protocol):
    """Answers one request once, without retries; `lm15.LMRouter` and the engines of `stitch.testing` do."""

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Return the reply, or raise an error of `dspy.lm15`."""
        ...


def find_provider(name: str, *, base_url: str | None, api_key: str | None, limits: Limits) -> tuple[Completion, str]:
    """The client of a named model, and the name under which requests ask for it; nothing is sent.

    Raises:
        ModelUnavailableError: No provider is known.
    """
    from dspy import lm15

    settings: dict[str, Any] = {"transport": _transport(limits)}
    if base_url is not None:
        access = lm15.AccessPolicy(provider=_ENDPOINT, base_url=base_url.rstrip("/"))
        compat = lm15.OpenAIChatCompat.preset("openai")
        settings["providers"] = (lm15.ProviderDefinition.chat(access, compat=compat, placeholder_key="none"),)
        provider, target = _ENDPOINT, f"{_ENDPOINT}:{name.removeprefix('openai/')}"
    else:
        try:
            found = lm15.LMRouter(lm15.RouterConfig()).resolve_openai_chat(name)
        except lm15.LM15Error as error:
            raise ModelUnavailableError(
                f"no provider is known for model {name!r}",
                hint="name it as openai/NAME, anthropic/NAME, ollama_chat/NAME, or give its server with --base-url",
            ) from error
        provider, target = found.provider, f"{found.provider}:{found.model}"
    if api_key is not None:
        settings["api_keys"] = {provider: api_key}
    return lm15.LMRouter(lm15.RouterConfig(**settings)), target


def _transport(limits: Limits) -> Any:
    """HTTP that keeps the words of servers whose errors have another form than OpenAI's, which DSPy would drop."""
    from dspy._vendor.lm15.transports import StdlibTransport, TransportResponse

    class Telling(StdlibTransport):  # type: ignore[misc]  # DSPy is not typed
        def stream(self, request: Any) -> Any:
            response = super().stream(request)
            if response.status < 400:
                return response
            with response:
                body = _as_openai(response.read())
            told = {name: getattr(response, name) for name in ("status", "reason", "headers", "http_version")}
            return TransportResponse(**told, chunks=iter([body]), release=_release)

    timeout_s = limits.timeout_s
    return Telling(connect_timeout=min(10.0, timeout_s), read_timeout=timeout_s, write_timeout=timeout_s,
                   pool_timeout=timeout_s, max_connections=limits.concurrency)  # fmt: skip


def _release(consumed: object) -> None:
    """The connection has gone back already."""


def _as_openai(body: bytes) -> bytes:
    """An error's body with its words where OpenAI has them."""
    try:
        said = json.loads(body)
        words = said.get("message") or said.get("detail")
    except (ValueError, AttributeError, RecursionError):
        return body
    if said.get("error") or not words:
        return body
    words = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    return json.dumps({"error": {"message": words, "type": said.get("type")}}).encode()


def chosen_lm(given: Any, *, named: str | None, cache: bool) -> Any:
    """The model of DSPy that is asked: the one given, or where no other is named, the one that DSPy is configured with.

    Raises:
        SettingsError: It is given beside the name of another, or its cache is to be used where there is none.
    """
    if named is None:
        import dspy

        return dspy.settings.lm if given is None else given  # noqa: TID251 - read, where a setting says `model`
    if given is not None or cache:
        raise SettingsError(
            f"the model {named!r} is named, and {'lm_cache' if given is None else 'lm'} is given",
            hint="leave one of the two out: lm_cache is of use with lm=dspy.LM(...)",
        )
    return None


def cache_folder() -> str:
    """Where DSPy's response cache is on this machine."""
    from dspy import clients

    return str(clients.DISK_CACHE_DIR)


class DspyModel:
    """Answers by a `dspy.BaseLM`: its keys, addresses, callbacks and settings hold; retries are ours.

    Args:
        lm: The model; one of a legacy subclass is asked through its `forward`.
        cache: Whether DSPy's response cache is used, which keeps prompts outside of the memory.
        timeout_s: How long to wait, if `lm` does not say.
    """

    def __init__(self, lm: Any, *, cache: bool, timeout_s: float) -> None:
        import dspy

        self._own = isinstance(lm, dspy.LM)
        if self._own:
            timeout = {} if "timeout" in lm.kwargs or not isinstance(lm.engine, str) else {"timeout": timeout_s}
            lm = lm.copy(num_retries=0, **timeout)
        self._lm, self._cache = lm, cache

    def complete(self, request: lm15.Request) -> lm15.Response:
        """As `Completion.complete`."""
        import dspy
        from dspy import lm15
        from dspy.utils.exceptions import LMError

        config = _filled(request.config, _config_of(self._lm.kwargs))
        try:
            # The call around this one is counted by whoever tracks usage.
            with dspy.context(usage_tracker=None):
                response = self._lm(replace(request, model=self._lm.model, config=config), cache=self._cache)
        except LMError as error:
            if isinstance(error.__cause__, lm15.LM15Error):
                raise error.__cause__ from None
            if isinstance(error, dspy.ContextWindowExceededError):
                raise lm15.ContextLengthError(str(error)) from error
            kind = lm15.ServerError if dspy.is_retryable_lm_error(error) else lm15.ProviderError
            raise kind(str(error)) from error
        return response


def _config_of(settings: Mapping[str, Any]) -> lm15.Config:
    """What a `dspy.LM` sends with each request of its own."""
    from dspy import lm15
    from dspy.clients.backend_selection import CLIENT_KEYS

    left = {name: value for name, value in settings.items() if value is not None and name not in CLIENT_KEYS}
    told = {name: left.pop(name) for name in _OF_REQUESTS if name in left}
    for name in ("rollout_id", "n", "response_format", "num_generations"):
        left.pop(name, None)
    cache = left.pop("prompt_cache", None)
    body = {**left.pop("extra_body", {}), **left}
    asked = lm15.request_from_openai_chat({"model": "m", "messages": [{"role": "user", "content": "q"}], **told})
    return replace(asked.config, cache=cache, extensions={**(asked.config.extensions or {}), **body} or None)


def _filled(config: lm15.Config, default: lm15.Config) -> lm15.Config:
    own = {name: value for name in config.__dataclass_fields__ if (value := getattr(config, name)) not in (None, ())}
    return replace(default, **own)

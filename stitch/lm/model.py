"""Language models: built from plain values, bounded, counted, and never trusted.

Every call goes through one engine of our own around DSPy's HTTP client, so retries, limits, the ledger and the checks
of a reply are in one place; DSPy formats prompts and parses replies. Nothing is kept by DSPy between two calls.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from stitch.errors import (
    BudgetSpentError,
    CutReplyError,
    ModelError,
    ModelUnavailableError,
    ReplyError,
    SettingsError,
    StitchError,
)
from stitch.lm.ledger import Charge, Ledger, Price, Purpose, charged_key, charged_tenant, current_purpose, purposed
from stitch.lm.limits import PendingCalls, Places
from stitch.lm.replies import decode_reply, digest_of, encode_reply, reply_keeper
from stitch.lm.salvage import json_in

if TYPE_CHECKING:
    from dspy import lm15

CHARS_PER_TOKEN = 4
"""For estimates: where a provider does not count, and before a call."""

_LONGEST_WAIT_S = 30.0
_ENDPOINT = "stitch-endpoint"

_log = logging.getLogger(__name__)


class Completion(Protocol):
    """Answers one request once, without retries; `lm15.LMRouter` and the engines of `stitch.testing` do."""

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Return the reply, or raise an error of `dspy.lm15`."""
        ...


@dataclass(frozen=True)
class Limits:
    """How far a model may go.

    Attributes:
        timeout_s: How long to wait for a reply.
        retries: How often what is transient is tried again, with growing pauses or those the provider asks for.
        concurrency: How many calls may be under way at once.
        budget_tokens: Tokens that may be spent, prompts and replies together; calls under way may go over it.
        budget_usd: Money that may be spent; needs a price.
        reply_tokens: The longest reply to ask for; the provider's own limit if None.
    """

    timeout_s: float = 120.0
    retries: int = 3
    concurrency: int = 8
    budget_tokens: int | None = None
    budget_usd: float | None = None
    reply_tokens: int | None = None


class LanguageModel:
    """A language model that runs DSPy predictors. Safe to use from several threads; nothing happens before `run`.

    Args:
        name: With its provider, such as `openai/gpt-5-mini`, `anthropic/...`, `ollama_chat/...`; with `base_url` the
            name that the server knows, `openai/` before it is dropped.
        base_url: Of a server that speaks OpenAI's chat completions, such as `http://localhost:8000/v1`.
        api_key: Of the provider; its own environment variable is read if None. A server of one's own needs none.
        limits: How far it may go.
        price: What it costs; costs are not counted if None.
        offline: Refuse to leave this machine.
        ledger: Where calls are counted.
        completion: Answers in the place of a provider.
        pause: Waits between two tries; an interruption ends the default one.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        limits: Limits | None = None,
        price: Price | None = None,
        offline: bool = False,
        ledger: Ledger | None = None,
        completion: Completion | None = None,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        limits = limits or Limits()
        if limits.budget_usd is not None and price is None:
            raise SettingsError(
                f"a budget in dollars needs the price of {name!r}", hint="set price_prompt, price_reply"
            )
        if offline and completion is None and not (base_url and _is_loopback(base_url)):
            raise ModelUnavailableError(
                f"model {name!r} is on the network, and the network is off",
                hint="name a server on this machine with --base-url, or set offline: false",
            )
        self.name = name
        self.limits = limits
        self.price = price
        self.ledger = ledger or Ledger()
        self._base_url, self._api_key = base_url, api_key
        self._engine = _Engine(self, completion, price=price, pause=pause)
        self._bound: dict[str, Any] = {}
        self._held = False
        self._failure: ModelError | None = None
        """What ended the block of `held`; no call is made after it."""
        self._lock = threading.Lock()

    def run(self, predictor: Any, *, purpose: Purpose, **inputs: Any) -> Any:
        """Return the prediction of a DSPy predictor for `inputs`.

        Raises:
            ModelUnavailableError: The provider is down after all retries, refuses, or is not configured.
            ReplyError: The reply is cut, empty, no JSON, or lacks a field; asking for less may help.
            BudgetSpentError: The budget is spent; nothing was sent.
            CallInterruptedError: `interrupt` was called.
        """
        from dspy import context
        from dspy.utils.exceptions import AdapterParseError, LMError

        with purposed(purpose):
            try:
                # While it is held, the optimizer around has bound it, with a trace, and perhaps another temperature.
                with context() if self._held else context(**self._binding()):
                    return predictor(**inputs)
            except AdapterParseError as error:
                self.note_use(purpose, steps=-purpose.steps, used=False)
                raise ReplyError(f"the reply of {self.name!r} lacks a field or has one of the wrong kind") from error
            except LMError as error:
                if isinstance(error.__cause__, StitchError):
                    raise error.__cause__ from None
                raise ModelUnavailableError(f"model {self.name!r} cannot be called: {_first_line(error)}") from error

    def note_use(self, purpose: Purpose, *, steps: int, used: bool = True) -> None:
        """Write down what was found out of a reply, which is paid for, when it was read.

        Args:
            purpose: Of the call.
            steps: How many more of its steps the reply covers than the ledger says; negative for fewer.
            used: Whether anything of it could be used.
        """
        self.ledger.charge(
            Charge(
                model=self.name,
                **purpose._replace(steps=steps)._asdict(),
                tenant=charged_tenant.get(),
                prompt_tokens=0,
                reply_tokens=0,
                cost_usd=0.0,
                used=used,
                calls=0,
            )
        )

    @contextmanager
    def held(self, purpose: Purpose) -> Iterator[Any]:
        """Bind the model to a block in which an optimizer of DSPy sees what `run` calls, and may call the model too.

        Yields it as DSPy takes it.

        A provider that is down, or a budget that is spent, ends it: no call is made after that, and the error is raised
        at the end of the block, whatever the optimizer has made of it.
        """
        from dspy import context

        self._held, self._failure = True, None
        try:
            with purposed(purpose), context(**{**self._binding(), "trace": [], "max_trace_size": 10_000}):
                yield self._bound["lm"]
        except Exception:
            if self._failure is not None:
                raise self._failure from None
            raise
        finally:
            self._held = False
        if self._failure is not None:
            raise self._failure

    def interrupt(self) -> None:
        """Give up the calls that are under way, at once, and make no more; may be called from any thread."""
        self._engine.calls.interrupt()

    def close(self) -> None:
        """Let go of connections; closing twice is harmless."""
        self._engine.close()

    def _binding(self) -> dict[str, Any]:
        with self._lock:
            if not self._bound:
                os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")  # else DSPy may fetch a list of prices
                import dspy

                from stitch.signatures.rendering import PromptAdapter

                self._engine.open(self._base_url, self._api_key)
                self._bound = {
                    "lm": dspy.LM(
                        f"stitch/{self.name}",
                        engine=self._engine,
                        async_engine=_AsyncEngine(self._engine),
                        cache=False,
                        num_retries=0,
                    ),
                    "adapter": PromptAdapter(),
                    "disable_history": True,
                    "trace": None,
                    "max_trace_size": 0,
                }
            return self._bound


class _Engine:
    """The engine that DSPy calls: limits, retries, the ledger, and the checks of a reply."""

    supported_params = frozenset({"response_format"})
    supports_response_schema = True

    def __init__(
        self,
        model: LanguageModel,
        completion: Completion | None,
        *,
        price: Price | None,
        pause: Callable[[float], None] | None,
    ) -> None:
        self._model = model
        self._completion = completion
        self._target = model.name
        self._price = price
        self.calls = PendingCalls(model.name)
        self._pause = pause or self.calls.pause
        self._places = Places(model.limits.concurrency)

    def open(self, base_url: str | None, api_key: str | None) -> None:
        if self._completion is not None:
            return
        from dspy import lm15

        limits = self._model.limits
        timeout_s = limits.timeout_s
        timeouts = lm15.Timeouts(connect=min(10.0, timeout_s), read=timeout_s, write=timeout_s, pool=timeout_s)
        settings: dict[str, Any] = {"timeouts": timeouts, "max_connections": limits.concurrency}
        if base_url is not None:
            access = lm15.AccessPolicy(provider=_ENDPOINT, base_url=base_url.rstrip("/"))
            compat = lm15.OpenAIChatCompat.preset("openai")
            settings["providers"] = (lm15.ProviderDefinition.chat(access, compat=compat, placeholder_key="none"),)
            self._target = f"{_ENDPOINT}:{self._model.name.removeprefix('openai/')}"
            provider = _ENDPOINT
        else:
            try:
                found = lm15.LMRouter(lm15.RouterConfig(**settings)).resolve_openai_chat(self._model.name)
            except lm15.LM15Error as error:
                raise ModelUnavailableError(
                    f"no provider is known for model {self._model.name!r}",
                    hint="name it as openai/NAME, anthropic/NAME, ollama_chat/NAME, or give its server with --base-url",
                ) from error
            provider, self._target = found.provider, f"{found.provider}:{found.model}"
        if api_key is not None:
            settings["api_keys"] = {provider: api_key}
        self._completion = lm15.LMRouter(lm15.RouterConfig(**settings))

    def complete(self, request: lm15.Request) -> lm15.Response:
        if self._model._held and self._model._failure is not None:
            raise self._model._failure
        try:
            return self._complete(request)
        except (ModelUnavailableError, BudgetSpentError) as error:
            self._model._failure = error
            raise

    def _complete(self, request: lm15.Request) -> lm15.Response:
        from dspy import lm15

        limits = self._model.limits
        prompt_chars = _chars(request)
        config = (
            request.config if limits.reply_tokens is None else replace(request.config, max_tokens=limits.reply_tokens)
        )
        sent = replace(request, model=self._target, config=config)
        assert self._completion is not None
        keeper = reply_keeper.get()
        digest = digest_of(sent) if keeper is not None else b""
        if keeper is not None and (kept := keeper.get(digest)) is not None:
            return self._whole(decode_reply(kept, model=sent.model))
        complete, tries = self._completion.complete, 0
        while True:
            self._check_budget(prompt_chars // CHARS_PER_TOKEN)
            try:
                with self._places.taken(current_purpose.get().position):
                    response = self.calls.run(lambda: complete(sent))
            except lm15.LM15Error as error:
                if not isinstance(error, lm15.RETRYABLE_ERRORS) or tries >= limits.retries:
                    raise self._mapped(error) from error
                self._pause(min(error.retry_after or 2.0**tries, _LONGEST_WAIT_S))
                tries += 1
            else:
                if keeper is not None:
                    keeper.keep(digest, encode_reply(response))
                self._charge(response, prompt_chars)
                return self._whole(response)

    def close(self) -> None:
        close = getattr(self._completion, "close", None)
        if close is not None:
            close()

    def _check_budget(self, prompt_tokens: int) -> None:
        limits, spent = self._model.limits, self._model.ledger.total()
        if limits.budget_tokens is not None and spent.tokens + prompt_tokens > limits.budget_tokens:
            raise BudgetSpentError(
                f"the budget of {limits.budget_tokens} tokens is spent: {spent.tokens} used, {prompt_tokens} asked",
                hint="`stitch relabel --model-budget-tokens N` goes on",
            )
        if limits.budget_usd is not None and self._price is not None:
            asked = self._price.of(prompt_tokens, 0)
            if (spent.cost_usd or 0.0) + asked > limits.budget_usd:
                raise BudgetSpentError(
                    f"the budget of ${limits.budget_usd:g} is spent: ${spent.cost_usd or 0.0:.4f} used",
                    hint="`stitch relabel --model-budget-usd N` goes on",
                )

    def _charge(self, response: lm15.Response, prompt_chars: int) -> None:
        text, purpose, usage = _text(response), current_purpose.get(), response.usage
        prompt_tokens = prompt_chars // CHARS_PER_TOKEN if usage.input_tokens is None else usage.input_tokens
        reply_tokens = len(text) // CHARS_PER_TOKEN if usage.output_tokens is None else usage.output_tokens
        self._model.ledger.charge(
            Charge(
                model=self._model.name,
                **purpose._asdict(),
                tenant=charged_tenant.get(),
                key=charged_key.get(),
                prompt_tokens=prompt_tokens,
                reply_tokens=reply_tokens,
                cost_usd=self._price.of(prompt_tokens, reply_tokens) if self._price else None,
                used=response.finish_reason == "stop" and json_in(text) is not None,
            )
        )

    def _whole(self, response: lm15.Response) -> lm15.Response:
        """The reply, if it is whole JSON."""
        from dspy import lm15

        text = _text(response)
        if response.finish_reason == "length":
            raise CutReplyError(f"the reply of {self._model.name!r} was cut after {len(text)} characters", said=text)
        found = json_in(text) if response.finish_reason == "stop" else None
        if found is None:
            what = "is empty" if not text.strip() else "is no whole JSON object"
            raise CutReplyError(f"the reply of {self._model.name!r} {what}", said=text)
        shown = json.dumps(found, ensure_ascii=False)
        return replace(response, message=lm15.Message.assistant([lm15.TextPart(shown)]))

    def _mapped(self, error: lm15.LM15Error) -> ModelError:
        from dspy import lm15

        name, reason = self._model.name, _first_line(error)
        if isinstance(error, lm15.ContextLengthError):
            return ReplyError(f"the prompt is too long for model {name!r}: {reason}")
        if isinstance(error, (lm15.AuthError, lm15.NotConfiguredError)):
            return ModelUnavailableError(f"model {name!r} refuses: {reason}", hint="set STITCH_MODEL_KEY")
        return ModelUnavailableError(f"model {name!r} does not answer: {reason}")


class _AsyncEngine:
    """The same for modules that are awaited: a call waits in a thread of its own."""

    supported_params = _Engine.supported_params
    supports_response_schema = True

    def __init__(self, engine: _Engine) -> None:
        self._engine = engine

    async def complete(self, request: lm15.Request) -> lm15.Response:
        return await asyncio.to_thread(self._engine.complete, request)


def _text(response: lm15.Response) -> str:
    from dspy import lm15

    return "".join(part.text for part in response.message.parts if isinstance(part, lm15.TextPart))


def _chars(request: lm15.Request) -> int:
    system = request.system or ""
    count = len(system) if isinstance(system, str) else sum(len(getattr(part, "text", "")) for part in system)
    return count + sum(len(getattr(part, "text", "")) for message in request.messages for part in message.parts)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False

"""Language models: built from plain values, bounded, counted, and never trusted.

DSPy formats prompts and parses replies; in the place of a provider it calls an engine of our own, so retries, limits,
the ledger and the checks of a reply are in one place. Nothing is kept by DSPy between two calls.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from stitch.errors import (
    CutReplyError,
    ModelUnavailableError,
    ReplyError,
    SettingsError,
    StitchError,
)
from stitch.lm.endpoints import (
    OF_REQUESTS,
    Completion,
    Endpoint,
    as_model_error,
    can_be_tried_again,
    first_line,
    is_on_this_machine,
    lm_of,
    timed_out,
    trouble_of,
)
from stitch.lm.ledger import Charge, Ledger, Price, Purpose, bound, charged_key, charged_tenant, current_purpose
from stitch.lm.limits import Calls, Limits
from stitch.lm.reading import json_in
from stitch.lm.replies import ReplyKeeper, chars_of, decode_reply, digest_of, encode_reply, reply_keeper, text_of
from stitch.text.markers import harmless

if TYPE_CHECKING:
    from dspy import lm15

CHARS_PER_TOKEN = 4
"""For estimates: where a provider does not count, and before a call."""

_LONGEST_WAIT_S = 30.0


class LanguageModel:
    """A language model that runs DSPy predictors. Safe to use from several threads; nothing happens before `run`.

    Args:
        model: A `dspy.BaseLM`; or a name with its provider, such as `openai/gpt-5-mini`, `anthropic/...`,
            `ollama_chat/...`; with `base_url` the name that the server knows, `openai/` before it is dropped.
        base_url: Of a server that speaks OpenAI's chat completions, such as `http://localhost:8000/v1`; the
            environment variables of the provider count where it is None, such as `OPENAI_BASE_URL`.
        api_key: Of the provider; its own environment variable is read if None. A server of one's own needs none.
        cache: Whether DSPy's response cache is used, which keeps prompts outside of the memory.
        limits: How far it may go.
        price: What it costs; costs are not counted if None.
        offline: Refuse to leave this machine.
        ledger: Where calls are counted.
        completion: Answers in the place of the provider of a name.
        sampling: Fills in what the settings of a request leave to the provider.
    """

    def __init__(
        self,
        model: Any,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        cache: bool = False,
        limits: Limits | None = None,
        price: Price | None = None,
        offline: bool = False,
        ledger: Ledger | None = None,
        completion: Completion | None = None,
        sampling: Callable[[lm15.Config], lm15.Config] | None = None,
    ) -> None:
        named = isinstance(model, str)
        self.name: str = model if named else model.model
        self.price, self.ledger, self.sampling = price, ledger or Ledger(), sampling
        self.limits = limits or Limits()
        if self.limits.budget_usd is not None and price is None:
            raise SettingsError(
                f"a budget in dollars needs the price of {self.name!r}", hint="set price_prompt, price_reply"
            )
        if offline and completion is None and not is_on_this_machine(model, base_url=base_url):
            raise (ModelUnavailableError if named else SettingsError)(
                f"model {self.name!r} is on the network, and the network is off",
                hint="name a server on this machine, with --base-url or as api_base of lm, or set offline: false",
            )
        self._made = partial(lm_of, model, base_url=base_url, api_key=api_key, completion=completion)
        self._cache = cache
        self._endpoint: Endpoint | None = None
        self._calls = Calls(self.name, most=self.limits.concurrency)
        self._lock = threading.Lock()
        self._held = False
        """Whether no call is made after one that ended in a failure."""
        self._failure: StitchError | None = None
        self._replies: ReplyKeeper | None = None
        self._asked: Counter[bytes] = Counter()
        """How often the same request was made, where its replies are kept."""

    def run(self, predictor: Any, *, purpose: Purpose, **inputs: Any) -> Any:
        """Return the prediction of a DSPy predictor for `inputs`, none of which can begin or end what stands around it.

        Raises:
            ModelUnavailableError: The provider is down after all retries, refuses, or is not configured.
            ReplyError: The reply is cut, empty, no JSON, or lacks a field; asking for less may help.
            BudgetSpentError: The budget is spent; nothing was sent.
            CallInterruptedError: `interrupt` was called.
        """
        from dspy import context
        from dspy.utils.exceptions import AdapterParseError, LMError

        with bound(current_purpose, purpose):
            try:
                # While it is held, the optimizer around has bound it, with a trace, and perhaps another temperature.
                with context() if self._held else context(**self._binding):
                    return predictor(**{name: harmless(given) for name, given in inputs.items()})
            except AdapterParseError as error:
                self.note_use(purpose, steps=-purpose.steps, used=False)
                said = error.lm_response
                if json_in(said) is None:
                    raise CutReplyError(f"the reply of {self.name!r} is no whole JSON object", said=said) from error
                raise ReplyError(f"the reply of {self.name!r} lacks a field or has one of the wrong kind") from error
            except LMError as error:
                if isinstance(error.__cause__, StitchError):
                    raise error.__cause__ from None
                raise ModelUnavailableError(f"model {self.name!r} cannot be called: {first_line(error)}") from error

    def complete(self, prompt: str, *, purpose: Purpose, system: str = "", temperature: float | None = None) -> str:
        """The answer to a text, as it was said; raises what `run` raises."""
        from dspy import lm15

        asked, config = (lm15.Message.user(prompt),), lm15.Config(temperature=temperature)
        request = lm15.Request(model=self.name, messages=asked, system=system or None, config=config)
        with bound(current_purpose, purpose):
            return text_of(self._answer(request))

    def note_use(
        self, purpose: Purpose, *, steps: int = 0, used: bool = True, rejected: Mapping[str, int] | None = None
    ) -> None:
        """Write down what was found out of a reply, which is paid for, when it was read.

        Args:
            purpose: Of the call.
            steps: How many more of its steps the reply covers than the ledger says; negative for fewer.
            used: Whether anything of it could be used.
            rejected: How many of its references were left out, by reason.
        """
        spent = {"calls": 0, "prompt_tokens": 0, "reply_tokens": 0, "cost_usd": 0.0}
        noted = self._charged(purpose._replace(steps=steps), used=used, rejected=dict(rejected or {}), **spent)
        self.ledger.charge(noted)

    def _charged(self, purpose: Purpose, **told: Any) -> Charge:
        """A line of the ledger, for whom calls are made now."""
        whose = {"tenant": charged_tenant.get(), "key": charged_key.get()}
        return Charge(model=self.name, **purpose._asdict(), **whose, **told)

    @contextmanager
    def held(self, purpose: Purpose) -> Iterator[Any]:
        """Bind the model to a block in which an optimizer of DSPy sees what `run` calls, and may call the model too.

        Yields it as DSPy takes it. A provider that is down, or a budget that is spent, ends it: no call is made after
        that, and the error is raised at the end of the block, whatever the optimizer has made of it.
        """
        from dspy import context

        self._held, self._failure = True, None
        try:
            with bound(current_purpose, purpose), context(**{**self._binding, "trace": [], "max_trace_size": 10_000}):
                yield self._binding["lm"]
        except Exception:
            if self._failure is None:
                raise
        finally:
            self._held = False
        if self._failure is not None:
            raise self._failure

    def keep_replies(self, keeper: ReplyKeeper) -> None:
        """Keep replies that nobody else keeps (`keeping_replies`), each of those to the same request."""
        self._replies = keeper

    def interrupt(self) -> None:
        """Give up the calls that are under way, at once, and make no more; may be called from any thread."""
        self._calls.interrupt()

    def close(self) -> None:
        """Let go of connections; closing twice is harmless."""
        if self._endpoint is not None:
            self._endpoint.close()

    @cached_property
    def _lm(self) -> Any:
        """The model that is asked, as DSPy has it."""
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")  # else DSPy may fetch a list of prices
        return self._made()

    @cached_property
    def _binding(self) -> dict[str, Any]:
        """Settings of DSPy: a model with settings and callbacks of the given one that asks here; nothing is kept."""
        import dspy

        from stitch.lm.adapter import ReplyAdapter

        async def answer_async(request: lm15.Request) -> lm15.Response:
            return await asyncio.to_thread(self._answer, request)

        takes = {"supported_params": frozenset({"response_format"}), "supports_response_schema": True}
        engine, async_engine = (SimpleNamespace(complete=own, **takes) for own in (self._answer, answer_async))
        served = {"engine": engine, "async_engine": async_engine, "cache": self._cache, "num_retries": 0}
        lm = dspy.LM(f"stitch/{self.name}", callbacks=self._lm.callbacks, **served)
        lm.kwargs |= {name: value for name, value in self._lm.kwargs.items() if name in OF_REQUESTS}
        return {"lm": lm, "adapter": ReplyAdapter(), "disable_history": True, "trace": None, "max_trace_size": 0}

    def _answer(self, request: lm15.Request) -> lm15.Response:
        """The reply to a request of DSPy, if it is whole; counted, and not asked for again where it is kept."""
        from dspy import lm15

        if self._held and self._failure is not None:
            raise self._failure
        prompt_tokens = chars_of(request) // CHARS_PER_TOKEN
        config = self.sampling(request.config) if self.sampling else request.config
        sent = replace(request, model=self.name, config=config)
        keeper, digest = reply_keeper.get(), digest_of(sent)
        if keeper is None and (keeper := self._replies) is not None:
            with self._lock:  # whoever asks twice wants two answers
                self._asked[digest] += 1
                digest += self._asked[digest].to_bytes(4, "big")
        said = keeper.get(digest) if keeper is not None else None
        if said is not None:
            response, book = decode_reply(said, model=self.name), self.ledger.recall
        else:
            response, book = self._asked_for(sent, prompt_tokens), self.ledger.charge
            if keeper is not None:
                keeper.keep(digest, encode_reply(response))
        text, usage = text_of(response), response.usage
        trouble = trouble_of(response, text)
        asked = prompt_tokens if usage.input_tokens is None else usage.input_tokens
        replied = len(text) // CHARS_PER_TOKEN if usage.output_tokens is None else usage.output_tokens
        cost = self.price.of(asked, replied) if self.price else None
        told = {"prompt_tokens": asked, "reply_tokens": replied, "cost_usd": cost, "used": not trouble}
        book(self._charged(current_purpose.get(), **told))
        if trouble:
            raise CutReplyError(f"the reply of {self.name!r} {trouble}", said=text)
        return replace(response, message=lm15.Message.assistant([lm15.TextPart(text)]))

    def _asked_for(self, request: lm15.Request, prompt_tokens: int) -> lm15.Response:
        """The reply to a request, after as many tries as it may take; a failure that is not its own is kept in mind."""
        tries = 0
        while True:
            try:
                self.limits.check(self.ledger.total(), prompt_tokens=prompt_tokens, price=self.price)
                with self._lock:
                    self._endpoint = self._endpoint or Endpoint(self._lm, timeout_s=self.limits.timeout_s)
                asked = partial(self._endpoint.complete, request)
                return self._calls.run(asked, position=current_purpose.get().position)
            except StitchError as error:
                self._failure = error
                raise
            except Exception as error:  # of DSPy, or code of others, which may raise anything
                ends = tries == self.limits.retries or (tries > 0 and timed_out(error))  # so long is waited twice
                if ends or not can_be_tried_again(error):
                    failure = as_model_error(error, name=self.name)
                    if not isinstance(failure, ReplyError):
                        self._failure = failure
                    raise failure from error
                self._calls.pause(min(getattr(error, "retry_after", None) or 2.0**tries, _LONGEST_WAIT_S))
                tries += 1

"""Language models: built from plain values, bounded, counted, and never trusted.

Every call goes through one engine of our own around DSPy's HTTP client, so retries, limits, the ledger and the checks
of a reply are in one place; DSPy formats prompts and parses replies. Nothing is kept by DSPy between two calls.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from stitch.errors import (
    CutReplyError,
    ModelUnavailableError,
    ReplyError,
    SettingsError,
    StitchError,
)
from stitch.lm.engine import AsyncEngine, Engine, first_line
from stitch.lm.ledger import Charge, Ledger, Price, Purpose, bound, charged_key, charged_tenant, current_purpose
from stitch.lm.limits import Limits
from stitch.lm.providers import Completion, DspyModel, named_lm
from stitch.lm.reading import json_in
from stitch.lm.replies import ReplyKeeper, text_of
from stitch.lm.sampling import Sampling
from stitch.text.markers import harmless

_log = logging.getLogger(__name__)


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
        sampling: How it is to answer.
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
        sampling: Sampling | None = None,
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
        self.name, self.price = name, price
        self.sampling = sampling or Sampling()

        def opened() -> Completion:
            if completion is not None:
                return completion
            found = named_lm(name, base_url=base_url, api_key=api_key)
            return DspyModel(found, cache=False, timeout_s=limits.timeout_s)

        self._engine = Engine(
            name, opened, limits=limits, sampling=self.sampling, ledger=ledger or Ledger(), price=price, pause=pause
        )
        self._bound: dict[str, Any] = {}
        self._lock = threading.Lock()

    @classmethod
    def of_dspy(
        cls, lm: Any, *, cache: bool = False, offline: bool = False, limits: Limits | None = None, **options: Any
    ) -> LanguageModel:
        """A model that is a `dspy.BaseLM`, with the same limits and the same ledger.

        Args:
            lm: The model.
            cache: Whether DSPy's response cache is used.
            offline: Refuse one that is not on this machine.
            limits: How far it may go.
            options: As for the class.

        Raises:
            SettingsError: The network is off.
        """
        address = lm.kwargs.get("api_base") or lm.kwargs.get("base_url")
        if offline and not (address and _is_loopback(address)):
            raise SettingsError(
                f"the model {lm.model!r} may be on the network, and the network is off",
                hint="give it the api_base of a server on this machine, or set offline: false",
            )
        limits = limits or Limits()
        made = DspyModel(lm, cache=cache, timeout_s=limits.timeout_s)
        return cls(lm.model, limits=limits, completion=made, **options)

    @property
    def ledger(self) -> Ledger:
        """Where calls are counted."""
        return self._engine.ledger

    @ledger.setter
    def ledger(self, ledger: Ledger) -> None:
        self._engine.ledger = ledger

    @property
    def limits(self) -> Limits:
        """Limits of what follows."""
        return self._engine.limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._engine.limits = limits

    def keep_replies(self, keeper: ReplyKeeper) -> None:
        """Keep replies that nobody else keeps (`keeping_replies`)."""
        self._engine.replies = keeper

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
                with context() if self._engine.held else context(**self._binding()):
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
        """The answer to a text, as it was said.

        Args:
            prompt: What the user says.
            purpose: For the ledger.
            system: What stands before it.
            temperature: The one the model was made with if None.

        Raises:
            ModelUnavailableError: The provider is down after all retries, refuses, or is not configured.
            ReplyError: The reply is cut or empty.
            BudgetSpentError: The budget is spent; nothing was sent.
            CallInterruptedError: `interrupt` was called.
        """
        from dspy import lm15

        request = lm15.Request(
            model=self.name,
            messages=(lm15.Message.user(prompt),),
            system=system or None,
            config=lm15.Config(temperature=temperature),
        )
        with bound(current_purpose, purpose):
            return text_of(self._engine.complete(request))

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
        self.ledger.charge(
            Charge(
                model=self.name,
                **purpose._replace(steps=steps)._asdict(),
                tenant=charged_tenant.get(),
                key=charged_key.get(),
                prompt_tokens=0,
                reply_tokens=0,
                cost_usd=0.0,
                used=used,
                calls=0,
                rejected=dict(rejected or {}),
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

        engine = self._engine
        engine.held, engine.failure = True, None
        try:
            with bound(current_purpose, purpose), context(**{**self._binding(), "trace": [], "max_trace_size": 10_000}):
                yield self._bound["lm"]
        except Exception:
            if engine.failure is not None:
                raise engine.failure from None
            raise
        finally:
            engine.held = False
        if engine.failure is not None:
            raise engine.failure

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

                from stitch.lm.adapter import ReplyAdapter

                self._engine.completion  # noqa: B018 - a name that nobody knows is told before a prompt is made
                self._bound = {
                    "lm": dspy.LM(
                        f"stitch/{self.name}",
                        engine=self._engine,
                        async_engine=AsyncEngine(self._engine),
                        cache=False,
                        num_retries=0,
                    ),
                    "adapter": ReplyAdapter(),
                    "disable_history": True,
                    "trace": None,
                    "max_trace_size": 0,
                }
            return self._bound


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False

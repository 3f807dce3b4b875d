"""The engine that DSPy calls in the place of a provider: limits, retries, the ledger, and the checks of a reply."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from stitch.errors import BudgetSpentError, CutReplyError, ModelError, ModelUnavailableError, ReplyError
from stitch.lm.ledger import Charge, Ledger, Price, charged_key, charged_tenant, current_purpose
from stitch.lm.limits import Limits, PendingCalls, Places
from stitch.lm.providers import Completion
from stitch.lm.replies import ReplyKeeper, chars_of, decode_reply, digest_of, encode_reply, reply_keeper, text_of
from stitch.lm.sampling import Sampling

if TYPE_CHECKING:
    from dspy import lm15

CHARS_PER_TOKEN = 4
"""For estimates: where a provider does not count, and before a call."""

_LONGEST_WAIT_S = 30.0
_FORMS = ("json_schema", "json_object", "none")
"""What `response_format` a model takes, the best first."""
_ABOUT_FORM = re.compile(
    r"response.?format|schema|grammar|json.?(?:mode|object)|structured|guided|^HTTP 4", re.IGNORECASE
)
"""What refusals of a form speak of; some servers say nothing at all."""
_TOO_LONG = re.compile(
    r"context.{0,10}(?:length|window|size)|maximum.{0,20}tokens|prompt is too long|too many tokens", re.IGNORECASE
)


class Engine:
    """The engine that DSPy calls: limits, retries, the ledger, and the checks of a reply."""

    supported_params = frozenset({"response_format"})
    supports_response_schema = True

    def __init__(
        self,
        name: str,
        completion: Completion | None,
        *,
        limits: Limits,
        sampling: Sampling,
        ledger: Ledger,
        price: Price | None,
        pause: Callable[[float], None] | None,
    ) -> None:
        self.limits = limits
        self.replies: ReplyKeeper | None = None
        """Where replies are kept that nobody else keeps (`keeping_replies`)."""
        self.held = False
        """Whether no call is made after one that ended in a failure."""
        self.failure: ModelError | None = None
        self.calls = PendingCalls(name)
        self._name, self._target = name, name
        self._completion, self._sampling, self._ledger, self._price = completion, sampling, ledger, price
        self._form = 0
        """Which of `_FORMS` the model takes, as far as it has said."""
        self._pause = pause or self.calls.pause
        self._places = Places(limits.concurrency)

    def open(self, completion: Completion, target: str) -> None:
        """Ask `completion` from now on, for the model that it knows as `target`."""
        self._completion, self._target = completion, target

    def complete(self, request: lm15.Request) -> lm15.Response:
        """The reply to a request, if it is whole; counted, and tried again where that may help."""
        if self.held and self.failure is not None:
            raise self.failure
        try:
            return self._complete(request)
        except (ModelUnavailableError, BudgetSpentError) as error:
            self.failure = error
            raise

    def _complete(self, request: lm15.Request) -> lm15.Response:
        """The reply to a request; one that is kept is not asked for again."""
        from dspy import lm15

        limits = self.limits
        prompt_chars = chars_of(request)
        config = self._sampling.put_into(request.config)
        config = config if limits.reply_tokens is None else replace(config, max_tokens=limits.reply_tokens)
        sent = replace(request, model=self._target, config=config)
        assert self._completion is not None
        keeper = reply_keeper.get() or self.replies
        digest = digest_of(replace(sent, model=self._name)) if keeper is not None else b""
        if keeper is not None and (said := keeper.get(digest)) is not None:
            known = decode_reply(said, model=sent.model)
            self._ledger.recall(self._charge_of(known, prompt_chars))
            return self._whole(known)
        tries = 0
        while True:
            self._check_budget(prompt_chars // CHARS_PER_TOKEN)
            try:
                with self._places.taken(current_purpose.get().position):
                    response = self.calls.run(lambda: self._sent(sent))
            except lm15.LM15Error as error:
                if not isinstance(error, lm15.RETRYABLE_ERRORS) or tries >= limits.retries:
                    raise self._mapped(error) from error
                self._pause(min(error.retry_after or 2.0**tries, _LONGEST_WAIT_S))
                tries += 1
            else:
                if keeper is not None:
                    keeper.keep(digest, encode_reply(response))
                self._ledger.charge(self._charge_of(response, prompt_chars))
                return self._whole(response)

    def _sent(self, request: lm15.Request) -> lm15.Response:
        """The reply to a request, in the best form that the model takes; one that it refuses is not tried again."""
        from dspy import lm15

        assert self._completion is not None
        while True:
            form = self._form
            try:
                return self._completion.complete(in_form(request, _FORMS[form]))
            except (lm15.InvalidRequestError, lm15.UnsupportedFeatureError) as error:
                asked = request.config.response_format is not None and form + 1 < len(_FORMS)
                if not asked or isinstance(error, lm15.ContextLengthError) or not _refuses_form(error):
                    raise
                self._form = max(self._form, form + 1)

    def close(self) -> None:
        """Let go of connections."""
        close = getattr(self._completion, "close", None)
        if close is not None:
            close()

    def _check_budget(self, prompt_tokens: int) -> None:
        limits, spent = self.limits, self._ledger.total()
        if limits.budget_tokens is not None and spent.tokens + prompt_tokens > limits.budget_tokens:
            raise BudgetSpentError(
                f"the budget of {limits.budget_tokens} tokens is spent: {spent.tokens} used, {prompt_tokens} asked",
                hint="`stitch relabel --model-budget-tokens N` goes on",
            )
        if limits.budget_calls is not None and spent.calls >= limits.budget_calls:
            raise BudgetSpentError(f"the budget of {limits.budget_calls} calls is spent", hint="allow more calls")
        if limits.budget_usd is not None and self._price is not None:
            asked = self._price.of(prompt_tokens, 0)
            if (spent.cost_usd or 0.0) + asked > limits.budget_usd:
                raise BudgetSpentError(
                    f"the budget of ${limits.budget_usd:g} is spent: ${spent.cost_usd or 0.0:.4f} used",
                    hint="`stitch relabel --model-budget-usd N` goes on",
                )

    def _charge_of(self, response: lm15.Response, prompt_chars: int) -> Charge:
        text, purpose, usage = text_of(response), current_purpose.get(), response.usage
        prompt_tokens = prompt_chars // CHARS_PER_TOKEN if usage.input_tokens is None else usage.input_tokens
        reply_tokens = len(text) // CHARS_PER_TOKEN if usage.output_tokens is None else usage.output_tokens
        return Charge(
            model=self._name,
            **purpose._asdict(),
            tenant=charged_tenant.get(),
            key=charged_key.get(),
            prompt_tokens=prompt_tokens,
            reply_tokens=reply_tokens,
            cost_usd=self._price.of(prompt_tokens, reply_tokens) if self._price else None,
            used=response.finish_reason in ("stop", "tool_call") and bool(text.strip()),
        )

    def _whole(self, response: lm15.Response) -> lm15.Response:
        """The reply, if it was not cut; whether it says what was asked for is seen when it is read."""
        from dspy import lm15

        text = text_of(response)
        if response.finish_reason not in ("stop", "tool_call") or not text.strip():
            raise CutReplyError(f"the reply of {self._name!r} {_trouble(response, text)}", said=text)
        return replace(response, message=lm15.Message.assistant([lm15.TextPart(text)]))

    def _mapped(self, error: lm15.LM15Error) -> ModelError:
        from dspy import lm15

        name, reason = self._name, first_line(error)
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


def _refuses_form(error: lm15.LM15Error) -> bool:
    return error.status in (None, 400, 422) and (not error.message.strip() or bool(_ABOUT_FORM.search(str(error))))


def _trouble(response: lm15.Response, text: str) -> str:
    """What is wrong with a reply."""
    from dspy import lm15

    parts = response.message.parts
    if refused := " ".join(part.text for part in parts if isinstance(part, lm15.RefusalPart)):
        return f"is a refusal: {' '.join(refused.split())[:200]}"
    if response.finish_reason == "content_filter":
        return "was taken away by the provider's content filter"
    if response.finish_reason == "length":
        return f"was cut after {len(text)} characters"
    if response.finish_reason == "error":
        return "ended with an error"
    if any(isinstance(part, lm15.ThinkingPart) for part in parts):
        return "is empty: it thought, and did not answer"
    if not (response.provider_data or {"choices": True}).get("choices", True):
        return "has no choices"
    return "is empty"


class AsyncEngine:
    """The same for modules that are awaited: a call waits in a thread of its own."""

    supported_params = Engine.supported_params
    supports_response_schema = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `Engine.complete`."""
        return await asyncio.to_thread(self._engine.complete, request)


def first_line(error: Exception) -> str:
    """What an error says, in one line."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__

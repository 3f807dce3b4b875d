"""The engine that DSPy calls in the place of a provider: limits, retries, the ledger, and the checks of a reply."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from stitch.errors import BudgetSpentError, CutReplyError, ModelError, ModelUnavailableError, ReplyError
from stitch.lm.ledger import Charge, Ledger, Price, charged_key, charged_tenant, current_purpose
from stitch.lm.limits import Calls, Limits
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
    """The engine that DSPy calls: limits, retries, the ledger, and the checks of a reply.

    Args:
        name: Of the model.
        open_completion: Gives what answers, when it is asked for the first time.
        limits: How far it may go.
        sampling: How it is to answer.
        ledger: Where calls are counted.
        price: What the model costs.
        pause: Waits between two tries.
    """

    supported_params = frozenset({"response_format"})
    supports_response_schema = True

    def __init__(
        self,
        name: str,
        open_completion: Callable[[], Completion],
        *,
        limits: Limits,
        sampling: Sampling,
        ledger: Ledger,
        price: Price | None,
        pause: Callable[[float], None] | None,
    ) -> None:
        self.limits, self.ledger = limits, ledger
        self.replies: ReplyKeeper | None = None
        """Where replies are kept that nobody else keeps (`keeping_replies`), each of those to the same request."""
        self.held = False
        """Whether no call is made after one that ended in a failure."""
        self.failure: ModelError | None = None
        self.calls = Calls(name, most=limits.concurrency)
        self._name, self._sampling, self._price = name, sampling, price
        self._open = open_completion
        self._completion: Completion | None = None
        self._form = 0
        """Which of `_FORMS` the model takes, as far as it has said."""
        self._pause = pause or self.calls.pause
        self._lock = threading.Lock()
        self._asked: Counter[bytes] = Counter()

    @property
    def completion(self) -> Completion:
        """What answers."""
        with self._lock:
            if self._completion is None:
                self._completion = self._open()
                self._form = getattr(self._completion, "form", 0) % len(_FORMS)
            return self._completion

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
        limits, prompt_chars = self.limits, chars_of(request)
        config = self._sampling.put_into(request.config)
        config = config if limits.reply_tokens is None else replace(config, max_tokens=limits.reply_tokens)
        sent = replace(request, model=self._name, config=config)
        keeper, digest = reply_keeper.get(), digest_of(sent)
        if keeper is None and (keeper := self.replies) is not None:
            with self._lock:  # whoever asks twice wants two answers
                self._asked[digest] += 1
                digest += self._asked[digest].to_bytes(4, "big")
        if keeper is not None and (said := keeper.get(digest)) is not None:
            known = decode_reply(said, model=self._name)
            self.ledger.recall(self._charge_of(known, prompt_chars))
            return self._whole(known)
        response = self._answered(sent, prompt_chars // CHARS_PER_TOKEN)
        if keeper is not None:
            keeper.keep(digest, encode_reply(response))
        self.ledger.charge(self._charge_of(response, prompt_chars))
        return self._whole(response)

    def _answered(self, request: lm15.Request, prompt_tokens: int) -> lm15.Response:
        """The reply to a request, after as many tries as it may take."""
        from dspy import lm15

        completion, tries = self.completion, 0
        while True:
            self._check_budget(prompt_tokens)
            try:
                return self.calls.run(lambda: self._sent(completion, request), position=current_purpose.get().position)
            except lm15.LM15Error as error:
                if not isinstance(error, lm15.RETRYABLE_ERRORS) or tries >= self.limits.retries:
                    raise self._mapped(error) from error
                self._pause(min(error.retry_after or 2.0**tries, _LONGEST_WAIT_S))
                tries += 1

    def _sent(self, completion: Completion, request: lm15.Request) -> lm15.Response:
        """The reply to a request, in the best form that the model takes; one that it refuses is not tried again."""
        from dspy import lm15

        while True:
            form = self._form
            try:
                return completion.complete(in_form(request, _FORMS[form]))
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
        limits, spent = self.limits, self.ledger.total()
        paid, more = spent.cost_usd or 0.0, "go on with `stitch relabel --model-budget-{} N`".format
        if limits.budget_tokens is not None and spent.tokens + prompt_tokens > limits.budget_tokens:
            told = f"{limits.budget_tokens} tokens is spent: {spent.tokens} used, {prompt_tokens} asked", more("tokens")
        elif limits.budget_calls is not None and spent.calls >= limits.budget_calls:
            told = f"{limits.budget_calls} calls is spent", "allow more calls"
        elif (
            limits.budget_usd is not None
            and self._price
            and (paid + self._price.of(prompt_tokens, 0) > limits.budget_usd)
        ):
            told = f"${limits.budget_usd:g} is spent: ${paid:.4f} used", more("usd")
        else:
            return
        raise BudgetSpentError(f"the budget of {told[0]}", hint=told[1])

    def _charge_of(self, response: lm15.Response, prompt_chars: int) -> Charge:
        text, usage = text_of(response), response.usage
        prompt_tokens = prompt_chars // CHARS_PER_TOKEN if usage.input_tokens is None else usage.input_tokens
        reply_tokens = len(text) // CHARS_PER_TOKEN if usage.output_tokens is None else usage.output_tokens
        return Charge(
            model=self._name,
            **current_purpose.get()._asdict(),
            tenant=charged_tenant.get(),
            key=charged_key.get(),
            prompt_tokens=prompt_tokens,
            reply_tokens=reply_tokens,
            cost_usd=self._price.of(prompt_tokens, reply_tokens) if self._price else None,
            used=_ended_well(response) and bool(text.strip()),
        )

    def _whole(self, response: lm15.Response) -> lm15.Response:
        """The reply, if it was not cut; whether it says what was asked for is seen when it is read."""
        from dspy import lm15

        text = text_of(response)
        if not _ended_well(response) or not text.strip():
            raise CutReplyError(f"the reply of {self._name!r} {_trouble(response, text)}", said=text)
        return replace(response, message=lm15.Message.assistant([lm15.TextPart(text)]))

    def _mapped(self, error: lm15.LM15Error) -> ModelError:
        """An error in the words of the server."""
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


class AsyncEngine:
    """The same for modules that are awaited: a call waits in a thread of its own."""

    supported_params = Engine.supported_params
    supports_response_schema = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `Engine.complete`."""
        return await asyncio.to_thread(self._engine.complete, request)


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


def _ended_well(response: lm15.Response) -> bool:
    return response.finish_reason in ("stop", "tool_call")


def _trouble(response: lm15.Response, text: str) -> str:
    """What is wrong with a reply."""
    from dspy import lm15

    parts = response.message.parts
    if refused := " ".join(part.text for part in parts if isinstance(part, lm15.RefusalPart)):
        return f"is a refusal: {' '.join(refused.split())[:200]}"
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


def first_line(error: BaseException) -> str:
    """What an error says, in one line: a server's own words, and its status."""
    said = getattr(error, "message", "") or str(error)
    told = next(iter(said.strip().splitlines()), type(error).__name__)[:200]
    status = getattr(error, "status", None)
    return told if status is None or str(status) in told else f"{told} (HTTP {status})"

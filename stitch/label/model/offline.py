"""Windows labeled elsewhere, by a batch of a provider or by a person: requests that can be handed over, and replies."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.core import Labeler, LabelSession, Step, StepLabels
from stitch.errors import ReplyError
from stitch.label.model.session import ModelSession
from stitch.label.model.windowed import WINDOW_STEPS, WindowedLabeler, WindowedSession
from stitch.label.model.written import WrittenLabeler, WrittenSteps
from stitch.lm import Charge, LanguageModel, Ledger, Price
from stitch.lm.replies import prompt_of, reply_of

if TYPE_CHECKING:
    from dspy import lm15

    from stitch.signatures.programs import WindowProgram


class WindowRequest(NamedTuple):
    """What a model, or a person, is asked about a window."""

    system: str
    user: str
    schema: Mapping[str, Any]
    """Of the reply, as JSON schema."""


class WindowReply(NamedTuple):
    """What was answered."""

    text: str
    """JSON."""
    finish_reason: str = "stop"
    """`length` if it was cut."""
    prompt_tokens: int | None = None
    """None if nobody counted, as when a person labels."""
    reply_tokens: int | None = None


class OfflineLabeler(WindowedLabeler):
    """Labels a window from a reply that was made elsewhere, to the request that this made.

    It has the name of the `WindowedLabeler` of the same model, shows the same prompts and holds replies to the same
    checks: either goes on where the other stopped.

    Args:
        model: Its name; when a person labels, any name.
        fallback: Keeps the inventory.
        program: The prompt, if it was compiled.
        window_steps: How many steps a request has at most.
        price: What the model costs.
        asks: Whether replies also say what a step is found by in other words.
    """

    def __init__(
        self,
        model: str,
        *,
        fallback: Labeler,
        program: WindowProgram | None = None,
        window_steps: int = WINDOW_STEPS,
        price: Price | None = None,
        asks: bool = True,
    ) -> None:
        self._desk = _Desk()
        self._spent = _LastCharge()
        self._lock = threading.Lock()
        self.price = price
        engine = LanguageModel(model, completion=self._desk, ledger=self._spent, price=price)
        super().__init__(engine, fallback=fallback, program=program, window_steps=window_steps, asks=asks)

    def begin(self, trajectory: str, saved: bytes | None = None) -> ModelSession:
        """Start labeling a trajectory, or continue from a saved session; its `label` raises what `accept` raises."""
        return _OfflineSession(self, self._fallback, trajectory, saved)

    def request(self, session: LabelSession, steps: Sequence[Step]) -> WindowRequest:
        """What to ask about the next steps of a trajectory; the session stays where it is."""
        with self._lock:
            self._desk.reply = _NOTHING
            with suppress(ReplyError):
                session.label(steps)
            assert self._desk.asked is not None
            return self._desk.asked

    def accept(self, session: LabelSession, steps: Sequence[Step], reply: WindowReply) -> list[StepLabels]:
        """The labels of the next steps of a trajectory.

        Raises:
            ReplyError: The reply is cut, empty, no whole JSON object, lacks a field, or labels other steps. The session
                is as before.
        """
        with self._lock:
            self._desk.reply = reply
            return session.label(steps)

    def written(self, steps: WrittenSteps) -> WrittenLabeler:
        """What gives steps the labels that stand in a file, under the name of this."""
        return WrittenLabeler(steps, name=self.name, fallback=self._fallback)

    def charge(self, reply: WindowReply) -> Charge | None:
        """What the reply that was accepted last cost; None if nobody counted its tokens."""
        return None if reply.prompt_tokens is None else self._spent.last


_NOTHING = WindowReply("")
"""Of no use to any prompt: who asks what would be asked takes in no labels."""


class _OfflineSession(WindowedSession):
    """Raises where a reply cannot be used, instead of asking again."""

    def _label(self, steps: list[Step]) -> list[StepLabels]:
        readings = self.read(steps)
        return [self.accept(step, reading) for step, reading in zip(steps, readings, strict=True)]


class _LastCharge(Ledger):
    last: Charge | None = None

    def charge(self, charge: Charge) -> None:
        self.last = charge


class _Desk:
    """Takes down what is asked, and answers with what lies ready."""

    def __init__(self) -> None:
        self.asked: WindowRequest | None = None
        self.reply = _NOTHING

    def complete(self, request: lm15.Request) -> lm15.Response:
        schema = dict(request.config.response_format or {}).get("schema", {})
        self.asked = WindowRequest(*prompt_of(request), schema)
        reply = self.reply
        return reply_of(
            reply.text,
            model=request.model,
            finish_reason="length" if reply.finish_reason == "length" else "stop",
            usage=(reply.prompt_tokens, reply.reply_tokens),
        )

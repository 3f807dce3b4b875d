"""Windows labeled elsewhere, by a batch of a provider or by a person: what to ask, and labels from the reply."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from typing_extensions import override

from stitch.core import Labeler, LabelSession, Step, StepLabels
from stitch.label.model.session import ModelSession
from stitch.label.model.windowed import WindowedLabeler, WindowedSession
from stitch.label.model.written import WrittenLabeler, WrittenSteps
from stitch.lm import LanguageModel, Ledger, Price, keeping_replies
from stitch.lm.batch import AwaitedError, BatchRequest, DeferredCompletion


class OfflineLabeler(WindowedLabeler):
    """Labels a window from a reply that was made elsewhere, to the request that this made.

    It has the name of the `WindowedLabeler` of the same model, shows the same prompts and holds replies to the same
    checks: either goes on where the other stopped.

    Args:
        model: Its name; when a person labels, any name.
        price: What the model costs.
        options: As for `WindowedLabeler`.
    """

    def __init__(self, model: str, *, fallback: Labeler, price: Price | None = None, **options: Any) -> None:
        self._lock = threading.Lock()
        self.price = price
        engine = LanguageModel(model, completion=DeferredCompletion(self._take_down), price=price)
        super().__init__(engine, fallback=fallback, **options)

    @override
    def begin(self, trajectory: str, saved: bytes | None = None) -> ModelSession:
        """Start labeling a trajectory, or continue from a saved session; its `label` raises what `accept` raises."""
        return _OfflineSession(self, self._fallback, trajectory, saved)

    def request(self, session: LabelSession, steps: Sequence[Step]) -> BatchRequest:
        """The request for the next steps of a trajectory; the session stays where it is."""
        with self._lock, suppress(AwaitedError):
            session.label(steps)
        return self._asked

    def _take_down(self, request: BatchRequest) -> None:
        self._asked = request

    def accept(self, session: LabelSession, steps: Sequence[Step], reply: bytes) -> list[StepLabels]:
        """The labels of the next steps of a trajectory, from a reply as `BatchReply` has it.

        Raises:
            ReplyError: The reply is cut, empty, no whole JSON object, lacks a field, or labels other steps. The session
                is as before.
        """
        self.model.ledger = Ledger()  # of this reply alone
        with keeping_replies(_Ready(reply)):
            return session.label(steps)

    def written(self, steps: WrittenSteps) -> WrittenLabeler:
        """A labeler that reads labels from a file, under the name of this one."""
        return WrittenLabeler(steps, name=self.name, fallback=self._fallback)


class _OfflineSession(WindowedSession):
    """Raises where a reply cannot be used, instead of asking again."""

    @override
    def _label(self, steps: list[Step]) -> list[StepLabels]:
        readings = self._ask(steps, whole=True)
        return [self.accept(step, readings[n]) for n, step in enumerate(steps, start=1)]


class _Ready:
    """The reply to whatever is asked next."""

    def __init__(self, reply: bytes) -> None:
        self._reply = reply

    def get(self, request: bytes) -> bytes | None:
        return self._reply

    def keep(self, request: bytes, reply: bytes) -> None:
        raise AssertionError

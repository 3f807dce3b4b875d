"""A language model as the writer of operations, in the place of the templates."""

from __future__ import annotations

from typing import Any

from stitch.bench.generate.realization import RealizationRequest
from stitch.errors import ReplyError
from stitch.lm import LanguageModel, Purpose

_SETTINGS = {"user": "a traveler plans a trip with an agent", "travel_agent": "a traveler plans a trip with an agent"}
_SPEAKERS = {"user": "the traveler", "travel_agent": "the travel agent"}


class ModelWriter:
    """Writes the text of operations, one call each; what it cannot write is left to the templates.

    A provider that is down and a spent budget are raised: what half a model wrote is not what was asked for.

    Args:
        model: The model.
    """

    def __init__(self, model: LanguageModel) -> None:
        import dspy

        from stitch.signatures import RealizeOperation

        self._model = model
        self._predict = dspy.Predict(RealizeOperation)

    def __call__(self, request: RealizationRequest) -> str:
        """The text of an operation; empty if the reply is of no use."""
        role = request.operation.role
        shortest, longest = request.words
        try:
            said: Any = self._model.run(
                self._predict,
                purpose=Purpose("realize"),
                setting=_SETTINGS.get(role, "two sides debate a motion before an audience"),
                speaker=_SPEAKERS.get(role, f"the debater {role!r}"),
                plan=request.goal,
                must_say=list(request.must_say),
                facts=request.facts,
                length=f"{shortest} to {longest} words",
            )
        except ReplyError:
            return ""
        return str(said.text)

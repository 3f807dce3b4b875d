"""Labels that are made elsewhere: windows are handed out, and replies taken in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stitch.server.api.labeling_models import (
    ElsewhereRequest,
    LabelPrice,
    LabelRepliesRequest,
    LabelRepliesResponse,
    LabelWaitingRequest,
    LabelWaitingResponse,
    LabelWindow,
    LabelWindowsRequest,
    PromptState,
)

if TYPE_CHECKING:
    from typing import Any

    from stitch.label.model.offline import OfflineLabeler
    from stitch.lifecycle.handover import Handover
    from stitch.lm.batch import BatchRequest
    from stitch.memory import Memory


def windows(memory: Memory, request: LabelWindowsRequest) -> Iterator[LabelWindow]:
    """Hand out the window of each trajectory that is to be labeled next."""
    return map(window_of, _handover(memory, request).windows())


def replies(memory: Memory, request: LabelRepliesRequest) -> LabelRepliesResponse:
    """Store the labels of all replies that can be used; the same ones again change nothing."""
    from stitch.lifecycle.handover import NumberedLine

    lines = (NumberedLine(each.source, each.line, each.text.encode("utf-8", "replace")) for each in request.replies)
    return LabelRepliesResponse.made_of(_handover(memory, request).take_in(lines))


def waiting(memory: Memory, request: LabelWaitingRequest) -> LabelWaitingResponse:
    """Count what is still to be labeled."""
    trajectories, steps = _handover(memory, request).waiting()
    return LabelWaitingResponse(trajectories=trajectories, steps=steps)


def about_labeler(labeler: OfflineLabeler) -> dict[str, Any]:
    """The fields of a request that say who labels elsewhere."""
    from stitch.label.model.compiled import state_of
    from stitch.signatures.programs import WindowProgram

    price, program = labeler.price, None
    if labeler.program.digest:
        states = state_of(labeler.program, plain=WindowProgram())
        program = {name: PromptState(**each.model_dump()) for name, each in states.items()}
    return {
        "model": labeler.model.name,
        "window_steps": labeler.window_steps,
        "program": program,
        "asks": labeler.asks,
        "price": None if price is None else LabelPrice(**price._asdict()),
    }


def window_of(window: BatchRequest) -> LabelWindow:
    """What is told of a window."""
    return LabelWindow.made_of(window, reply_schema=window.schema)


def _handover(memory: Memory, request: ElsewhereRequest) -> Handover:
    """The way out and back for the windows of a labeler that is somewhere else.

    Raises:
        InputError: Its prompts are of another version.
    """
    from stitch.label.local import LocalLabeler
    from stitch.label.model.compiled import PredictorState, load_program
    from stitch.label.model.offline import OfflineLabeler
    from stitch.lm import Price
    from stitch.signatures.programs import WindowProgram

    program = WindowProgram()
    if request.program is not None:
        states = {name: PredictorState.model_validate(each.model_dump()) for name, each in request.program.items()}
        load_program(states, program, target="windowed")
    labeler = OfflineLabeler(
        request.model,
        fallback=LocalLabeler(),
        program=program,
        window_steps=request.window_steps,
        price=None if request.price is None else Price(**request.price.model_dump()),
        asks=request.asks,
    )
    return memory.lifecycle.handover(labeler)

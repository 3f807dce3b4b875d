"""Labels made elsewhere: windows handed out, and replies taken in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

from stitch.label.model.compiled import PredictorState, load_program
from stitch.lifecycle.relabel import Handover, NumberedLine, TakenIn
from stitch.lm import Price
from stitch.lm.batch import BatchRequest
from stitch.memory import Memory
from stitch.server.operations.answers import Answer
from stitch.server.operations.operation import operation
from stitch.server.operations.steps import MOST_STEPS


class LabelPrice(BaseModel, frozen=True, extra="forbid"):
    """Prices of a model, in US dollars for a million tokens."""

    prompt_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    reply_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)]


def handover(
    memory: Memory,
    *,
    model: Annotated[str, Field(min_length=1, max_length=200)],
    window_steps: Annotated[int, Field(ge=1, le=1_000)],
    program: Mapping[str, PredictorState] | None = None,
    price: LabelPrice | None = None,
    asks: bool = True,
) -> Handover:
    """The way out and back for the windows of a labeler that is somewhere else.

    Args:
        memory: What is labeled.
        model: The name of who labels; when a person does, any name.
        window_steps: How many steps a window has at most.
        program: The prompts, if they were compiled.
        price: If it is known.
        asks: Whether replies also say what a step is found by in other words.

    Raises:
        InputError: Its prompts are of another version.
    """
    from stitch.label.local import LocalLabeler
    from stitch.label.model.offline import OfflineLabeler
    from stitch.signatures.programs import WindowProgram

    prompts = WindowProgram()
    if program is not None:
        load_program(program, prompts, target="windowed")
    labeler = OfflineLabeler(
        model,
        fallback=LocalLabeler(),
        program=prompts,
        window_steps=window_steps,
        price=None if price is None else Price(**price.model_dump()),
        asks=asks,
    )
    return memory.lifecycle.handover(labeler)


class LabelWindow(Answer):
    """A window on its way out; `system` and `user` are what a model is told, the schema is that of its reply."""

    id: str
    """Names it in the reply."""
    model: str
    trajectory: str
    steps: tuple[str, ...]
    """The ids of its steps."""
    system: str
    user: str
    reply_schema: Mapping[str, Any]


@operation("POST", "/v1/label/windows", "admin", takes=handover)
def label_windows(memory: Memory, **labeler: Any) -> Iterator[LabelWindow]:
    """Hand out the next window of each trajectory, to be labeled elsewhere; see `Lifecycle.handover`."""
    return map(_label_window, handover(memory, **labeler).windows())


def _label_window(request: BatchRequest) -> LabelWindow:
    told = {"system": "", "user": ""}
    for message in request.body["messages"]:  # an example is told like the question after it
        told["system" if message["role"] == "system" else "user"] += message["content"]
    return LabelWindow(**request._asdict(), **told, reply_schema=request.schema)


class ReplyLine(BaseModel, frozen=True, extra="forbid"):
    """A line with a reply: `{"id", "reply", "usage"?}`, or as a batch of OpenAI returns it."""

    source: str
    """Where it comes from, for the lines that cannot be used."""
    line: int
    """From 1."""
    text: str


@operation("POST", "/v1/label/replies", "admin", takes=handover)
def label_replies(
    memory: Memory, *, replies: Annotated[Sequence[ReplyLine], Field(max_length=MOST_STEPS)], **labeler: Any
) -> TakenIn:
    """Store the labels of all replies that can be used; the same ones again change nothing."""
    lines = (NumberedLine(each.source, each.line, each.text.encode("utf-8", "replace")) for each in replies)
    return handover(memory, **labeler).take_in(lines)


class Waiting(Answer):
    """Counts of what is still to be labeled."""

    trajectories: int
    steps: int


@operation("POST", "/v1/label/waiting", "admin", takes=handover)
def label_waiting(memory: Memory, **labeler: Any) -> Waiting:
    """Count what is still to be labeled elsewhere."""
    trajectories, steps = handover(memory, **labeler).waiting()
    return Waiting(trajectories=trajectories, steps=steps)

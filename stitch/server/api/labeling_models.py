"""Requests and responses of labels that are made elsewhere: windows handed out, replies taken in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, JsonValue

from stitch.core import Rejection
from stitch.server.api.models import MOST_STEPS, Request, Response


class PromptState(Request):
    """What an optimizer has made of a prompt."""

    prompt_sha256: str
    """Of the prompt as it stands in the code."""
    instructions: str
    demos: Sequence[Mapping[str, JsonValue]]
    """Examples: inputs and outputs by field."""


class LabelPrice(Request):
    """What a model costs, in US dollars for a million tokens."""

    prompt_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    reply_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ElsewhereRequest(Request):
    """Says who labels elsewhere, and what is shown there."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    """Its name; when a person labels, any name."""
    window_steps: Annotated[int, Field(ge=1, le=1_000)]
    """How many steps a window has at most."""
    program: Mapping[str, PromptState] | None = None
    """The prompts, if they were compiled."""
    price: LabelPrice | None = None
    """If it is known."""
    asks: bool = True
    """Whether replies also say what a step is found by in other words."""


class LabelWindowsRequest(ElsewhereRequest):
    """Asks for the window of each trajectory that is to be labeled next."""


class LabelWindow(Response):
    """A window on its way out."""

    id: str
    """Names it in the reply."""
    model: str
    trajectory: str
    steps: tuple[str, ...]
    """The ids of its steps."""
    system: str
    """What the model is told, as a system message."""
    user: str
    """What it is asked."""
    reply_schema: Mapping[str, JsonValue]
    """Of the reply, as JSON schema."""


class ReplyLine(Request):
    """A line with a reply: `{"id", "reply", "usage"?}`, or as a batch of OpenAI returns it."""

    source: str
    """Where it comes from, for the lines that cannot be used."""
    line: int
    """From 1."""
    text: str


class LabelRepliesRequest(ElsewhereRequest):
    """Gives replies to windows that were handed out."""

    replies: Annotated[Sequence[ReplyLine], Field(max_length=MOST_STEPS)]


class LabelRepliesResponse(Response):
    """What became of replies."""

    windows: int
    """How many were stored."""
    steps: int
    """How many steps have labels from them."""
    repeated: int
    """How many windows were in already; nothing was changed."""
    rejections: tuple[Rejection, ...]
    """The lines that could not be used, each with the reason; all others were."""


class LabelWaitingRequest(ElsewhereRequest):
    """Asks what is still to be labeled."""


class LabelWaitingResponse(Response):
    """What is still to be labeled."""

    trajectories: int
    steps: int

"""Steps and trajectories of an agent, as they come in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, JsonValue, ValidationInfo, field_validator, model_validator

from stitch.core.times import said_time
from stitch.core.trust import Origin, origin_of
from stitch.errors import InputError, ScopeError

MAX_NAME_CHARS = 512
"""The longest id of a tenant, trajectory, step or session."""

KEPT = "kept"
"""The context in which a journal reads its steps: one that says nothing may stand there, for earlier versions let a
correction empty it."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def clean_name(value: str, *, what: str = "name") -> str:
    """Return `value` without control characters and outer blanks.

    Names are data: they are never part of a path or of a query string, so any printable text will do.

    Raises:
        ValueError: Nothing is left, or more than `MAX_NAME_CHARS` characters are.
    """
    if not isinstance(value, str):
        raise ValueError(f"{what} {value!r} is no text")  # noqa: TRY004 - as of any other that is none
    cleaned = _CONTROL.sub("", value).strip()
    if not cleaned:
        raise ValueError(f"{what} is empty")
    if len(cleaned) > MAX_NAME_CHARS:
        raise ValueError(f"{what} has {len(cleaned)} characters, at most {MAX_NAME_CHARS} are allowed")
    return cleaned


def tenant_name(value: str) -> str:
    """The name of a tenant, as it is given: one that had to be cleaned first would open the memory of another.

    Raises:
        ScopeError: It is empty, too long, or has control characters, outer blanks or lone surrogates.
    """
    try:
        if _text_name(value, what="tenant") != value:
            raise ValueError(f"tenant {value!r} has control characters or outer blanks")
    except ValueError as error:
        raise ScopeError(str(error), hint="name the tenant, for example --tenant default") from None
    return value


def trajectory_name(value: str) -> str:
    """The name of a trajectory without control characters and outer blanks, for adding and for asking alike.

    Raises:
        InputError: Nothing is left, it is too long, or no text.
    """
    try:
        return _text_name(value, what="trajectory")
    except ValueError as error:
        raise InputError(str(error)) from None


def step_name(value: str) -> str:
    """The id of a step, as it is given.

    Raises:
        InputError: It is no text.
    """
    if not isinstance(value, str):
        raise InputError(f"the id of a step is a text, not {value!r}")
    return value


def _text_name(value: str, *, what: str) -> str:
    cleaned = clean_name(value, what=what)
    if cleaned != without_surrogates(cleaned):
        raise ValueError(f"{what} {value!r} is no text")
    return cleaned


def clean_text(value: str) -> str:
    """Return `value` without control characters (tabs and line breaks stay) and without lone surrogates."""
    return without_surrogates(_CONTROL_IN_TEXT.sub("", value))


def without_surrogates(value: str) -> str:
    """Return `value` with a question mark for each lone surrogate, which is half a character and no text."""
    return value.encode("utf-8", "replace").decode("utf-8")


Name = Annotated[str, AfterValidator(clean_name)]
Text = Annotated[str, AfterValidator(clean_text)]


class ToolCall(BaseModel, frozen=True):
    """One call of a tool, as the agent made it."""

    name: Name
    arguments: Mapping[str, JsonValue] = Field(default_factory=dict)
    id: str | None = None
    """The provider's id of the call, by which a result names it."""


class Step(BaseModel, frozen=True, extra="forbid"):
    """One step of a trajectory: s_t = (role, action, timestamp) (§2.1), with what tools add to it.

    A step has no field for gold labels: what a benchmark knows cannot be handed to a memory.
    """

    role: Name
    """The actor: `user`, `assistant`, `tool`, a speaker's name."""
    content: Text
    """The words or deeds of the step. May be empty only if the step calls a tool or is a tool's result."""
    id: Name | None = None
    """Unique inside its trajectory. Without one, the memory numbers the steps."""
    timestamp: float | str | None = None
    """Unix seconds, or a string in the source's own form; a time of Python becomes one."""
    session: Name | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_name: Name | None = None
    """The tool whose result this step is."""
    parent: Name | None = None
    """The step this one answers or continues, where the source says so."""
    origin: Origin | None = None
    """Origin of the text, if the role does not say it: a mail that the user pasted is a `document`.

    It can lower the trust that the role has, and never raise it.
    """
    metadata: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Whatever else the source knows. Kept and returned, never embedded or searched. Labels read `outcome` alone:
    `failure` or `success`, where flags of a tool's result told it."""

    def whence(self) -> Origin:
        """Origin of the text: by role and tool, or as it is given, if that is trusted less."""
        own = origin_of(self.role, answers_tool=self.tool_name is not None)
        if self.origin is not None and self.origin.trust <= own.trust:
            return self.origin
        return own

    @field_validator("id", "session", "parent", mode="before")
    @classmethod
    def _numbers_as_ids(cls, value: object) -> object:
        # Many files number their steps and sessions; an id is a name all the same.
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("timestamp", mode="before")
    @classmethod
    def _times_as_text(cls, value: object) -> float | str | None:
        try:
            return None if value is None else said_time(value)
        except InputError as error:
            raise ValueError(f"{error.message}; {error.hint}") from None

    @model_validator(mode="after")
    def _says_something(self, info: ValidationInfo) -> Step:
        if info.context == KEPT:
            return self
        if not self.content.strip() and not self.tool_calls and self.tool_name is None:
            raise ValueError("content is empty and no tool is involved")
        return self


def with_calls(text: str, calls: Sequence[ToolCall]) -> str:
    """A step as it is stored and read: its words, and under them its tool calls, one a line."""
    if not calls:
        return text
    written = "".join(f"\n{call.name}({_arguments(call.arguments)})" for call in calls)
    return (text + written).lstrip("\n")


def _arguments(arguments: Mapping[str, JsonValue]) -> str:
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


class Trajectory(BaseModel, frozen=True):
    """A named sequence of steps; list order is the order in which they happened."""

    id: Name
    steps: tuple[Step, ...]


class KeptTrajectory(str):
    """The name of a trajectory that a memory has: a text, which also says how long it is and when it was taken in."""

    __slots__ = ("began", "ended", "steps")

    steps: int
    """The number of steps."""
    began: float
    """Time at which the first step was accepted, in Unix seconds; 0 if it has none."""
    ended: float
    """The same of the last step."""

    def __new__(cls, name: str, *, steps: int, began: float, ended: float) -> KeptTrajectory:
        """Make one of its name and of what is known of it."""
        made = super().__new__(cls, name)
        made.steps, made.began, made.ended = steps, began, ended
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (str(self),), {"steps": self.steps, "began": self.began, "ended": self.ended}

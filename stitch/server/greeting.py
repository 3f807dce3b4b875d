"""The handshake of a process that wants to use a memory and the one that has it open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from stitch.errors import InputError, SettingsError

if TYPE_CHECKING:
    from stitch.memory import Memory

TENANT = "Stitch-Tenant"
"""The header that names whose memory is asked of a folder's owner, percent-encoded; its own without one. Who may open
its socket may read all files."""
LINES_TYPE = "application/x-ndjson"
PROTOCOL = 2
"""Raised when an older side would misunderstand a newer one."""


class Hello(BaseModel, frozen=True):
    """The handshake of a process that wants to use a memory."""

    protocol: int = PROTOCOL
    settings: Mapping[str, Any] = {}
    """What it has set of the memory, and takes to be so."""


class Welcome(BaseModel, frozen=True):
    """The reply: the memory that was found, and who has it open."""

    protocol: int = PROTOCOL
    tenant: str
    labeler: str
    uses_model: bool
    workers: int
    owner: Mapping[str, str] = {}
    """The process that has it open, as a status says it; empty of a memory that is served over the network."""
    tenants: Sequence[str] = ()
    """The tenants that have steps, told by a folder's owner: who may open its socket may read all files."""


def read_hello(content: bytes) -> Hello:
    """Read a handshake.

    Raises:
        InputError: It says nothing of the kind.
        SettingsError: It speaks another version.
    """
    try:
        hello = Hello.model_validate_json(content)
    except ValidationError:
        raise InputError("what was said first is no greeting") from None
    if hello.protocol != PROTOCOL:
        raise SettingsError(
            "the memory is open in another version of this library", hint="use the same version, or end that process"
        )
    return hello


def welcome_to(memory: Memory, **of_owner: Any) -> Welcome:
    """The reply to a process that may use a memory; `of_owner` are `owner` and `tenants`."""
    return Welcome(
        tenant=memory.tenant, labeler=memory.labeler, uses_model=memory.uses_model, workers=memory.workers, **of_owner
    )

"""What the two sides of a connection say to each other before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, JsonValue

PROTOCOL = 1
"""Raised when an older side would misunderstand a newer one."""


TENANTS = "tenants"
"""What may be asked of a folder's owner alone: whoever can open its socket can read everybody's files."""


class Hello(BaseModel, frozen=True):
    """Who asks."""

    protocol: int = PROTOCOL
    tenant: str
    """Whose memory is asked. Who may open the socket may read the files, so nothing more is needed."""
    token: str = ""
    """Where the socket is a port: what its address says."""
    progress: bool = False
    """Whether it wants to be told how far long work is."""
    settings: Mapping[str, JsonValue] = {}  # pydantic copies it
    """What whoever asks has set of the memory, and takes to be so."""


class Welcome(BaseModel, frozen=True):
    """The memory that was found, and who has it open."""

    protocol: int = PROTOCOL
    pid: int = 0
    """Of the process that has it open; 0 where nobody needs to know."""
    host: str = ""
    started: str = ""
    """Since when, as ISO 8601."""
    labeler: str
    """Who makes the labels."""
    uses_model: bool
    """Whether a language model labels."""
    workers: int
    """How many trajectories are best worked on side by side."""

    @property
    def owner(self) -> dict[str, str]:
        """Who has it open, as a status says it."""
        return {"pid": str(self.pid), "host": self.host, "since": self.started} if self.pid else {}


class TenantNames(BaseModel, frozen=True):
    """The tenants that have steps in a folder, the oldest first."""

    names: tuple[str, ...]

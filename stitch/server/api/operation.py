"""What is said of one thing that can be asked of a memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

Action: TypeAlias = Literal["read", "write", "forget", "admin"]
"""What a key has to allow."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One thing that can be asked of a memory."""

    name: str
    summary: str
    """What it does, in one line."""
    action: Action
    method: Literal["GET", "POST"]
    """Of a request over HTTP: with GET, the fields of the request are the query of the URL; with POST, its body."""
    path: str
    request: type[BaseModel]
    response: type[BaseModel]
    """What is answered; with `streams`, each item of it."""
    run: Callable[..., Any]
    """Answers a request, given the memory and the request: with the response, or with `streams` an iterator of them.

    Raises a `StitchError` for what cannot be answered.
    """
    streams: bool = False
    """Whether the answer comes item by item, as lines of JSON over HTTP."""
    raw: bool = False
    """Whether each item has a `line` alone, which over HTTP is sent as it is."""

    takes_lines: bool = False
    """Whether lines follow the request, which `run` is given as an iterator behind it; over HTTP they are the body, and
    the fields of the request the query of the URL.
    """

    def only_reads(self, request: BaseModel) -> bool:
        """Whether a request changes nothing, so that it may be given up anywhere once whoever asked has left."""
        return self.action == "read" or getattr(request, "dry_run", False) or not getattr(request, "repair", True)

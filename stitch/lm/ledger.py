"""What calls of a model cost: who asked for what, and what it came to."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stitch.core.files import private
from stitch.errors import JournalError

T = TypeVar("T")
_log = logging.getLogger(__name__)

LABELING_STAGES = frozenset((
    "window", "scope", "event types", "references", "summary", "scope summary", "event vocabulary", "entity vocabulary",
    "consolidation",
))  # fmt: skip
"""The stages of labeling; all others are booked to questions, statements or benchmarks."""


class Purpose(NamedTuple):
    """The use of a call: a stage such as `window` or `filter`, and how many steps it covers, from which position on."""

    stage: str
    trajectory: str = ""
    position: int | None = None
    steps: int = 0


class Charge(BaseModel):
    """One call, as the ledger keeps it.

    Attributes:
        cost_usd: None if the model's price is not known.
        used: Whether the reply could be used; one that was cut is paid for all the same.
        calls: 0 for what was found out of a call when its reply was read: that it covers more `steps`, or fewer.
        rejected: Of the references that a reply gave, how many were left out, by reason.
        key: The id of the key of a server that led to it; empty if none did.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    stage: str
    tenant: str = ""
    trajectory: str = ""
    position: int | None = None
    steps: int = 0
    prompt_tokens: int
    reply_tokens: int
    cost_usd: float | None = None
    used: bool = True
    calls: int = 1
    rejected: dict[str, int] = {}
    key: str = ""


class Totals(BaseModel):
    """What calls came to.

    Attributes:
        cost_usd: None if the price of any of the calls is not known.
        unusable: How many of the replies were cut, or could not be used.
        rejected: How many references of replies were left out, by reason.
    """

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    cost_usd: float | None = None
    unusable: int = 0
    rejected: dict[str, int] = Field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """Of prompts and replies."""
        return self.prompt_tokens + self.reply_tokens

    def add(self, charge: Charge | Totals) -> None:
        """Count a call, or several."""
        known = self.cost_usd if self.calls else 0.0
        self.calls += charge.calls
        self.unusable += charge.unusable if isinstance(charge, Totals) else not charge.used
        if charge.rejected:
            self.rejected = dict(Counter(self.rejected) + Counter(charge.rejected))
        self.prompt_tokens += charge.prompt_tokens
        self.reply_tokens += charge.reply_tokens
        self.cost_usd = None if known is None or charge.cost_usd is None else known + charge.cost_usd


class Ledger:
    """What was spent since it was opened; with a file, every call is a line of it. Safe for threads.

    Args:
        file: JSON lines, appended to; made with the first call.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._lock = threading.RLock()
        self._stages: dict[str, Totals] = {}
        self._keys: dict[str, Totals] = {}
        self._recalled = Totals()
        self._tenants: dict[str, Ledger] = {}

    def of(self, tenant: str) -> Ledger:
        """What is spent for one tenant from the first time on that this is asked; it is counted here as well."""
        with self._lock:
            return self._tenants.setdefault(tenant, Ledger())

    def charge(self, charge: Charge) -> None:
        """Count a call. A file that cannot be written is reported in the log; the call has happened all the same."""
        with self._lock:
            self._stages.setdefault(charge.stage, Totals()).add(charge)
            if charge.key:
                self._keys.setdefault(charge.key, Totals()).add(charge)
            if charge.tenant in self._tenants:
                self._tenants[charge.tenant].charge(charge)
            if self.file is not None:
                try:
                    with open(self.file, "ab", opener=private) as lines:
                        lines.write(charge.model_dump_json(exclude_defaults=True).encode() + b"\n")
                except OSError as error:
                    _log.warning("the ledger %r cannot be written: %s", str(self.file), error.strerror)

    def recall(self, charge: Charge) -> None:
        """Take note that a reply is used which was paid for earlier: it is not spent again, and told by `recalled`."""
        with self._lock:
            self._recalled.add(charge)

    def recalled(self) -> Totals:
        """What the replies had cost that were used again: other processes paid for them."""
        return self._recalled.model_copy()

    def total(self) -> Totals:
        """Of all stages."""
        return sum_up(self.stages().values())

    def labeling(self) -> Totals:
        """Of the stages of labeling."""
        return sum_up(totals for stage, totals in self.stages().items() if stage in LABELING_STAGES)

    def keys(self) -> dict[str, Totals]:
        """By the keys of a server that led to them."""
        with self._lock:
            return {key: totals.model_copy() for key, totals in self._keys.items()}

    def stages(self) -> dict[str, Totals]:
        """By stage."""
        with self._lock:
            return {stage: totals.model_copy() for stage, totals in self._stages.items()}


def read_ledger(file: Path) -> Iterator[Charge]:
    """Yield the calls of a ledger's file, oldest first; none if there is no file. A torn last line is left out.

    Raises:
        JournalError: The file cannot be read.
    """
    try:
        lines = file.read_bytes().splitlines() if file.exists() else []
    except OSError as error:
        raise JournalError(f"cannot read the ledger {str(file)!r}: {str(error.strerror).lower()}") from error
    for line in lines:
        try:
            yield Charge.model_validate_json(line)
        except ValidationError:
            _log.warning("a line of the ledger %r cannot be read and is left out", str(file))


def sum_up(charges: Iterable[Charge | Totals]) -> Totals:
    """What charges come to."""
    totals = Totals()
    for charge in charges:
        totals.add(charge)
    return totals


class Price(NamedTuple):
    """What a model costs, in US dollars for a million tokens."""

    prompt_usd: float
    reply_usd: float

    def of(self, prompt_tokens: int, reply_tokens: int) -> float:
        """What a call costs."""
        return (prompt_tokens * self.prompt_usd + reply_tokens * self.reply_usd) / 1e6


charged_tenant: ContextVar[str] = ContextVar("charged_tenant", default="")
charged_key: ContextVar[str] = ContextVar("charged_key", default="")
current_purpose: ContextVar[Purpose] = ContextVar("current_purpose", default=Purpose("other"))  # noqa: B039 - a tuple of constants


@contextmanager
def bound(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a variable a value inside this context."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def charged_to(tenant: str) -> AbstractContextManager[None]:
    """Say for whom a model is called inside this context, for the ledger."""
    return bound(charged_tenant, tenant)


def led_by(key: str) -> AbstractContextManager[None]:
    """Say which key of a server leads to the calls of a model inside this context, for the ledger."""
    return bound(charged_key, key)

"""Costs of calls of a model: who asked for what, and what it came to."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, computed_field

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
    """The use of a call: a stage such as `window` or `filter`, and the steps that it covers, from a position on."""

    stage: str
    trajectory: str = ""
    position: int | None = None
    steps: int = 0


class Charge(BaseModel):
    """One call, as a line of the ledger."""

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
    """None if the model's price is not known."""
    used: bool = True
    """Whether the reply could be used; one that was cut is paid for all the same."""
    calls: int = 1
    """0 for what was found out of a call when its reply was read: that it covers more `steps`, or fewer."""
    rejected: dict[str, int] = {}
    """References of the reply that were left out, by reason."""
    key: str = ""
    """The id of the key of a server that led to it; empty if none did."""


class Totals(BaseModel):
    """Sums over calls."""

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    cost_usd: float | None = None
    """None if the price of any of the calls is not known."""
    unusable: int = 0
    """Replies that were cut, or could not be used."""
    rejected: dict[str, int] = Field(default_factory=dict)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies."""
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
    """Spending since it was opened; with a file, every call is a line of it. Safe for threads.

    Args:
        file: JSON lines, appended to; made with the first call.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._lock = threading.RLock()
        self._sums: dict[str, dict[str, Totals]] = {"stage": {}, "key": {}}
        self._recalled = Totals()
        self._tenants: dict[str, Ledger] = {}

    def of(self, tenant: str) -> Ledger:
        """The spending for one tenant from the first time on that this is asked; it is counted here as well."""
        with self._lock:
            return self._tenants.setdefault(tenant, Ledger())

    def charge(self, charge: Charge) -> None:
        """Count a call. A file that cannot be written is reported in the log; the call has happened all the same."""
        with self._lock:
            for field, sums in self._sums.items():
                sums.setdefault(getattr(charge, field), Totals()).add(charge)
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
        """Costs of the replies that were used again: other processes paid for them."""
        return self._recalled.model_copy()

    def total(self) -> Totals:
        """Totals of all stages."""
        return sum_up(self.stages().values())

    def labeling(self) -> Totals:
        """Totals of the stages of labeling."""
        return sum_up(totals for stage, totals in self.stages().items() if stage in LABELING_STAGES)

    def keys(self) -> dict[str, Totals]:
        """By the keys of a server that led to them."""
        return {key: totals for key, totals in self._by("key").items() if key}

    def stages(self) -> dict[str, Totals]:
        """By stage."""
        return self._by("stage")

    def _by(self, field: str) -> dict[str, Totals]:
        with self._lock:
            return {value: totals.model_copy() for value, totals in self._sums[field].items()}


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
    """The sum of charges."""
    totals = Totals()
    for charge in charges:
        totals.add(charge)
    return totals


class Price(NamedTuple):
    """Prices of a model, in US dollars for a million tokens."""

    prompt_usd: float
    reply_usd: float

    def of(self, prompt_tokens: int, reply_tokens: int) -> float:
        """The price of a call, in US dollars."""
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


charged_to = partial(bound, charged_tenant)
"""Say for whom a model is called inside this context, for the ledger."""
led_by = partial(bound, charged_key)
"""Say which key of a server leads to the calls of a model inside this context, for the ledger."""

"""The recall log: questions to a memory, the labels chosen, the steps that came back, and why."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from pathlib import Path

import orjson
from pydantic import BaseModel, ValidationError

from stitch.core import IntentFilter, RetrievalResult, matched_by_kind
from stitch.core.files import private
from stitch.errors import SettingsError, system_reason


class RecalledStep(BaseModel, frozen=True):
    """A step that came back."""

    id: str
    """Of its snippet: by it the line is found when the step is erased."""
    trajectory: str
    step: str
    density: float
    similarity: float
    parts: dict[str, float] = {}
    """All parts of its score by name; none in a log of an older version."""
    matched: dict[str, list[str]]
    """The labels it shares with the question, by kind."""
    in_context: bool


class Recall(BaseModel, frozen=True):
    """A question, and its outcome."""

    at: float
    """Time of the question, in Unix seconds."""
    tenant: str
    trajectory: str | None
    """None for all of the tenant."""
    query: str
    mode: str
    """The retriever."""
    min_trust: str | None = None
    as_of: float | None = None
    """Of when the memory was asked, in Unix seconds; None for as it was at the time."""
    intent_filter: IntentFilter
    decided_by: str = ""
    """The part that labels had in the order; empty in a log of an older version."""
    rule: tuple[tuple[str, ...], ...] = ()
    """The tiers of the rule that made the order, then the parts that were summed."""
    reasons: tuple[str, ...]
    hits: tuple[RecalledStep, ...]
    milliseconds: float


class RecallLog:
    """Keeps the last questions of each tenant in a file of JSON lines, one a question.

    A question is written when it was answered; the file is rewritten when a tenant has twice as many as are kept, and
    the questions of no tenant push out another's. Erasing a step removes each line that names it.

    Args:
        path: The file; it is made with the first question. Its folder must exist.
        most: Questions of a tenant that are kept; with 0 none is written, and what was kept earlier can be read.
        clean: Takes secrets out of a question.
    """

    def __init__(self, path: str | Path, *, most: int, clean: Callable[[str], str] = str) -> None:
        self.path = Path(path)
        self._most, self._clean = most, clean
        self._lock = threading.Lock()
        self._counts: Counter[str] | None = None

    def note(self, result: RetrievalResult) -> None:
        """Write a question down.

        Raises:
            SettingsError: The file cannot be written.
        """
        if not self._most:
            return
        request, shown = result.request, set(result.context_hits)
        recall = Recall(
            at=time.time(),
            tenant=request.tenant,
            trajectory=request.trajectory,
            query=self._clean(request.query),
            mode=result.mode,
            min_trust=request.min_trust.value if request.min_trust else None,
            as_of=request.as_of.recorded if request.as_of else None,
            intent_filter=result.intent_filter,
            decided_by=result.decided_by.value,
            rule=(*result.rule.tiers, result.rule.summed),
            reasons=tuple(map(self._clean, result.reasons)),
            hits=tuple(
                RecalledStep(
                    id=hit.snippet.id,
                    trajectory=hit.snippet.trajectory,
                    step=hit.snippet.step,
                    density=hit.density,
                    similarity=round(hit.similarity, 6),
                    parts={name: round(number, 6) for name, number in hit.parts.items()},
                    matched=matched_by_kind(hit.matched),
                    in_context=hit.snippet.id in shown,
                )
                for hit in result.hits
            ),
            milliseconds=round(result.milliseconds, 3),
        )
        with self._lock:
            if self._counts is None:
                self._counts = Counter(each.tenant for each in self._read())
            self._counts[recall.tenant] += 1
            try:
                with open(self.path, "ab", opener=private) as file:
                    file.write(_line(recall))
                if self._counts[recall.tenant] >= 2 * self._most:
                    self._shorten()
            except OSError as error:
                cause = system_reason(error)
                raise SettingsError(
                    f"the recall log {str(self.path)!r} cannot be written: {cause}", hint="set recall_log to 0"
                ) from error

    def read(self, tenant: str) -> list[Recall]:
        """The last questions of a tenant, oldest first."""
        with self._lock:
            return [recall for recall in self._read() if recall.tenant == tenant][-self._most :]

    def _read(self) -> list[Recall]:
        """All that can be read; a line that was cut when the process ended is passed over."""
        if not self.path.exists():
            return []
        recalls = []
        for line in self.path.read_bytes().splitlines():
            with suppress(ValidationError):
                recalls.append(Recall.model_validate_json(line))
        return recalls

    def _shorten(self) -> None:
        kept = defaultdict[str, deque[bytes]](lambda: deque(maxlen=self._most))
        for recall in self._read():
            kept[recall.tenant].append(_line(recall))
        fresh = self.path.with_name(f"{self.path.name}.new")
        with open(fresh, "wb", opener=private) as file:
            file.writelines(chain.from_iterable(kept.values()))
        fresh.replace(self.path)
        self._counts = Counter({tenant: len(own) for tenant, own in kept.items()})


def _line(recall: Recall) -> bytes:
    return orjson.dumps(recall.model_dump(mode="json"), option=orjson.OPT_APPEND_NEWLINE)

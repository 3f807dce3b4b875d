"""`RemoteMemory`: a memory that another process has open, used as any `Memory` is.

Methods of which nothing is said here are called where the memory is, with the arguments they are given (`passed_on`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import orjson
from typing_extensions import override

from stitch.core import Step
from stitch.core.steps import without_surrogates
from stitch.errors import InputError, StepRejectedError
from stitch.lifecycle.lifecycle import Lifecycle
from stitch.lifecycle.relabel import Handover, NumberedLine, TakenIn
from stitch.lm import Ledger, Totals
from stitch.memory import Memory, MemoryStatus
from stitch.server.client import Client, Remote, passed_on
from stitch.server.methods import method_named
from stitch.server.protocol import MESSAGE_STEP
from stitch.sources.attachments import named_attachments
from stitch.sources.given import check_list_of_messages, plain
from stitch.themes import Themes

if TYPE_CHECKING:
    from types import TracebackType

    from stitch.core.retention import RetentionRule
    from stitch.label.model.offline import OfflineLabeler
    from stitch.trees import Trees


@passed_on("")
class RemoteMemory(Remote, Memory):
    """The memory of one tenant that another process has open, here or elsewhere; `stitch.open_memory` gives it.

    What differs: labels go on being made where the memory is, so that closing this waits for nothing and `interrupt`
    gives up nothing of others; observers are told there, and not here.

    Args:
        client: Calls methods where the memory is.
        tenant: Whose memory it is, for `tenant` alone: where it is, that is decided already.
        folder: Where this process keeps what it has to remember itself, such as how far files were read.
        defaults: What a search uses that does not say otherwise, by the names of its options; else what the settings
            say where the memory is.
        retention: What `expire` does if it is given no rules; what the settings there say if None.
        lent: Whether closing it closes nothing, for others have it too; then `let_go` does.
    """

    def __init__(
        self,
        client: Client,
        *,
        tenant: str,
        folder: Path,
        defaults: Mapping[str, Any] | None = None,
        retention: Sequence[RetentionRule] | None = None,
        lent: bool = False,
    ) -> None:
        super().__init__(client)
        self._options, self._lent = dict(defaults or {}), lent
        self.tenant, self.folder, about = tenant, folder, client.about
        self.labeler, self.uses_model, self.workers = about.labeler, about.uses_model, about.workers
        self.ledger = RemoteLedger(client, counts=about.uses_model)
        self.lifecycle = RemoteLifecycle(client, retention=retention)
        self.statements_failure = ""

    @override
    def _call(self, name: str, arguments: dict[str, Any], *, lines: Iterable[str | bytes] = ()) -> Any:
        if name in ("search", "ask", "why", "why_not"):
            text = "question" if name == "ask" else "query"
            arguments[text] = without_surrogates(arguments[text])
            taken = self._options.keys() & method_named(name).arguments.keys()
            arguments |= {option: self._options[option] for option in taken if arguments.get(option) is None}
        elif name == "add_messages":
            given = arguments["messages"]
            check_list_of_messages(given)
            arguments["messages"] = [_message(each, where=f"messages[{number}]") for number, each in enumerate(given)]
        return super()._call(name, arguments, lines=lines)

    @property
    @override
    def hierarchy(self) -> Themes:
        return RemoteThemes(self._client)

    @cached_property
    @override
    def trees(self) -> Trees:
        from stitch.server.trees import RemoteTrees

        return RemoteTrees(self._client)

    @override
    def status(self) -> MemoryStatus:
        told: MemoryStatus = self._call("status", {})
        return told.model_copy(update={"owner": dict(self._client.about.owner)})

    @override
    def flush(self) -> None:
        self.statements_failure = self._call("flush", {}).statements_failure

    @override
    def interrupt(self) -> None:
        """Give up nothing: calls of a model are under way where the memory is, and go on there."""

    @override
    def close(self) -> None:
        """Let go of the memory; where it is it goes on. Closing twice is harmless."""
        if not self._lent:
            self.let_go()

    def let_go(self) -> None:
        """Close the connections to where the memory is, also if it is lent."""
        self._client.close()

    @override
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @override
    def __repr__(self) -> str:
        return f"<RemoteMemory of tenant {self.tenant!r}, by {self._client.where.rstrip(',')}>"


@passed_on("lifecycle")
class RemoteLifecycle(Remote, Lifecycle):
    """Work on the steps of a memory that is somewhere else.

    Without retention rules `expire` goes by what the settings there say.
    """

    def __init__(self, client: Client, *, retention: Sequence[RetentionRule] | None) -> None:
        super().__init__(client)
        self._rules, self.retention = retention, tuple(retention or ())

    @override
    def _call(self, name: str, arguments: dict[str, Any], *, lines: Iterable[str | bytes] = ()) -> Any:
        if name == "lifecycle.expire" and arguments.get("rules") is None:
            arguments["rules"] = self._rules
        elif name == "lifecycle.backup":
            arguments["to"] = os.path.abspath(arguments["to"])
        return super()._call(name, arguments, lines=arguments.pop("lines", ()))

    @override
    def handover(self, labeler: OfflineLabeler) -> Handover:
        return RemoteHandover(self._client, labeler)


@passed_on("handover")
class RemoteHandover(Remote, Handover):
    """Hands out windows of the trajectories of a memory that is somewhere else, and gives replies to it.

    Requests are made and replies are read there, by a labeler like the one that is given.
    """

    def __init__(self, client: Client, labeler: OfflineLabeler) -> None:
        from stitch.label.model.compiled import state_of
        from stitch.signatures.programs import WindowProgram

        states = state_of(labeler.program, plain=WindowProgram()) if labeler.program.digest else {}
        about = {
            "model": labeler.model.name, "window_steps": labeler.window_steps, "asks": labeler.asks,
            "price": labeler.price and labeler.price._asdict(),
            "program": {name: each.model_dump(mode="json") for name, each in states.items()} or None,
        }  # fmt: skip
        super().__init__(client, of=about)

    @override
    def take_in(self, lines: Iterable[NumberedLine]) -> TakenIn:
        told = (orjson.dumps([each.source, each.line, each.content.decode("utf-8", "replace")]) for each in lines)
        taken: TakenIn = self._call("handover.take_in", {}, lines=told)
        return taken


class RemoteLedger(Ledger):
    """Costs of calls of a model for a memory that is somewhere else, from the time on that this is made.

    What others who use the memory of this tenant meanwhile cost is in it too.
    """

    def __init__(self, client: Client, *, counts: bool) -> None:
        super().__init__()
        self._client, self._counts = client, counts
        self._before = self._now()

    def _now(self) -> dict[str, Totals]:
        """The costs by stage since the memory was opened; none where no model is called."""
        return self._client.call("ledger.stages", {}) if self._counts else {}

    @override
    def stages(self) -> dict[str, Totals]:
        before = {} if isinstance(self._client.here, Memory) else self._before  # opened here, it begins at nothing
        return {name: _since(each, before.get(name, Totals())) for name, each in self._now().items()}


@passed_on("hierarchy")
class RemoteThemes(Remote, Themes):
    """The episodes, statements and themes of a memory that is somewhere else: all but vectors."""

    def _refused(self, *_: object, **__: object) -> NoReturn:
        raise InputError(
            "vectors of statements and themes are read in the process that has the memory open",
            hint="`search(question, retriever='themes')` compares with them there",
        )

    embedder = property(_refused)
    nearest = statement_vectors = vectors_of = theme_vectors = _refused

    @override
    def let_go(self) -> None:
        """Let go of nothing: what is derived is kept where the memory is."""


def _message(given: object, *, where: str) -> Mapping[str, Any]:
    """A message as JSON has it; of what is attached, the name, size and digest."""
    if isinstance(given, Step):
        return {MESSAGE_STEP: given}
    message = named_attachments(plain(given, where=where))
    if not isinstance(message, Mapping):
        raise StepRejectedError(f"{where} is no message but {type(message).__name__}")
    return message


def _since(now: Totals, before: Totals) -> Totals:
    """The difference of two totals."""
    counted = Totals.model_fields.keys() - {"cost_usd", "rejected"}
    numbers = {name: getattr(now, name) - getattr(before, name) for name in counted}
    rejected = dict(Counter(now.rejected) - Counter(before.rejected))
    paid, had = now.cost_usd, before.cost_usd if before.calls else 0.0
    return Totals(**numbers, rejected=rejected, cost_usd=None if paid is None or had is None else paid - had)

"""The table of all that can be asked of a memory from outside: each wire and each tool is made from it.

More than 400 lines because it is one table, a row an operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

from stitch.errors import InputError
from stitch.server.api import (
    adding,
    asking,
    forgetting,
    labeling,
    labeling_models,
    listing,
    listing_models,
    maintenance,
    maintenance_models,
    models,
    theme_models,
    themes,
)
from stitch.server.api.operation import Action, Operation
from stitch.server.api.tree_operations import TREE_OPERATIONS

if TYPE_CHECKING:
    from stitch.memory import Memory

__all__ = ["OPERATIONS", "Action", "Asked", "Operation", "ask", "made"]

Made = TypeVar("Made", bound=BaseModel)


def _table(*operations: Operation) -> Mapping[str, Operation]:
    return MappingProxyType({each.name: each for each in operations})


OPERATIONS: Mapping[str, Operation] = _table(
    Operation(
        name="add",
        summary="Store the next steps of a trajectory.",
        action="write",
        method="POST",
        path="/v1/steps",
        request=models.AddRequest,
        response=models.AddResponse,
        run=adding.add,
    ),
    Operation(
        name="messages",
        summary="Store chat messages as they are; of a conversation that grows, what is new.",
        action="write",
        method="POST",
        path="/v1/messages",
        request=models.MessagesRequest,
        response=models.AddResponse,
        run=adding.messages,
    ),
    Operation(
        name="search",
        summary="Find the steps that answer a question.",
        action="read",
        method="POST",
        path="/v1/search",
        request=models.QueryRequest,
        response=models.QueryResponse,
        run=asking.query,
    ),
    Operation(
        name="why",
        summary="Say why a step comes back for a question, or why it does not.",
        action="read",
        method="POST",
        path="/v1/why",
        request=models.WhyRequest,
        response=models.WhyResponse,
        run=asking.why,
    ),
    Operation(
        name="why_not",
        summary="Say where a step stands in the ranking for a question, and what would admit it.",
        action="read",
        method="POST",
        path="/v1/why_not",
        request=models.WhyNotRequest,
        response=models.Ranked,
        run=asking.why_not,
    ),
    Operation(
        name="recalls",
        summary="Tell what was asked last and what came back.",
        action="read",
        method="GET",
        path="/v1/recalls",
        request=listing_models.RecallsRequest,
        response=listing_models.RecallsResponse,
        run=listing.recalls,
    ),
    Operation(
        name="trajectories",
        summary="List the trajectories, the oldest first.",
        action="read",
        method="GET",
        path="/v1/trajectories",
        request=listing_models.TrajectoriesRequest,
        response=listing_models.TrajectoriesResponse,
        run=listing.trajectories,
    ),
    Operation(
        name="timeline",
        summary="Tell the scopes of a trajectory, and its steps with their labels and references.",
        action="read",
        method="GET",
        path="/v1/timeline",
        request=listing_models.TimelineRequest,
        response=listing_models.Timeline,
        run=listing.timeline,
    ),
    Operation(
        name="steps",
        summary="Give the steps of a trajectory as the memory keeps them.",
        action="read",
        method="GET",
        path="/v1/steps",
        request=listing_models.StepsRequest,
        response=listing_models.StepsResponse,
        run=listing.steps,
    ),
    Operation(
        name="get",
        summary="Give one step as the memory keeps it.",
        action="read",
        method="GET",
        path="/v1/step",
        request=listing_models.StepRequest,
        response=listing_models.StepResponse,
        run=listing.get,
    ),
    Operation(
        name="labels",
        summary="List the labels of a memory, those of most steps first.",
        action="read",
        method="GET",
        path="/v1/labels",
        request=listing_models.LabelsRequest,
        response=listing_models.LabelsResponse,
        run=listing.labels,
    ),
    Operation(
        name="inventory",
        summary="Give the label space of a trajectory, or of all, as questions are matched against it.",
        action="read",
        method="GET",
        path="/v1/inventory",
        request=listing_models.InventoryRequest,
        response=listing_models.InventoryResponse,
        run=listing.inventory,
    ),
    Operation(
        name="themes",
        summary="List what the memory is about: its themes, those of most statements first.",
        action="read",
        method="GET",
        path="/v1/themes",
        request=theme_models.ThemesRequest,
        response=theme_models.ThemesResponse,
        run=themes.themes,
    ),
    Operation(
        name="theme",
        summary="Give a theme with its statements, and the themes around it.",
        action="read",
        method="GET",
        path="/v1/theme",
        request=theme_models.ThemeRequest,
        response=theme_models.ThemeResponse,
        run=themes.theme,
    ),
    Operation(
        name="statements",
        summary="List statements: one by its id, those of a step, of a trajectory, or all.",
        action="read",
        method="GET",
        path="/v1/statements",
        request=theme_models.StatementsRequest,
        response=theme_models.StatementsResponse,
        run=themes.statements,
    ),
    Operation(
        name="episodes",
        summary="List the episodes of a trajectory, or give one by its id.",
        action="read",
        method="GET",
        path="/v1/episodes",
        request=theme_models.EpisodesRequest,
        response=theme_models.EpisodesResponse,
        run=themes.episodes,
    ),
    Operation(
        name="status",
        summary="Say how many steps have come how far, and what language models have cost.",
        action="read",
        method="GET",
        path="/v1/status",
        request=listing_models.StatusRequest,
        response=listing_models.StatusResponse,
        run=listing.status,
    ),
    Operation(
        name="about",
        summary="Say whose memory this is, and who labels.",
        action="read",
        method="GET",
        path="/v1/about",
        request=models.Nothing,
        response=models.About,
        run=listing.about,
    ),
    Operation(
        name="totals",
        summary="Say what calls of a model came to since the memory was opened.",
        action="read",
        method="GET",
        path="/v1/totals",
        request=models.Nothing,
        response=listing_models.OwnTotalsResponse,
        run=listing.own_totals,
    ),
    Operation(
        name="receipts",
        summary="Say what has become of each step, in the order of acceptance.",
        action="read",
        method="GET",
        path="/v1/receipts",
        request=listing_models.ReceiptsRequest,
        response=listing_models.ReceiptsResponse,
        run=listing.receipts,
    ),
    Operation(
        name="retry",
        summary="Try again to label and store what failed.",
        action="write",
        method="POST",
        path="/v1/retry",
        request=models.Nothing,
        response=listing_models.RetryResponse,
        run=listing.retry,
    ),
    Operation(
        name="flush",
        summary="Wait for the labels of all that is accepted, and make everything survive a loss of power.",
        action="write",
        method="POST",
        path="/v1/flush",
        request=models.Nothing,
        response=models.FlushResponse,
        run=listing.flush,
    ),
    Operation(
        name="finish",
        summary="Label now what waits for more steps of a trajectory.",
        action="write",
        method="POST",
        path="/v1/finish",
        request=listing_models.FinishRequest,
        response=listing_models.FinishResponse,
        run=listing.finish,
    ),
    Operation(
        name="correct",
        summary="Replace the text or labels of a step; what it was stays in its history.",
        action="write",
        method="POST",
        path="/v1/correct",
        request=maintenance_models.CorrectRequest,
        response=maintenance_models.CorrectResponse,
        run=maintenance.correct,
    ),
    Operation(
        name="history",
        summary="Tell what a step was before each of its corrections, oldest first.",
        action="read",
        method="GET",
        path="/v1/history",
        request=maintenance_models.HistoryRequest,
        response=maintenance_models.HistoryResponse,
        run=maintenance.history,
    ),
    Operation(
        name="corrections",
        summary="Tell the steps whose labels a person has put right.",
        action="read",
        method="GET",
        path="/v1/corrections",
        request=models.Nothing,
        response=maintenance_models.CorrectionRow,
        run=maintenance.corrections,
        streams=True,
    ),
    Operation(
        name="forget",
        summary="Erase steps everywhere with proof, or take them out of retrieval; or only count them.",
        action="forget",
        method="POST",
        path="/v1/forget",
        request=models.ForgetRequest,
        response=models.ForgetResponse,
        run=forgetting.forget,
    ),
    Operation(
        name="expire",
        summary="Retire or erase what is older than it may be.",
        action="forget",
        method="POST",
        path="/v1/expire",
        request=maintenance_models.ExpireRequest,
        response=maintenance_models.ExpireResponse,
        run=maintenance.expire,
    ),
    Operation(
        name="export",
        summary="Give all of a memory, or one trajectory, as lines that another memory takes in.",
        action="read",
        method="GET",
        path="/v1/export",
        request=maintenance_models.ExportRequest,
        response=maintenance_models.ExportLine,
        run=maintenance.export,
        streams=True,
        raw=True,
    ),
    Operation(
        name="import",
        summary="Take in the lines of an export, without loss.",
        action="write",
        method="POST",
        path="/v1/import",
        request=maintenance_models.ImportRequest,
        response=maintenance_models.ImportResponse,
        run=maintenance.take_in,
        takes_lines=True,
    ),
    Operation(
        name="backup",
        summary="Copy the memory into a folder of its machine while it is in use.",
        action="admin",
        method="POST",
        path="/v1/backup",
        request=maintenance_models.BackupRequest,
        response=maintenance_models.BackupResponse,
        run=maintenance.backup,
    ),
    Operation(
        name="verify",
        summary="Compare journal, store and labels, and name each thing that does not agree.",
        action="admin",
        method="POST",
        path="/v1/verify",
        request=maintenance_models.VerifyRequest,
        response=maintenance_models.VerifyResponse,
        run=maintenance.verify,
    ),
    Operation(
        name="reindex",
        summary="Build the store anew from the journal, for all tenants, while it serves.",
        action="admin",
        method="POST",
        path="/v1/reindex",
        request=models.Nothing,
        response=maintenance_models.ReindexResponse,
        run=maintenance.reindex,
    ),
    Operation(
        name="relabel",
        summary="Let the labeler of the settings make the labels that another has made.",
        action="admin",
        method="POST",
        path="/v1/relabel",
        request=models.Nothing,
        response=maintenance_models.RelabelResponse,
        run=maintenance.relabel,
    ),
    Operation(
        name="label_windows",
        summary="Hand out the next window of each trajectory as a request, to be labeled elsewhere.",
        action="admin",
        method="POST",
        path="/v1/label/windows",
        request=labeling_models.LabelWindowsRequest,
        response=labeling_models.LabelWindow,
        run=labeling.windows,
        streams=True,
    ),
    Operation(
        name="label_replies",
        summary="Store the labels in replies to windows that were handed out.",
        action="admin",
        method="POST",
        path="/v1/label/replies",
        request=labeling_models.LabelRepliesRequest,
        response=labeling_models.LabelRepliesResponse,
        run=labeling.replies,
    ),
    Operation(
        name="label_waiting",
        summary="Count what is still to be labeled elsewhere.",
        action="admin",
        method="POST",
        path="/v1/label/waiting",
        request=labeling_models.LabelWaitingRequest,
        response=labeling_models.LabelWaitingResponse,
        run=labeling.waiting,
    ),
    *TREE_OPERATIONS,
)
"""By name."""


def made(kind: type[Made], **fields: Any) -> Made:
    """A request of what somebody has written.

    Raises:
        InputError: A field cannot be used; the first of them is named.
    """
    try:
        return kind(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "request"
        raise InputError(f"{where}: {str(first['msg']).removeprefix('Value error, ').lower()}") from None


@runtime_checkable
class Asked(Protocol):
    """A memory that is somewhere else: it passes requests on to where it is."""

    def ask(self, operation: str, request: BaseModel, lines: Iterable[str | bytes] = ()) -> Any:
        """What is answered there."""


def ask(memory: Memory, operation: str, request: BaseModel, lines: Iterable[str | bytes] = ()) -> Any:
    """Answer a request by a memory, wherever it is; see `Operation.run`."""
    if isinstance(memory, Asked):
        return memory.ask(operation, request, lines)
    asked = OPERATIONS[operation]
    return asked.run(memory, request, lines) if asked.takes_lines else asked.run(memory, request)

"""Methods whose arguments or results travel in a form of their own: messages, requests in words, windows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from pydantic import TypeAdapter

from stitch.core import Receipt
from stitch.label.model.compiled import state_of
from stitch.label.model.offline import OfflineLabeler
from stitch.lifecycle.handover import Handover, NumberedLine, TakenIn
from stitch.server.methods import checked
from stitch.server.operations.operation import OPERATIONS
from stitch.server.operations.steps import steps_among
from stitch.server.operations.upkeep import handover
from stitch.signatures.programs import WindowProgram
from stitch.trees.core.operations import operation_json
from stitch.trees.requests.conversation import TreeTask
from stitch.trees.requests.versioned import VersionedTree

if TYPE_CHECKING:
    from stitch.memory import Memory


class Answered(NamedTuple):
    """The outcome of the tasks of a request in words."""

    replies: Sequence[Mapping[str, Any]]
    left: Sequence[TreeTask]
    author: str
    """The model, as the author of what it proposes."""
    version: str


def add_messages(
    memory: Memory, messages: Sequence[Mapping[str, Any]], trajectory: str, options: Mapping[str, Any]
) -> list[Receipt]:
    """As `Memory.add_messages`; a step among messages is told by a field of its own."""
    return memory.add_messages(steps_among(messages), trajectory=trajectory, **options)


def flush(memory: Memory) -> str:
    """As `Memory.flush`; returns `Memory.statements_failure`."""
    memory.flush()
    return memory.statements_failure


def take_in_replies(handover: Handover, lines: Iterable[bytes]) -> TakenIn:
    """As `Handover.take_in`, of lines that are lists of JSON: source, number, text."""
    numbered = (orjson.loads(line) for line in lines)
    return handover.take_in(NumberedLine(source, number, text.encode()) for source, number, text in numbered)


def request_of_tree(
    tree: VersionedTree, request: str, turns: Sequence[str], tasks: Sequence[TreeTask] | None, confirm: bool,
    stops: bool,
) -> Answered:  # fmt: skip
    """As `TreeConversation.go_on`; a reply is told without the difference that its operations make."""
    talk = tree.conversation(request, turns=turns)
    replies, left = talk.go_on(request, tasks=tasks, confirm=confirm, stops=stops)
    told = [
        {
            **vars(reply),
            "selection": reply.selection and reply.selection.as_json(),
            "operations": list(map(operation_json, reply.operations)),
            "diff": None,
        }
        for reply in replies
    ]
    return Answered(told, left, talk.author, tree.version)


def labeler_json(labeler: OfflineLabeler) -> dict[str, Any]:
    """A labeler that is somewhere else, so that one like it can be made where a memory is."""
    states = state_of(labeler.program, plain=WindowProgram()) if labeler.program.digest else {}
    return {
        "model": labeler.model.name, "window_steps": labeler.window_steps, "asks": labeler.asks,
        "price": labeler.price and labeler.price._asdict(),
        "program": {name: each.model_dump(mode="json") for name, each in states.items()} or None,
    }  # fmt: skip


def handover_to(memory: Memory, told: Any) -> Handover:
    """The way out and back for the windows of a labeler of which `labeler_json` told.

    Raises:
        InputError: It is none, or its prompts are of another version.
    """
    form: Any = OPERATIONS["label_waiting"].request
    asked = checked(TypeAdapter(form), told)
    return handover(memory, **dict(asked))

"""Trees of a memory that another process has open: requests in words, and what others do meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from contracts.trees import PLAN
from stitch import Memory, open_memory
from stitch.errors import ConflictError
from stitch.remote.trees import RemoteTree
from stitch.testing.model import LoopbackProvider
from stitch.trees import SetField, TreeReply

CHEAPER = {"op": "set", "id": "zoo", "field": "cost", "value": "CAD 30"}
NO_PIER = {"op": "delete", "id": "pier"}
UPDATE, DELETE = ("update", "//POI[1]"), ("delete", "//Day[2]/POI")


def routed(*tasks: tuple[str, str]) -> dict[str, Any]:
    told = [{"kind": kind, "request": f"{kind} it", "query": query} for kind, query in tasks]
    return {"tasks": told, "question": "" if tasks else "Which day?"}


def proposed(operation: dict[str, Any]) -> dict[str, Any]:
    return {"operations": [json.dumps(operation)], "message": operation["op"]}


class Says:
    """A model that says one reply after the other."""

    def __init__(self) -> None:
        self.left: list[Any] = []
        self.heard: list[str] = []

    def __call__(self, system: str, user: str) -> Any:
        self.heard.append(user)
        return self.left.pop(0)


@pytest.fixture
def says() -> Says:
    return Says()


@pytest.fixture
def opened(tmp_path: Path, says: Says) -> Iterator[Callable[[], Any]]:
    """Opens the memory beside its owner, which has a model."""
    with LoopbackProvider(says) as provider:
        model = {"model": "openai/scripted", "base_url": provider.base_url, "labels": "local"}

        @contextmanager
        def call() -> Iterator[Memory]:
            with open_memory(tmp_path / "m", **model) as memory:  # type: ignore[arg-type]
                yield memory

        with call() as owner:
            owner.trees.create("trip", PLAN, message="first plan")
            yield call


def test_a_question_is_answered_and_the_ones_before_are_kept_in_mind(opened: Callable[[], Any], says: Says) -> None:
    with opened() as memory:
        trip = memory.trees.open("trip")
        assert isinstance(trip, RemoteTree)
        trip.check_model()
        says.left += [routed(("read", "//Day[1]/POI")), {"answer": "A house and a park."}]
        reply = trip.ask("What is on the first day?")
        assert (reply.kind, reply.query, reply.answer) == ("read", "//Day[1]/POI", "A house and a park.")
        assert reply.selection is not None
        assert (reply.selection.ids, reply.calls, reply.tokens > 0) == (("zoo", "park"), 2, True)
        says.left += [routed()]
        assert (trip.ask("And then?").kind, trip.version) == ("unclear", "v1")
        assert "What is on the first day?" in says.heard[2]


def test_what_is_shown_first_is_committed_one_by_one(opened: Callable[[], Any], says: Says) -> None:
    seen: list[TreeReply] = []

    def only_deletions(reply: TreeReply) -> bool:
        seen.append(reply)
        return reply.kind == "delete"

    with opened() as memory:
        trip = memory.trees.open("trip")
        says.left += [routed(UPDATE, DELETE), proposed(CHEAPER), proposed(NO_PIER)]
        cheaper, no_pier = trip.request("cheaper, and no pier", confirm=only_deletions)
        assert [reply.kind for reply in seen] == ["update", "delete"]
        assert (cheaper.commit, no_pier.commit.message) == (None, "delete")
        assert (trip.version, trip.tree.node("zoo").fields["cost"]) == ("v2", "CAD 40")
        says.left += [routed(UPDATE), proposed(CHEAPER)]
        [reply] = trip.request("cheaper", confirm=False)
        assert (reply.is_open, trip.version) == (True, "v2")
        assert "committed v2" in says.heard[3]


def test_what_another_has_changed_is_told_before_anything_is_done(opened: Callable[[], Any], says: Says) -> None:
    with opened() as memory, opened() as other:
        trip = memory.trees.open("trip")
        other.trees.open("trip").edit([SetField("zoo", "cost", "CAD 1")], message="first", author="bob")
        with pytest.raises(ConflictError, match="'bob'"):
            trip.request("cheaper", confirm=True)
        assert says.heard == []

"""Memories that are held in different ways do the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.memory import TRIP, MemoryContract
from contracts.trees import TreesContract
from stitch import Memory, open_memory
from stitch.server.api.listing_models import InventoryRequest
from stitch.server.remote.memory import RemoteMemory
from stitch.server.remote.rebuilding import inventory_of


class TestLocalMemory(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with open_memory(tmp_path / "m") as memory:
            yield memory


class TestMemoryOfAnotherOwner(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with open_memory(tmp_path / "m"), open_memory(tmp_path / "m") as memory:
            assert isinstance(memory, RemoteMemory)
            yield memory


class TestMemoryOfAnotherTenant(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with open_memory(tmp_path / "m"), open_memory(tmp_path / "m", tenant="ann") as memory:
            yield memory


class TestServedMemory(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(self, served: str) -> Iterator[Memory]:
        with open_memory(served) as memory:
            assert isinstance(memory, RemoteMemory)
            yield memory


def test_all_that_a_memory_does_is_done_elsewhere_too() -> None:
    from stitch.lifecycle.lifecycle import Lifecycle
    from stitch.server.remote.lifecycle import RemoteLifecycle
    from stitch.server.remote.trees import RemoteTree, RemoteTrees, RemoteTreeVersion
    from stitch.trees import Trees, TreeVersion, VersionedTree

    derived = {"stream", "astream"}  # made of `add_each`
    derived |= {"history", "all_commits", "diff", "reload", "export"}  # made of the versions that are known
    derived |= {"conversation"}  # for whoever answers `request`
    for here, there in (
        (Memory, RemoteMemory),
        (Lifecycle, RemoteLifecycle),
        (Trees, RemoteTrees),
        (VersionedTree, RemoteTree),
        (TreeVersion, RemoteTreeVersion),
    ):
        own = {name for name, value in vars(here).items() if callable(value) and not name.startswith("_")}
        asynchronous = {name for name in own if name.startswith("a") and name[1:] in own}
        assert own - asynchronous - derived <= set(vars(there)), here


def test_a_label_space_of_many_pages_is_the_one_that_its_owner_has(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as own, open_memory(tmp_path / "m") as remote:
        own.add_many(TRIP, trajectory="trip")
        own.add(TRIP[0], trajectory="home")
        assert isinstance(remote, RemoteMemory)
        pages = list(remote.pages("inventory", InventoryRequest(limit=1)))
        assert len(pages) > len(own.inventory().scopes) > 1
        assert inventory_of(pages) == remote.inventory() == own.inventory()

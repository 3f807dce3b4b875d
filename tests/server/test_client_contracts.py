"""Memories that are held in different ways do the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.memory import MemoryContract
from contracts.trees import TreesContract
from stitch import Memory, open_memory
from stitch.errors import InputError
from stitch.server.memory import RemoteMemory
from stitch.server.methods import method_named, method_names


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


@pytest.mark.slow  # by the same way as that of another owner
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
    from stitch.server.memory import RemoteLifecycle, RemoteThemes
    from stitch.server.trees import RemoteTree, RemoteTrees, RemoteTreeVersion
    from stitch.themes import Themes
    from stitch.trees import Trees, TreeVersion, VersionedTree

    derived = {"stream", "export", "conversation", "delete"}  # made of others, or for whoever answers `request`
    for here, there in (
        (Memory, RemoteMemory),
        (Lifecycle, RemoteLifecycle),
        (Themes, RemoteThemes),
        (Trees, RemoteTrees),
        (VersionedTree, RemoteTree),
        (TreeVersion, RemoteTreeVersion),
    ):
        named = {name: value for each in reversed(here.__mro__[:-1]) for name, value in vars(each).items()}
        own = {name for name, value in named.items() if callable(value) and not name.startswith("_")}
        asynchronous = {name for name in own if name.startswith("a") and name[1:] in own}
        assert own - asynchronous - derived <= set(vars(there)), here


def test_each_method_that_can_be_called_says_what_it_takes_and_returns() -> None:
    for kind in ("", "ledger", "lifecycle", "handover", "hierarchy", "trees", "tree"):
        for own in method_names(kind):
            method = method_named(f"{kind}.{own}".lstrip("."))
            assert method.arguments.json_schema()["additionalProperties"] is False
            assert method.result.core_schema
    with pytest.raises(InputError, match="no method 'close'"):
        method_named("close")

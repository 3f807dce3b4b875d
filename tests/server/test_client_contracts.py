"""Memories that are held in different ways do the same."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from starlette.datastructures import Headers
from typing_extensions import override

from contracts.memory import MemoryContract
from contracts.trees import TreesContract
from doubles.serving import running
from stitch import Memory, open_memory
from stitch.errors import InputError
from stitch.server.access import Access
from stitch.server.keys import Caller
from stitch.server.memory import RemoteMemory
from stitch.server.methods import method_named, method_names

NAMES = (f"tenant-{number}" for number in count())
"""Of a tenant of its own for each test, so that one server is begun for all."""


class TestLocalMemory(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[Memory]:
        with open_memory(tmp_path / "m") as memory:
            yield memory


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with open_memory(tmp_path_factory.mktemp("owned") / "m") as memory:
        yield memory


class TestMemoryOfAnotherOwner(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(self, owner: Memory) -> Iterator[Memory]:
        with open_memory(owner.folder, tenant=next(NAMES)) as memory:
            assert isinstance(memory, RemoteMemory)
            yield memory


class AccessOfTheTest(Access):
    """Serves everybody, as one tenant after the other."""

    tenant = "nobody"

    @override
    def caller(self, headers: Headers, *, opened: bool = False) -> Caller | None:
        caller = super().caller(headers, opened=opened)
        return caller and caller.model_copy(update={"tenant": self.tenant})


@pytest.fixture(scope="module")
def access() -> AccessOfTheTest:
    return AccessOfTheTest(None, tenant="nobody", host="127.0.0.1")


@pytest.fixture(scope="module")
def url(access: AccessOfTheTest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("served") / "m", access=access) as client:
        yield f"stitch+{client.url}"


@pytest.mark.slow  # by the same way as with another owner, but for the socket and for who asks
class TestServedMemory(MemoryContract, TreesContract):
    @pytest.fixture
    def memory(
        self, url: str, access: AccessOfTheTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> Iterator[Memory]:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        access.tenant = next(NAMES)
        with open_memory(url) as memory:
            assert isinstance(memory, RemoteMemory)
            yield memory


def test_all_that_a_memory_does_is_done_elsewhere_too() -> None:
    from stitch.lifecycle.lifecycle import Lifecycle
    from stitch.server.memory import RemoteLifecycle, RemoteThemes
    from stitch.server.trees import RemoteTree, RemoteTrees
    from stitch.themes import Themes
    from stitch.trees import Trees, VersionedTree

    derived = {"stream", "export", "conversation", "delete", "ask", "diff"}  # made of others, or of an open tree
    for here, there in (
        (Memory, RemoteMemory),
        (Lifecycle, RemoteLifecycle),
        (Themes, RemoteThemes),
        (Trees, RemoteTrees),
        (VersionedTree, RemoteTree),
    ):
        named = {name: value for each in reversed(here.__mro__[:-1]) for name, value in vars(each).items()}
        own = {name for name, value in named.items() if callable(value) and not name.startswith("_")}
        asynchronous = {name for name in own if name.startswith("a") and name[1:] in own}
        assert own - asynchronous - derived <= set(vars(there)), here


def test_each_method_that_can_be_called_says_what_it_takes_and_returns() -> None:
    for kind in ("", "ledger", "lifecycle", "handover", "hierarchy", "trees", "tree"):
        for own in method_names(kind):
            method = method_named(f"{kind}.{own}".lstrip("."))
            assert method.given.json_schema()["additionalProperties"] is False
            assert method.result.core_schema
    with pytest.raises(InputError, match="no method 'close'"):
        method_named("close")

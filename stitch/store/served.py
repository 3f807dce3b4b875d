"""A store whose points are on a Qdrant server or cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stitch.core.process import in_each_fork
from stitch.core.snippets import MemorySnippet
from stitch.errors import StoreUnavailableError
from stitch.store.client import ClientPoints
from stitch.store.collection import Kind, opened
from stitch.store.connection import Server
from stitch.store.qdrant import QdrantStore

_TEXTS = ("text", "resolved", "summary", "context", "asks", "entities", "references", "metadata")
"""What says something that was said."""


class ServerStore(QdrantStore):
    """Snippets in a collection of a server, which is one journal's; nothing of it is kept on this machine.

    Args:
        server: The collection; made when it is not there.
        journal: The id of the journal.
        embedder_name: Who makes its vectors.
        dimension: Their length.
        from_journal: Gives the snippet of a step by tenant, trajectory and id, where a server is told no text
            (`Server.minimal`).

    Raises:
        StoreUnavailableError: The server does not answer.
        StoreMismatchError: The collection is another journal's, or was made for other vectors.
        StoreError: The server refuses the key or the request.
    """

    _most_cached = 0  # other processes may write there, too

    def __init__(
        self,
        server: Server,
        *,
        journal: str,
        embedder_name: str,
        dimension: int,
        from_journal: Callable[[str, str, str], MemorySnippet | None] = lambda *_: None,
    ) -> None:
        self.path, self._server, self._from_journal = None, server, from_journal
        self._begin(server.what, location=server.url, dimension=dimension)
        try:
            self._use(ClientPoints(server, opened(server, Kind(journal, embedder_name, dimension))))
        except BaseException:
            server.close()
            raise
        in_each_fork(self._leave_to_parent)

    def about(self) -> dict[str, str]:
        """Version and state of the server and the collection; that it is away, if it is."""
        payload = "minimal" if self._server.minimal else "full"
        named = {"url": self._server.url, "collection": self._server.collection, "payload": payload}
        try:
            assert isinstance(self._opened, ClientPoints)
            return {**named, **self._opened.about()}
        except StoreUnavailableError as error:
            return {**named, "state": error.message}

    @property
    def not_searched(self) -> Sequence[str]:
        """The disks of the server, and what may stand there."""
        may_have = "numbers, names and labels" if self._server.minimal else "texts and labels"
        return (f"the disks of the server, until it writes its log and pages anew: they may have {may_have}",)

    def _let_go(self) -> None:
        self._closed = True
        self._opened.close()

    def _kept(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        if not self._server.minimal:
            return dict(payload)
        return {name: value for name, value in payload.items() if name not in _TEXTS}

    def _made(self, payload: Mapping[str, Any], *, validate: bool = False) -> MemorySnippet | None:
        if "text" in payload:
            return super()._made(payload, validate=validate)
        return self._from_journal(payload["tenant"], payload["trajectory"], payload["step"])

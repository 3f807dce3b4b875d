"""A store whose points are on a Qdrant server or cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from stitch.core.snippets import MemorySnippet
from stitch.errors import StoreError, StoreUnavailableError
from stitch.store.client import ClientPoints
from stitch.store.collection import check, drop, look, make
from stitch.store.connection import Server
from stitch.store.folder import read_note
from stitch.store.qdrant import QdrantStore

NOTE = "collection.json"
_NEXT = "reindex"
"""Where in the folder of a store the next one is built."""
_TEXTS = ("text", "resolved", "summary", "context", "asks", "entities", "references", "metadata")
"""What says something that was said."""


class ServerStore(QdrantStore):
    """Snippets in a collection of a server, which is one journal's; a folder here says which, and who has it open.

    A store that is built beside one that serves fills a second collection, `NAME-2`; which of the two serves is in the
    folder.

    Args:
        server: The collection; made when it is not there.
        journal: The id of the journal.
        building: Whether it is built beside another one of this collection, which goes on to serve.
        shared: Whether other processes fill the collection too; the folder is of this one alone.

    Raises:
        StoreUnavailableError: The server does not answer.
        StoreMismatchError: The collection is another journal's, or was made for other vectors.
        StoreLockedError: Another process, or another store of this one, has it open.
        StoreError: The server refuses the key or the request; or the folder cannot be used.
    """

    _segments = None
    _most_cached = 0  # other processes write there, too

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        server: Server,
        journal: str,
        embedder_name: str,
        dimension: int,
        building: bool = False,
        shared: bool = False,
    ) -> None:
        self._server, self._journal, self._building, self._shared = server, journal, building, shared
        super().__init__(path, embedder_name=embedder_name, dimension=dimension)

    def sibling(self, path: Path) -> ServerStore:
        """A store like this one in another folder and the other collection, made if it is not there."""
        made = ServerStore(path, server=self._server, journal=self._journal, building=True,
                           embedder_name=self._embedder_name, dimension=self._dimension)  # fmt: skip
        made.from_journal = self.from_journal
        return made

    def about(self) -> dict[str, str]:
        """Version and state of the server and the collection; that it is away, if it is."""
        payload = "minimal" if self._server.minimal else "full"
        named = {"url": self._server.url, "collection": self._collection, "payload": payload}
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

    def _open_points(self, create: bool) -> ClientPoints:
        self._collection = self._chosen(create)
        server = self._server.named(self._collection)
        try:
            found = look(server)
            if found is not None and create and found.journal == self._journal and not self._shared:
                drop(server)  # of a store that is not there any more
                found = None
            found = found or make(server, dimension=self._dimension, journal=self._journal)
            check(found, server, dimension=self._dimension, journal=self._journal, reindex=self._folder.reindex)
            opened = ClientPoints(server, found)
            if create:
                self._folder.write_note(NOTE, self._collection)
            elif not self._building:
                self._drop_left_over()
        except BaseException:
            server.close()
            raise
        return opened

    def _chosen(self, create: bool) -> str:
        def said(folder: Path) -> str:
            return str(read_note(folder / NOTE, str, what=self._what, hint=self._folder.reindex))

        if not create:
            return said(self._folder.path)
        serving = self.path.parent / "store"
        taken = said(serving) if self._building and (serving / NOTE).exists() else None
        return _other(self._server.collection) if taken == self._server.collection else self._server.collection

    def _drop_left_over(self) -> None:
        """Drop the collection that served before this one was built, unless the next one is built there."""
        base = self._server.collection
        if (self.path / _NEXT / "store" / NOTE).exists():
            return
        with closing(self._server.named(base if self._collection != base else _other(base))) as other:
            found = look(other)
            if found is not None and found.journal == self._journal:
                drop(other)

    def _kept(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        if not self._server.minimal:
            return dict(payload)
        return {name: value for name, value in payload.items() if name not in _TEXTS}

    def _made(self, payload: Mapping[str, Any], *, validate: bool = False) -> MemorySnippet | None:
        if "text" in payload:
            return super()._made(payload, validate=validate)
        if self.from_journal is None:
            raise StoreError(f"{self._what} has no texts, and no journal gives them")
        return self.from_journal(payload["tenant"], payload["trajectory"], payload["step"])

    @property
    def _what(self) -> str:
        return self._server.what

    @property
    def _location(self) -> str:
        return self._server.url


def _other(collection: str) -> str:
    return f"{collection}-2"

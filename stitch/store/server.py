"""A memory whose vectors are on a Qdrant server or cluster; texts, labels and words stay on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from stitch.core.files import private
from stitch.core.json_text import read_json
from stitch.errors import StoreError, StoreUnavailableError
from stitch.store.connection import Server
from stitch.store.indexed import IndexedStore
from stitch.store.server_engine import ServerEngine

_NEXT = "reindex"
"""Where in the folder of a store the next one is built."""


class ServerStore(IndexedStore):
    """Snippets whose vectors are in a collection of a server, and all else in a folder here; see `IndexedStore`.

    The collection is one journal's. A search asks the server for the cosines of the few hundred snippets that bounds do
    not rule out, once or twice; nothing else of a search goes over the network, and no word that anybody said.

    Args:
        path: The folder of the store. Everything that is here lies in its subfolder `store`.
        server: The collection; made when it is not there.
        journal: The id of the journal.
        embedder_name: The embedder whose vectors are stored; compared with what the store was made with.
        dimension: The length of its vectors.
        building: Whether it is built beside another one of this collection, which goes on to serve.
        create: Whether a store may be made where there is none.

    Raises:
        StoreUnavailableError: The server does not answer.
        StoreMismatchError: The collection is another journal's, or was made for other vectors.
        StoreLockedError: Another process, or another store of this one, has it open.
        StoreError: The server refuses the key or the request; or the folder cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        server: Server,
        journal: str,
        embedder_name: str,
        dimension: int,
        building: bool = False,
        create: bool = True,
    ) -> None:
        self._server, self._journal, self._building = server, journal, building
        super().__init__(path, embedder_name=embedder_name, dimension=dimension, create=create)

    def sibling(self, path: Path) -> ServerStore:
        """A store like this one in another folder and the same collection, made if it is not there."""
        return ServerStore(
            path,
            server=self._server,
            journal=self._journal,
            embedder_name=self._embedder_name,
            dimension=self._dimension,
            building=True,
        )

    def about(self) -> dict[str, str]:
        """What the server says of itself and of the collection; that it is away, if it is."""
        try:
            return {"url": self._server.url, "collection": self._server.collection, **self._engine.about()}
        except StoreUnavailableError as error:
            return {"url": self._server.url, "collection": self._server.collection, "state": error.message}

    @property
    def not_searched(self) -> Sequence[str]:
        """The disks of the server, and what may stand there."""
        may_have = "texts and labels" if self._engine.held_texts else "numbers made of what was erased, and no word"
        return (f"the disks of the server, until it writes its log and pages anew: they may have {may_have}",)

    def _open_engine(self, create: bool) -> ServerEngine:
        note = self._folder / "generation.json"
        generation = None if create else _read_generation(note, what=self._what, hint=self._reindex)
        connection = self._server.connect()
        try:
            engine = ServerEngine(
                connection,
                dimension=self._dimension,
                journal=self._journal,
                generation=generation,
                readable=self._server.readable,
                location=self._location,
            )
            if create:
                _write_generation(note, engine.generation)
        except BaseException:
            connection.close()
            raise
        return engine

    def _recover(self, *, bounds: bool) -> None:
        super()._recover(bounds=bounds)
        if not self._building:
            following = self.path / _NEXT / "store" / "generation.json"
            self._engine.sweep(keep=[read_json(following.read_text())] if following.exists() else [])

    @property
    def _engine(self) -> ServerEngine:
        engine = self._files.engine
        assert isinstance(engine, ServerEngine)
        return engine

    @property
    def _what(self) -> str:
        return self._server.what

    @property
    def _location(self) -> str:
        return self._server.url


def _write_generation(note: Path, generation: int) -> None:
    with open(note, "w", opener=private) as file:
        json.dump(generation, file)
        file.flush()
        os.fsync(file.fileno())


def _read_generation(note: Path, *, what: str, hint: str) -> int:
    try:
        return int(read_json(note.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{what} is damaged here: {str(note)!r} cannot be read", hint=hint) from error

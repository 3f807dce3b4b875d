"""The default store: Qdrant in this process."""

from __future__ import annotations

import shutil
from pathlib import Path

from stitch.core.files import make_private_folder
from stitch.store.edge import EdgePoints
from stitch.store.qdrant import QdrantStore


class EdgeStore(QdrantStore):
    """Snippets in a folder, searched by Qdrant's engine in this process. One folder, one owner, no server."""

    def sibling(self, path: Path) -> EdgeStore:
        """A store like this one in another folder, made if it is not there."""
        return EdgeStore(path, embedder_name=self._embedder_name, dimension=self._dimension)

    def _open_points(self, create: bool) -> EdgePoints:
        folder = self._folder / "shard"
        if create:
            shutil.rmtree(folder, ignore_errors=True)
            make_private_folder(folder)
        return EdgePoints(folder, dimension=self._dimension, create=create, what=self._what, hint=self._reindex)

    @property
    def _what(self) -> str:
        return f"the memory {str(self.path)!r}"

    @property
    def _location(self) -> str:
        return str(self.path)

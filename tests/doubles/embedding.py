"""Doubles of what makes vectors: a server that speaks the OpenAI protocol, and the library sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stitch.testing.hashing import HashingEmbedder
from stitch.testing.servers import LoopbackServer, Reply, Request, Silence

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors


class EmbeddingServer(LoopbackServer):
    """Serves the vectors of `HashingEmbedder` at `<url>/embeddings`, after the given replies are used up.

    Args:
        dimension: Length of the vectors.
        first: Replies to the first requests, in order; None stands for a proper one.
    """

    def __init__(self, *, dimension: int = 256, first: Iterable[Reply | Silence | None] = ()) -> None:
        self._embedder = HashingEmbedder(dimension)
        self._first = iter(first)
        super().__init__(self._answer)

    def _answer(self, request: Request) -> Reply | Silence:
        return next(self._first, None) or self.proper_reply(request)

    def proper_reply(self, request: Request) -> Reply:
        texts = request.body["input"]
        entries = [
            {"object": "embedding", "index": at, "embedding": (3 * vector).tolist()}
            for at, vector in enumerate(self._embedder.embed(texts))
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return Reply({"object": "list", "model": request.body["model"], "data": entries[::-1], "usage": usage})


class SentenceTransformersLibrary(ModuleType):
    """Stands in for the module `sentence_transformers`; its models make the vectors of `HashingEmbedder`.

    Args:
        dimension: Length of the vectors.
        load_error: Raised when a model is loaded.
    """

    def __init__(self, *, dimension: int = 256, load_error: Exception | None = None) -> None:
        super().__init__("sentence_transformers")
        self.loaded: list[tuple[str, dict[str, Any]]] = []
        """The models that were asked for, with the arguments."""
        self._embedder = HashingEmbedder(dimension)
        self._load_error = load_error

    def SentenceTransformer(self, source: str, **arguments: Any) -> SentenceTransformersLibrary:
        self.loaded.append((source, arguments))
        if self._load_error:
            raise self._load_error
        return self

    def encode(self, texts: Sequence[str], **_: Any) -> Vectors:
        return self._embedder.embed(texts)

"""Vectors from any server that speaks the OpenAI embeddings protocol: a hosted model, vLLM, Ollama, and others."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from stitch.errors import EmbedderError
from stitch.text.words import words

if TYPE_CHECKING:
    from stitch.core.protocols import Vectors

_OPENAI = "https://api.openai.com/v1"


class RemoteEmbedder:
    """Asks a server for vectors. Nothing is sent before the first use of `embed`.

    Args:
        model: The name under which the server knows the model.
        dimension: Length of the vectors the model makes; a reply of another length is refused.
        base_url: Where the protocol is served, such as `http://localhost:8000/v1`; OpenAI's own address if None.
        api_key: The key; None for a server without keys. Neither it nor an organization is taken from the
            environment, where they may be meant for another server.
        shorten: Whether to ask the model for vectors of `dimension`, for models that can make them shorter.
        batch_size: Texts in one request.
        timeout_s: Seconds until a request is given up.
        retries: How often a request is repeated after a refusal for load, a failure of the server, or no answer.
    """

    def __init__(
        self,
        model: str,
        *,
        dimension: int,
        base_url: str | None = None,
        api_key: str | None = None,
        shorten: bool = False,
        batch_size: int = 128,
        timeout_s: float = 30.0,
        retries: int = 2,
    ) -> None:
        self._model, self._dimension, self._shorten = model, dimension, shorten
        self._base_url, self._api_key = base_url or _OPENAI, api_key or "none"
        self._batch_size, self._timeout_s, self._retries = batch_size, timeout_s, retries
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def name(self) -> str:
        """The name of the model and the dimension; the same model on another server is the same space."""
        return f"remote:{self._model}-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape `(len(texts), dimension)`; of a text without words, zeros.

        Texts without words are not sent.

        Raises:
            EmbedderError: The server cannot be reached, refuses, or sends what cannot be used.
        """
        import numpy as np

        vectors = np.zeros((len(texts), self._dimension), np.float32)
        spoken = [at for at, text in enumerate(texts) if words(text)]
        for start in range(0, len(spoken), self._batch_size):
            batch = spoken[start : start + self._batch_size]
            vectors[batch] = self._checked(self._ask([texts[at] for at in batch]), count=len(batch))
        return vectors

    def close(self) -> None:
        """Let go of the connections; the next use opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _ask(self, texts: list[str]) -> list[tuple[int, Any]]:
        import openai

        try:
            reply = self._opened().embeddings.create(
                model=self._model,
                input=texts,
                encoding_format="float",
                dimensions=self._dimension if self._shorten else openai.omit,
            )
            return sorted(((int(entry.index), entry.embedding) for entry in reply.data), key=itemgetter(0))
        except openai.OpenAIError as error:
            raise self._explained(error) from error
        except (ValueError, TypeError, AttributeError, OverflowError) as error:  # the client hardly checks a reply
            raise self._unusable(f"no list of vectors ({type(error).__name__})") from error

    def _opened(self) -> Any:
        with self._lock:
            if self._client is None:
                import openai

                self._client = openai.OpenAI(
                    base_url=self._base_url,
                    api_key=self._api_key,
                    timeout=self._timeout_s,
                    max_retries=self._retries,
                )
                self._client.organization = self._client.project = None  # the client took them from the environment
            return self._client

    def _checked(self, entries: list[tuple[int, Any]], *, count: int) -> Vectors:
        import numpy as np

        # Which text a vector belongs to is what its index says; its place in the list means nothing.
        indexes = [index for index, _ in entries]
        if indexes != list(range(count)):
            raise self._unusable(f"vectors with the indexes {indexes[:9]} for {count} texts")
        try:
            vectors = np.asarray([vector for _, vector in entries], np.float64)
        except (ValueError, TypeError) as error:
            raise self._unusable("vectors of unequal length, or no numbers") from error
        if vectors.shape != (count, self._dimension):
            raise self._unusable(f"vectors of shape {vectors.shape}, expected ({count}, {self._dimension})")
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        if not np.isfinite(largest).all() or not largest.all():
            raise self._unusable("a vector that is not finite, or zero")
        vectors /= largest  # else the squares of large numbers would overflow
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)

    def _unusable(self, what: str) -> EmbedderError:
        return EmbedderError(
            f"{self._base_url} sent what cannot be used for model {self._model!r}: {what}",
            hint="compare the configured model and dimension with what the server offers",
        )

    def _explained(self, error: Exception) -> EmbedderError:
        what, hint = _explain(error)
        return EmbedderError(f"{self._base_url} {what} (model {self._model!r}): {_first_line(error)}", hint=hint)


def _explain(error: Exception) -> tuple[str, str]:
    import openai

    if isinstance(error, openai.APITimeoutError):  # is a connection error too
        return "did not answer in time", "raise timeout_s, or lower batch_size"
    if isinstance(error, openai.APIConnectionError):
        return "cannot be reached", "check base_url and that the server runs"
    if isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)):
        return "refused the key", "set an api_key that may use this model"
    if isinstance(error, openai.NotFoundError):
        return "does not know the model", "check the model's name and that base_url ends where the protocol begins"
    if isinstance(error, openai.RateLimitError):
        return "refuses for load", "try again later"
    if isinstance(error, openai.InternalServerError):
        return "failed", "try again later"
    return "refused the request", "a text may be too long for the model"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]

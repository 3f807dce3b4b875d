"""What the configuration of a collection allows: requests are made so that they keep within it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stitch.errors import StoreError

if TYPE_CHECKING:
    from qdrant_client import models

_BATCH = 256
"""How many vectors go over the wire at a time."""

_PAGE = 10_000
"""How many scores or ids are asked for at a time."""


class Limits(NamedTuple):
    """How much a request may ask for."""

    batch: int = _BATCH
    """How many vectors are written or read at a time."""
    page: int = _PAGE
    """How many scores or ids are asked for, or points deleted, at a time."""
    exact: bool = False
    """Whether it has to be told to, for there is a graph that it would use."""

    @classmethod
    def of(cls, config: models.CollectionConfig, *, what: str) -> Limits:
        """The limits of a collection, with those of its strict mode.

        Args:
            config: As the server gives it.
            what: The collection, as messages name it.

        Raises:
            StoreError: Nothing can be written or read with them.
        """
        graph = config.hnsw_config.m != 0
        strict = config.strict_mode_config
        if strict is None or not strict.enabled:
            return cls(exact=graph)
        writes = {"upsert_max_batchsize": strict.upsert_max_batchsize, "write_rate_limit": strict.write_rate_limit}
        queries = {"max_query_limit": strict.max_query_limit, "condition_max_size": strict.condition_max_size}
        reads = {"read_rate_limit": strict.read_rate_limit}
        for name, value in {**writes, **reads, "max_query_limit": strict.max_query_limit}.items():
            if value == 0:
                raise StoreError(
                    f"{what} allows nothing: its strict mode has {name} 0", hint=f"raise {name} of the collection"
                )
        if strict.search_allow_exact is False:
            raise StoreError(
                f"{what} cannot be searched exactly: its strict mode has search_allow_exact false",
                hint="allow exact searches of the collection",
            )
        return cls(
            batch=_least(_BATCH, *writes.values(), *reads.values()),
            page=_least(_PAGE, *queries.values(), *reads.values(), strict.write_rate_limit),
            exact=graph,
        )


def _least(own: int, *limits: int | None) -> int:
    return max(1, min([own, *(limit for limit in limits if limit is not None)]))

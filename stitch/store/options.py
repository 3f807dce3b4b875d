"""Options of a collection on a Qdrant server, in Qdrant's own words."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field

AtLeastOne: TypeAlias = Annotated[int, Field(ge=1)]


class QdrantOptions(BaseModel, frozen=True, extra="forbid"):
    """Options of a collection; what is None is left to the server. The first five matter when it is made."""

    shard_number: AtLeastOne | None = None
    replication_factor: AtLeastOne | None = None
    """Number of nodes that hold each vector. With one, a lost node takes its part of the vectors with it."""
    write_consistency_factor: AtLeastOne | None = None
    """How many of them have to answer before a write counts."""
    large_tenants: tuple[str, ...] = ()
    """Tenants with shards of their own, `shard_number` each; all others share as many. Only a cluster can do so."""
    on_disk: bool | None = None
    """Whether vectors are read from the disk instead of memory."""
    write_ordering: Literal["weak", "medium", "strong"] | None = None
    read_consistency: AtLeastOne | Literal["majority", "quorum", "all"] | None = None
    prefer_grpc: bool = False
    """Whether gRPC (at the port after that of the URL, as 6334) is spoken instead of REST."""

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of the client for each read."""
        return {} if self.read_consistency is None else {"consistency": self.read_consistency}

    @property
    def writing(self) -> dict[str, Any]:
        """Arguments of the client for each write, which is waited for."""
        ordering = {} if self.write_ordering is None else {"ordering": self.write_ordering}
        return {"wait": True, **ordering}

    @property
    def making(self) -> dict[str, Any]:
        """Arguments of the client for making the collection, but for those of vectors."""
        names = ("shard_number", "replication_factor", "write_consistency_factor")
        own = {"sharding_method": "custom"} if self.large_tenants else {}
        return {name: value for name in names if (value := getattr(self, name)) is not None} | own

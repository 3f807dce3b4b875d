"""The exact ranking of a server's snippets, from bounds that the server computes."""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stitch.core.intent import Label
from stitch.core.protocols import DensityQuery, SparseVector
from stitch.core.ranking import DensityCount, density
from stitch.store.payload import LABEL_FIELDS, Payload, labels_of
from stitch.store.similarity import Page, Similarity, informativeness, most_similar, score

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

DENSE, WORDS, LABELS = "text", "words", "labels"
"""The vectors of a point: of its text, of its words (BM25 weights), of its labels (one-hot)."""

TERMS = "terms"
"""Under which key of a payload the words of a snippet stand, as numbers: so that those who have one can be counted."""

_FIELDS = ["trajectory", "position", "step", *LABEL_FIELDS.values()]
"""What of a payload is needed to rank."""

_PREFETCH = 256
"""How many snippets are fetched by label at first; twice as many whenever that does not settle the ranking."""

_SCROLL = 1000

_SLACK = 1e-5
"""The bound is computed in single precision."""

_DECIMALS = 7
"""Of a score in single precision; further ones would depend on what else was multiplied beside it."""


class Place(NamedTuple):
    """A snippet in a ranking."""

    id: str
    density: float
    similarity: float


class ServerRanking:
    """One ranking request to a server.

    The dot product of a snippet's label vector with that of the filter bounds its density from above: two aliases of
    one label count twice there, and so do labels whose hashes collide. Densities themselves are counted from payloads.
    """

    def __init__(self, client: QdrantClient, collection: str, query: DensityQuery, *, similarity: Similarity) -> None:
        self._client = client
        self._collection = collection
        self.query = query
        self.similarity = similarity
        self._payloads: dict[str, Payload] = {}

    def best(self) -> list[Place]:
        """Return the first `k`, best first."""
        k = self.query.k
        densities, tier = self._by_labels()
        similarities = score(self.similarity, _ServerScorer(self, scope(self.query.tenant)), list(densities))
        if tier is not None:
            of_tier = self._most_similar(tier, need=k - len(densities))
            densities.update(dict.fromkeys(of_tier, tier))
            similarities.update(of_tier)
        places = [Place(snippet, densities[snippet], similarities[snippet]) for snippet in densities]
        places.sort(key=lambda place: (-place.density, -place.similarity, order(self._payloads[place.id])))
        return places[:k]

    def ask(
        self, vector: Any, *, using: str, limit: int, condition: models.Filter, with_payload: bool
    ) -> list[tuple[str, float]]:
        """Return the ids and scores of the points nearest to a vector, exactly; remember their payloads if asked."""
        from qdrant_client import models

        points = self._client.query_points(
            self._collection,
            query=vector,
            using=using,
            query_filter=condition,
            limit=limit,
            with_payload=_FIELDS if with_payload else False,
            search_params=models.SearchParams(exact=True),
        ).points
        if with_payload:
            self._payloads.update({str(point.id): point.payload or {} for point in points})
        return [(str(point.id), round(point.score, _DECIMALS)) for point in points]

    def density(self, snippet: str) -> float:
        """The density of a snippet whose payload was fetched."""
        stored = set(labels_of(self._payloads[snippet]))
        matched = frozenset(
            label
            for label, aliases in self.query.labels.items()
            if any(Label(label.kind, alias) in stored for alias in aliases)
        )
        return density(matched, count=self.query.count, weights=self.query.weights)

    def _by_labels(self) -> tuple[dict[str, float], float | None]:
        """Return densities that are settled, and the density of the tier in which similarity has to decide."""
        query = self.query
        asked = _asked(query)
        if not asked:
            return {}, 0.0
        vector, most = sparse(one_hot(asked)), _most_possible(asked, query)
        condition, limit = admitted(query), max(_PREFETCH, 2 * query.k)
        while True:
            points = self.ask(vector, using=LABELS, limit=limit, condition=condition, with_payload=True)
            counted = {snippet: counted for snippet, _ in points if (counted := self.density(snippet)) > 0}
            others = min(points[-1][1], most) if len(points) == limit else None
            if (settled := _settled(counted, query, others=others)) is not None:
                return settled
            limit *= 2

    def _most_similar(self, tier: float, *, need: int) -> dict[str, float]:
        labels = self.query.labels if tier else {}
        condition = admitted(self.query, labels=labels)
        scorer = _ServerScorer(self, condition, accept=lambda snippet: self.density(snippet) == tier)
        found = most_similar(self.similarity, scorer, need=need, limit=max(_PREFETCH, 10 * need))
        if len(found) >= need or self.similarity.vector:
            return found
        rest: dict[str, float] = {}
        for snippet, payload in keys(self._client, self._collection, condition):
            self._payloads[snippet] = payload
            if snippet not in found and self.density(snippet) == tier:
                rest[snippet] = 0.0
        return found | dict.fromkeys(
            heapq.nsmallest(need - len(found), rest, key=lambda snippet: order(self._payloads[snippet])), 0.0
        )


def _asked(query: DensityQuery) -> dict[Label, float]:
    """The labels that a query asks for, under all their names, with what each of them counts."""
    weights = {} if query.count is DensityCount.KINDS else query.weights or {}
    return {
        Label(label.kind, alias): weight
        for label, aliases in query.labels.items()
        for alias in aliases
        if (weight := weights.get(label, 1.0)) > 0
    }


def _most_possible(asked: Collection[Label], query: DensityQuery) -> float:
    """What no density exceeds, whatever the server says."""
    return float(len({label.kind for label in asked})) if query.count is DensityCount.KINDS else float("inf")


def _settled(
    counted: dict[str, float], query: DensityQuery, *, others: float | None
) -> tuple[dict[str, float], float | None] | None:
    """The densities that are settled, with the tier in which similarity decides; None if more must be counted.

    Args:
        counted: The densities over 0 of the snippets that were fetched.
        query: What is asked.
        others: What no density of another snippet exceeds; None if there is no other.
    """
    if others is None and len(counted) < query.k:
        return counted, 0.0
    ranked = heapq.nlargest(query.k, counted.values())
    worst = ranked[-1] if len(ranked) == query.k else 0.0
    bound = others or 0.0
    if worst > bound + _SLACK * max(1.0, bound):
        return {snippet: density for snippet, density in counted.items() if density >= worst}, None
    in_steps_of_one = query.count is DensityCount.KINDS or not query.weights
    if in_steps_of_one and worst > 0 and worst >= round(bound):
        return {snippet: density for snippet, density in counted.items() if density > worst}, worst
    return None


class _ServerScorer:
    """The server's scores for one query, of the snippets that meet a condition and are accepted."""

    def __init__(
        self, ranking: ServerRanking, condition: models.Filter, *, accept: Callable[[str], bool] = lambda _: True
    ) -> None:
        self._ranking = ranking
        self._condition = condition
        self._accept = accept
        similarity = ranking.similarity
        self._vectors = {DENSE: similarity.vector, WORDS: sparse(similarity.words) if similarity.words else None}

    def dense(self, limit: int) -> Page[str]:
        return self._page(DENSE, limit)

    def lexical(self, limit: int) -> Page[str]:
        return self._page(WORDS, limit)

    def cosines(self, keys: Collection[str]) -> dict[str, float]:
        return self._exactly(DENSE, keys)

    def lexicals(self, keys: Collection[str]) -> dict[str, float]:
        return self._exactly(WORDS, keys)

    def _page(self, using: str, limit: int) -> Page[str]:
        points = self._ranking.ask(
            self._vectors[using], using=using, limit=limit, condition=self._condition, with_payload=True
        )
        scores = {snippet: value for snippet, value in points if self._accept(snippet)}
        return Page(scores, points[-1][1] if len(points) == limit else None)

    def _exactly(self, using: str, keys: Collection[str]) -> dict[str, float]:
        condition = scope(self._ranking.query.tenant, among=keys)
        vector = self._vectors[using]
        return dict(self._ranking.ask(vector, using=using, limit=len(keys), condition=condition, with_payload=False))


def scope(
    tenant: str,
    trajectory: str | None = None,
    *,
    among: Collection[str] | None = None,
    labels: Mapping[Label, frozenset[str]] | None = None,
) -> models.Filter:
    """The filter of every request: one tenant, and of it one trajectory, some ids, or whoever carries a label."""
    from qdrant_client import models

    must: list[Any] = [equals("tenant", tenant)]
    if trajectory is not None:
        must.append(equals("trajectory", trajectory))
    if among is not None:
        must.append(models.HasIdCondition(has_id=list(among)))
    if labels:
        of_kind: dict[str, set[str]] = {}
        for label, aliases in labels.items():
            of_kind.setdefault(LABEL_FIELDS[label.kind], set()).update(aliases)
        carrying: list[Any] = [
            models.FieldCondition(key=name, match=models.MatchAny(any=sorted(values)))
            for name, values in of_kind.items()
        ]
        must.append(models.Filter(should=carrying))
    return models.Filter(must=must)


def admitted(query: DensityQuery, *, labels: Mapping[Label, frozenset[str]] | None = None) -> models.Filter:
    """The filter of whatever a query ranks, as `DensityQuery.admits` says; of it, whoever carries one of `labels`."""
    from qdrant_client import models

    condition = scope(query.tenant, query.trajectory, labels=labels)
    must: list[Any] = [condition]
    if query.min_trust is not None:
        values = [trust.value for trust in query.min_trust.and_above()]
        must.append(models.FieldCondition(key="trust", match=models.MatchAny(any=values)))
    if (moment := query.as_of) is not None:
        must.append(models.FieldCondition(key="recorded", range=models.Range(lte=moment.recorded)))
        if moment.trajectory is not None:
            later = models.FieldCondition(key="position", range=models.Range(gt=moment.position))
            must.append(models.Filter(must_not=[models.Filter(must=[equals("trajectory", moment.trajectory), later])]))
    must += [equals(TERMS, word) for word in sorted(query.required_words)]
    return models.Filter(must=must)


def weighed(similarity: Similarity, client: QdrantClient, collection: str, *, tenant: str) -> Similarity:
    """A similarity whose words count as much as they tell among the snippets of a tenant.

    They are counted when they are asked for: the server's own weights count all tenants, a shard at a time, and what
    is deleted too.
    """
    from qdrant_client import models

    if not similarity.words:
        return similarity

    def count(condition: Any, **but: Any) -> int:
        which = models.Filter(must=[equals("tenant", tenant), *condition], **but)
        return client.count(collection, count_filter=which, exact=True).count

    without = models.IsEmptyCondition(is_empty=models.PayloadField(key=TERMS))
    snippets = count([], must_not=[without])
    carrying = {word: count([equals(TERMS, word)]) for word in similarity.words}
    return similarity.weighed({word: informativeness(n, snippets=snippets) for word, n in carrying.items()})


def equals(name: str, value: str | int) -> models.FieldCondition:
    """The condition that a field of the payload has a value."""
    from qdrant_client import models

    return models.FieldCondition(key=name, match=models.MatchValue(value=value))


def keys(client: QdrantClient, collection: str, condition: models.Filter) -> Iterator[tuple[str, Payload]]:
    """Iterate over the ids of points, with what of their payloads is needed to rank."""
    offset = None
    while True:
        points, offset = client.scroll(collection, condition, limit=_SCROLL, offset=offset, with_payload=_FIELDS)
        yield from ((str(point.id), point.payload or {}) for point in points)
        if offset is None:
            return


def order(payload: Payload) -> tuple[str, int, str]:
    """Where a snippet stands among others of equal density and similarity."""
    return payload["trajectory"], payload["position"], payload["step"]


def one_hot(labels: Mapping[Label, float]) -> dict[int, float]:
    """The sparse vector of labels: their weights, by a 32-bit hash of kind and value."""
    vector: dict[int, float] = {}
    for (kind, value), weight in labels.items():
        index = zlib.crc32(f"{kind.value}\0{value}".encode())
        vector[index] = vector.get(index, 0.0) + weight
    return vector


def sparse(vector: SparseVector) -> models.SparseVector:
    """A sparse vector as the client wants it."""
    from qdrant_client import models

    return models.SparseVector(indices=list(vector), values=list(map(float, vector.values())))

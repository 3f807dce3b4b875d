"""The label index in process counts as the definition does, whatever was replaced or removed before."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from stitch.core import DensityCount, DensityQuery, Label, LabelKind, density
from stitch.store.index import Held, IndexEntry, LabelIndex
from stitch.store.words import pack

LABELS = [Label(kind, value) for kind in (LabelKind.SCOPE, LabelKind.EVENT_TYPE) for value in "abcdefg"]
NOTHING = pack({})
SETS = st.frozensets(st.sampled_from(LABELS), max_size=6)


def name(snippet: int) -> str:
    return str(UUID(int=snippet))


def entry(snippet: int, labels: frozenset[Label], *, trajectory: str = "x") -> IndexEntry:
    return IndexEntry(name(snippet), "t", trajectory, snippet, str(snippet), tuple(sorted(labels)))


def add(index: LabelIndex, row: int, entry: IndexEntry) -> None:
    known = index.find(entry.tenant, entry.id) is not None
    index.add([(Held(row, 10 * row, 10), entry)], [NOTHING], replaced={entry.id: NOTHING} if known else {})


@given(
    changes=st.lists(st.tuples(st.integers(0, 8), st.none() | SETS, st.sampled_from("xy")), max_size=30),
    asked=st.frozensets(st.sampled_from(LABELS), max_size=14),
    count=st.sampled_from(DensityCount),
    trajectory=st.sampled_from([None, "x", "z"]),
    k=st.integers(1, 9),
)
def test_a_cut_parts_snippets_as_their_densities_do(
    changes: list[tuple[int, frozenset[Label] | None, str]],
    asked: frozenset[Label],
    count: DensityCount,
    trajectory: str | None,
    k: int,
) -> None:
    index, rows = LabelIndex(), dict[int, tuple[frozenset[Label], str]]()
    for snippet, labels, trip in changes:
        if labels is not None:
            add(index, snippet, entry(snippet, labels, trajectory=trip))
            rows[snippet] = (labels, trip)
        elif snippet in rows:
            index.remove("t", {name(snippet): NOTHING})
            del rows[snippet]
    assert len(index) == len(rows)
    query = DensityQuery(
        tenant="t",
        labels={label: frozenset({label.value}) for label in asked},
        count=count,
        trajectory=trajectory,
        k=k,
    )
    tenant = index.of("t")
    cut = tenant.cut(query)
    certain = {tenant.rows.values[slot] for slot in cut.certain.tolist()}
    tier = {tenant.rows.values[slot] for slot in cut.tier.tolist()}
    expected = {
        row: density(labels & asked, count=count) for row, (labels, trip) in rows.items() if trajectory in (None, trip)
    }
    for slot in [*cut.certain.tolist(), *cut.tier.tolist()]:
        assert cut.densities[cut.level[slot]] == expected[tenant.rows.values[slot]]
    assert not certain & tier
    if len(expected) <= k:
        assert (certain, tier) == (set(expected), set())
    else:
        lowest = sorted(expected.values(), reverse=True)[k - 1]
        assert certain == {row for row, value in expected.items() if value > lowest}
        assert tier == {row for row, value in expected.items() if value == lowest}


def test_the_deciding_density_is_found_among_few_and_among_many() -> None:
    many = [Label(LabelKind.SCOPE, f"scope {number}") for number in range(40)]
    for carried in (5, 40):
        index = LabelIndex()
        for snippet in range(100):
            add(index, snippet, entry(snippet, frozenset(many[: snippet % (carried + 1)])))
        query = DensityQuery(tenant="t", labels={label: frozenset({label.value}) for label in many}, k=30)
        cut = index.of("t").cut(query)
        counts = sorted((snippet % (carried + 1) for snippet in range(100)), reverse=True)
        assert cut.densities[cut.level[cut.tier]].tolist() == [counts[29]] * counts.count(counts[29])
        assert sorted(cut.densities[cut.level[cut.certain]], reverse=True) == counts[: len(cut.certain)]
        assert len(cut.certain) < 30 <= len(cut.certain) + len(cut.tier)

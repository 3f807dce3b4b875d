"""What every `VectorEngine` must do: subclass `VectorEngineContract`, give it a `make_engine` fixture, run pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contracts.worlds import DIMENSION, make_record
from stitch.core import MemorySnippet
from stitch.errors import StoreError
from stitch.store.vectors import VectorEngine, as_kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

MakeEngine = Callable[[], VectorEngine]


@pytest.fixture
def engine(make_engine: MakeEngine) -> Iterator[VectorEngine]:
    with closing(make_engine()) as made:
        yield made


class VectorEngineContract:
    """The tests every engine passes.

    A subclass gives a fixture `make_engine`: a function that returns an empty engine for vectors of dimension
    `DIMENSION`. Its module imports the fixture `engine`.
    """

    many = 1200
    """How many vectors an engine holds that cannot be asked for at once."""

    def test_vectors_come_back_bit_for_bit_and_those_not_there_are_left_out(self, engine: VectorEngine) -> None:
        vectors = _units(self.many)
        rows = list(range(5, 5 + self.many))
        engine.put(rows, vectors, snippets=_snippets(self.many))
        found = engine.vectors([*rows, 2])
        assert sorted(found) == sorted(engine.rows()) == rows
        assert len(engine) == self.many
        assert np.stack([found[row] for row in rows]).tobytes() == vectors.tobytes()

    def test_cosines_come_in_the_order_asked_for(self, engine: VectorEngine) -> None:
        vectors, asked = _units(self.many), _units(1, seed=2)[0]
        engine.put(range(self.many), vectors, snippets=_snippets(self.many))
        rows = np.random.default_rng(3).permutation(self.many).tolist()
        wanted = (vectors[rows].astype(np.float64) @ asked.astype(np.float64)).tolist()
        assert engine.cosines(rows, asked.tolist()).tolist() == pytest.approx(wanted, abs=1e-6)
        assert engine.cosines([], asked.tolist()).tolist() == []

    def test_a_cosine_is_the_same_whatever_is_asked_for_beside_it(self, engine: VectorEngine) -> None:
        vectors, asked = _units(40), _units(1, seed=2)[0].tolist()
        vectors[7] = vectors[31]
        engine.put(range(40), vectors, snippets=_snippets(40))
        together = engine.cosines(range(40), asked)
        assert together[7] == together[31]
        assert [float(engine.cosines([row], asked)[0]) for row in range(40)] == together.tolist()

    def test_what_is_deleted_is_gone_and_no_error(self, engine: VectorEngine) -> None:
        engine.put(range(4), _units(4), snippets=_snippets(4))
        engine.delete([1, 2])
        engine.delete([2])
        engine.delete([])
        engine.flush()
        engine.shrink()
        assert (sorted(engine.rows()), len(engine)) == ([0, 3], 2)
        assert list(engine.vectors([1, 2])) == []

    def test_a_cosine_of_a_row_that_is_not_there_is_an_error(self, engine: VectorEngine) -> None:
        engine.put([0], _units(1), snippets=_snippets(1))
        with pytest.raises(StoreError, match="lacks vectors"):
            engine.cosines([0, 1], _units(1)[0].tolist())

    def test_closing_twice_is_harmless(self, make_engine: MakeEngine) -> None:
        engine = make_engine()
        engine.close()
        engine.close()


def _units(rows: int, *, seed: int = 1) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(rows, DIMENSION)).astype(np.float32)
    return as_kept(vectors)


def _snippets(count: int) -> list[MemorySnippet]:
    return [make_record(str(number), position=number).snippet for number in range(count)]

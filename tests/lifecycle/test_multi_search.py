"""Many texts are found at once wherever they stand, and nothing is found that is not there."""

from __future__ import annotations

import random

import numpy as np
import pytest

from stitch.lifecycle.multi_search import LEAST_BYTES, Needles


def _noise(chance: random.Random, size: int) -> bytearray:
    return bytearray(np.random.default_rng(chance.randrange(1 << 30)).integers(0, 256, size, dtype=np.uint8).tobytes())


def _texts(chance: random.Random, count: int, *, longest: int = 60) -> list[bytes]:
    letters = b"abcdefghij klmnop0123-"
    return [bytes(chance.choices(letters, k=chance.randint(LEAST_BYTES, longest))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_what_a_plain_search_finds(seed: int) -> None:
    chance = random.Random(seed)
    planted, others = _texts(chance, 60), _texts(chance, 60)
    data = _noise(chance, 300_000)
    for at, text in zip(range(1_000, 300_000, 4_700), planted, strict=False):  # at every distance from a multiple of 8
        at += chance.randrange(16)
        data[at : at + len(text)] = text.upper() if chance.random() < 0.5 else text
    found = Needles([*planted, *others]).found_in(bytes(data))
    folded = bytes(data).lower()
    assert found == {text for text in (*planted, *others) if text in folded}
    assert set(planted) <= found

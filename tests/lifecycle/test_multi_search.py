"""Many texts are found at once wherever they stand, and nothing is found that is not there."""

from __future__ import annotations

import random

import numpy as np
import pytest

from stitch.lifecycle.multi_search import LEAST_BYTES, Needles

_PIECE = 1 << 20
"""So much is looked at in one go."""


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


@pytest.mark.parametrize("size", [8, 9, 11, 14, 15, 16, 17, 23, 24, 40])
def test_a_text_is_found_at_the_beginning_at_the_end_and_across_pieces(size: int) -> None:
    chance = random.Random(size)
    text = bytes(chance.choices(b"abcdefgh", k=size))
    needles = Needles([text, *_texts(chance, 12)])
    for at in (0, 1, _PIECE - size, _PIECE - size // 2, _PIECE - 1, _PIECE, _PIECE + 5, _PIECE + 2_003 - size):
        data = bytearray(_PIECE + 2_003)
        data[at : at + size] = text
        assert needles.found_in(data) == {text}, at
        data[at + size - 1] ^= 1
        assert needles.found_in(data) == set(), at


def test_texts_that_share_their_ends_or_a_part_are_told_apart() -> None:
    first, second = b"beginning--one--finished", b"beginning--two--finished"
    longer = b"beginning--one--finished and more"
    needles = Needles([first, second, longer, b"beginning", b"finished"])
    for said in (first, second, longer, b"beginning-three-finished"):
        data = bytearray(2_000_001)
        data[777 : 777 + len(said)] = said
        folded = bytes(data)
        assert needles.found_in(data) == {
            text for text in (first, second, longer, b"beginning", b"finished") if text in folded
        }


def test_of_no_texts_none_is_found() -> None:
    assert Needles([]).found_in(b"anything") == set()
    assert Needles([]).longest == 0
    assert Needles([b"abcdefgh", b"abcdefghij"]).longest == 10

"""Secrets in texts drawn from the frames of the project are taken out, and what only looks so is left alone."""

from pathlib import Path

import pytest

from doubles.secrets import draw, is_left, measure, read_frames

FRAMES = Path(__file__).parent


@pytest.mark.parametrize(
    ("frames", "least", "recall"),
    [("frames.txt", 450, 0.83), ("frames_of_people.txt", 450, 0.68), ("frames_common.txt", 250, 0.83)],
)
def test_what_the_frames_of_the_project_hold_is_found_and_what_only_looks_like_it_is_left_alone(
    frames: str, least: int, recall: float
) -> None:
    texts = list(draw(read_frames(FRAMES / frames), copies=1, seed=11))
    assert sum(each.secret is not None for each in texts) > least
    found, false_alarms = measure(texts)
    assert found >= recall
    assert false_alarms < 0.005


def test_half_of_a_long_secret_is_as_good_as_left_and_of_a_short_one_only_all_of_it() -> None:
    assert is_left("0123456789abcdef", text="... 01234567 ...")
    assert not is_left("0123456789abcdef", text="... 0123 cdef ...")
    assert not is_left("walnut7", text="waln")

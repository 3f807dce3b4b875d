"""Who repeats what a step says finds that step, whatever labels these words license."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stitch import Step, open_memory

PARTS = st.sampled_from(
    ["hotel 7", "hotel 8", "in Lisbon", "in Oslo", "we chose", "for day 1", "back to", "the price is $90", "instead",
     "on 4 May", "is it open?", "my sister", "please book", "at 9:30", "I prefer", "that one", "in the end", "nothing"]
)  # fmt: skip


@given(texts=st.lists(st.lists(PARTS, min_size=3, max_size=6).map(" ".join), min_size=12, max_size=40, unique=True))
@settings(max_examples=settings().max_examples // 6)
def test_any_step_of_a_memory_is_among_the_first_ten_for_its_own_words(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    with open_memory(tmp_path_factory.mktemp("known") / "m", share=False) as memory:
        memory.add_many(
            [Step(id=str(n), role=("user", "assistant")[n % 2], content=text) for n, text in enumerate(texts)],
            trajectory="talk",
        )
        for number, text in enumerate(texts):
            if len(text.split()) >= 5:
                found = [hit.snippet.step for hit in memory.search(text, trajectory="talk", k=10).hits]
                assert str(number) in found, text

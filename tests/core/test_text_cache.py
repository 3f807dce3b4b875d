"""What caches of the process keep of users' words is gone with an erasure, and when a memory is closed."""

from __future__ import annotations

import gc

import pytest

from stitch import Step, open_memory
from stitch.core.text_cache import clear_text_caches, text_cache
from stitch.lifecycle.selection import Selector


def test_a_text_cache_remembers_until_all_are_cleared():
    asked = []

    @text_cache(maxsize=2)
    def length(word: str) -> int:
        asked.append(word)
        return len(word)

    assert [length(word) for word in ("a", "a", "b", "a")] == [1, 1, 1, 1]
    assert asked == ["a", "b"]
    clear_text_caches()
    assert length("a") == 1
    assert asked == ["a", "b", "a"]


def texts_in_memory() -> str:
    """All strings that the caches of the process can hold on to, as the collector sees them."""
    held = []
    for cache in gc.get_objects():
        if type(cache).__name__ == "_lru_cache_wrapper":
            held += [repr(each) for each in gc.get_referents(cache)]
    return "\n".join(held)


@pytest.mark.parametrize("forget", ["erase", "close"])
def test_no_cache_holds_a_word_of_a_step_that_is_erased_or_of_a_memory_that_is_closed(tmp_path, forget):
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(id="a", role="user", content="Let's plan the Zorblattian Banquet on 3 May."), trajectory="t")
        assert memory.search("When is the Zorblattian Banquet?").hits
        assert "orblatt" in texts_in_memory(), "or this looks at the wrong place"
        if forget == "erase":
            memory.lifecycle.erase(Selector(trajectory="t"))
            assert "orblatt" not in texts_in_memory()
    assert "orblatt" not in texts_in_memory()

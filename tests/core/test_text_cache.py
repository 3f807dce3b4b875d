"""What caches of the process keep of users' words is gone with an erasure, and when a memory is closed."""

import subprocess
import sys

from stitch.core.text_cache import clear_text_caches, text_cache


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


KEEPERS = """
import gc
from itertools import chain
from pathlib import Path
from stitch import Step, open_memory
from stitch.core.text_cache import clear_text_caches
from stitch.lifecycle.selection import Selector

part = "".join(("orbl", "attia"))  # in parts, for the code keeps its own strings
sought = {str: part, bytes: part.encode()}

def keepers():
    "What keeps a string with the part, as the collector sees it: caches, and whatever else has lists or tables."
    gc.collect()  # what is garbage and not yet collected is kept by nobody
    found = []
    for each in gc.get_objects():
        kind = type(each)
        if kind in (dict, list, set, tuple):
            kept = chain(each, each.values()) if kind is dict else each
            texts = [one for one in kept if (word := sought.get(type(one))) is not None and word in one != word]
            found += [f"{kind.__name__} of {len(each)}: {text[:40]}" for text in texts]
        elif kind.__name__ == "_lru_cache_wrapper":
            found += [repr(kept)[:80] for kept in gc.get_referents(each) if part in repr(kept)]
    return found

def remember(folder, *, erase):
    with open_memory(folder) as memory:
        said = f"Let's plan the Z{part}n Banquet on 3 May, as z{part}n as ever."
        memory.add(Step(id="a", role="user", content=said), trajectory="t")
        said = f"Wir planen das Bankett der Z{part}n und laden dazu auch alle Nachbarn ein."
        memory.add(Step(id="b", role="user", content=said), trajectory="t")
        assert memory.search(f"When is the Z{part}n Banquet?").hits
        del said
        assert keepers(), "or this looks at the wrong place"
        if erase:
            memory.lifecycle.erase(Selector(trajectory="t"))
            left = keepers()
            assert not left, left

def select_from_a_tree():
    from stitch.retrieve.path import Forest, select
    from stitch.retrieve.path.scorers import static_scorer
    from stitch.retrieve.path.semantics import ScorerSemantics
    from stitch.trees import Node, Tree

    plan = Tree(Node("p", "Plan", children=[Node("d", "Dish", fields={"name": f"z{part}n soup"})]))
    semantics = ScorerSemantics(static_scorer())
    select('//Dish[node ~= "soup"]', forest=Forest(plan), semantics=semantics)
    del plan
    assert keepers(), "or this looks at the wrong place"
    clear_text_caches()
    left = keepers()
    assert not left, left
"""


def test_nothing_in_a_process_keeps_a_word_that_is_erased_or_of_what_is_closed(tmp_path):
    """In a process of its own: in this one, whatever reported a failing test would keep it too."""
    uses = ("remember('erased', erase=True)", "remember('closed', erase=False)", "select_from_a_tree()")
    code = KEEPERS + "".join(f"\n{used}\nprint(keepers())" for used in uses)
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "[]\n" * len(uses)), ended.stderr or ended.stdout

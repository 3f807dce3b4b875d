"""Between the choice of a step and what is done with it, another may have changed it: nothing is lost by that."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stitch import Step, Tenants, open_tenants
from stitch.ingest import Ingestor
from stitch.lifecycle.selection import Selector

STEPS = [Step(id=str(n), role="user", content=f"Let's plan day {n}. One idea is the Olympus Summit.") for n in range(3)]


@pytest.fixture
def tenants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tenants]:
    monkeypatch.delenv("STITCH_MEMORY", raising=False)
    with open_tenants(tmp_path / "m") as opened:
        opened.memory("ann").add_many(STEPS, trajectory="t")
        yield opened


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Has something done when the next one waits for a trajectory, before its turn comes."""

    def arrange(doing: Callable[[], Any]) -> None:
        waiting = {name: getattr(Ingestor, name) for name in ("rework", "correct")}

        def first(name: str) -> Callable[..., Any]:
            def later(self: Ingestor, *args: Any, **options: Any) -> Any:
                for each, method in waiting.items():
                    monkeypatch.setattr(Ingestor, each, method)
                doing()
                return waiting[name](self, *args, **options)

            return later

        for name in waiting:
            monkeypatch.setattr(Ingestor, name, first(name))

    return arrange


def test_of_two_corrections_at_once_none_is_lost(tenants: Tenants, meanwhile: Any) -> None:
    memory = tenants.memory("ann")
    meanwhile(lambda: memory.lifecycle.correct("1", trajectory="t", labels={"scope": "holidays"}))
    memory.lifecycle.correct("1", trajectory="t", text="Let's plan day 9.")
    entry = next(entry for entry in memory.steps("t") if entry.id == "1")
    assert entry.labels is not None
    assert (entry.step.content, entry.labels.intent.scope) == ("Let's plan day 9.", "holidays")
    assert len(memory.lifecycle.history("1", trajectory="t")) == 2


@pytest.mark.parametrize("verb", ["erase", "retire"])
def test_what_is_added_when_another_has_erased_the_same_stays(tenants: Tenants, meanwhile: Any, verb: str) -> None:
    ann, bob = tenants.memory("ann"), tenants.memory("bob")
    chosen = Selector(trajectory="t", step="2")

    def erase_and_add() -> None:
        ann.lifecycle.erase(chosen)
        bob.add(Step(id="b", role="user", content="Bob's hotel is the Astoria."), trajectory="u")
        ann.add(STEPS[2], trajectory="t", again=True)

    meanwhile(erase_and_add)
    getattr(ann.lifecycle, verb)(chosen)
    assert [entry.id for entry in bob.steps("u")] == ["b"]
    assert bob.search("hotel").hits
    assert [entry.id for entry in ann.steps("t")] == ["0", "1", "2"]
    assert "2" in {hit.snippet.step for hit in ann.search("Olympus Summit").hits}
    for memory in (ann, bob):
        assert memory.lifecycle.verify().disagreements == ()

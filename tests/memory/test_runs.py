"""A memory of agents' runs: goals with phases, and instructions that hits leave out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stitch import Step, open_memory
from stitch.core import (
    SETUP_SCOPE,
    ContextualIntent,
    IntentFilter,
    Label,
    LabelKind,
    LabelVocabulary,
    ToolCall,
    is_setup,
)
from stitch.core.ranking import match, matcher
from stitch.memory import Memory

GOAL = "Parser drops the last row"
STATEMENT = f"<issue>\nConsider this issue of our repository:\n{GOAL}\n</issue>\nFix the source code and run the tests."


def calls(command: str) -> Step:
    return Step(role="assistant", content="", tool_calls=(ToolCall(name="shell", arguments={"command": command}),))


RUN = [
    Step(role="system", content="You can use a shell to work on the repository of a parser. Use the tools."),
    Step(role="user", content=STATEMENT),
    calls("grep -rn rows parser/"),
    Step(role="tool", content="parser/rows.py:3:def rows(text):", tool_name="shell"),
    calls("cat parser/rows.py"),
    Step(role="tool", content="def rows(text): return text.split()[:-1]", tool_name="shell"),
    calls("sed -i 's/:-1//' parser/rows.py"),
    Step(role="tool", content="", tool_name="shell"),
    calls("python -m pytest"),
    Step(role="tool", content="3 passed in 0.1s", tool_name="shell"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m") as opened:
        opened.add_many(RUN, trajectory="t")
        yield opened


def test_instructions_are_no_hits_unless_they_are_asked_for(memory: Memory) -> None:
    def steps(*, include_setup: bool = False) -> set[str]:
        hits = memory.search("repository of a parser", k=20, include_setup=include_setup)
        return {hit.snippet.step for hit in hits}

    first = next(iter(memory.steps("t"))).id
    assert first not in steps()
    assert steps(include_setup=True) == steps() | {first}
    chosen = IntentFilter(scopes=(SETUP_SCOPE,))
    assert memory.search("parser", intent_filter=chosen, k=1)[0].snippet.step == first
    assert "include_setup" in str(memory.why("parser", step=first, trajectory="t"))


def test_a_filter_for_a_goal_matches_its_phases_and_both_count_once(memory: Memory) -> None:
    steps = [entry.id for entry in memory.steps("t")]
    phases = ["", "", *[" / locate"] * 3, *[" / change"] * 2, "", ""]  # as a person calls them
    for step, phase in zip(steps[1:], phases, strict=True):
        memory.lifecycle.correct(step, trajectory="t", labels={"scope": f"{GOAL}{phase}"})
    scopes = {entry.snippet().intent.scope for entry in memory.steps("t")}
    assert {GOAL, f"{GOAL} / locate", f"{GOAL} / change"} <= scopes
    hits = memory.search("rows", intent_filter=IntentFilter(scopes=(GOAL,)), ranking="strict", k=20).hits
    assert [hit.density for hit in hits] == [1.0] * 9
    both = IntentFilter(scopes=(GOAL, f"{GOAL} / change"))
    hits = memory.search("rows", intent_filter=both, ranking="strict", k=20).hits
    assert [hit.density for hit in hits] == [1.0] * 9
    changed = {hit.snippet.intent.scope for hit in hits if Label(LabelKind.SCOPE, f"{GOAL} / change") in hit.matched}
    assert changed == {f"{GOAL} / change"}
    assert memory.inventory("t").count(Label(LabelKind.SCOPE, GOAL)) == 9


def test_the_definition_of_matching_knows_goals_and_phases() -> None:
    goal, phase = Label(LabelKind.SCOPE, "a"), Label(LabelKind.SCOPE, "a / b")
    intent = ContextualIntent(scope="a / b")
    for vocabulary in (LabelVocabulary(), LabelVocabulary(scopes=("a", "a / b", "a / c"))):
        for labels, matched in (({goal}, {goal}), ({phase}, {phase}), ({goal, phase}, {phase}), (set(), set())):
            assert match(intent, frozenset(labels), vocabulary) == matched
            assert matcher(frozenset(labels), vocabulary)(intent, "") == matched
    assert LabelVocabulary(scopes=("a", "a / b")).readings([goal, phase]) == {goal: {"a"}, phase: {"a / b"}}


def test_a_scope_that_happens_to_be_called_setup_is_no_setup() -> None:
    assert not is_setup(ContextualIntent(scope=SETUP_SCOPE, event_types=("ask",)))

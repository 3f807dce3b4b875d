"""Statements of a model: windowed, kept, resumed, falling back, and gone when what they were made of is erased."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from doubles.files import files_with
from stitch import Memory, Step, open_memory
from stitch.core import SourcedStep
from stitch.lifecycle.selection import Selector
from stitch.lm import read_ledger
from stitch.pipelines.ingest import ingest
from stitch.testing.model import LoopbackProvider, fields_of
from stitch.testing.servers import Reply
from stitch.themes.asking import WINDOW_STEPS

PETS = [
    ("Ada", "I adopted a brown dog called Rex on 3 March 2024 from the shelter."),
    ("Ben", "What does he eat?"),
    ("Ada", "Only dry food. The vet said so."),
    ("Ben", "I painted the fence of my garden green last weekend."),
    ("Ben", "Thanks! See you."),
]


def numbered(prompt: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in fields_of(prompt)["steps"].splitlines()]


def said(system: str, user: str) -> Any:
    """Each step with a sentence that ends in a period is told again; what is called a correction corrects the first."""
    if "themes" in fields_of(user):
        lines = [json.loads(line) for line in fields_of(user)["themes"].splitlines()]
        return {"names": [{"n": line["n"], "name": f"matter {line['n']}"} for line in lines]}
    told = [step for step in numbered(user) if step["text"].endswith(".")]
    earlier = bool(fields_of(user)["earlier_statements"])
    return {
        "statements": [
            {
                "text": f"{step['role']} says: {step['text']}",
                "steps": [step["n"]],
                "date": "2024-03-03" if "Rex" in step["text"] else "",
                "corrects": [1] if earlier and "not" in step["text"] else [],
            }
            for step in told
        ]
    }


@contextmanager
def opened(folder: Path, script: Callable[[str, str], Any] = said, **settings: Any) -> Iterator[Any]:
    with (
        LoopbackProvider(script) as provider,
        open_memory(
            folder, tenant="t", statements="model", filter="local", model="m", base_url=provider.base_url, **settings
        ) as memory,
    ):
        yield memory, provider


def add(memory: Memory, talk: list[tuple[str, str]], *, trajectory: str = "talk") -> None:
    memory.add_many([{"role": role, "content": text} for role, text in talk], trajectory=trajectory)


def stages(folder: Path) -> list[str]:
    return [each.stage for each in read_ledger(folder / "ledger.jsonl") if each.calls]


def texts(memory: Memory) -> set[str]:
    return {each.text for each in memory.hierarchy.statements()}


def test_a_window_is_one_call_and_what_the_model_says_stands_for_its_steps(tmp_path: Path) -> None:
    with opened(tmp_path) as (memory, provider):
        add(memory, PETS)
        assert provider.requests == []
        memory.flush()
        assert stages(tmp_path).count("statements") == 1
        calls = len(provider.requests)
        rex = next(each for each in memory.hierarchy.statements() if "Rex" in each.text)
        assert (rex.text, rex.happened_at) == (f"Ada says: {PETS[0][1]}", "2024-03-03")
        assert rex.steps == (next(iter(memory.steps("talk"))).id,)
        memory.flush()
        assert len(provider.requests) == calls
        assert "Ada says" in memory.search("Which dog did Ada adopt?", retriever="themes").context()


def test_another_process_finds_what_was_said_and_pays_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as (memory, _):
        add(memory, PETS)
        memory.flush()
        before = texts(memory), [each.statements for each in memory.themes()]
    with open_memory(tmp_path, tenant="t") as memory:
        assert (texts(memory), [each.statements for each in memory.themes()]) == before


def test_a_statement_that_corrects_an_earlier_one_supersedes_it_and_both_stay(tmp_path: Path) -> None:
    with opened(tmp_path) as (memory, _):
        add(memory, [("Ada", "My dog Rex is brown and lives with me in Oslo.")], trajectory="one")
        memory.flush()
        add(memory, [("Ada", "My dog Rex is not brown, and lives with me in Bergen.")], trajectory="two")
        memory.flush()
        old, new = sorted(memory.hierarchy.statements(), key=lambda each: each.trajectory)
        assert new.supersedes == (old.id,)
        assert old.superseded_by == new.id
        context = memory.search("Where does Rex live?", retriever="themes").context()
        [was] = [line for line in context.splitlines() if "Oslo" in line]
        [now] = [line for line in context.splitlines() if "Bergen" in line]
        assert was.partition(">")[0].endswith(" superseded")
        assert "superseded" not in now
        memory.lifecycle.erase(Selector(trajectory="two"))
        [left] = memory.hierarchy.statements()
        assert left.superseded_by is None
        assert "superseded" not in memory.search("Where does Rex live?", retriever="themes").context()


def test_what_nobody_can_see_is_in_no_statement_and_no_name_of_a_model(tmp_path: Path) -> None:
    def hidden(system: str, user: str) -> Any:
        told = said(system, user)
        for each in (*told.get("statements", ()), *told.get("names", ())):
            for field in {"text", "name"} & each.keys():
                each[field] = f"\x1b[31m{each[field]}\u200b\U000e0041\x00"
        return told

    with opened(tmp_path, hidden) as (memory, _):
        add(memory, [("Ada", f"My dog Rex likes the park number {n} a lot.") for n in range(4)])
        memory.flush()
        [*texts] = (each.text for each in memory.hierarchy.statements())
        [*names] = (each.name for each in memory.themes())
    assert len(texts) == 4
    assert any("matter" in name for name in names)
    assert all(text.isprintable() and text.isascii() for text in (*texts, *names))


@pytest.mark.parametrize("reply", ["", "no JSON at all", {"statements": [{"text": "x"}]}, {"statements": None}])
def test_where_no_reply_can_be_used_steps_speak_for_themselves_and_are_not_asked_of_again(
    tmp_path: Path, reply: Any
) -> None:
    with opened(tmp_path, lambda system, user: reply) as (memory, provider):
        add(memory, PETS)
        memory.flush()
        assert any("Rex" in text for text in texts(memory))
        calls = len(provider.requests)
        memory.flush()
        assert len(provider.requests) == calls


def test_a_spent_budget_ends_it_and_the_rest_is_read_another_time(tmp_path: Path) -> None:
    talk = [("Ada", f"I planted rose number {n} beside the old wall.") for n in range(2 * WINDOW_STEPS)]
    with opened(tmp_path, model_budget_tokens=0) as (memory, provider):
        add(memory, talk)
        memory.flush()
        assert provider.requests == []
        assert len(texts(memory)) == 2 * WINDOW_STEPS
        assert not any("says" in text for text in texts(memory))
    with opened(tmp_path) as (memory, provider):
        memory.flush()
        assert all("says" in text for text in texts(memory))


def test_what_names_no_step_that_was_shown_is_left_out(tmp_path: Path) -> None:
    def script(system: str, user: str) -> Any:
        return {"statements": [{"text": "Made up.", "steps": [99]}, {"text": "Rex is a dog.", "steps": "1 and 3"}]}

    with opened(tmp_path, script) as (memory, _):
        add(memory, PETS[:3])
        memory.flush()
        [own] = memory.hierarchy.statements()
        assert own.text == "Rex is a dog."
        assert own.steps == tuple(each.id for each in (next(iter(memory.steps("talk"))), list(memory.steps("talk"))[2]))


def test_erasing_a_step_takes_along_all_that_was_said_by_who_was_shown_it(tmp_path: Path) -> None:
    with opened(tmp_path) as (memory, _):
        add(memory, PETS)
        memory.flush()
        step = next(iter(memory.steps("talk"))).id
        memory.lifecycle.erase(Selector(trajectory="talk", step=step))
        assert not any("Rex" in text or "says" in text for text in texts(memory))
        assert any("fence" in text for text in texts(memory))
    assert files_with(tmp_path, b"called Rex") == []


def test_steps_of_other_trust_are_never_read_together(tmp_path: Path) -> None:
    with opened(tmp_path) as (memory, provider):
        add(memory, PETS[:1])
        memory.add(
            {"role": "tool", "tool_name": "web", "content": "The shelter in Oslo closes at five every day."},
            trajectory="talk",
        )
        memory.flush()
        shown = [numbered(request.body["messages"][-1]["content"]) for request in provider.requests]
        assert sorted(map(len, shown)) == [1, 1]
        trust = {each.text.split()[0]: each.trust.value for each in memory.hierarchy.statements()}
        assert trust["tool"] == "low"
        assert trust["Ada"] != "low"


def test_themes_are_called_what_the_model_calls_them_until_what_they_were_named_for_is_gone(tmp_path: Path) -> None:
    talk = [("Ada", f"My brown dog Rex sleeps on the warm sofa in room {n}.") for n in range(8)]
    with opened(tmp_path) as (memory, _):
        add(memory, talk)
        memory.flush()
        named = [each for each in memory.themes() if re.fullmatch(r"matter \d+", each.name)]
        assert named
        first = memory.hierarchy.statement(named[0].statements[0])
        assert first is not None
        memory.lifecycle.erase(Selector(trajectory="talk", step=first.steps[0]))
        assert not any(each.name.startswith("matter") for each in memory.themes())


def test_without_the_setting_no_model_is_asked(tmp_path: Path) -> None:
    with (
        LoopbackProvider(said) as provider,
        open_memory(tmp_path, tenant="t", model="m", base_url=provider.base_url, filter="local") as memory,
    ):
        add(memory, PETS)
        memory.flush()
        assert memory.themes()
        assert provider.requests == []


def test_a_file_is_stored_and_says_so_where_the_model_cannot_be_asked_for_statements(tmp_path: Path) -> None:
    steps = [Step(role=role, content=text, id=str(n)) for n, (role, text) in enumerate(PETS)]
    items = [SourcedStep(source="talk", line=n, trajectory="talk", step=each) for n, each in enumerate(steps, 1)]
    refusals = repeat(Reply({"error": {"message": "no such key"}}, status=401))
    with (
        LoopbackProvider(said, faults=refusals) as provider,
        open_memory(tmp_path, statements="model", filter="local", model="m", base_url=provider.base_url) as memory,
    ):
        report = ingest(memory, items, on_rejection=lambda rejection: pytest.fail(rejection.reason))
        assert (report.stored, report.exit_status) == (len(PETS), 0)
        assert "no such key" in report.statements_failure
        assert PETS[0][1] in texts(memory)

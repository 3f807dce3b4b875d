"""Earlier steps that a later reply reads otherwise: corrected as recorded events, never above a person's word."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.storing import ListStore
from stitch.cli.main import cli
from stitch.core import Step, StepState
from stitch.embed import HashingEmbedder
from stitch.errors import JournalError
from stitch.factory import open_memory
from stitch.ingest import Ingestor
from stitch.journal import Journal
from stitch.label.local import LocalLabeler
from stitch.label.model.windowed import WindowedLabeler
from stitch.lm import LanguageModel
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, fields_of

SAID = [
    "The build has been slow since Monday.",
    "It takes nine minutes on the runner.",
    "Could be the cache, or the network there.",
    "The tests of the parser hang, that is all it is.",
    "Then let us look at the parser.",
    "Its loop never ends on an empty line.",
]
STEPS = [Step(id=str(n), role="user" if n % 2 == 0 else "assistant", content=text) for n, text in enumerate(SAID)]
FIRST = "slow build"
RIGHT = "hanging parser tests"


def reading(n: int, scope: str, event: str = "report problem", **more: Any) -> dict[str, Any]:
    return {"n": n, "scope": scope, "events": [event], "entities": ["duration"], "summary": "s", **more}


def understanding_late(*extra: dict[str, Any]) -> Callable[[str, str], Any]:
    """A model that learns from the second window that the last step of the first one was misplaced."""

    def reply(system: str, user: str) -> Any:
        fields = fields_of(user)
        shown = [json.loads(line)["n"] for line in fields["steps"].splitlines()]
        if not fields["earlier_steps"]:
            return {"readings": [reading(n, FIRST) for n in shown]}
        again = extra or (reading(-1, RIGHT, "guess cause", entities=[]),)
        return {"readings": [*again, *(reading(n, RIGHT) for n in shown)]}

    return reply


def settings(provider: LoopbackProvider, **more: Any) -> dict[str, Any]:
    return {"labels": "model", "model": "m", "base_url": provider.base_url, "model_retries": 0, "offline": True,
            "window": 3, **more}  # fmt: skip


def scopes(memory: Any) -> list[str | None]:
    return [entry.labels.intent.scope for entry in memory.steps("t")]


def test_a_reply_may_correct_an_earlier_step(tmp_path: Path) -> None:
    with LoopbackProvider(understanding_late()) as provider, open_memory(tmp_path, **settings(provider)) as memory:
        memory.add_many(STEPS, trajectory="t")
        memory.flush()
        assert scopes(memory) == [FIRST, FIRST, RIGHT, RIGHT, RIGHT, RIGHT]
        entry = memory.get("t", "2")
        assert entry is not None
        assert entry.labels is not None
        assert entry.labels.intent.event_types == ("guess cause",)
        assert entry.labels.intent.entity_types == ("duration",)  # none were given: those that it had stay
        assert entry.state is StepState.STORED
        [before] = memory.lifecycle.history("2", trajectory="t")
        assert before.by.startswith("model m ")
        assert before.labels is not None
        assert before.labels.intent.scope == FIRST
        assert [(one.name, one.steps) for one in memory.inventory("t").scopes] == [(FIRST, 2), (RIGHT, 4)]
        assert memory.inventory("t").event_types == {"report problem": 5, "guess cause": 1}
        [hit] = [hit for hit in memory.search("cache or network", trajectory="t") if hit.snippet.step == "2"]
        assert hit.snippet.intent.scope == RIGHT
        assert list(memory.lifecycle.corrections()) == []  # nobody takes it for a person's
        assert memory.lifecycle.verify().disagreements == ()


def test_what_a_person_said_stays(tmp_path: Path) -> None:
    with LoopbackProvider(understanding_late()) as provider, open_memory(tmp_path, **settings(provider)) as memory:
        memory.add_many(STEPS[:3], trajectory="t")
        memory.flush()
        memory.lifecycle.correct("2", trajectory="t", labels={"scope": "runner network"}, by="ann")
        memory.add_many(STEPS[3:], trajectory="t")
        memory.flush()
        assert scopes(memory) == [FIRST, FIRST, "runner network", RIGHT, RIGHT, RIGHT]
        assert [each.by for each in memory.lifecycle.history("2", trajectory="t")] == ["ann"]
        assert [each.by for each in memory.lifecycle.corrections()] == ["ann"]


@pytest.mark.parametrize(
    "again",
    [
        reading(-9, RIGHT),
        reading(-1, FIRST, entities=[]),
        {"n": -1, "scope": "", "events": [], "entities": []},
        {"n": "-1", "scope": "The step is about something that nobody could have known when it was written.",
         "events": None, "entities": None},
    ],
)  # fmt: skip
def test_what_is_no_correction_changes_nothing(again: dict[str, Any], tmp_path: Path) -> None:
    with LoopbackProvider(understanding_late(again)) as provider, open_memory(tmp_path, **settings(provider)) as memory:
        memory.add_many(STEPS, trajectory="t")
        memory.flush()
        assert scopes(memory) == [FIRST] * 3 + [RIGHT] * 3
        assert memory.lifecycle.history("2", trajectory="t") == []


class FailingOnce(Journal):
    """A journal that is gone in the moment in which a step would be corrected."""

    fails = False

    def correct(self, *given: Any, **fields: Any) -> None:
        if self.fails:
            raise JournalError("gone")
        super().correct(*given, **fields)


def test_a_correction_outlives_an_end_before_it_is_written(tmp_path: Path) -> None:
    def opened(fails: bool) -> Ingestor:
        model = LanguageModel("m", completion=ScriptedCompletion(understanding_late()))
        journal = FailingOnce(tmp_path / "journal.db")
        journal.fails = fails
        labeler = WindowedLabeler(model, fallback=LocalLabeler(), window_steps=3)
        return Ingestor(journal=journal, store=ListStore(), embedder=HashingEmbedder(16), labeler=labeler)

    ingestor = opened(fails=True)
    ingestor.add_many(STEPS, tenant="a", trajectory="t")
    with pytest.raises(JournalError):
        ingestor.flush()
    ingestor.journal.close()
    ingestor = opened(fails=False)
    ingestor.recover()
    entry = ingestor.journal.entry("a", "t", "2")
    assert entry is not None
    assert entry.labels is not None
    assert entry.labels.intent.scope == RIGHT
    assert len(ingestor.journal.revisions([entry.seq])[entry.seq]) == 1
    [snippet] = [each for each in ingestor.store.scroll("a", "t") if each.step == "2"]
    assert snippet.intent.scope == RIGHT
    ingestor.close()


def test_what_is_labeled_elsewhere_or_anew_corrects_as_well(tmp_path: Path) -> None:
    def invoke(*arguments: str) -> Any:
        result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    log, memory = tmp_path / "log.jsonl", tmp_path / "m"
    log.write_text(json.dumps({"id": "t", "steps": [step.model_dump(exclude_defaults=True) for step in STEPS]}))
    invoke("ingest", str(log), "--memory", str(memory))
    asked, told = tmp_path / "asked.jsonl", tmp_path / "told.jsonl"
    model = understanding_late()
    for _ in range(2):
        invoke("label", "export", "--memory", str(memory), "--model", "m", "--window", "3", "--out", str(asked))
        lines = [json.loads(line) for line in asked.read_text().splitlines()]
        asked.unlink()
        replies = [{"id": one["id"], "reply": model("", one["messages"][-1]["content"])} for one in lines]
        told.write_text("\n".join(map(json.dumps, replies)))
        invoke("label", "import", str(told), "--memory", str(memory), "--model", "m")
    with open_memory(memory) as opened:
        assert scopes(opened) == [FIRST, FIRST, RIGHT, RIGHT, RIGHT, RIGHT]
        assert len(opened.lifecycle.history("2", trajectory="t")) == 1
    second = tmp_path / "second"
    invoke("ingest", str(log), "--memory", str(second))
    with LoopbackProvider(model) as provider:
        more = ("--labels", "model", "--model", "m", "--base-url", provider.base_url, "--window", "3")
        invoke("relabel", "--memory", str(second), *more)
    with open_memory(second) as opened:
        assert scopes(opened) == [FIRST, FIRST, RIGHT, RIGHT, RIGHT, RIGHT]
        assert opened.lifecycle.verify().disagreements == ()

"""Local labels as a draft: a model writes only what is wrong in them, and fewer tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stitch.assemble import open_memory
from stitch.core import LabelKind, Step
from stitch.errors import SettingsError
from stitch.label.local import LocalLabeler
from stitch.label.model import DraftedLabeler, WindowedLabeler
from stitch.label.model.drafted import corrected
from stitch.lm import LanguageModel
from stitch.signatures import StepChange, StepReading
from stitch.testing.contracts.labeler import LabelerContract
from stitch.testing.model import LoopbackProvider, ScriptedCompletion, fields_of

STEPS = [
    Step(id="0", role="user", content="What does the Ribeira House cost a night?"),
    Step(id="1", role="assistant", content="The Ribeira House costs $90 a night."),
    Step(id="2", role="user", content="Does it have a garden?"),
    Step(id="3", role="assistant", content="The Ribeira House has a garden behind the kitchen."),
]


def labeler_of(script: Any, **options: Any) -> tuple[DraftedLabeler, ScriptedCompletion]:
    completion = ScriptedCompletion(script)
    return DraftedLabeler(LanguageModel("m", completion=completion), fallback=LocalLabeler(), **options), completion


class TestDraftedLabeler(LabelerContract):
    @pytest.fixture
    def labeler(self) -> DraftedLabeler:
        # What is drafted of a step depends on where its window begins: so that batches change nothing, each is its own.
        return labeler_of(lambda system, user: {"changes": []}, window_steps=1)[0]


def test_what_is_left_as_it_is_stands_as_the_models_word() -> None:
    labeler, completion = labeler_of(lambda system, user: {"changes": []})
    labels = labeler.begin("t").label(STEPS)
    local = LocalLabeler().begin("t").label(STEPS)
    assert [made.intent for made in labels] == [made.intent for made in local]
    assert {made.made_by for made in labels} == {"m drafted-1"}
    assert len(completion.prompts) == 1
    shown = [json.loads(line) for line in fields_of(completion.prompts[0][1])["steps"].splitlines()]
    assert shown[0]["scope"] == local[0].intent.scope
    assert "scope" not in shown[1]  # told where it changes
    assert shown[0]["events"] == list(local[0].intent.event_types)


def test_a_scope_that_turns_out_to_continue_another_is_drafted_as_that_one() -> None:
    said = (
        "What does the Zephyr Mill cost?", "It costs $41.80.",
        "Two tickets for the museum, please.", "They are booked.",
    )  # fmt: skip
    steps = [Step(id=str(n), role=("user", "assistant")[n % 2], content=f"{said[n % 4]} ({n // 4})") for n in range(28)]
    local = LocalLabeler().begin("t")
    names, vocabulary = [made.intent.scope for made in local.label(steps)], local.inventory().vocabulary()
    joined = [vocabulary.canonical(LabelKind.SCOPE, name or "") for name in names]
    assert joined != names
    drafted = labeler_of(lambda system, user: {"changes": []}, window_steps=28)[0].begin("t").label(steps)
    assert [made.intent.scope for made in drafted] == joined


def test_only_what_is_written_is_changed() -> None:
    changes = [
        {"n": 1, "scope": "hotel in Porto"},
        {"n": 3, "events": ["ask amenity"], "references": [{"phrase": "it", "means": "Ribeira House"}]},
    ]
    labels = labeler_of(lambda system, user: {"changes": changes})[0].begin("t").label(STEPS)
    local = LocalLabeler().begin("t").label(STEPS)
    assert {made.intent.scope for made in labels} == {"hotel in Porto"}  # it goes on
    assert labels[2].intent.event_types == ("ask amenity",)
    assert labels[1].intent.event_types == local[1].intent.event_types
    assert [own.replacement for own in labels[2].references] == ["Ribeira House"]


@pytest.mark.parametrize(("means", "kept"), [("", []), ("Porto Gardens", ["Porto Gardens"])])
def test_a_drafted_reference_stays_until_another_or_none_is_written(means: str, kept: list[str]) -> None:
    said = ["Porto Gardens is too far. I need a place for dinner.", "Casa Verde is a small bistro.", "Where is it?"]
    steps = [Step(id=str(n), role=("user", "assistant")[n % 2], content=text) for n, text in enumerate(said)]
    drafted = LocalLabeler().begin("t").label(steps)[2].references
    assert [own.replacement for own in drafted] == ["Casa Verde"]
    assert labeler_of(lambda system, user: {"changes": []})[0].begin("t").label(steps)[2].references == drafted
    changes = [{"n": 3, "references": [{"phrase": "it", "means": means}]}]
    labels = labeler_of(lambda system, user: {"changes": changes})[0].begin("t").label(steps)
    assert [own.replacement for own in labels[2].references] == kept


def test_a_scope_goes_on_until_the_draft_or_the_model_changes_it() -> None:
    drafts = [StepReading(n=n, scope=scope, events=[], entities=[]) for n, scope in enumerate("aaaab", start=1)]
    changes = [StepChange(n=2, scope="x"), StepChange(n=4, scope="a"), StepChange(n=2, scope="y")]
    assert [own.scope for own in corrected(drafts, changes)] == ["a", "x", "x", "a", "b"]


@pytest.mark.parametrize("reply", ["I cannot say.", "{}", '{"changes": null}', '{"changes": [{"n": 1, "scope": "hot'])
def test_a_reply_of_no_use_is_no_consent(reply: str) -> None:
    labels = labeler_of(lambda system, user: reply)[0].begin("t").label(STEPS)
    assert {made.made_by for made in labels} == {LocalLabeler().name}


@pytest.mark.parametrize("reply", ["[]", '```json\n{"changes": []}\n```', '{"changes": "none"}'])
def test_there_are_many_ways_to_say_that_nothing_is_wrong(reply: str) -> None:
    labels = labeler_of(lambda system, user: reply)[0].begin("t").label(STEPS)
    assert {made.made_by for made in labels} == {"m drafted-1"}


def test_a_good_draft_takes_less_than_half_of_the_tokens_of_a_reply() -> None:
    def whole(system: str, user: str) -> Any:
        lines = [json.loads(line) for line in fields_of(user)["steps"].splitlines()]
        made = zip(lines, LocalLabeler().begin("t").label(STEPS), strict=True)
        return {"readings": [
            {"n": line["n"], "scope": own.intent.scope, "events": own.intent.event_types,
             "entities": own.intent.entity_types, "summary": own.summary} for line, own in made
        ]}  # fmt: skip

    drafted, _ = labeler_of(lambda system, user: {"changes": [{"n": 3, "events": ["ask amenity"]}]})
    windowed = WindowedLabeler(LanguageModel("m", completion=ScriptedCompletion(whole)), fallback=LocalLabeler())
    for labeler in (drafted, windowed):
        labeler.begin("t").label(STEPS)
    assert drafted.model.ledger.total().reply_tokens < windowed.model.ledger.total().reply_tokens / 2
    assert drafted.estimate(STEPS).reply_tokens < windowed.estimate(STEPS).reply_tokens / 2


def test_it_is_a_setting(tmp_path: Path) -> None:
    with LoopbackProvider(lambda system, user: {"changes": []}) as provider:
        given: dict[str, Any] = {"labels": "model", "model": "m", "base_url": provider.base_url, "draft": True}
        with open_memory(tmp_path / "m", **given) as memory:
            memory.add_many(STEPS, trajectory="t")
            memory.flush()
            assert {entry.labels.made_by for entry in memory.steps("t") if entry.labels} == {"m drafted-1"}
        with pytest.raises(SettingsError, match="drafts"):
            open_memory(tmp_path / "n", **given, stepwise=True)

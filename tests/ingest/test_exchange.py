"""What one memory exports another takes in without loss, whatever interrupts it; what cannot be read is named."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles.labeling import ScriptedLabeler
from stitch.core import LabelMerge, Step, StepState, ToolCall
from stitch.core.intent import LabelKind
from stitch.errors import ReplyError, StoreError
from stitch.lifecycle.correct import Changes, correct, history
from stitch.lifecycle.erase import erase
from stitch.lifecycle.export_schema import EXPORT_VERSION
from stitch.lifecycle.repair import verify
from stitch.lifecycle.retention import retire
from stitch.lifecycle.selection import Selector, select
from stitch.lifecycle.transfer import Imported, export_lines, import_lines
from stitch.testing.hashing import HashingEmbedder

Make = Callable[..., Any]

MERGE = LabelMerge(kind=LabelKind.EVENT_TYPE, alias="it", into="book", position=1)
NOT_WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def exported(world: Any, tenant: str = "a", trajectory: str | None = None) -> list[str]:
    world.ingestor.save()
    return list(export_lines(world.journal, tenant=tenant, trajectory=trajectory))


def imported(world: Any, lines: Any, tenant: str = "a") -> Imported:
    return import_lines(world.ingestor, lines, tenant=tenant, source="f")


def histories(world: Any, tenant: str = "a") -> list[Any]:
    return [
        (entry.id, history(world.journal, tenant=tenant, trajectory=entry.trajectory, step=entry.id))
        for entry in world.journal.every_entry(tenant)
    ]


def receipts(world: Any, tenant: str = "a") -> list[Any]:
    return list(world.ingestor.receipts(tenant))


def lived_in(world: Any, steps: Make, tmp_path: Any) -> None:
    """A memory in which all has happened that can."""
    world.add(*steps(5))
    world.add(*steps(3), trajectory="u")
    world.add(*steps(2, start=5))
    world.add(*steps(4), tenant="b")
    world.labeler.fail_next(ReplyError("broken on purpose"))
    world.add(*steps(2), trajectory="failed")
    call = ToolCall(name="book", arguments={"b": 2**70, "a": [1.0, {"x": None}]}, id="c1")
    done = Step(role="tool", content="It\u2028is done\x85", tool_calls=(call,), session="s", parent="p", timestamp="x",
                metadata={"z": 1, "a": {"deep": [True]}})  # fmt: skip
    world.add(done, trajectory="v")
    correct(world.ingestor, Changes(labels={"scope": "day 9"}), tenant="a", trajectory="t", step="s1", at=7.0, by="ann")
    correct(world.ingestor, Changes(text="It costs 77 dollars"), tenant="a", trajectory="t", step="s1", at=8.0)
    retire(world.ingestor, select(world.ingestor, Selector(trajectory="t", step="s3"), tenant="a"), tenant="a", at=9.0,
           reason="old")  # fmt: skip
    erase(world.ingestor, select(world.ingestor, Selector(trajectory="t", step="s0"), tenant="a"), tenant="a",
          folder=tmp_path)  # fmt: skip


def test_everything_comes_over(worlds: Make, steps: Make, tmp_path: Any) -> None:
    there = worlds(tmp_path / "there", labeler=ScriptedLabeler(merges=[MERGE]))
    lived_in(there, steps, tmp_path)
    there.inventory()
    lines = exported(there)
    here = worlds(embedder=HashingEmbedder(24), labeler=ScriptedLabeler(merges=[MERGE]))
    assert imported(here, lines) == (12, 0, 4, (), 0, 0, 0)
    assert [entry for entry in here.truth() if entry.tenant == "a"] == [e for e in there.truth() if e.tenant == "a"]
    assert receipts(here) == receipts(there)
    assert {receipt.state for receipt in receipts(here)} == {StepState.STORED, StepState.FAILED, StepState.RETIRED}
    assert histories(here) == histories(there)
    assert [len(revisions) for _, revisions in histories(here)].count(2) == 1
    assert here.inventory() == there.inventory()
    assert here.inventory().merges == (MERGE,)
    assert list(here.store.scroll("a")) == list(there.store.scroll("a"))
    assert here.journal.trajectories("a") == there.journal.trajectories("a")
    assert verify(here.ingestor, tenant="a").disagreements == ()
    assert exported(here) == lines
    kept, came = ([each._replace(seq=0) for each in world.journal.kept("a")] for world in (there, here))
    assert came == kept, "byte for byte"
    assert here.add(steps(5)[1])[0].repeated, "the source goes on giving the step as it was"


def test_nothing_of_another_tenant_or_trajectory_is_exported(world: Any, steps: Make) -> None:
    canary = Step(role="user", content="Canary words", id="canary", metadata={"k": "canary"})
    world.add(*steps(2))
    world.add(canary, tenant="canary", trajectory="canary")
    world.add(canary, trajectory="canary")
    assert "canary" not in "".join(exported(world, trajectory="t")).lower()
    assert "t" not in [json.loads(line).get("trajectory") for line in exported(world, trajectory="canary")]
    assert json.loads(exported(world, tenant="nobody")[-1]) == {"kind": "end", "steps": 0}


@given(count=st.integers(0, 12), cut=st.integers(0, 30), broken=st.booleans())
def test_an_interrupted_import_is_taken_up(world_type: Make, count: int, cut: int, broken: bool) -> None:
    there, here = world_type(), world_type()
    for number in range(count):
        there.add(Step(role="user", content=f"It costs {number}", id=str(number)), trajectory="tu"[number % 2])
    lines = exported(there)
    cut = min(cut, len(lines) - 1)
    if broken:
        here.store.fail_next(StoreError("broken on purpose"))
    first = imported(here, lines[:cut])
    assert first.rejections[-1].line == cut + 1
    assert "cut" in first.rejections[-1].reason
    imported(here, lines)
    here.ingestor.retry()
    assert here.truth() == there.truth()
    assert here.snippets() == there.snippets()
    assert here.inventory() == there.inventory()
    here.journal.close()
    there.journal.close()


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.tuples(NOT_WORDS, st.none() | st.floats(allow_nan=False, allow_infinity=False) | NOT_WORDS,
                          st.dictionaries(NOT_WORDS, st.recursive(st.none() | st.integers() | NOT_WORDS, st.lists))),
                max_size=6))  # fmt: skip
def test_any_step_survives_the_round_trip(world_type: Make, said: list[Any]) -> None:
    there, here = world_type(), world_type()
    there.add(*(Step(role="u", content=f"x{text}", timestamp=when, metadata=more) for text, when, more in said))
    assert imported(here, exported(there)).rejections == ()
    assert here.truth() == there.truth()
    here.journal.close()
    there.journal.close()


def test_a_torn_line_is_named_and_all_others_are_taken_in(worlds: Make, steps: Make) -> None:
    there, here = worlds(), worlds()
    there.add(*steps(3))
    lines = exported(there)
    torn = [*lines[:3], lines[3][:40], *lines[4:]]
    result = imported(here, [line.encode() for line in torn])
    assert result.steps == 2
    assert [(each.line, each.source) for each in result.rejections] == [(4, "f"), (len(lines), "f")]
    assert "no whole line of JSON" in result.rejections[0].reason
    assert "3 steps were exported, and 2 could be read" in result.rejections[1].reason
    assert verify(here.ingestor, tenant="a").disagreements == ()
    assert imported(here, lines) == (1, 2, 1, (), 0, 0, 0)
    assert here.snippets() == there.snippets()


def test_what_labeling_remembered_comes_over_where_it_fits_the_steps(worlds: Make, steps: Make) -> None:
    there = worlds(labeler=ScriptedLabeler(merges=[MERGE]))
    there.add(*steps(3))
    there.add(*steps(3), trajectory="u")
    there.inventory()
    lines = exported(there)
    (place,) = [n for n, line in enumerate(lines) if '"session"' in line and json.loads(line)["trajectory"] == "u"]
    session = json.loads(lines[place])
    session["inventory"]["event_types"] = {}
    here = worlds()  # it makes no merges itself
    result = imported(here, [*lines[:place], json.dumps(session), *lines[place + 1 :]])
    assert [each.line for each in result.rejections] == [place + 1]
    assert "does not fit its steps" in result.rejections[0].reason
    merges = {name: here.journal.checkpoint("a", name).inventory.merges for name in ("t", "u")}
    assert merges == {"t": (MERGE,), "u": ()}
    assert verify(here.ingestor, tenant="a").disagreements == ()


def test_what_a_later_version_wrote_is_refused_whole(worlds: Make, steps: Make) -> None:
    there, here = worlds(), worlds()
    there.add(*steps(2))
    head, *rest = exported(there)
    newer = json.dumps({**json.loads(head), "schema_version": EXPORT_VERSION + 1, "more": 1})
    for lines in ([newer, *rest], rest, []):
        result = imported(here, lines)
        assert (result.steps, result.rejections[0].line) == (0, 1)
    assert f"export version {EXPORT_VERSION + 1}" in imported(here, [newer]).rejections[0].reason
    assert here.truth() == []


def with_position(lines: list[str], place: int, position: Any) -> list[str]:
    """The lines, with another position on the step that has this place."""
    rows = [json.loads(line) for line in lines]
    for row in rows:
        if row["kind"] == "step" and row["position"] == place:
            row["position"] = position
    return [json.dumps(row) for row in rows]


def test_a_memory_with_erased_steps_anywhere_comes_over(worlds: Make, steps: Make, tmp_path: Any) -> None:
    there, here = worlds(tmp_path / "there"), worlds()
    there.add(*steps(9))
    for step in ("s0", "s3", "s4", "s6"):
        chosen = select(there.ingestor, Selector(trajectory="t", step=step), tenant="a")
        erase(there.ingestor, chosen, tenant="a", folder=tmp_path)
    lines = exported(there)
    assert [json.loads(line).get("position") for line in lines[2:7]] == [1, 2, 5, 7, 8]
    assert imported(here, lines) == (5, 0, 1, (), 0, 0, 0)
    assert here.truth() == there.truth()
    assert here.snippets() == there.snippets()
    assert exported(here) == lines
    taken = imported(worlds(tmp_path / "again"), with_position(lines, 5, 7))
    assert (taken.steps, [each.line for each in taken.rejections]) == (4, [6]), "one step a place"
    earlier = json.dumps({**json.loads(lines[1]), "length": 9, "gaps": [[0, 1], [3, 5], [6, 7]]})
    assert imported(worlds(tmp_path / "earlier"), [lines[0], earlier, *lines[2:]]).rejections == ()


@pytest.mark.parametrize("claimed", ["high", "medium", "low"])
def test_labels_claim_no_more_trust_than_the_words_they_took(worlds: Make, claimed: str) -> None:
    there, here = worlds(), worlds()
    there.add(Step(role="tool", content="The gate is 12", id="0"), Step(role="user", content="Is it open", id="1"))
    rows = [json.loads(line) for line in exported(there)]
    rows[3]["labels"]["references"] = [{"start": 3, "end": 5, "replacement": "gate 12", "antecedent": "0"}]
    rows[2]["labels"]["trust"] = rows[3]["labels"]["trust"] = claimed
    assert imported(here, [json.dumps(row) for row in rows]).steps == 2
    trusts = [entry.labels.trust.value for entry in here.journal.entries("a", "t") if entry.labels]
    assert trusts == ["low", "low"]

"""Retention rules retire or erase what is older than it may be, by the clock of acceptance, and count first."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from stitch import Step, open_memory
from stitch.core import StepState
from stitch.core.retention import SECONDS_PER_DAY, RetentionRule
from stitch.errors import InputError, SettingsError
from stitch.lifecycle.retention import expire

Make = Callable[..., Any]

DAY = float(SECONDS_PER_DAY)


def old(world: Any, steps: Make) -> None:
    """One step a day for six days, the first word of each being its event type."""
    for number, step in enumerate(steps(6)):
        world.ingestor._clock = lambda number=number: number * DAY
        world.add(step)
        world.add(step, tenant="b")


def run(world: Any, *rules: RetentionRule, now: float, folder: Path, dry_run: bool = False) -> Any:
    return expire(world.ingestor, rules, tenant="a", folder=folder, now=now, dry_run=dry_run)


def shown(world: Any, tenant: str = "a") -> list[str]:
    return [snippet.step for snippet in world.store.scroll(tenant)]


def test_what_is_older_is_retired_or_erased_and_the_rest_stays(worlds: Make, steps: Make, tmp_path: Path) -> None:
    world = worlds(tmp_path / "j")
    old(world, steps)
    retiring = RetentionRule(older_than_days=2, action="retire")
    erasing = RetentionRule(older_than_days=4, action="erase")
    counted = run(world, retiring, erasing, now=5 * DAY, folder=tmp_path, dry_run=True)
    assert [(each.rule, each.steps, each.waiting) for each in counted.rules] == [(retiring, 2, 0), (erasing, 1, 0)]
    assert counted.proof is None
    assert shown(world) == ["s0", "s1", "s2", "s3", "s4", "s5"]
    done = run(world, retiring, erasing, now=5 * DAY, folder=tmp_path)
    assert done.rules == counted.rules
    assert done.proof.found == ()
    assert shown(world) == ["s3", "s4", "s5"]
    retired = list(world.ingestor.receipts("a", state=StepState.RETIRED))
    assert [receipt.step for receipt in retired] == ["s1", "s2"]
    assert all("retention, any event type, older than 2 days" in receipt.reason for receipt in retired)
    assert [entry.id for entry in world.journal.every_entry("a")] == ["s1", "s2", "s3", "s4", "s5"]
    assert shown(world, "b") == ["s0", "s1", "s2", "s3", "s4", "s5"], "rules are a tenant's own"
    again = run(world, retiring, erasing, now=5 * DAY, folder=tmp_path)
    assert [each.steps for each in again.rules] == [0, 0]
    assert again.proof is None


def test_by_a_clock_that_jumped_back_nothing_expires(worlds: Make, steps: Make, tmp_path: Path) -> None:
    world = worlds(tmp_path / "j")
    old(world, steps)
    rules = [RetentionRule(older_than_days=1, action=action) for action in ("retire", "erase")]
    assert [each.steps for each in run(world, *rules, now=0.0, folder=tmp_path).rules] == [0, 0]
    assert len(shown(world)) == 6


YEAR = 366 * DAY


def accepted(world: Any, *times: float) -> None:
    for number, at in enumerate(times):
        world.ingestor._clock = lambda at=at: at
        world.add(Step(id=f"{at / DAY:g}", role="user", content=f"{'Ask' if number % 2 else 'Tell'} it {number}."))


@pytest.mark.parametrize("action", ["retire", "erase"])
@pytest.mark.parametrize(
    "times",
    [
        (0.0, DAY),  # the clock jumped before now
        (0.0, DAY, 3 * YEAR),  # or before a step that was accepted since
        (0.0, DAY, 3 * YEAR, 3 * YEAR + DAY),
    ],
)
def test_by_a_clock_that_jumped_ahead_nothing_expires_until_somebody_says_that_it_is_right(
    worlds: Make, tmp_path: Path, times: tuple[float, ...], action: Any
) -> None:
    world = worlds(tmp_path / "j")
    accepted(world, *times)
    rule, now = RetentionRule(older_than_days=90, action=action), 3 * YEAR + 2 * DAY
    before = shown(world)
    counted = run(world, rule, now=now, folder=tmp_path, dry_run=True)
    days = 3 * 366 - 1 + (2 if len(times) == 2 else 0)
    assert (counted.rules[0].steps, counted.silent_days) == (2, days)
    with pytest.raises(InputError, match=f"may have jumped ahead: no step was accepted in {days} days") as refused:
        run(world, rule, now=now, folder=tmp_path)
    assert "--trust-clock" in str(refused.value.hint)
    assert shown(world) == before
    done = expire(world.ingestor, [rule], tenant="a", folder=tmp_path, now=now, trust_clock=True)
    assert (done.rules[0].steps, shown(world)) == (2, before[2:])
    assert run(world, rule, now=now, folder=tmp_path).silent_days == 0


@pytest.mark.parametrize("wrong", [{"older_than_days": -1}, {"action": "hide"}, {"older_than_days": float("nan")}])
def test_a_rule_that_says_nothing_sensible_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RetentionRule.model_validate({"older_than_days": 1, "action": "retire", **wrong})


@pytest.fixture
def call(in_empty_folder: Path, stitch: Any) -> Any:
    with open_memory("m") as memory:
        memory.add(Step(role="user", content="Let's plan day 1."), trajectory="t")
    return stitch


def test_the_rules_of_the_settings_are_applied_by_command(call: Any) -> None:
    Path("s.yaml").write_text("retention:\n- {older_than_days: 0, action: erase}\n")
    where = ("--memory", "m", "--config", "s.yaml")
    assert call("forget", "expire", "--dry-run", *where)[:2] == (
        0, "1 step of any event type older than 0 days would be erased\n",
    )  # fmt: skip
    code, out, _ = call("forget", "expire", *where)
    assert code == 0
    assert "is erased\nproof: " in out
    found = json.loads(call("forget", "expire", "--json", *where)[1])
    assert found["rules"] == [{"older_than_days": 0.0, "action": "erase", "event_type": None, "steps": 0, "waiting": 0}]
    code, _, err = call("forget", "expire", "--memory", "m")
    assert (code, "no retention rules" in err) == (0, True)
    Path("s.yaml").write_text("retention:\n- {older_than_days: 0, action: hide}\n")
    assert call("forget", "expire", *where)[0] == SettingsError.exit_code

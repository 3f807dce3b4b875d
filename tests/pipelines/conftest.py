"""Data, and models that can be taught, for tests of optimizing."""

from __future__ import annotations

import json

import pytest

from stitch.config import Settings
from stitch.testing.model import fields_of, label_by_rules
from stitch.testing.teaching import Pupil

LESSON = "Name one scope for each day."


@pytest.fixture(autouse=True)
def _empty_folder_and_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"STITCH_{name.upper()}", raising=False)


def days(trajectory, *, steps=12):
    """A trajectory that goes back and forth between the days of a trip, with gold."""
    rows = []
    for n in range(steps):
        day = (1, 2, 1, 3, 2, 1)[(n // 2 + trajectory) % 6]
        asks = n % 2 == 0
        meal = ("breakfast", "lunch", "dinner")[(trajectory + n // 6) % 3]
        text = f"What does {meal} on day {day} cost, place {trajectory}-{n}?" if asks else f"The {meal} is ${n}."
        gold = {"scope": [f"day {day}"], "event_types": ["ask" if asks else "tell"]}
        rows.append({"id": str(n), "role": "user" if asks else "assistant", "content": text,
                     "gold": {**gold, "entity_types": [] if asks else ["price"]}})  # fmt: skip
    return {"id": f"trip-{trajectory}", "steps": rows}


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def labeled(tmp_path):
    """Twelve labeled trajectories of one stretch each."""
    return write_lines(tmp_path / "days.jsonl", (days(n) for n in range(12)))


def label_poorly(system, user):
    """Every step is a matter of its own."""
    fields = fields_of(user)
    if "`readings`" in system:
        rows = [json.loads(line) for line in fields["steps"].splitlines()]
        return {"readings": [{"n": row["n"], "scope": f"matter of {row['text'][-9:-1]}", "events": ["talk"],
                              "entities": ["thing"], "references": []} for row in rows]}  # fmt: skip
    made = label_by_rules(system, user)
    odd = {"scope": f"matter of {fields.get('step', '')[-12:-2]}", "event_types": ["talk"], "entity_types": ["thing"]}
    return {**made, **{name: value for name, value in odd.items() if name in made}}


def labeling_pupil(**settings):
    """Labels well if it was told or shown that a day is a scope, and by itself where breakfast comes first."""
    return Pupil(
        well=label_by_rules,
        poorly=label_poorly,
        lesson=LESSON,
        example="plan of day",
        alone=lambda message: "breakfast" in message[:300],
        **settings,
    )

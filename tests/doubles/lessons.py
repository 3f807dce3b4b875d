"""Data to learn from, and models that can learn from them: a trip of three days, talked about out of order."""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from doubles.teaching import Pupil
from stitch.testing.model import fields_of, label_by_rules

LESSON = "Name one scope for each day."
"""What the models here have to be told."""

_DAYS = (1, 2, 1, 3, 2, 1)
_MEALS = ("breakfast", "lunch", "dinner")


def days(trajectory: int, *, steps: int = 12) -> dict[str, Any]:
    rows = []
    for n in range(steps):
        day = _DAYS[(n // 2 + trajectory) % 6]
        meal = _MEALS[(trajectory + n // 6) % 3]
        asks = n % 2 == 0
        text = f"What does {meal} on day {day} cost, place {trajectory}-{n}?" if asks else f"The {meal} is ${n}."
        gold = {
            "scope": [f"day {day}"],
            "event_types": ["ask" if asks else "tell"],
            "entity_types": [] if asks else ["price"],
        }
        rows.append({"id": str(n), "role": "user" if asks else "assistant", "content": text, "gold": gold})
    return {"id": f"trip-{trajectory}", "steps": rows}


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_asked_days(folder: Path, *, trajectories: int = 6, steps: int = 32) -> Path:
    rows = [days(n, steps=steps) for n in range(trajectories)]
    questions = []
    for row in rows:
        for place in range(1, steps, 8):
            asked, told = row["steps"][place - 1]["content"], row["steps"][place]
            day, where = asked[asked.index("day ") :][:5], asked.rpartition("place ")[2]
            question = {
                "id": f"{row['id']}-{place}",
                "trajectory": row["id"],
                "type": "price",
                "question": f"Which price did we hear on {day}, for place {where}",
                "answer": told["content"].rpartition("$")[2].rstrip("."),
                "evidence": [told["id"]],
            }
            questions.append(question)
    write_lines(folder / "trajectories.jsonl", rows)
    write_lines(folder / "questions.jsonl", questions)
    return folder


def label_poorly(system: str, user: str) -> Any:
    fields = fields_of(user)
    if "`readings`" in system:
        rows = [json.loads(line) for line in fields["steps"].splitlines()]
        each = {"events": ["talk"], "entities": ["thing"], "references": []}
        return {"readings": [{"n": row["n"], "scope": f"matter of {row['text'][-9:-1]}", **each} for row in rows]}
    made = label_by_rules(system, user)
    odd = {"scope": f"matter of {fields.get('step', '')[-12:-2]}", "event_types": ["talk"], "entity_types": ["thing"]}
    return {**made, **{name: value for name, value in odd.items() if name in made}}


def labeling_pupil(*, needs: str = "") -> Pupil:
    return Pupil(
        well=label_by_rules,
        poorly=label_poorly,
        lesson=LESSON,
        example="plan of day",
        alone=lambda message: "breakfast" in message[:300],
        needs=needs,
    )


def choosing_pupil() -> Pupil:
    return Pupil(
        well=_choose_well,
        poorly=lambda *said: {"scopes": [], "event_types": ["ask"], "entity_types": ["day"], "why": "a question"},
        lesson=LESSON,
        example="the day is named",
        alone=_is_on_the_third_day,
    )


def answering_pupil() -> Pupil:
    return Pupil(
        well=_answer_well,
        poorly=lambda system, user: {"reasoning": "?", "answer": "I would rather not say that out loud, my friend."},
        lesson=LESSON,
        example="it is a sum of money",
        alone=_is_on_the_third_day,
    )


def extracting_pupil() -> Pupil:
    return Pupil(
        well=_extract_well,
        poorly=lambda system, user: {"statements": [{"text": "They talked about the trip.", "steps": [1, 2]}]},
        lesson=LESSON,
        example="The price heard on day",
        alone=lambda message: "breakfast" in message[:300],
    )


def _extract_well(system: str, user: str) -> Any:
    rows = [json.loads(line) for line in fields_of(user)["steps"].splitlines()]
    said = []
    for asked, told in pairwise(rows):
        found = re.search(r"on (day \d) cost, place (\S+)\?", asked["text"])
        if found and (price := re.search(r"\$\d+", told["text"])):
            text = f"The price heard on {found[1]} for place {found[2]} is {price[0]}."
            said.append({"text": text, "steps": [told["n"]], "date": "", "corrects": []})
    return {"statements": said}


def _choose_well(system: str, user: str) -> Any:
    fields = fields_of(user)
    day = fields["question"].rpartition("day ")[2][:1]
    scopes = [line.partition(":")[0] for line in fields["known_scopes"].splitlines()]
    chosen = [name for name in scopes if f"day {day}" in name]
    return {"scopes": chosen, "event_types": ["answer"], "entity_types": ["price"], "why": "the day is named"}


def _answer_well(system: str, user: str) -> Any:
    fields = fields_of(user)
    place = fields["question"].rpartition("place ")[2]
    found = re.search(rf"place {re.escape(place)}.*?\$(\d+)", fields["quoted_steps"], re.DOTALL)
    return {"reasoning": "it is a sum of money", "answer": found[1] if found else "Question not answerable"}


def _is_on_the_third_day(message: str) -> bool:
    return "day 3, for" in message

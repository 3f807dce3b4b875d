"""A debate and a run of twelve steps go from ingest to answer by replies that were written as a strong model would.

The real prompts go over HTTP; each exchange is compared with the one that was recorded. After a change that is meant,
STITCH_TEST_GOLDEN=write writes all but steps, questions and replies anew; read the replies beside what is sent then.
"""

import difflib
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stitch import open_memory
from stitch.bench.models import ModelAnswerer
from stitch.lm import LanguageModel, Limits
from stitch.memory import Memory
from stitch.signatures.programs import AnswerProgram
from stitch.testing.model import completion, fields_of
from stitch.testing.servers import LoopbackServer, Reply, Request

FOLDER = Path(__file__).parent
WRITES = os.environ.get("STITCH_TEST_GOLDEN") == "write"
WINDOW_STEPS = 6
"""Two windows: the second is shown scopes, names and steps of the first."""


class Recording:
    """Answers by the replies of a file, in order, and compares what is asked with what was asked then."""

    def __init__(self, name: str) -> None:
        self.file = FOLDER / f"{name}.json"
        self.told = json.loads(self.file.read_text(encoding="utf-8"))
        self.changes: list[str] = []
        """What is asked otherwise than it was."""
        self._asked = 0

    def answer(self, request: Request) -> Reply:
        """The reply whose turn it is."""
        system, user = (message["content"] for message in request.body["messages"])
        form = request.body["response_format"]["json_schema"]
        digest = hashlib.sha256((system + json.dumps(form["schema"])).encode()).hexdigest()
        asked = {"prompt": form["name"], "digest": digest, "inputs": fields_of(user)}
        exchanges = self.told["exchanges"]
        if self._asked == len(exchanges):
            self.changes.append(f"one call more than were recorded, of {form['name']}:\n{user}")
            return Reply({"error": {"message": "no reply was recorded"}}, status=400)
        exchange = exchanges[self._asked]
        self._asked += 1
        if WRITES:
            exchange.update(asked)
        self.changes += changes(self._asked, exchange, asked)
        return completion(json.dumps(exchange["reply"], ensure_ascii=False))

    def check(self) -> None:
        """Fail, and tell what changed, if anything did."""
        if left := self.told["exchanges"][self._asked :]:
            self.changes.append(f"not asked any more: {', '.join(exchange['prompt'] for exchange in left)}")
        if self.changes:
            pytest.fail("\n\n".join([f"{self.file.name} was recorded of other prompts", *self.changes]), pytrace=False)

    def write(self, found: dict[str, Any]) -> None:
        """Write down what was asked and found."""
        self.told["found"] = found
        self.file.write_text(json.dumps(self.told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def changes(number: int, exchange: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """What is asked otherwise in an exchange than it was recorded, in words."""
    if exchange["prompt"] != asked["prompt"]:
        return [f"call {number} was {exchange['prompt']} and is {asked['prompt']}"]
    where, found = f"call {number}, {asked['prompt']}", []
    if exchange["digest"] != asked["digest"]:
        golden = f"tests/signatures/golden/{asked['prompt']}.txt"
        found.append(f"{where}: instructions or schema changed, as the difference of {golden} shows")
    for name in {**exchange["inputs"], **asked["inputs"]}:
        before, after = (side["inputs"].get(name, "").splitlines() for side in (exchange, asked))
        if before != after:
            lines = difflib.unified_diff(before, after, "recorded", "asked now", lineterm="", n=0)
            found.append("\n".join([f"{where}: its field {name} changed", *lines]))
    return found


@contextmanager
def replayed(name: str, folder: Path) -> Iterator[tuple[Recording, Memory, str]]:
    """A memory that was filled from a recording, and where the model answers."""
    recording = Recording(name)
    with LoopbackServer(recording.answer) as server:
        base_url = f"{server.url}/v1"
        with open_memory(
            folder / "m", labels="model", filter="model", model="recorded", base_url=base_url, offline=True,
            window=WINDOW_STEPS, model_retries=0,
        ) as memory:  # fmt: skip
            memory.add_many(recording.told["steps"], trajectory=name)
            memory.flush()
            yield recording, memory, base_url


@pytest.mark.parametrize("name", ["debate", "run"])
def test_labels_filters_hits_and_answers_are_those_of_the_recording(name: str, tmp_path: Path) -> None:
    with replayed(name, tmp_path) as (recording, memory, base_url):
        told = recording.told
        model = LanguageModel("recorded", base_url=base_url, offline=True, limits=Limits(retries=0))
        answerer = ModelAnswerer(model, program=AnswerProgram())
        found: dict[str, Any] = {"steps": [labeled(entry) for entry in memory.steps(name)], "questions": []}
        for asked in told["questions"]:
            result = memory.search(asked["question"], k=5)
            said = answerer.answer(asked["question"], context=result.context_text, domain=told["domain"])
            labels = [f"{kind.value}: {value}" for kind, value in sorted(result.intent_filter.labels())]
            hits = [hit.snippet.step for hit in result]
            found["questions"].append({"filter": labels, "hits": hits, "answer": said})
        calls = {stage: spent.calls for stage, spent in memory.ledger.stages().items() if spent.calls}
        reasons = [receipt.reason for receipt in memory.receipts() if receipt.reason]
        model.close()
    if WRITES:
        recording.write(found)
    recording.check()
    assert found == told["found"]
    for asked, own in zip(told["questions"], found["questions"], strict=True):
        assert (own["hits"][0], own["answer"]) == (asked["evidence"], asked["answer"])
    assert (calls, reasons) == ({"window": 2, "filter": 2}, [])


def labeled(entry: Any) -> dict[str, Any]:
    """What a step was labeled as."""
    labels = entry.labels
    return {
        "scope": labels.intent.scope,
        "event_types": list(labels.intent.event_types),
        "entity_types": list(labels.intent.entity_types),
        "references": [f"{entry.step.content[one.start : one.end]} = {one.replacement}" for one in labels.references],
        "summary": labels.summary,
        "asks": list(labels.asks),
    }


def test_what_changed_in_a_prompt_is_said() -> None:
    recorded = {"prompt": "SelectFilter", "digest": "1", "inputs": {"question": "When?", "known_scopes": "a\nb"}}
    assert changes(3, recorded, recorded) == []
    asked = {**recorded, "digest": "2", "inputs": {"question": "When?", "known_scopes": "a\nc"}}
    instructions, field = changes(3, recorded, asked)
    assert "golden/SelectFilter.txt" in instructions
    assert field.splitlines()[0] == "call 3, SelectFilter: its field known_scopes changed"
    assert {"-b", "+c"} <= set(field.splitlines())
    assert changes(3, recorded, {**asked, "prompt": "SelectScopes"}) == ["call 3 was SelectFilter and is SelectScopes"]

"""A user adds steps and messages, and reads them again."""

import pytest
from qdrant_edge import EdgeShard, ScrollRequest

from doubles.files import files_with
from stitch import StitchError, open_memory

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which museum is open on Monday?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "hours", "arguments": '{"day": "Monday"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "The Serralves museum opens at ten."},
    {"role": "assistant", "content": "The Serralves, from ten on."},
]  # fmt: skip


def test_a_point_says_in_qdrants_own_words_what_a_step_says(tmp_path):
    failed = {"role": "tool", "tool_name": "book", "content": "no rooms left", "metadata": {"outcome": "failure"}}
    with open_memory(tmp_path / "own.memory") as memory:
        said = {
            "role": "Maria",
            "content": "I booked the Casa Azul for 80 euros.",
            "metadata": {"valid_to": "2026-07-01"},
        }
        memory.add_many([said, failed], trajectory="t")
        shown = [hit.snippet for hit in memory.search("Which house did Maria book?").hits]
    shard = EdgeShard.load(str(tmp_path / "own.memory" / "store" / "shard"))
    points, _ = shard.scroll(ScrollRequest(with_payload=True))
    shard.close()
    maria, tool = sorted((point.payload or {} for point in points), key=lambda payload: payload["position"])
    assert {"Casa Azul", "80 euros"} <= set(maria["entities"])
    assert (maria["speaker"], maria["tokens"], "outcome" in maria) == ("Maria", 9, False)
    assert (tool["outcome"], "speaker" in tool) == ("failure", False)
    assert (maria["valid_to"], "valid_to" in tool) == ("2026-07-01T00:00:00Z", False)
    assert {snippet.step: snippet.tokens for snippet in shown}.items() <= {"0": 9, "1": tool["tokens"]}.items()


def test_one_bad_step_of_many_stores_none(memory):
    with pytest.raises(StitchError):
        memory.add_many([{"role": "user", "content": "fine"}, {"role": "user"}], trajectory="new")
    assert "new" not in memory.trajectories()


def test_calls_and_results_of_messages_are_kept(memory):
    memory.add_messages(TALK, trajectory="talk")
    steps = [entry.step for entry in memory.steps("talk")]
    assert [call.name for step in steps for call in step.tool_calls] == ["hours"]
    assert "ten" in memory.search("When does the museum open?", trajectory="talk", k=3).context()


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "text", "text": "The ferry leaves at nine."}]},
        {"role": "user", "parts": [{"text": "The ferry leaves at nine."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "The ferry leaves at nine."}]},
    ],
    ids=["anthropic", "gemini", "openai responses"],
)
def test_messages_of_any_provider_are_taken(memory, message):
    memory.add_messages([message], trajectory="talk")
    assert next(memory.steps("talk")).step.content == "The ferry leaves at nine."


def test_labels_may_follow_later(memory):
    receipt = memory.add({"role": "user", "content": "The zoo is closed."}, trajectory="trip", wait=False)
    memory.flush()
    assert receipt.state in ("accepted", "stored")
    assert memory.status().waiting == 0
    assert "zoo" in memory.search("Is the zoo closed?", k=5).context()


def test_secrets_are_taken_out_before_anything_is_written(memory):
    key = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"[:36]
    receipt = memory.add({"role": "user", "content": f"My token is {key}."}, trajectory="trip")
    assert receipt.redacted
    assert memory.status().redacted
    assert files_with(memory.folder, key.encode()) == []


@pytest.mark.parametrize("time", ["2026-02-30", "2026-13-01T00:00"])
def test_a_time_that_no_calendar_has_is_refused_and_named(memory, time):
    step = {"role": "user", "content": "The dentist", "timestamp": time}
    with pytest.raises(StitchError, match="no calendar has the time"):
        memory.add(step, trajectory="new")
    with pytest.raises(StitchError, match=r"steps\[1\]: no calendar has"):
        memory.add_many([{"role": "user", "content": "fine"}, step], trajectory="new")
    assert "new" not in memory.trajectories()
    assert memory.add({**step, "timestamp": "Tuesday, at noon"}, trajectory="new").state == "stored"


def test_bytes_name_no_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StitchError, match="memory is a text"):
        open_memory(b"x")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_moved_is_told_and_what_was_accepted_is_there(tmp_path):
    memory = open_memory(tmp_path / "here")
    memory.add("The cat is called Mina.")
    (tmp_path / "here").rename(tmp_path / "there")
    receipt = memory.add("The dog is called Odo.")
    assert receipt.state == "failed"
    assert "if its folder was moved, close it and open it there" in receipt.reason
    with pytest.raises(StitchError):
        memory.close()
    with open_memory(tmp_path / "there") as moved:
        said = [entry.step.content for entry in moved.steps("notes")]
    assert said == ["The cat is called Mina.", "The dog is called Odo."]


def test_a_question_is_at_most_as_long_as_a_step(memory):
    with pytest.raises(StitchError, match="at most 1000000 characters"):
        memory.search("ferry " * 200_000)

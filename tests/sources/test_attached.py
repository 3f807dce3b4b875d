"""Images, sounds and files in what files hold: named with size and digest, as in messages that are given."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from stitch.core import SourcedStep, Step
from stitch.sources import FileSource
from stitch.sources.given import steps_of_messages

PIXELS = b"\x89PNG\r\n" + bytes(range(256)) * 4
PACKED = base64.b64encode(PIXELS).decode()
DIGEST = sha256(PIXELS).hexdigest()
SEEN = f"image/png, {len(PIXELS)} bytes, sha256 {DIGEST[:16]}"
URL = f"data:image/png;base64,{PACKED}"
SAID = {"type": "text", "text": "What is this?"}

MESSAGES: dict[str, dict[str, Any]] = {
    "OpenAI": {"role": "user", "content": [SAID, {"type": "image_url", "image_url": {"url": URL}}]},
    "OpenAI responses": {
        "type": "message", "role": "user",
        "content": [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": URL}],
    },
    "Anthropic": {
        "role": "user",
        "content": [
            SAID, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PACKED}},
        ],
    },
    "Gemini": {
        "role": "user",
        "parts": [{"text": "What is this?"}, {"inlineData": {"mimeType": "image/png", "data": PACKED}}],
    },
    "what a tool gave": {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": [
                SAID, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PACKED}},
            ]},
        ],
    },
}  # fmt: skip

RECORDS: dict[str, Any] = {
    "a lone message": lambda message: message,
    "a list of messages": lambda message: {"messages": [message]},
    "a session": lambda message: {
        "type": "user", "sessionId": "s", "uuid": "u", "timestamp": "2026-03-01T10:00:00Z", "message": message,
    },
}  # fmt: skip


def read(folder: Path, record: Any) -> list[Step]:
    path = folder / "log.jsonl"
    path.write_text(json.dumps(record) + "\n")
    items = list(FileSource(str(path)))
    assert all(isinstance(item, SourcedStep) for item in items), items
    return [item.step for item in items if isinstance(item, SourcedStep)]


@pytest.mark.parametrize("envelope", RECORDS)
@pytest.mark.parametrize("provider", MESSAGES)
def test_what_is_attached_in_a_file_is_named_as_in_messages_that_a_program_holds(
    provider: str, envelope: str, tmp_path: Path
) -> None:
    message = MESSAGES[provider]
    steps = read(tmp_path, RECORDS[envelope](message))
    assert [each.content for each in steps] == [each.content for each in steps_of_messages([message])]
    assert any(f"[image: {SEEN}]" in each.content for each in steps)
    assert "What is this?" in steps[0].content
    kept = "".join(each.model_dump_json() for each in steps)
    assert PACKED[:40] not in kept
    assert DIGEST in kept or DIGEST[:16] in kept


def test_a_file_that_lies_elsewhere_is_named_by_its_place(tmp_path: Path) -> None:
    content = [SAID, {"type": "image_url", "image_url": {"url": "https://example.org/plan.png"}}]
    [step] = read(tmp_path, {"role": "user", "content": content})
    assert "[image https://example.org/plan.png]" in step.content


@pytest.mark.parametrize(
    "record",
    [
        {"type": "file", "role": "user", "content": "a.txt", "url": "https://example.org"},
        {"type": "image_generation", "role": "assistant", "content": "It is drawn.", "id": "i"},
    ],
)
def test_a_record_is_no_attachment_whatever_it_calls_itself(record: dict[str, Any], tmp_path: Path) -> None:
    [step] = read(tmp_path, record)
    assert step.content == record["content"]


def test_a_sound_says_its_words_and_what_it_is(tmp_path: Path) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": PACKED, "format": "wav", "transcript": "Hello there."}}
    [step] = read(tmp_path, {"role": "user", "content": [sound]})
    said, named = step.content.splitlines()
    assert (said, named.startswith("[audio: wav, ")) == ("Hello there.", True)

"""A request is read as its prompts, and a text is made a reply, in one way wherever a model is stood in for."""

from __future__ import annotations

from pathlib import Path

from dspy import lm15

from stitch.lm.replies import (
    KeptReplies,
    asking_again,
    decode_reply,
    digest_of,
    encode_reply,
    reply_of,
    text_of,
)


def test_a_reply_is_the_same_after_it_was_kept() -> None:
    reply = reply_of('{"answer": "hôtel"}', model="m", finish_reason="length", usage=(12, None))
    again = decode_reply(encode_reply(reply), model="m")
    assert again == reply
    assert (text_of(again), again.finish_reason) == ('{"answer": "hôtel"}', "length")
    assert (again.usage.input_tokens, again.usage.output_tokens) == (12, None)


def test_a_reply_that_was_kept_survives_a_line_that_is_torn_and_a_further_try_has_its_own(tmp_path: Path) -> None:
    request = lm15.Request(model="m", messages=(lm15.Message.user("Q"),))
    first = digest_of(request)
    with asking_again(), asking_again():
        third = digest_of(request)
    assert len({first, third}) == 2
    file = tmp_path / "kept" / "replies.jsonl"
    KeptReplies(file).keep(first, b"one")
    with file.open("ab") as lines:
        lines.write(b'{"id": "to')
    KeptReplies(file).keep(third, b"three")
    kept = KeptReplies(file)
    assert (kept.get(first), kept.get(third), kept.get(b"other")) == (b"one", b"three", None)

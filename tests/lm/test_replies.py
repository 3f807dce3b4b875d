"""A request is read as its prompts, and a text is made a reply, in one way wherever a model is stood in for."""

from __future__ import annotations

from dspy import lm15

from stitch.lm.replies import decode_reply, encode_reply, prompt_of, reply_of, text_of


def test_a_request_is_its_system_prompt_and_all_its_messages_in_order() -> None:
    messages = (lm15.Message.user("Q1\n"), lm15.Message.assistant("A1\n"), lm15.Message.user("Q2"))
    request = lm15.Request(model="m", messages=messages, system="Answer.")
    assert prompt_of(request) == ("Answer.", "Q1\nA1\nQ2")


def test_a_system_prompt_in_parts_is_joined_and_none_is_empty() -> None:
    parts = (lm15.TextPart("Answer "), lm15.TextPart("shortly."))
    asked = (lm15.Message.user("Q"),)
    assert prompt_of(lm15.Request(model="m", messages=asked, system=parts)) == ("Answer shortly.", "Q")
    assert prompt_of(lm15.Request(model="m", messages=asked)) == ("", "Q")


def test_a_reply_is_the_same_after_it_was_kept() -> None:
    reply = reply_of('{"answer": "hôtel"}', model="m", finish_reason="length", usage=(12, None))
    again = decode_reply(encode_reply(reply), model="m")
    assert again == reply
    assert (text_of(again), again.finish_reason) == ('{"answer": "hôtel"}', "length")
    assert (again.usage.input_tokens, again.usage.output_tokens) == (12, None)

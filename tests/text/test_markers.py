"""What begins or ends something in a prompt is known by its class, and made harmless."""

from __future__ import annotations

import json

import pytest

from stitch.text.markers import Quoted, escape_unseen, harmless, harmless_json, seen


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<|im_start|>", "&lt;|im_start|>"),
        ("a <memory> b", "a &lt;memory> b"),
        ("< /step>", "&lt; /step>"),
        ("<-- theme -->", "&lt;-- theme -->"),
        ("<_memory", "&lt;_memory"),
        ("< < < step", "< < &lt; step"),
        ("<s>", "&lt;s>"),
        ("</user>", "&lt;/user>"),
        ("<start_of_turn>", "&lt;start_of_turn>"),
        ("[INST]", "&#91;INST]"),
        ("[|user|]", "&#91;|user|]"),
        ("[[ ## x ## ]]", "&#91;[ ## x ## ]]"),
        ("[e~[", "&#91;e~["),
        ("a[INST]", "a&#91;INST]"),
        ("[TOOL_CALLS]", "&#91;TOOL_CALLS]"),
        ("[BOS](x)", "&#91;BOS](x)"),
        ("[user] hello", "&#91;user] hello"),
        ("]~b]", "&#93;~b]"),
        ("]!d~[", "&#93;!d~["),
        ("\uff1c|x", "&lt;|x"),
        ("\u3010inst\u3011", "&#91;inst\u3011"),
        ("<\uff4demory", "&lt;\uff4demory"),
        ("<m\u00e9mory id=1>", "&lt;m\u00e9mory id=1>"),
        ("<" + "." * 200 + "step", "&lt;" + "." * 200 + "step"),
    ],
)
def test_the_first_sign_of_a_marker_is_escaped(text: str, shown: str) -> None:
    assert harmless(text) == shown
    assert json.loads(harmless_json(json.dumps(text, ensure_ascii=False))) == text
    assert harmless_json(text) != text


@pytest.mark.parametrize(
    "text",
    [
        "<b>", "a < b", "[1]", "c[0]", "]", "<memoryx>", "<html>", "plain", "a | b", "<usera>", "Dear [first_name],",
        "rows[user]", "rows[0][user]", "f(x)[args]", "![img](x.png)", "[[wiki_link]]", "[main_thread] up", "a|b [|]",
        "frame[~frame.a]", "[a~b]", "y[i] ~ x", "vector<std::string>", "used < memory_limit", "x < step_size",
    ],
)  # fmt: skip
def test_what_is_no_marker_stays(text: str) -> None:
    assert harmless(text) == text == harmless_json(text)


def test_what_nobody_sees_is_left_out_and_each_line_break_is_one() -> None:
    assert seen("a\r\nb\rc\u2028d\u200be\u200c\u200df\u200cg\x00h\u00e9") == "a\nb\nc\nd" + "ef\u200cgh\u00e9"
    assert seen("a\tb\nc") == "a\tb\nc"
    assert seen("a\rb\x01") == "a\nb"


def test_what_nobody_sees_may_be_written_as_an_escape() -> None:
    assert escape_unseen("a\u200b\x85\x01\n\t", escape=lambda sign: f"<{ord(sign)}>") == "a<8203><133><1>\n\t"
    assert escape_unseen("a\x01", escape=lambda sign: "?") == "a?"
    assert harmless_json('"\u200b\U000e0041\x01"') == '"\\u200b\\udb40\\udc41\\u0001"'


def test_lists_are_made_harmless_and_what_is_quoted_or_no_text_stays() -> None:
    assert harmless(("<s>", [3, "x", Quoted("<memory>")])) == ["&lt;s>", [3, "x", "<memory>"]]
    quoted = harmless(Quoted("<memory>"))
    assert (quoted, type(quoted)) == ("<memory>", str)
    assert harmless(None) is None

"""What begins or ends something in a prompt is known by its class, and made harmless."""

from __future__ import annotations

from stitch.text.markers import Quoted, escape_unseen, harmless, harmless_json, seen


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

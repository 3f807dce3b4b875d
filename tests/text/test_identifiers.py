"""Identifiers: which words programs hand on, and under which forms they are known again."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from stitch.text.identifiers import FINDER, FORMS

WRITTEN = """
Word word WORD Error KeyError aTimeout foo_bar __init__ camelCase HTTPServer 7 12 123 1234 a1 R-2026 #41 # @ /
// . .. ~ - : , ; ! ? ( ) () " ' [ ] { } = | < > ` _ é http https:// ann example org main py etc e.g
"""
PARTS = st.sampled_from(WRITTEN.split()) | st.sampled_from([" ", "  ", "\n", "\t"])


@given(parts=st.lists(PARTS | st.characters(max_codepoint=0x2FF), max_size=24))
def test_plain_words_that_are_passed_over_hold_no_identifier(parts):
    text = "".join(parts)
    assert [match.span() for match in FINDER.finditer(text) if match.lastgroup is not None] == [
        match.span() for match in re.finditer(FORMS, text, re.VERBOSE)
    ]

"""Identifiers: which words programs hand on, and under which forms they are known again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stitch.text.identifiers import FINDER, FORMS, handles, identifiers


def found(text: str) -> list[tuple[str, str]]:
    return [(each.kind, each.value) for each in identifiers(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://example.org/a?b=1. And", [("url", "https://example.org/a?b=1")]),
        ("write to ann@example.org", [("email", "ann@example.org")]),
        ("in /etc/acpi/power.sh or src/app/", [("path", "/etc/acpi/power.sh"), ("path", "src/app")]),
        ("it raised foo.bar.KeyError", [("exception", "foo.bar.KeyError")]),
        ("open main.py, e.g. there", [("file", "main.py")]),
        ("call login_timeout() first", [("function", "login_timeout")]),
        ("snake_case, camelCase and __init__", [("name", "snake_case"), ("name", "camelCase"), ("name", "__init__")]),
        ("order R-2026-0071 is #41", [("key", "R-2026-0071"), ("key", "#41")]),
        ("ab1 and #7", [("key", "ab1")]),
        ("the 12th of v2 in 10ms", []),
        ("4411 of 441", [("number", "4411")]),
        ("no identifier at all", []),
        ("main.py main.py", [("file", "main.py")]),
    ],
)
def test_an_identifier_has_the_kind_of_its_shape(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("/etc/acpi/Power.sh", ("/etc/acpi/power.sh", "etc/acpi/", "power.sh")),
        ("~/a/b", ("~/a/b", "a/b/", "b")),
        ("../x", ("../x", "x")),
        ("/usr", ("/usr", "usr")),
        ("https://Example.org/a", ("https://example.org/a", "example.org")),
        ("https://example.org?a=1", ("https://example.org?a=1", "example.org")),
        ("Main.py", ("main.py",)),
        ("R-2026", ("r-2026",)),
    ],
)
def test_a_path_is_known_by_its_folder_and_its_last_part_and_an_address_by_its_host(
    text: str, forms: tuple[str, ...]
) -> None:
    (identifier,) = identifiers(text)
    assert handles(identifier) == forms


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

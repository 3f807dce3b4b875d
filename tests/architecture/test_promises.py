"""Each promise of the page of security, and each command of the page of correcting, is held by tests, named here."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TABLES = json.loads((Path(__file__).parent / "promises.json").read_text(encoding="utf-8"))
PROMISES = _TABLES["promises"]
"""By the beginning of a promise, the tests that would fail if it were not kept."""
COMMANDS = _TABLES["commands"]
"""The same of the commands that are shown above them."""


def section(page: str, heading: str) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text.split(f"## {heading}\n")[1].split("\n## ")[0]


def promises() -> list[str]:
    return [
        " ".join(item.split())
        for item in re.findall(r"^- (.*(?:\n  .*)*)", section("security.md", "What is promised"), re.MULTILINE)
    ]


def test_every_promise_has_tests() -> None:
    said = promises()
    assert len(said) == len(PROMISES)
    assert [item for item in said if not item.startswith(tuple(PROMISES))] == []


def test_every_command_for_operating_has_tests() -> None:
    shown = re.findall(r"^stitch (.*)$", section("correcting.md", "Look after a memory"), re.MULTILINE)
    assert len(shown) == len(COMMANDS)
    assert [line for line in shown if not line.startswith(tuple(COMMANDS))] == []


def test_the_tests_of_promises_are_there() -> None:
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {name for names in (*PROMISES.values(), *COMMANDS.values()) for name in names} - defined == set()

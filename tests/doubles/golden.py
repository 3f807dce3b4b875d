"""Golden files: what somebody looked at once, and what is said ever after is compared with.

STITCH_TEST_GOLDEN=write writes them anew, after a change that is meant.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path


def compare(file: Path, text: str) -> None:
    if os.environ.get("STITCH_TEST_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def asked_in(file: Path) -> list[str]:
    """The lines of a file that stand at its edge: what is asked."""
    return [line for line in file.read_text(encoding="utf-8").split("\n") if line and not line.startswith("    ")]


def compare_answers(file: Path, answer: Callable[[str], Sequence[str]]) -> None:
    """Ask each line at the edge of a file; what is indented below it is its answer."""
    lines = []
    for asked in asked_in(file):
        lines += [asked, *(f"    {line}" for line in answer(asked))]
    compare(file, "\n".join(lines) + "\n")


def compare_phrases(file: Path, read: Callable[[str, str], str]) -> None:
    """The same of phrases with one line of answer: a tilde is behind what is known of one, \\n is a line break."""

    def answer(asked: str) -> list[str]:
        about, _, text = asked.rpartition(" ~ ")
        return [read(about, text.replace("\\n", "\n")).rstrip() or "nothing"]

    compare_answers(file, answer)

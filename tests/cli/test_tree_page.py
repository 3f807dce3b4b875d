"""What the first page shows of trees is what is printed."""

import io
import re
import shlex
import sys
from pathlib import Path

from stitch.bench.samples import outline

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_commands_of_the_section_on_trees_print_what_stands_below_them(run, monkeypatch):
    section = README.read_text(encoding="utf-8").split("\n## Trees\n")[1].split("\n## ")[0]
    [block] = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    Path("porto.md").write_text(outline())
    shown = [each.split("\n", 1) for each in block.split("$ ") if each]
    assert sum("tree select" in command for command, _ in shown) >= 3
    for command, output in shown:
        said, _, command = command.rpartition(" | ") if command.startswith("echo ") else ("", "", command)
        if said:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(shlex.split(said)[1].encode())))
        code, out, err = run(*shlex.split(command)[1:])
        assert (code, out) == (0, output), (command, err)

"""Memories as methods of the benchmark."""

from __future__ import annotations

import re
from pathlib import Path

from stitch import open_memory
from stitch.bench.memories import found_in


def test_contexts_of_a_run_hold_no_clock_of_the_run(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        text = 'The hotel costs $120 <step recorded="then">, recorded="2020-01-01 10:00".'
        memory.add_many([{"role": "user", "content": text}, {"role": "user", "content": "Fine."}], trajectory="t")
        result = memory.search("What does the hotel cost?")
    shown = found_in(result, milliseconds=1.0).context or ""
    assert re.search(r"<step 0 user recorded \d+ \w+ \d{4}(?: \d\d:\d\d)? in t", result.context())
    assert "<step 0 user in t" in shown
    assert 'recorded="then"' in shown
    assert 'recorded="2020-01-01 10:00"' in shown

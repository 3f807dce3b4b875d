"""The description of what is served reads as its golden file, so that a change that clients notice is seen.

Run with STITCH_TEST_GOLDEN=write to write the file after a change that is meant.
"""

import json
import os
from pathlib import Path

import pytest

from stitch.api.operations import OPERATIONS
from stitch.serve.openapi import describe

GOLDEN = Path(__file__).parent / "openapi.json"


@pytest.fixture(scope="module")
def described():
    return describe(OPERATIONS.values(), keyed=True)


def test_the_description_reads_as_its_golden_file(described):
    text = json.dumps(described, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("STITCH_TEST_GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_what_is_served_is_what_is_described(serving, described):
    served = serving().get("/openapi.json").json
    assert "security" not in served  # it asks for no key
    assert {**served, "security": described["security"]} == described

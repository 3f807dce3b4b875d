"""The description of what is served reads as its golden file, so that a change that clients notice is seen."""

import json
from pathlib import Path

import pytest

from doubles.golden import compare
from stitch.api.operations import OPERATIONS
from stitch.serve.openapi import describe


@pytest.fixture(scope="module")
def described():
    return describe(OPERATIONS.values(), keyed=True)


def test_the_description_reads_as_its_golden_file(described):
    compare(Path(__file__).parent / "openapi.json", json.dumps(described, indent=1, ensure_ascii=False) + "\n")


def test_what_is_served_is_what_is_described(serving, described):
    served = serving().get("/openapi.json").json
    assert "security" not in served  # it asks for no key
    assert {**served, "security": described["security"]} == described

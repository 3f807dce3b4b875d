"""The names of the package."""

import pytest

import stitch.embed


def test_every_name_loads_and_is_listed():
    for name in stitch.embed.__all__:
        assert getattr(stitch.embed, name).__name__ == name
    assert dir(stitch.embed) == sorted(stitch.embed.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'stitch\.embed' has no attribute 'Nothing'"):
        _ = stitch.embed.Nothing

"""A folder that holds no memory."""

import pytest

from stitch import StitchError, open_memory


def test_a_memory_that_must_exist_is_not_made(tmp_path):
    with pytest.raises(StitchError):
        open_memory(tmp_path / "none", must_exist=True)
    assert not (tmp_path / "none").exists()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"x")
    (tmp_path / "journal.sqlite").write_bytes(b"no database")
    with pytest.raises(StitchError):
        open_memory(tmp_path)
    assert (tmp_path / "journal.sqlite").read_bytes() == b"no database"

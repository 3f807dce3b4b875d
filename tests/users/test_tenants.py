"""Names of tenants, a second opener, and a folder that holds no memory."""

import json

import pytest

from stitch import StitchError, open_memory


@pytest.mark.parametrize("name", ["", "a/b\0", "x" * 10_000])
def test_a_name_that_is_none_is_no_tenant(tmp_path, name):
    with pytest.raises(StitchError):
        open_memory(tmp_path / "m", tenant=name)


def test_a_memory_is_shared_with_whoever_opens_it_next(memory, stitch):
    status, out, err = stitch("status", "--memory", memory.folder, "--json")
    if status:
        assert "open" in err or "use" in err
    else:
        assert json.loads(out)["stored"] == 8


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

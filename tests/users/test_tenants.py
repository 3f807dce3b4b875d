"""Tenants of one folder, a second opener, and a folder that only can be read."""

from __future__ import annotations

import json
import stat
from typing import Any

import pytest

from stitch import StitchError, open_memory, open_tenants
from stitch.lifecycle.selection import Selector

ANN, BEA = "The violin is in the attic.", "The tuba is in the cellar."


@pytest.fixture
def both(tmp_path):
    with open_tenants(tmp_path / "m") as tenants:
        for name, said in (("ann", ANN), ("bea", BEA)):
            tenants.memory(name).add({"role": "user", "content": said, "id": "1"}, trajectory="home")
        yield tenants


def test_a_tenant_finds_nothing_of_another(both):
    assert "violin" in both.memory("ann").search("Where is the instrument?").context()
    for question in ("the violin", "Where is the instrument?"):
        assert "violin" not in both.memory("bea").search(question, min_share=0).context()


def test_ids_and_trajectories_of_tenants_are_their_own(both):
    assert both.memory("ann").get("home", "1").step.content == ANN
    assert both.memory("bea").get("home", "1").step.content == BEA
    assert sorted(both.names()) == ["ann", "bea"]


def test_labels_and_themes_of_tenants_are_their_own(both):
    for name, foreign in (("ann", "tuba"), ("bea", "violin")):
        memory = both.memory(name)
        assert foreign not in memory.inventory().model_dump_json()
        assert foreign not in json.dumps([theme.name for theme in memory.themes()])


def test_exports_of_tenants_are_their_own(both):
    assert "tuba" not in "".join(both.memory("ann").lifecycle.export())


def test_erasing_all_of_a_tenant_leaves_the_other(both):
    both.memory("ann").lifecycle.erase(Selector(everything=True))
    assert both.memory("ann").status().stored == 0
    assert "tuba" in both.memory("bea").search("the tuba").context()


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


def test_files_are_their_users_alone(memory):
    memory.flush()
    assert stat.S_IMODE(memory.folder.stat().st_mode) == 0o700
    for path in memory.folder.glob("*.sqlite*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


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


def test_a_setting_that_there_is_not_is_refused_by_name(tmp_path):
    settings: dict[str, Any] = {"colour": "red"}
    with pytest.raises((StitchError, TypeError), match="colour"):
        open_memory(tmp_path / "m", **settings)


def test_settings_come_from_a_file_and_the_environment(tmp_path, monkeypatch):
    (tmp_path / "stitch.yaml").write_text("k: 1\n")
    with open_memory(tmp_path / "m", config=tmp_path / "stitch.yaml") as memory:
        memory.add_many([{"role": "user", "content": f"The lamp {n} is green."} for n in range(3)], trajectory="t")
        assert len(memory.search("the lamp").hits) == 1
    monkeypatch.setenv("STITCH_K", "2")
    with open_memory(tmp_path / "m") as memory:
        assert len(memory.search("the lamp").hits) == 2
    with open_memory(tmp_path / "m", k=3) as memory:
        assert len(memory.search("the lamp").hits) == 3

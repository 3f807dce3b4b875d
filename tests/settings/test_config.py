"""Settings: who wins, where a value came from, and what a wrong one says."""

from pathlib import Path

import pytest
import yaml

from stitch.config import Settings, load_settings, plain_values
from stitch.errors import SettingsError

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "configs").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in Settings.model_fields:
        monkeypatch.delenv(f"STITCH_{name.upper()}", raising=False)
    monkeypatch.delenv("STITCH_CONFIG", raising=False)


def test_arguments_win_over_environment_over_file_over_defaults(tmp_path, monkeypatch):
    file = tmp_path / "s.yaml"
    file.write_text("k: 1\ntenant: file\nbudget_tokens: 100\n")
    monkeypatch.setenv("STITCH_K", "2")
    monkeypatch.setenv("STITCH_TENANT", "environment")
    settings, origins = load_settings(file, k=3, collection=None)
    assert (settings.k, settings.tenant, settings.budget_tokens, settings.collection) == (
        3,
        "environment",
        100,
        "stitch",
    )
    assert origins["k"] == "argument"
    assert origins["tenant"] == "environment STITCH_TENANT"
    assert origins["budget_tokens"] == f"file {file}"
    assert origins["collection"] == "default"
    assert set(origins) == set(Settings.model_fields)


def test_the_file_may_be_named_by_the_environment(tmp_path, monkeypatch):
    file = tmp_path / "s.yaml"
    file.write_text("# nothing set\n")
    monkeypatch.setenv("STITCH_CONFIG", str(file))
    assert load_settings().settings == Settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k: many", r"setting 'k' \(from file .*s\.yaml\): input should be a valid integer"),
        ("colour: red", r"'colour' \(from file .*s\.yaml\) is no setting"),
        ("- k", "holds no settings"),
        ("k: [", "cannot read settings"),
        ("k: 3\nk: 4", "it says 'k' twice"),
        ("retention: [{older_than_day: 3, action: retire}]", r"'retention\.0\.older_than_day' .* is no setting"),
        ("retention: [{older_than_days: soon, action: retire}]", r"'retention\.0\.older_than_days' .* valid number"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path, text, message):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load_settings(file)


def test_a_missing_file_and_a_wrong_variable_are_named(tmp_path, monkeypatch):
    with pytest.raises(SettingsError, match=r"none\.yaml"):
        load_settings(tmp_path / "none.yaml")
    monkeypatch.setenv("STITCH_LABELS", "magic")
    with pytest.raises(SettingsError, match=r"'labels' \(from environment STITCH_LABELS\)"):
        load_settings()


def test_of_a_file_without_end_no_more_is_read_than_settings_have(tmp_path):
    endless = tmp_path / "endless.yaml"
    with endless.open("wb") as file:
        file.truncate(2**32)
    with pytest.raises(SettingsError, match="more than 4,194,304 characters"):
        load_settings(endless)


def test_keys_do_not_show():
    assert "sesame" not in repr(load_settings(qdrant_key="sesame").settings)


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.name)
def test_every_shipped_file_is_valid_and_opens_with_its_command(file):
    load_settings(file)
    assert "stitch " in file.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize("name", ["QDRANT", "RETENTION", "SERVE"])
@pytest.mark.parametrize("text", ["many", "", "{", "[" * 100_000])
def test_a_variable_of_several_parts_that_is_no_json_is_told_in_one_line(monkeypatch, name, text):
    monkeypatch.setenv(f"STITCH_{name}", text)
    with pytest.raises(SettingsError, match=f"STITCH_{name} holds no JSON") as refused:
        load_settings()
    assert "stitch config --json" in refused.value.hint


def test_the_environment_is_read_once_and_not_when_settings_are_made_of_values(monkeypatch):
    monkeypatch.setenv("STITCH_K", "2")
    assert load_settings().settings.k == 2
    assert Settings().k is None


def test_there_are_shipped_files():
    assert len(CONFIGS) >= 4


def test_a_variable_that_names_no_setting_is_refused_and_the_nearest_one_told(monkeypatch):
    monkeypatch.setenv("STITCH_TENNANT", "ann")
    with pytest.raises(SettingsError, match="STITCH_TENNANT names no setting") as refused:
        load_settings()
    assert "STITCH_TENANT?" in refused.value.hint
    monkeypatch.delenv("STITCH_TENNANT")
    monkeypatch.setenv("STITCH_TEST_ROUNDS", "3")
    assert load_settings().settings == Settings()


@pytest.mark.parametrize("memory", ["", " "])
def test_a_memory_of_no_name_is_none_and_not_the_folder_one_is_in(memory):
    with pytest.raises(SettingsError, match="no memory is named"):
        _ = load_settings(memory=memory).location


@pytest.mark.parametrize(
    "places", [{"memory": "qdrant://db:6333"}, {"memory": "http://a, ftp://b"}, {"journal": "mysql://db"}]
)
def test_a_url_that_nobody_reads_is_no_folder(places):
    with pytest.raises(SettingsError, match=r"(qdrant|ftp|mysql):// is none of"):
        load_settings(**places)


def test_the_values_of_settings_are_plain(monkeypatch):
    monkeypatch.setenv("STITCH_QDRANT_KEY", "very-secret")
    values = plain_values(load_settings(retention=[{"older_than_days": 3, "action": "erase"}]).settings)
    assert (values["density"], values["qdrant_key"], values["model_key"]) == ("values", "(set)", None)
    assert values["retention"] == [{"older_than_days": 3.0, "action": "erase", "event_type": None}]
    assert set(values) == set(Settings.model_fields)


@pytest.mark.parametrize("text", ["k: " + "[" * 700 + "]" * 700, "k: " + "9" * 50_000, "? " * 3_000 + "a"])
def test_a_file_made_to_break_the_reader_is_told_of_in_one_line(tmp_path, text):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match="cannot read settings from") as caught:
        load_settings(file)
    assert len(str(caught.value)) < 1_000
    assert "\n" not in caught.value.message


def test_a_cluster_is_named_by_a_list_and_what_its_collection_is_made_like_by_a_section(tmp_path, monkeypatch):
    file = tmp_path / "s.yaml"
    file.write_text("memory: [http://a:6333, http://b:6333]\nqdrant: {shard_number: 6, replication_factor: 2}\n")
    settings = load_settings(file).settings
    assert settings.memory == "http://a:6333,http://b:6333"
    assert (settings.qdrant.shard_number, settings.qdrant.replication_factor) == (6, 2)
    monkeypatch.setenv("STITCH_QDRANT", '{"write_ordering": "strong"}')
    assert load_settings().settings.qdrant.write_ordering == "strong"
    monkeypatch.setenv("STITCH_QDRANT", '{"shards": 6}')
    with pytest.raises(SettingsError, match=r"'qdrant.shards' \(from environment STITCH_QDRANT\)"):
        load_settings()


def test_the_file_of_this_machine_alone_says_the_defaults():
    said = yaml.safe_load(next(file for file in CONFIGS if file.name == "local.yaml").read_text())
    assert said.items() <= Settings().model_dump().items()

"""The memory as a user of the library meets it."""

from __future__ import annotations

import pytest

from doubles.observing import RecordingObserver
from stitch import Step, open_memory, open_tenants
from stitch.config import Settings
from stitch.core import Searched, StepsAccepted, StepsStored
from stitch.errors import (
    InputError,
    ScopeError,
    SettingsError,
    StoreMismatchError,
)
from stitch.maintenance import backup_memory, export_memory

STEPS = [
    Step(role="user", content="Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall."),
    Step(role="user", content="How much is the first restaurant I raised for day 1's breakfast?"),
    Step(role="assistant", content="It is priced at around $76.22."),
    Step(role="user", content="Now let's turn to day 2. One idea for breakfast is the Hyperion Horizon."),
    Step(role="user", content="How much is it?"),
    Step(role="assistant", content="It is priced at around $31.50."),
]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"STITCH_{name.upper()}", raising=False)


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "m") as opened:
        yield opened


def test_a_retriever_of_the_settings_that_is_not_there_is_named_when_the_memory_opens(tmp_path):
    with pytest.raises(SettingsError, match="no retriever 'magic'") as error:
        open_memory(tmp_path / "m", retriever="magic")
    assert error.value.hint == "one of intent, themes, auto, dense, lexical, hybrid"


def test_observers_hear_what_happens(tmp_path):
    observer = RecordingObserver()
    with open_memory(tmp_path / "m", observers=[observer]) as memory:
        memory.add(STEPS[0], trajectory="t")
        memory.search("breakfast")
    kinds = [type(event) for event in observer.events]
    assert [kind for kind in kinds if kind in (StepsAccepted, StepsStored, Searched)] == [
        StepsAccepted, StepsStored, Searched,
    ]  # fmt: skip


def test_a_memory_of_another_embedder_is_refused_with_the_way_out(tmp_path, monkeypatch):
    from stitch.embed import HashingEmbedder
    from stitch.store import QdrantStore

    embedder = HashingEmbedder()
    QdrantStore(tmp_path / "m", embedder_name=embedder.name, dimension=embedder.dimension).close()
    with pytest.raises(StoreMismatchError, match=embedder.name) as error:
        open_memory(tmp_path / "m")
    assert "stitch" in error.value.hint


def test_other_embedders_are_one_setting_away(tmp_path):
    with pytest.raises(SettingsError, match="length of the vectors"):
        open_memory(tmp_path / "m", embedder="openai/some-model")
    with open_memory(
        tmp_path / "m", embedder="openai/some-model", embedder_dimension=8, embedder_url="http://127.0.0.1:9",
        embedder_key="none",
    ) as memory:  # fmt: skip
        assert "some-model" in memory.status().embedder


@pytest.mark.parametrize("wrong", [{"retriever": "nearest"}, {"labels": "model"}, {"embedder": "openai/any"}])
def test_a_failed_open_leaves_no_folder_behind_and_nothing_locked(tmp_path, wrong):
    folder = tmp_path / "new" / "m"
    with pytest.raises(SettingsError):
        open_memory(folder, **wrong)
    assert list(tmp_path.iterdir()) == []
    with open_memory(folder):
        pass


def test_what_would_look_like_an_answer_is_refused(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(role="user", content="Let's plan day 1."), trajectory="trip")
        with pytest.raises(InputError, match="no trajectory 'trap' in this memory") as refused:
            memory.search("day 1", trajectory="trap")
        assert "'trip'" in refused.value.hint
        for wrong in ("tomorrow", "", "2026-13-45", float("nan"), 1e300):
            with pytest.raises(InputError, match="asked_at"):
                memory.search("day 1", asked_at=wrong)
        for right in ("2026-03-01", "8 May 2023", 1_700_000_000, "1700000000"):
            assert memory.search("day 1", asked_at=right).hits


ODD = [
    "vic\x07tim",
    " victim",
    "victim ",
    "victim\n",
    "vic\x00tim",
    "\x85victim",
    "vic\u2028tim",
    "\tvictim",
    "",
    " ",
    "\ud800",
]


@pytest.mark.parametrize("tenant", ODD)
def test_a_tenant_whose_name_would_have_to_be_cleaned_is_refused_everywhere(tmp_path, tenant):
    with open_tenants(tmp_path / "m") as tenants:
        tenants.memory("victim").add(Step(role="user", content="My own secret plan."), trajectory="t")
        with pytest.raises(ScopeError):
            tenants.memory(tenant)
        ingestor = tenants.memory("victim")._ingestor
        with pytest.raises(ScopeError):
            ingestor.add(Step(role="user", content="x"), tenant=tenant, trajectory="t")
    with pytest.raises(ScopeError):
        open_memory(tmp_path / "m", tenant=tenant)
    for copy in (lambda: list(export_memory(tmp_path / "m", tenant=tenant)),
                 lambda: backup_memory(tmp_path / "m", to=tmp_path / "b", tenant=tenant)):  # fmt: skip
        with pytest.raises(ScopeError):
            copy()
    assert not (tmp_path / "b").exists()


def test_a_number_of_steps_in_the_settings_holds_where_a_search_names_none(tmp_path):
    with open_memory(tmp_path / "m", k=3) as memory:
        memory.add_many(STEPS, trajectory="trip-1")
        assert len(memory.search("breakfast").hits) == 3
        assert len(memory.search("breakfast", k=4).hits) == 4

"""The memory as a user of the library meets it."""

import pytest

from stitch import Step, open_memory, open_tenants
from stitch.errors import ScopeError, SettingsError
from stitch.maintenance import backup_memory, export_memory

STEPS = [
    Step(role="user", content="Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall."),
    Step(role="user", content="How much is the first restaurant I raised for day 1's breakfast?"),
    Step(role="assistant", content="It is priced at around $76.22."),
    Step(role="user", content="Now let's turn to day 2. One idea for breakfast is the Hyperion Horizon."),
    Step(role="user", content="How much is it?"),
    Step(role="assistant", content="It is priced at around $31.50."),
]


def test_a_retriever_of_the_settings_that_is_not_there_is_named_when_the_memory_opens(tmp_path):
    with pytest.raises(SettingsError, match="no retriever 'magic'") as error:
        open_memory(tmp_path / "m", retriever="magic")
    assert error.value.hint == "one of intent, themes, auto, dense, lexical, hybrid"


@pytest.mark.parametrize("wrong", [{"retriever": "nearest"}, {"labels": "model"}, {"embedder": "openai/any"}])
def test_a_failed_open_leaves_no_folder_behind_and_nothing_locked(tmp_path, wrong):
    folder = tmp_path / "new" / "m"
    with pytest.raises(SettingsError):
        open_memory(folder, **wrong)
    assert list(tmp_path.iterdir()) == []
    with open_memory(folder):
        pass


ODD = [
    "vic\x07tim", " victim", "victim ", "victim\n", "vic\x00tim", "\x85victim", "vic\u2028tim", "\tvictim", "", " ",
    "\ud800",
]  # fmt: skip


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

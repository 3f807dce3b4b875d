"""A memory behaves as Python programmers expect: contexts, sequences, times, and types that find a misspelling."""

import inspect

import pytest

import stitch.factory
from stitch import Memory, Step, open_memory
from stitch.config import Settings
from stitch.errors import InputError, SettingsError
from stitch.settings_overrides import GivenSettings

STEPS = [Step(role="user", content=f"The hotel in {city} costs {price} euros.", id=f"s{price}")
         for city, price in (("Porto", 80), ("Faro", 60), ("<b>Braga</b>", 40))]  # fmt: skip


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "m") as opened:
        opened.add_many(STEPS, trajectory="trip")
        yield opened


def test_each_method_for_asyncio_has_the_options_of_the_other_one() -> None:
    alike = "add add_many add_each add_messages search ask why why_not select get delete inventory themes trajectories"
    for name in f"{alike} status recalls retry finish flush close".split():
        other = getattr(Memory, f"a{name}")
        assert inspect.iscoroutinefunction(other)
        assert inspect.signature(other) == inspect.signature(getattr(Memory, name))
        assert (other.__name__, other.__doc__) == (f"a{name}", f"As `{name}`, with the same options, for asyncio.")
    for name, method in inspect.getmembers(Memory, inspect.isfunction):
        if not name.startswith("_"):
            for each in inspect.signature(method).parameters.values():
                typed = str(each.annotation).startswith("Unpack[")
                assert typed or each.kind is not inspect.Parameter.VAR_KEYWORD, f"{name} swallows what is misspelled"


def test_a_result_is_a_sequence_of_its_hits(memory) -> None:
    result = memory.search("What does the hotel in Porto cost?", k=2)
    assert list(result) == list(result.hits)
    assert (len(result), result[0], result[-1:]) == (2, result.hits[0], result.hits[1:])
    assert result[0] in result
    assert not memory.search("hotel", k=2, min_trust="high", as_of=0.0)


def test_in_a_notebook_a_result_is_a_table_in_which_texts_are_texts(memory) -> None:
    shown = memory.search("What does the hotel in <b>Braga</b> cost?")._repr_html_()
    assert shown.count("<tr>") == 4
    assert "<b>Braga" not in shown
    assert "&lt;b&gt;Braga&lt;/b&gt;" in shown
    long = memory.add(Step(role="user", content="hotel " * 200), trajectory="trip")
    assert "…" in memory.search("hotel " * 20, k=4)._repr_html_()
    assert long.position == 3


def test_a_misspelled_setting_is_told_with_the_one_that_is_meant(tmp_path) -> None:
    with pytest.raises(SettingsError, match="'budget_token' \\(from argument\\) is no setting") as error:
        open_memory(tmp_path / "m", budget_token=5)  # type: ignore[call-arg]
    assert error.value.hint == "do you mean 'budget_tokens'?"
    with pytest.raises(SettingsError) as error:
        open_memory(tmp_path / "m", xyzzy=5)  # type: ignore[call-arg]
    assert error.value.hint == "`stitch config` lists the settings"


def test_the_types_of_settings_name_all_of_them() -> None:
    assert set(GivenSettings.__annotations__) == set(Settings.model_fields) - {"memory", "tenant"}
    for opening in (stitch.factory.open_memory, stitch.factory.open_tenants):
        assert opening.__annotations__["settings"] == "Unpack[GivenSettings]"


def test_in_a_notebook_labels_are_tables_and_scopes_are_lanes(memory) -> None:
    memory.add({"role": "user", "content": "Now <i>day 2</i>: which train?"}, trajectory="<b>home</b>")
    assert '<td style="text-align:left">trip</td>' in memory._repr_html_()
    assert "&lt;b&gt;home&lt;/b&gt;" in memory._repr_html_()
    shown = memory.inventory()._repr_html_()
    assert shown.count("<svg") == 2
    assert shown.count("<rect") == sum(len(scope.spans) for scope in memory.inventory().scopes)
    assert "<b>home" not in shown
    labels = memory.get("trip", "s80").labels
    assert all(value in labels.intent._repr_html_() for _, value in labels.intent.labels())


def test_arguments_of_other_memories_are_refused_with_what_to_write(memory) -> None:
    for call in (
        lambda: memory.add("hello", user_id="ann"),
        lambda: memory.search("hotel", user_id="ann"),
        lambda: memory.delete("s80", agent_id="x"),
    ):
        with pytest.raises(InputError, match="no call takes") as refused:
            call()
        assert "tenant=" in refused.value.hint
        assert "open_tenants" in refused.value.hint
    with pytest.raises(SettingsError) as wrong:
        open_memory(memory.folder, user_id="ann")  # type: ignore[call-arg]
    assert "tenant" in wrong.value.hint

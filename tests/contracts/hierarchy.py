"""What every hierarchy of themes must do: subclass `HierarchyContract`, give it a `read` fixture, run pytest."""

from collections.abc import Callable

import pytest

from doubles.journaling import MemoryJournal
from stitch.core import Moment, Step, Trust
from stitch.journal import Journal
from stitch.themes.reading import Themes

Read = Callable[[Journal], Themes]
"""From a journal to the hierarchy of its tenant `a`, as it is now."""

SAID = (
    ("user", "I bought a blue tent for the mountain trip."),
    ("assistant", "The mountain trip begins on Friday with a long hike."),
    ("user", "My sister Anna plays the violin in an orchestra."),
    ("tool", "The orchestra of Anna gives a concert in Berlin."),
)


class HierarchyContract:
    """The tests every hierarchy passes. A subclass gives a fixture `read`."""

    @pytest.fixture
    def journal(self) -> MemoryJournal:
        journal = MemoryJournal()
        for trajectory in "tu":
            for number, (role, text) in enumerate(SAID):
                step = Step(role=role, content=text, id=f"s{number}", timestamp=1_000.0 + number)
                journal.append_many([step], tenant="a", trajectory=trajectory, recorded=100.0 + number)
        return journal

    def test_every_statement_is_in_one_theme_and_one_episode(self, read: Read, journal: MemoryJournal) -> None:
        hierarchy = read(journal)
        placed = [name for theme in hierarchy.themes() for name in theme.statements]
        assert len(placed) == len(set(placed)) == 2 * len(SAID)
        for name in placed:
            statement, theme = hierarchy.statement(name), hierarchy.theme_of(name)
            assert statement is not None
            assert theme is not None
            assert name in theme.statements
            assert list(hierarchy.theme_ids([name, "x"])) == [theme.id, None]
            assert theme.medoid in theme.statements
            assert hierarchy.theme(theme.id) == theme
            episode = hierarchy.episode(statement.episode)
            assert episode is not None
            assert statement.steps[-1] in episode.steps
            own = hierarchy.statements_of_step(statement.trajectory, statement.steps[-1])
            assert statement in own

    def test_episodes_have_all_steps_of_a_trajectory_in_order(self, read: Read, journal: MemoryJournal) -> None:
        steps = [step for episode in read(journal).episodes("t") for step in episode.steps]
        assert steps == [f"s{number}" for number in range(len(SAID))]

    def test_what_is_nearest_comes_first_and_only_what_is_asked_for(self, read: Read, journal: MemoryJournal) -> None:
        hierarchy = read(journal)
        names, vectors = hierarchy.statement_vectors()
        for name, vector in zip(names, vectors, strict=True):
            found = hierarchy.nearest(vector, limit=3)
            assert [each.similarity for each in found] == sorted((each.similarity for each in found), reverse=True)
            asked = hierarchy.statement(name)
            assert asked is not None
            assert found[0].similarity == pytest.approx(1.0, abs=1e-4)
            assert found[0].statement.text == asked.text
        there = hierarchy.nearest(vectors[0], limit=100, trajectory="t", min_trust=Trust.MEDIUM)
        assert {each.statement.trajectory for each in there} == {"t"}
        assert {each.statement.speaker for each in there} == {"user", "assistant"}
        assert len(hierarchy.nearest(vectors[0], limit=100, as_of=Moment(100.5))) == 2

    def test_neighbors_are_there_and_those_of_themes_on_both_sides(self, read: Read, journal: MemoryJournal) -> None:
        hierarchy = read(journal)
        ids = {theme.id for theme in hierarchy.themes()}
        assert set(hierarchy.theme_vectors()[0]) == ids
        for theme in ids:
            for near in hierarchy.theme_neighbors(theme):
                assert near.id in ids - {theme}
                assert theme in {each.id for each in hierarchy.theme_neighbors(near.id)}
        for name in hierarchy.statement_vectors()[0]:
            assert name not in {near.id for near in hierarchy.neighbors(name)}
            assert all(hierarchy.statement(near.id) is not None for near in hierarchy.neighbors(name))

    def test_what_is_not_there_is_nothing_and_no_error(self, read: Read) -> None:
        hierarchy = read(MemoryJournal())
        assert list(hierarchy.themes()) == []
        assert list(hierarchy.episodes("t")) == []
        assert hierarchy.statements_of_step("t", "s") == []
        assert list(map(list, hierarchy.said_in([("t", "s")]))) == [[]]
        assert hierarchy.statement("s") is None
        assert hierarchy.episode("e") is None
        assert (hierarchy.theme("t1"), hierarchy.theme("x"), hierarchy.theme_of("s")) == (None, None, None)
        assert hierarchy.neighbors("s") == hierarchy.theme_neighbors("t1") == hierarchy.theme_neighbors("x") == []

"""What trees do, however the memory is held that has them: in this process, in another, or by a server."""

from pathlib import Path

import pytest

from stitch.errors import ConflictError, EditRefusedError, InputError, SettingsError
from stitch.memory import Memory
from stitch.trees import Add, Delete, Move, Node, Replace, SetField, Trees, VersionedTree

PLAN = {
    "type": "Plan", "id": "p",
    "children": [
        {"type": "Day", "id": "d1", "fields": {"index": "1"}, "children": [
            {"type": "POI", "id": "zoo", "fields": {"name": "Butterfly house", "cost": "CAD 40"}},
            {"type": "POI", "id": "park", "fields": {"name": "Quiet park", "cost": "CAD 5"}},
        ]},
        {"type": "Day", "id": "d2", "fields": {"index": "2"}, "children": [
            {"type": "POI", "id": "pier", "fields": {"name": "Old pier", "cost": "CAD 12"}},
        ]},
    ],
}  # fmt: skip


class TreesContract:
    """Derive from it, and give a fixture `memory`: one that holds nothing, and is written by nobody else meanwhile."""

    @pytest.fixture
    def trip(self, memory: Memory) -> VersionedTree:
        return memory.trees.create("trip", PLAN, message="first plan", author="ann", time="2026-03-01T10:00")

    def test_a_tree_is_made_of_a_value_or_a_file_and_opened_by_its_name(self, memory: Memory, tmp_path: Path) -> None:
        assert isinstance(memory.trees, Trees)
        made = memory.trees.create("trip", PLAN, message="first plan")
        assert isinstance(made, VersionedTree)
        assert (made.name, made.version, made.branch, made.branches) == ("trip", "v1", "main", {"main": "v1"})
        assert [node.id for node in made.tree] == ["p", "d1", "zoo", "park", "d2", "pier"]
        (tmp_path / "todo.md").write_text("# Home\n- Paint the fence\n- Water the plants\n")
        memory.trees.create("todo", tmp_path / "todo.md")
        again = memory.trees.open("todo")
        assert again.tree == memory.trees.open("todo").tree
        assert memory.trees.names() == ["trip", "todo"]
        with pytest.raises(InputError, match="there is a tree 'trip'"):
            memory.trees.create("trip", PLAN)
        with pytest.raises(InputError, match="no tree 'none'"):
            memory.trees.open("none")
        with pytest.raises(InputError, match="no branch 'cheap'"):
            memory.trees.open("trip", branch="cheap")
        with pytest.raises(InputError):
            memory.trees.create("", PLAN)

    def test_trees_are_listed_with_what_they_hold(self, memory: Memory, trip: VersionedTree) -> None:
        trip.edit([SetField("zoo", "cost", "CAD 30")], message="cheaper", author="bob")
        [summary] = memory.trees.list()
        assert summary == memory.trees.summary("trip")
        assert (summary.name, summary.version, summary.versions, summary.branches, summary.nodes) == (
            "trip", "v2", 2, 1, 6,
        )  # fmt: skip
        assert (dict(summary.types), summary.author, summary.message) == (
            {"Plan": 1, "Day": 2, "POI": 3}, "bob", "cheaper",
        )  # fmt: skip
        with pytest.raises(InputError):
            memory.trees.summary("none")

    def test_operations_are_done_all_or_none_and_are_a_commit(self, memory: Memory, trip: VersionedTree) -> None:
        commit = trip.edit(
            [
                SetField("zoo", "cost", "CAD 30"),
                Move("park", parent="d2"),
                Delete("pier"),
                Add("d1", Node("cafe", "POI", fields={"name": "Corner cafe"})),
                {"op": "set", "id": "d1", "field": "index", "value": "one"},
            ],
            message="cheaper",
            author="ann",
        )
        assert (commit.id, commit.parent, commit.author, commit.message) == ("v2", "v1", "ann", "cheaper")
        assert [each["op"] for each in commit.operations] == ["set", "move", "delete", "add", "set"]
        assert trip.version == "v2"
        assert [node.id for node in trip.tree] == ["p", "d1", "zoo", "cafe", "d2", "park"]
        with pytest.raises(EditRefusedError):
            trip.edit([SetField("zoo", "cost", "CAD 1"), Delete("nothing")])
        with pytest.raises(InputError, match="nothing to commit"):
            trip.edit([])
        trip.edit([Replace("cafe", {"type": "POI", "fields": {"name": "Tea house"}})])
        assert memory.trees.open("trip").tree == trip.tree
        assert trip.tree.node("zoo").fields["cost"] == "CAD 30"

    def test_the_history_can_be_read_compared_and_gone_back_to(self, trip: VersionedTree) -> None:
        trip.edit([SetField("zoo", "cost", "CAD 30")], message="cheaper", time="2026-03-02T10:00")
        trip.edit([Delete("pier")], message="no pier", time="2026-03-03T10:00")
        assert [(each.id, each.message) for each in trip.history()] == [
            ("v1", "first plan"), ("v2", "cheaper"), ("v3", "no pier"),
        ]  # fmt: skip
        assert trip.history()[0].time.startswith("2026-03-01T10:00")
        assert [node.id for node in trip.at("v1").tree][-1] == "pier"
        assert trip.at("2026-03-02T12:00").id == "v2"
        assert trip.at("v1").schema.dump() == trip.schema.dump()
        changed = trip.diff("v1")
        assert [place.node.id for place in changed.removed] == ["pier"]
        assert [(each.node.id, each.field, each.old, each.new) for each in changed.changed] == [
            ("zoo", "cost", "CAD 40", "CAD 30")
        ]
        assert not trip.diff("v3", "v3")
        commit = trip.revert("v1", author="bob")
        assert (commit.id, trip.tree == trip.at("v1").tree) == ("v4", True)
        with pytest.raises(InputError, match="nothing to revert"):
            trip.revert("v1")
        with pytest.raises(InputError, match="no version 'v9'"):
            trip.at("v9")

    def test_a_branch_goes_its_own_way(self, memory: Memory, trip: VersionedTree) -> None:
        cheap = trip.begin_branch("cheap")
        cheap.edit([Delete("zoo")], message="no house")
        assert (cheap.branch, cheap.version, trip.version) == ("cheap", "v2", "v1")
        assert "zoo" in memory.trees.open("trip").tree
        assert "zoo" not in memory.trees.open("trip", branch="cheap").tree
        assert trip.branches == {"main": "v1", "cheap": "v2"}
        trip.edit([SetField("zoo", "cost", "CAD 1")])
        assert (trip.version, [each.id for each in cheap.history()]) == ("v3", ["v1", "v2"])
        assert [each.id for each in trip.all_commits()] == ["v1", "v2", "v3"]
        assert trip.begin_branch("old", at="v1").version == "v1"
        with pytest.raises(InputError, match="has a branch"):
            trip.begin_branch("cheap")

    def test_who_comes_second_is_told_of_the_first(self, memory: Memory, trip: VersionedTree) -> None:
        other = memory.trees.open("trip")
        other.edit([SetField("zoo", "cost", "CAD 30")], message="cheaper", author="bob")
        assert trip.version == "v1"
        assert trip.tree.node("zoo").fields["cost"] == "CAD 40"
        for change in (
            lambda: trip.edit([SetField("zoo", "cost", "CAD 20")]),
            lambda: trip.edit_all([{"operations": [{"op": "delete", "id": "zoo"}]}]),
            lambda: trip.set_schema(None),
        ):
            with pytest.raises(ConflictError, match=r"v2 by 'bob' \(cheaper\)"):
                change()
        assert trip.reload().version == "v2"
        trip.edit([SetField("zoo", "cost", "CAD 20")])
        assert trip.version == "v3"

    def test_a_file_of_commits_is_taken_in_once(self, trip: VersionedTree) -> None:
        commits = [
            {"operations": [{"op": "set", "id": "zoo", "field": "cost", "value": "CAD 30"}], "message": "cheaper"},
            {"operations": [{"op": "delete", "id": "pier"}], "author": "bob"},
        ]
        assert [each.id for each in trip.edit_all(commits)] == ["v2", "v3"]
        assert [each.author for each in trip.history()] == ["ann", "person", "bob"]
        again = [each.dump() for each in trip.history()]
        assert (trip.edit_all(again), trip.edit_all([]), trip.version) == ([], [], "v3")
        with pytest.raises(InputError, match="does not say its operations"):
            trip.edit_all([{"message": "nothing"}])

    def test_a_schema_guards_edits_and_can_be_another(self, trip: VersionedTree) -> None:
        inferred = trip.schema.dump()
        definition = {
            "root": "Plan",
            "types": {
                "Plan": {"children": ["Day"]},
                "Day": {"children": ["POI"], "fields": {"index": {}}},
                "POI": {"fields": {"name": {"required": True}, "cost": "money"}},
            },
        }
        commit = trip.set_schema(definition)
        assert (commit.id, trip.schema.dump() == inferred) == ("v2", False)
        with pytest.raises(EditRefusedError, match="cost"):
            trip.edit([SetField("zoo", "cost", "much")])
        with pytest.raises(InputError):
            trip.set_schema({"root": "Nothing"})
        trip.set_schema(None)
        assert trip.version == "v3"

    def test_nodes_are_found_by_path_queries_in_one_version_or_all(self, memory: Memory, trip: VersionedTree) -> None:
        trip.edit([SetField("zoo", "cost", "CAD 8")], message="cheaper")
        found = trip.select("//POI[@cost <= 10]")
        assert (found.ids, len(found), found[0].rank) == (("zoo", "park"), 2, 1)
        assert (found[0].path, found[0].type, dict(found[0].fields)) == (
            "/Plan/Day[1]/POI[1]", "POI", {"name": "Butterfly house", "cost": "CAD 8"},
        )  # fmt: skip
        assert trip.select("//POI[@cost <= 10]", version="v1").ids == ("park",)
        assert trip.at("v1").select("//POI[@cost <= 10]").ids == ("park",)
        assert trip.select('//POI[node ~= "a place with animals"]', k=1, scorer="lexical").as_json()["query"]
        assert "POI" in trip.select("//POI[@cost > 1000]").explain()
        for every in (
            trip.select('/Version[message ~= "cheaper"]//POI[@cost <= 10]'),
            memory.trees.select("/Version//POI[@cost <= 10]", tree="trip"),
            memory.trees.select("/Version//POI[@cost <= 10]"),
        ):
            assert set(every.ids) <= {"zoo", "park"}
            assert every[0].versions
        assert trip.asks_versions("/Version//POI")
        assert not trip.asks_versions("//POI")
        early = memory.trees.select("/Version//POI[@cost <= 10]", as_of="2026-03-01T12:00")
        assert {node.version for node in early} <= {"v1", "trip v1"}
        for query in ("//POI[", "//Hotel"):
            with pytest.raises(InputError):
                trip.select(query)
        with pytest.raises(InputError, match="no tree 'none'"):
            memory.trees.select("//POI", tree="none")

    def test_steps_are_found_by_path_queries(self, memory: Memory) -> None:
        memory.add({"role": "user", "content": "The login fails with an error."}, trajectory="work")
        memory.add({"role": "assistant", "content": "I have mended it."}, trajectory="work")
        found = memory.select('//Step[@role = "user"]', trajectory="work")
        assert [node.fields["text"] for node in found] == ["The login fails with an error."]
        assert memory.select("//Step", k=1).explain()
        with pytest.raises(InputError, match="no trajectory 'none'"):
            memory.select("//Step", trajectory="none")

    @pytest.mark.parametrize("form", ["xml", "json", "yaml", "outline"])
    def test_a_version_is_written_in_each_format(self, memory: Memory, trip: VersionedTree, tmp_path: Path,
                                                 form: str) -> None:  # fmt: skip
        (tmp_path / "plan").write_text(trip.export(form))
        memory.trees.create("copy", tmp_path / "plan", form=form)
        assert memory.trees.open("copy").export("xml") == trip.at("v1").export("xml") or form == "outline"

    def test_an_edit_can_leave_a_step_in_a_trajectory(self, memory: Memory, trip: VersionedTree) -> None:
        trip.edit([SetField("zoo", "cost", "CAD 30")], message="cheaper", trajectory="talk")
        trip.revert("v1", trajectory="talk")
        assert [entry.id for entry in memory.steps("talk")] == ["trip@v2", "trip@v3"]

    def test_secrets_are_taken_out_of_what_comes_in(self, trip: VersionedTree) -> None:
        commit = trip.edit([SetField("zoo", "name", "Key sk-abcdefghijklmnopqrstuvwxyz123456")])
        assert "sk-abcdef" not in str(commit)
        assert sum(commit.redacted.values()) == 1
        assert "sk-abcdef" not in trip.tree.node("zoo").fields["name"]

    def test_an_erased_tree_is_gone_with_proof_and_its_name_is_free(self, memory: Memory, trip: VersionedTree) -> None:
        trip.edit([SetField("zoo", "cost", "CAD 30")])
        erased = memory.trees.delete("trip")
        assert (erased.trees, erased.versions, erased.proof.found) == (1, 2, ())
        assert memory.trees.names() == []
        with pytest.raises(InputError, match=r"no tree 'trip'|was deleted"):
            trip.reload()
        with pytest.raises(InputError, match="no tree 'trip'"):
            memory.trees.delete("trip")
        assert memory.trees.create("trip", {"type": "Plan", "id": "q"}).tree.root.id == "q"

    def test_a_node_or_a_version_is_erased_from_the_whole_history(self, memory: Memory, trip: VersionedTree) -> None:
        trip.edit([SetField("zoo", "name", "Aviary of parrots")])
        trip.edit([SetField("zoo", "name", "Library"), SetField("pier", "cost", "CAD 10")])
        erased = memory.trees.erase("trip", versions=["v2"])
        assert (erased.nodes, erased.versions, erased.messages, erased.proof.found) == ((), ("v2",), (), ())
        erased = memory.trees.erase("trip", nodes=["zoo"])
        assert (erased.nodes, erased.versions, erased.proof.found) == (("zoo",), (), ())
        again = memory.trees.open("trip")
        assert [commit.id for commit in again.history()] == ["v1", "v3"]
        assert all("zoo" not in again.at(version).tree for version in ("v1", "v3"))
        assert again.tree.node("pier").fields["cost"] == "CAD 10"
        with pytest.raises(InputError, match="nothing to erase is named"):
            memory.trees.erase("trip")
        with pytest.raises(InputError, match="has a node 'none'"):
            memory.trees.erase("trip", nodes=["none"])

    def test_a_tree_is_asked_as_it_was_at_a_time(self, trip: VersionedTree) -> None:
        trip.edit([Delete("zoo")])
        assert trip.select("//POI[@id = 'zoo']").ids == ()
        assert trip.select("//POI[@id = 'zoo']", as_of="2026-03-02").ids == ("zoo",)
        assert trip.select("/Version", as_of="2026-03-02").ids == ("v1",)
        with pytest.raises(InputError, match="either a version or a time"):
            trip.select("//POI", version="v1", as_of="2026-03-02")
        with pytest.raises(InputError, match="had no version at"):
            trip.select("//POI", as_of="1999-01-01")

    def test_a_request_in_words_needs_a_model(self, trip: VersionedTree) -> None:
        with pytest.raises(SettingsError) as refused:
            trip.ask("What does the butterfly house cost?")
        assert "//" in refused.value.hint
        with pytest.raises(SettingsError):
            trip.request("Make it cheaper", confirm=True)

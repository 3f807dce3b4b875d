"""`stitch tree`: what is printed, what is refused, and what other programs read."""

import json
from pathlib import Path

import pytest

from doubles.golden import compare_answers

XML = """<Plan id="p"><Day id="d1" index="1"><POI id="zoo" name="Zoo" cost="CAD 40"/>
<POI id="park" name="Quiet park" cost="CAD 5"/></Day><Day id="d2" index="2"><POI id="pier" cost="CAD 12"/></Day>
</Plan>"""
M = ("--memory", "m")


@pytest.fixture
def trip(run):
    Path("trip.xml").write_text(XML)
    assert run("tree", "create", "trip", "trip.xml", *M, "--message", "first plan", "--time", "2026-03-01")[0] == 0
    return "trip"


@pytest.fixture
def edit(run, trip):
    def call(*operations, **options):
        Path("ops.jsonl").write_text("\n".join(map(json.dumps, operations)))
        told = [each for name, value in options.items() for each in (f"--{name}", value)]
        return run("tree", "edit", "trip", "ops.jsonl", *M, *told)

    return call


def rename(node, name, **more):
    return {"op": "set", "id": node, "field": "name", "value": name, **more}


def printed(run, *arguments):
    code, out, err = run("tree", *arguments, *M, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_what_is_wrong_is_said_in_one_line_and_what_to_do(run, trip):
    def said(line):
        code, out, err = run("tree", *line.split(), *M)
        assert (code, out) == (2, "")
        assert err.count("\n") <= 2
        return err.splitlines()

    compare_answers(Path(__file__).parent / "wrong_calls.txt", said)


def test_edits_are_shown_as_what_they_change(run, edit):
    code, out, _ = edit(rename("zoo", "Museum"), {"op": "delete", "id": "d2"}, message="why", author="ann")
    assert (code, out) == (
        0,
        (
            "tree trip is at v2\n- Day d2 with 1 below it /Plan/Day[2] (d2)\n"
            "~ POI 'Museum' name: 'Zoo' to 'Museum' (zoo)\n"
        ),
    )
    told = printed(run, "log", "trip")
    assert [(each["version"], each["author"], each["message"]) for each in told["commits"]] == [
        ("v1", "person", "first plan"),
        ("v2", "ann", "why"),
    ]
    assert told["commits"][1]["operations"][0]["old"] == "Zoo"
    log = run("tree", "log", "trip", *M)[1].splitlines()
    assert log[0].startswith("v2  20")
    assert log[0].endswith("  ann  (2 operations)")
    assert log[1:] == ["    why", "v1  2026-03-01  person  (the whole tree)", "    first plan"]


def test_an_edit_onto_an_older_version_is_a_conflict_that_names_the_newer(run, edit):
    assert edit(rename("zoo", "Museum"), onto="v1", author="bob", message="museum")[0] == 0
    code, _, err = edit(rename("zoo", "Fair"), onto="v1")
    assert (code, "v2 by 'bob' (museum) came after v1" in err) == (4, True)


def test_operations_come_as_a_history_as_a_list_or_alone(run, trip):
    history = [
        {"version": "v1", "parent": None, "message": "first plan", "operations": []},
        {"version": "v2", "parent": "v1", "time": "2026-03-02", "author": "bob", "message": "m",
         "operations": [rename("zoo", "Museum")]},
    ]  # fmt: skip
    Path("h.jsonl").write_text("\n".join(map(json.dumps, history)) + "\n\n")
    told = printed(run, "edit", "trip", "h.jsonl")
    assert (told["tree"], told["version"], told["commits"][0]["author"]) == ("trip", "v2", "bob")
    assert told["changes"]["changed"][0]["new"] == "Museum"
    assert "nothing to commit" in run("tree", "edit", "trip", "h.jsonl", *M)[2]
    Path("list.json").write_text(json.dumps([rename("zoo", "Fair"), rename("park", "Lawn")]))
    assert printed(run, "edit", "trip", "list.json")["version"] == "v3"
    Path("one.json").write_text(json.dumps({"message": "alone", "operations": [rename("zoo", "Pool")]}))
    assert printed(run, "edit", "trip", "one.json", "--trajectory", "talk")["commits"][0]["message"] == "alone"
    assert "Edited the tree 'trip' (version v4): alone" in run("show", "--steps", *M)[1]


def test_a_node_or_a_version_alone_is_erased_from_the_history(run, edit):
    edit(rename("zoo", "Unspeakable place"), message="off to the Unspeakable place")
    edit(rename("zoo", "Library"))
    code, out, _ = run("tree", "delete", "trip", "--version", "v2", *M)
    assert code == 0
    assert out.startswith("erased from tree trip: 0 nodes, 1 versions\nproof: ")
    assert [each["version"] for each in printed(run, "log", "trip")["commits"]] == ["v1", "v3"]
    told = printed(run, "delete", "trip", "--node", "zoo")
    assert (told["nodes"], told["versions"], told["proof"]["found"]) == (["zoo"], 0, [])
    assert "Library" not in run("tree", "export", "trip", "--version", "v3", *M)[1]
    assert run("verify", *M)[0] == 0

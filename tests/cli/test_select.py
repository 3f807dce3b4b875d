"""`stitch select`: the memory of steps, asked by a path query."""

import json

import pytest

from stitch import Step, open_memory


@pytest.fixture
def folder(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(role="user", content="The login page shows an error."), trajectory="run")
        memory.add(Step(role="user", content="Water the plants."), trajectory="home")
    return str(tmp_path / "m")


def test_the_command_finds_steps(folder, run):
    status, out, _ = run("select", '//Step[@role = "user"][1]', "--memory", folder, "--json")
    told = json.loads(out)
    assert (status, told["canonical"]) == (0, '//Step[@role = "user"][1]')
    assert sorted(node["id"] for node in told["nodes"]) == ["home/0", "run/0"]
    assert set(told) == {"query", "canonical", "nodes", "considered", "milliseconds", "trace"}


def test_the_command_explains_and_so_does_an_empty_result(folder, run):
    status, out, _ = run("select", "//Step[1]", "--trajectory", "home", "--memory", folder, "--explain")
    assert status == 0
    assert "(home/0)  1.00" in out
    assert "//Step" in out
    status, out, err = run("select", '//Step[@role = "nobody"]', "--memory", folder)
    assert (status, out) == (0, "")
    assert "nothing is found" in err


def test_the_command_refuses_what_it_cannot_read_and_what_is_not_there(folder, run):
    status, _, err = run("select", "//Stp", "--memory", folder)
    assert status == 2
    assert "did you mean Step" in err
    status, _, err = run("select", "//Step[", "--memory", folder)
    assert (status, "at character 8" in err) == (2, True)
    status, _, err = run("select", "//Step", "--trajectory", "nowhere", "--memory", folder)
    assert (status, "nowhere" in err) == (2, True)

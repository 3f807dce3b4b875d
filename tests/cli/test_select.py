"""`stitch select`: the memory of steps, asked by a path query."""

import pytest

from stitch import Step, open_memory


@pytest.fixture
def folder(tmp_path):
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(role="user", content="The login page shows an error."), trajectory="run")
        memory.add(Step(role="user", content="Water the plants."), trajectory="home")
    return str(tmp_path / "m")


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


def test_themes_are_listed_and_shown_and_an_unknown_one_is_refused(folder, run):
    status, out, _ = run("themes", "--memory", folder)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["t1", "t2"]
    status, out, _ = run("themes", "show", "--memory", folder, "t1")
    assert (status, "The login page shows an error." in out) == (0, True)
    status, out, err = run("themes", "--memory", folder, "--limit", "1")
    assert (len(out.splitlines()), "--after t1" in err) == (1, True)
    status, out, err = run("themes", "--memory", folder, "--as-of", "2001-01-01T00:00")
    assert (status, out, "there are no themes as of 2001-01-01T00:00" in err) == (0, "", True)
    status, _, err = run("themes", "show", "--memory", folder, "t99")
    assert (status, "no theme 't99'" in err) == (2, True)

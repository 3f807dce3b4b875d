"""The page as files: what is served to whom, and what its scripts may not do."""

import re
import threading
from contextlib import ExitStack

import pytest

from doubles.http import Client
from stitch import open_memory
from stitch.cli.main import cli
from stitch.errors import InputError
from stitch.server.page import FOLDER

SCRIPTS = sorted(FOLDER.glob("*.js"))
MOST_BYTES = 200 * 1024


def test_the_page_loads_nothing_but_the_files_beside_it(refusing):
    page = refusing.get("/")
    assert page.headers["Content-Type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="(page/[^"]+)"', page.body.decode())
    assert {name.rpartition(".")[2] for name in named} == {"js", "css", "svg"}
    assert {f"page/{script.name}" for script in SCRIPTS} <= set(named), "each script is asked for at once"
    for path in ("/", *(f"/{name}" for name in named)):
        answer = refusing.get(path)
        assert answer.status == 200, path
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'; ")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/page/../app.py", "/page/%2e%2e/app.py", "/page/", "/page", "/page/nothing.js"])
def test_nothing_beside_these_files_is_served(refusing, path):
    assert refusing.get(path).status == 404


def test_files_are_served_without_a_key_and_nothing_else(keyed):
    [ann] = keyed(ann=["read"])
    ann.key = None
    assert (ann.get("/").status, ann.get("/page/app.js").status) == (200, 200)
    assert ann.get("/v1/about").status == 401
    assert ann.get("/page/app.js", Host="elsewhere.test").status == 200


def test_pages_elsewhere_may_not_load_them(refusing):
    assert refusing.get("/page/app.js", Host="elsewhere.test").status == 421
    assert refusing.get("/page/app.js", Origin="https://elsewhere.test").status == 403


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_text_becomes_markup_or_code(script):
    risky = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|DOMParser|srcdoc|https?://"
    assert re.findall(risky, script.read_text(encoding="utf-8")) == []


def test_scripts_are_small():
    assert sum(path.stat().st_size for path in SCRIPTS) < MOST_BYTES


@pytest.mark.parametrize("owned", [False, True], ids=["closed", "open here"])
def test_inspect_says_where_it_shows_a_memory_and_ends_in_order(begin, tmp_path, owned):
    with ExitStack() as held:
        memory = held.enter_context(open_memory(tmp_path / "m"))
        memory.add("The harbor inn costs $98.")
        if not owned:
            held.close()
        code = "from stitch.__main__ import main; main()"
        process = begin(code, "inspect", "--memory", tmp_path / "m", "--no-browser")
        late = threading.Timer(60, process.kill)
        late.start()
        said = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/ shows the memory; Ctrl-C ends it\n", process.stderr.readline())
        late.cancel()
        assert said is not None
        assert Client(said[1]).get("/v1/trajectories").json["trajectories"][0]["steps"] == 1
        process.terminate()
        process.terminate()  # whoever is in a hurry sees no traceback either
        assert (process.wait(120), process.stderr.read()) == (0, "")


def test_inspect_makes_no_memory(tmp_path):
    with pytest.raises(InputError, match="no memory at"):
        cli.main(["inspect", "--memory", str(tmp_path / "none"), "--no-browser"], standalone_mode=False)
    assert not (tmp_path / "none").exists()

"""What commands, queries, calls and written actions do."""

from __future__ import annotations

import pytest

from stitch.label.local.acts import act_of_name, acts_of_call, acts_of_script, written_action

SCRIPTS = [
    ("ls -la /tmp", [("search", "/tmp")], [("search", "/tmp")]),
    ("cat a.txt", [("read", "a.txt")], [("read", "a.txt")]),
    ("cat a.txt > b.txt", [("write", "b.txt")], [("write", "b.txt")]),
    ("cat a.txt 2>/dev/null", [("read", "a.txt")], [("read", "a.txt")]),
    ("echo hi", [("run", "")], [("run", "")]),
    ("echo hi >> notes.md", [("write", "notes.md")], [("write", "notes.md")]),
    ("export A=1", [], [("run", "")]),
    ("cd /srv && ls", [("search", "")], [("search", "")]),
    ("sudo apt-get install vim", [("install", "")], [("install", "")]),
    ("timeout 30 pytest tests/test_a.py -q", [("run", "tests/test_a.py")], [("run", "tests/test_a.py")]),
    ("python -m pytest tests", [("run", "")], [("run", "")]),
    ("python run.py", [("run", "run.py")], [("run", "run.py")]),
    ("FOO=1 make test", [], [("run", "")]),
    ("make", [("run", "")], [("run", "")]),
    ("git status", [("read", "")], [("read", "")]),
    ("git commit -am x", [("submit", "")], [("submit", "")]),
    ("git push origin main", [("submit", "")], [("submit", "")]),
    ("git diff a.py > p.diff", [("write", "p.diff")], [("write", "p.diff")]),
    ("curl https://x.org/a", [("read", "https://x.org/a")], [("read", "https://x.org/a")]),
    ("curl -X POST https://x.org/a -d 1", [("send", "https://x.org/a")], [("send", "https://x.org/a")]),
    ("wget https://x.org/a.zip", [("read", "https://x.org/a.zip")], [("read", "https://x.org/a.zip")]),
    ("sed -n 1,4p a.py", [("read", "a.py")], [("read", "a.py")]),
    ("sed -i s/a/b/ a.py", [("edit", "a.py")], [("edit", "a.py")]),
    ("sed --in-place s/a/b/ a.py", [("edit", "a.py")], [("edit", "a.py")]),
    ("perl -pi -e s/a/b/ a.py", [("edit", "a.py")], [("edit", "a.py")]),
    ("perl a.pl", [("run", "a.pl")], [("run", "a.pl")]),
    ("npm install", [("install", "")], [("install", "")]),
    ("npm test", [("run", "")], [("run", "")]),
    ("npm run build", [("run", "")], [("run", "")]),
    ("cargo build", [("run", "")], [("run", "")]),
    ("cargo test", [("run", "")], [("run", "")]),
    ("go test ./...", [("run", "")], [("run", "")]),
    ("pip install numpy", [("install", "")], [("install", "")]),
    ("rm -rf build", [("edit", "")], [("edit", "")]),
    ("mv a b.py", [("edit", "b.py")], [("edit", "b.py")]),
    ("cp a.py b.py", [("write", "b.py")], [("write", "b.py")]),
    ("mkdir x", [("write", "")], [("write", "")]),
    ("chmod +x a.sh", [("edit", "a.sh")], [("edit", "a.sh")]),
    ("grep -rn foo src/", [("search", "src/")], [("search", "src/")]),
    ("find . -name x.py", [("search", "x.py")], [("search", "x.py")]),
    ("ssh host", [("run", "")], [("run", "")]),
    ("docker run x", [("run", "")], [("run", "")]),
    ("psql -c 'select 1'", [("run", "")], [("run", "")]),
    ("vim a.py", [], [("run", "")]),
    ("kill 3", [("run", "")], [("run", "")]),
    ("# comment", [], [("run", "")]),
    ("/usr/bin/LS src/a.py", [("search", "src/a.py")], [("search", "src/a.py")]),
    ("tee out.txt", [("write", "out.txt")], [("write", "out.txt")]),
    ("tar xzf a.tgz", [("edit", "a.tgz")], [("edit", "a.tgz")]),
    ("unzip a.zip", [("edit", "a.zip")], [("edit", "a.zip")]),
    ("ps aux", [("read", "")], [("read", "")]),
    ("head -5 a.py | tail -1", [("read", "a.py")], [("read", "a.py")]),
    ("nohup python a.py &", [("run", "a.py")], [("run", "a.py")]),
    ("true", [], [("run", "")]),
    ("./run.sh", [("run", "./run.sh")], [("run", "./run.sh")]),
    ("touch a.py", [("write", "a.py")], [("write", "a.py")]),
    ("patch -p1 < a.diff", [("edit", "a.diff")], [("edit", "a.diff")]),
    ("sleep 3; ls", [], [("run", "")]),
    ("env A=1 python a.py", [("run", "a.py")], [("run", "a.py")]),
    ("SELECT name FROM sqlite_master", [("read", "")], [("read", "")]),
    ("select * from t where x=1", [("run", "")], [("run", "")]),
    ("INSERT INTO t VALUES (1)", [("edit", "")], [("edit", "")]),
    ("update t set a=1", [("edit", "")], [("edit", "")]),
    ("DELETE FROM t", [("edit", "")], [("edit", "")]),
    ("CREATE TABLE t (a int)", [("write", "")], [("write", "")]),
    ("drop table t", [("edit", "")], [("edit", "")]),
    ("show tables", [("read", "")], [("read", "")]),
    ("import os\nx = 1", [("run", "")], [("run", "")]),
    ("def f():\n  pass", [("run", "")], [("run", "")]),
    ("for x in y: print(x)", [("run", "")], [("run", "")]),
    ("hello there", [], [("run", "")]),
    ("submit", [("submit", "")], [("submit", "")]),
    (
        "cat <<EOF > a.py\nrm x\nEOF\npython a.py",
        [("write", "a.py"), ("run", "a.py")],
        [("write", "a.py"), ("run", "a.py")],
    ),
    ("echo 'rm x; ls' | grep x", [("run", "")], [("run", "")]),
    ("cd a; cd b", [("navigate", "")], [("navigate", "")]),
    ("ls; cat a.py; rm b.py", [("search", ""), ("read", "a.py")], [("search", ""), ("read", "a.py")]),
    ("git add . && git commit -m 'x; y'", [("edit", ""), ("submit", "")], [("edit", ""), ("submit", "")]),
]


@pytest.mark.parametrize(("text", "told", "run"), SCRIPTS)
def test_a_command_a_query_and_code_do_what_their_first_words_say(
    text: str, told: list[tuple[str, str]], run: list[tuple[str, str]]
) -> None:
    assert acts_of_script(text) == told
    assert acts_of_script(text, sure=True) == run


def test_a_tool_may_be_the_program_that_is_called() -> None:
    assert acts_of_script("frobnicate a.py") == []
    assert acts_of_script("frobnicate a.py", name="Frobnicate") == [("run", "a.py")]


NAMES = {
    "get_order": "read",
    "search_flights": "search",
    "update_address": "edit",
    "refund_order": "pay",
    "cancel_plan": "cancel",
    "read_file": "read",
    "open_page": "read",
    "click": "click",
    "think": "plan",
    "finish": "submit",
    "execute_bash": "run",
    "run_tests": "run",
    "write_note": "write",
    "send_mail": "send",
    "transfer_to_human": "delegate",
    "submit": "submit",
    "list_dir": "read",
    "x": "",
    "delete_user": "edit",
    "book_hotel": "book",
    "exchange_item": "edit",
    "check_status": "read",
    "do_thing": "run",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_tool_says_what_it_does(name: str) -> None:
    assert act_of_name(name) == NAMES[name]


CALLS: list[tuple[str, dict[str, object], tuple[str, str]]] = [
    ("api", {"method": "post", "url": "http://x"}, ("send", "http://x")),
    ("api", {"method": "GET", "path": "/a"}, ("read", "/a")),
    ("editor", {"command": "view", "path": "a.py"}, ("read", "a.py")),
    ("str_replace_editor", {"command": "create", "path": "a.py"}, ("write", "a.py")),
    ("bash", {"command": "cat a.py"}, ("read", "a.py")),
    ("bash", {"command": ""}, ("run", "")),
    ("sql", {"query": "SELECT * FROM t"}, ("run", "")),
    ("transfer_money", {"amount": 3, "to": "x"}, ("pay", "")),
    ("transfer_call", {"to": "x"}, ("delegate", "")),
    ("transfer_to_agent", {"summary": "x"}, ("delegate", "")),
    ("x", {"my_file": "a"}, ("call tool", "a")),
    ("x", {"element": "e", "id": "3"}, ("call tool", "e")),
    ("x", {"path": ""}, ("call tool", "")),
    ("execute", {"code": "import os\nprint(1)"}, ("run", "")),
    ("search", {"query": "select a from b"}, ("run", "")),
    ("click", {"action": "type"}, ("click", "")),
]


@pytest.mark.parametrize(("name", "arguments", "act"), CALLS)
def test_a_call_does_what_its_command_or_its_name_says(
    name: str, arguments: dict[str, object], act: tuple[str, str]
) -> None:
    assert acts_of_call(name, arguments) == [act]


WRITTEN: list[tuple[str, tuple[str, list[tuple[str, str]], str] | None, bool]] = [
    ("Thought: x\nAction: search[Blue Moon]", ("search", [("search", "Blue Moon")], "Blue Moon"), True),
    ("Action: go to cabinet 1", ("go", [("navigate", "to cabinet 1")], "go to cabinet 1"), True),
    ("Action: open fridge 1", ("open", [("use", "fridge 1")], "open fridge 1"), True),
    ("Action: look", ("look", [("read", "")], "look"), True),
    ("Action: click[Buy Now]", ("click", [("click", "Buy Now")], "Buy Now"), True),
    ("Action: python\nAction Input: print(1)", ("python", [("run", "")], "print(1)"), True),
    ("Action: ls -la", ("ls", [("search", "")], "ls -la"), True),
    ("Action: search\nAction Input: rain coats", ("search", [("search", "")], "rain coats"), True),
    ("ok ```bash\nls src\n```", ("ls", [("search", "")], "ls src"), False),
    ("```python\nprint(1)\n```", ("python", [("run", "")], "print(1)"), False),
    ("```sql\nselect 1\n```", ("select", [("run", "")], "select 1"), False),
    ("```bash\nopen a.py\n```", ("open", [("read", "a.py")], "open a.py"), False),
    ("```bash\ngoto 3\n```", ("goto", [("read", "3")], "goto 3"), False),
    ("nothing", None, False),
    ('get_user("x")', None, False),
    ('I call find_user({"id": 3})', None, False),
    ("```text\nx\n```", None, False),
    ("Action: take apple from table 1", ("take", [("move", "apple from table 1")], "take apple from table 1"), True),
    ("```bash\nscroll_down\n```", ("scroll_down", [("read", "")], "scroll_down"), False),
    ("Action: `ls`", ("ls", [("call tool", "")], "ls"), True),
]


@pytest.mark.parametrize(("text", "action", "unfenced"), WRITTEN)
def test_an_action_is_read_as_it_is_written(
    text: str, action: tuple[str, list[tuple[str, str]], str] | None, unfenced: bool
) -> None:
    found = written_action(text, fences=True)
    assert (None if found is None else (found.name, list(found.acts), found.text)) == action
    assert (written_action(text, fences=False) is not None) == unfenced


@pytest.mark.parametrize(
    ("code", "act", "on"),
    [
        ("ls -l", "search", ""), ("mytool --fast", "run", ""), ("./run.sh", "run", ""), ("open", "read", ""),
        ("goto https://x.de", "read", "https://x.de"), ("search_file x", "search", "x"),
    ],
)  # fmt: skip
def test_what_stands_in_a_fence_of_a_shell_is_run_whatever_it_is_called(code, act, on):
    action = written_action(f"I do:\n```bash\n{code}\n```", fences=True)
    assert action is not None
    assert list(action.acts) == [(act, on)]
    assert written_action(f"I do:\n```bash\n{code}\n```", fences=False) is None

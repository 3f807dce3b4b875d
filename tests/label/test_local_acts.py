"""What commands, queries, calls and written actions do."""

from __future__ import annotations

import pytest

from stitch.label.local.acts import act_of_name, acts_of_call, acts_of_script, written_action

SCRIPTS: list[tuple[str, list[tuple[str, str]]]] = [
    ("cat a.txt", [("read", "a.txt")]),
    ("cat a.txt > b.txt", [("write", "b.txt")]),
    ("cd /srv && ls", [("search", "")]),
    ("timeout 30 pytest tests/test_a.py -q", [("run", "tests/test_a.py")]),
    ("python -m pytest tests", [("run", "")]),
    ("python run.py", [("run", "run.py")]),
    ("git push origin main", [("submit", "")]),
    ("curl https://x.org/a", [("read", "https://x.org/a")]),
    ("curl -X POST https://x.org/a -d 1", [("send", "https://x.org/a")]),
    ("sed -n 1,4p a.py", [("read", "a.py")]),
    ("sed -i s/a/b/ a.py", [("edit", "a.py")]),
    ("perl -pi -e s/a/b/ a.py", [("edit", "a.py")]),
    ("pip install numpy", [("install", "")]),
    ("cp a.py b.py", [("write", "b.py")]),
    ("grep -rn foo src/", [("search", "src/")]),
    ("find . -name x.py", [("search", "x.py")]),
    ("ssh host", [("run", "")]),
    ("docker run x", [("run", "")]),
    ("psql -c 'select 1'", [("run", "")]),
    ("vim a.py", []),
    ("kill 3", [("run", "")]),
    ("# comment", []),
    ("/usr/bin/LS src/a.py", [("search", "src/a.py")]),
    ("tee out.txt", [("write", "out.txt")]),
    ("tar xzf a.tgz", [("edit", "a.tgz")]),
    ("head -5 a.py | tail -1", [("read", "a.py")]),
    ("./run.sh", [("run", "./run.sh")]),
    ("sleep 3; ls", []),
    ("SELECT name FROM sqlite_master", [("read", "")]),
    ("select * from t where x=1", [("run", "")]),
    ("INSERT INTO t VALUES (1)", [("edit", "")]),
    ("CREATE TABLE t (a int)", [("write", "")]),
    ("import os\nx = 1", [("run", "")]),
    ("hello there", []),
    ("submit", [("submit", "")]),
    ("cat <<EOF > a.py\nrm x\nEOF\npython a.py", [("write", "a.py"), ("run", "a.py")]),
    ("echo 'rm x; ls' | grep x", [("run", "")]),
    ("ls; cat a.py; rm b.py", [("search", ""), ("read", "a.py")]),
]


@pytest.mark.parametrize(("text", "told"), SCRIPTS)
def test_a_command_a_query_and_code_do_what_their_first_words_say(text: str, told: list[tuple[str, str]]) -> None:
    assert acts_of_script(text) == told
    assert acts_of_script(text, sure=True) == (told or [("run", "")])


def test_a_tool_may_be_the_program_that_is_called() -> None:
    assert acts_of_script("frobnicate a.py") == []
    assert acts_of_script("frobnicate a.py", name="Frobnicate") == [("run", "a.py")]


NAMES = {
    "get_order": "read", "search_flights": "search", "update_address": "edit", "refund_order": "pay",
    "cancel_plan": "cancel", "click": "click", "think": "plan", "finish": "submit", "run_tests": "run",
    "send_mail": "send", "transfer_to_human": "delegate", "book_hotel": "book", "check_status": "read",
}  # fmt: skip


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

"""The tools of langmem, with the store of LangGraph in a memory."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langmem")

import langmem

from stitch import open_memory
from stitch.adapters.langgraph import MemoryStore

CONFIG: Any = {"configurable": {"user": "ann"}}
SPACE = ("memories", "{user}")


def test_what_its_tools_manage_is_found_revised_and_deleted(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        store = MemoryStore(memory)
        manage = langmem.create_manage_memory_tool(SPACE, store=store)
        search = langmem.create_search_memory_tool(SPACE, store=store)
        said = manage.invoke({"content": "Ann lives in Porto.", "action": "create"}, CONFIG)
        manage.invoke({"content": "Ann's dog is called Rex.", "action": "create"}, CONFIG)
        key = said.split()[-1]
        found = json.loads(search.invoke({"query": "Where does Ann live?"}, CONFIG))
        assert found[0]["key"] == key
        assert found[0]["value"] == {"content": "Ann lives in Porto."}
        manage.invoke({"content": "Ann lives in Faro.", "action": "update", "id": key}, CONFIG)
        item = store.get(("memories", "ann"), key)
        assert item is not None
        assert item.value == {"content": "Ann lives in Faro."}
        assert store.versions(("memories", "ann"), key) == [{"content": "Ann lives in Porto."}]
        manage.invoke({"action": "delete", "id": key}, CONFIG)
        assert store.get(("memories", "ann"), key) is None
        assert len(json.loads(search.invoke({"query": "Ann"}, CONFIG))) == 1

"""`stitch serve`: REST, lines, events, keys, tools of MCP; one server without keys and one with, for all tests."""

import asyncio
import json
import re
import shlex
import uuid
from pathlib import Path

import pytest

BOOKING = [
    {"id": "ask", "role": "user", "content": "Book the Harbor Inn for day 1."},
    {"id": "cost", "role": "assistant", "content": "Done, it costs $98."},
]


@pytest.fixture
def talk(served):
    name = f"t-{uuid.uuid4()}"
    answer = served.post("/v1/steps", trajectory=name, steps=BOOKING)
    assert [receipt["state"] for receipt in answer.json["receipts"]] == ["stored", "stored"]
    return name


def test_what_is_added_is_found(served, talk):
    found = served.post("/v1/search", query="What did the hotel of day 1 cost?", trajectory=talk, k=3).json
    assert "$98" in found["context"]
    assert found["hits"]


def test_steps_are_added_and_read(served, talk):
    step = {"role": "user", "content": "The ferry leaves at 9:15.", "id": "ferry"}
    first, second = (served.post("/v1/steps", trajectory=talk, steps=[step]).json for _ in range(2))
    assert (first["receipts"][0]["repeated"], second["receipts"][0]["repeated"]) == (False, True)
    assert "9:15" in json.dumps(served.get(f"/v1/step?trajectory={talk}&step=ferry").json)
    assert "9:15" in json.dumps(served.get(f"/v1/steps?trajectory={talk}").json)


def test_messages_are_stored_once_as_a_conversation_grows(served, talk):
    messages = [{"role": "user", "content": "Is there a pool?"}, {"role": "assistant", "content": "Yes, a cold one."}]
    served.post("/v1/messages", trajectory=f"{talk}-m", messages=messages[:1])
    receipts = served.post("/v1/messages", trajectory=f"{talk}-m", messages=messages).json["receipts"]
    assert [receipt["repeated"] for receipt in receipts] == [True, False]


def test_an_id_that_is_taken_is_a_conflict(served, talk):
    served.post("/v1/steps", trajectory=talk, steps=[{"role": "user", "content": "one", "id": "x"}])
    answer = served.post("/v1/steps", trajectory=talk, steps=[{"role": "user", "content": "two", "id": "x"}])
    assert answer.status == 409


@pytest.mark.parametrize(
    "path",
    ["status", "labels", "inventory", "trajectories", "receipts", "themes", "statements", "totals",
     "trees", "recalls", "about"],
)  # fmt: skip
def test_what_is_there_is_listed(served, talk, path):
    answer = served.get(f"/v1/{path}")
    assert answer.status == 200
    assert isinstance(answer.json, dict)


def test_a_timeline_tells_scopes_and_steps(served, talk):
    assert "Harbor Inn" in json.dumps(served.get(f"/v1/timeline?trajectory={talk}").json)


def test_a_correction_has_a_history(served, talk):
    assert served.post("/v1/correct", trajectory=talk, step="cost", text="Done, it costs $89.").status == 200
    assert "$98" in json.dumps(served.get(f"/v1/history?trajectory={talk}&step=cost").json)
    assert "$89" in served.post("/v1/search", query="What did the hotel cost?", trajectory=talk).json["context"]
    assert served.post("/v1/correct", trajectory=talk, step="cost", asks=["lodging bill"]).status == 200
    assert served.post("/v1/search", query="lodging bill", trajectory=talk).json["hits"][0]["step"] == "cost"


def test_forgetting_counts_then_erases_with_proof(served, talk):
    assert served.post("/v1/forget", trajectory=talk, dry_run=True).json["steps"] == 2
    erased = served.post("/v1/forget", trajectory=talk).json
    assert (erased["steps"], erased["proof"]["found"]) == (2, [])
    assert served.post("/v1/search", query="the hotel", trajectory=talk).status != 200


def test_why_is_told(served, talk):
    answer = served.post("/v1/why", query="the hotel", step="ask", trajectory=talk)
    assert answer.status == 200
    assert served.post("/v1/why_not", query="the hotel", step="cost", trajectory=talk).status == 200


def test_trees_are_made_asked_and_edited(served):
    name = f"plan-{uuid.uuid4().hex[:8]}"
    source = '<Trip><POI id="zoo" cost="CAD 40"/><POI id="pier" cost="CAD 12"/></Trip>'
    made = served.post("/v1/trees", tree=name, text=source, form="xml")
    assert made.status == 200, made.body
    found = served.post("/v1/trees/select", tree=name, query="//POI[@cost > 20]").json
    assert [node["id"] for node in found["nodes"]] == ["zoo"]
    edit = {"op": "set", "id": "zoo", "field": "cost", "value": "CAD 4"}
    assert served.post("/v1/trees/edit", tree=name, commits=[{"operations": [edit]}]).status == 200
    assert served.post("/v1/trees/select", tree=name, query="//POI[@cost > 20]").json["nodes"] == []
    assert served.get(f"/v1/trees/log?tree={name}").json["commits"]
    assert served.post("/v1/trees/delete", tree=name).status == 200


def test_an_export_is_lines_that_are_taken_in(served, keyed, talk):
    exported = served.get(f"/v1/export?trajectory={talk}")
    bea = keyed["bea"]
    taken = bea.ask("POST", "/v1/import", exported.body, **{"Content-Type": "application/x-ndjson"})
    assert (taken.json["steps"], taken.json["rejections"]) == (2, [])


def test_maintenance_is_asked_for(served, talk):
    for path in ("flush", "verify", "retry"):
        assert served.post(f"/v1/{path}").status == 200, path


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_server_that_is_well_says_so(served, path):
    assert served.get(path).status == 200


@pytest.mark.parametrize(
    ("status", "method", "path", "body"),
    [
        ((404,), "GET", "/v1/nothing", None),
        ((405,), "GET", "/v1/search", None),
        ((400, 422), "POST", "/v1/search", "{"),
        ((400, 422), "POST", "/v1/search", {}),
        ((400, 422), "POST", "/v1/search", {"query": "x", "colour": "red"}),
        ((400, 422), "POST", "/v1/search", {"query": "x", "diverse": "true"}),
        ((400, 404, 422), "POST", "/v1/search", {"query": "x", "trajectory": "no such"}),
        ((400, 422), "POST", "/v1/steps", {"trajectory": "t", "steps": [{"role": "user"}]}),
        ((400, 413, 415, 422), "POST", "/v1/search", b"\xff\xfe"),
    ],
)
def test_what_is_wrong_is_refused_with_a_reason(served, status, method, path, body):
    headers = {} if isinstance(body, dict) or body is None else {"Content-Type": "application/json"}
    answer = served.ask(method, path, body, **headers)
    assert answer.status in status
    assert answer.json["message"]


@pytest.mark.parametrize(("path", "allowed"), [("/v1/search", "POST"), ("/v1/steps", "GET, POST")])
def test_a_method_that_is_not_taken_is_told_those_that_are(served, path, allowed):
    answer = served.ask("DELETE", path, None)
    assert (answer.headers["Allow"], answer.json["hint"]) == (allowed, f"it takes {allowed}")


def with_tools(client, scenario):
    """Run a scenario with the protocol's own client."""
    pytest.importorskip("mcp")
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def run():
        headers = {"Authorization": f"Bearer {client.key}"} if client.key else {}
        http = httpx2.AsyncClient(headers=headers)
        async with http, Client(streamable_http_client(f"{client.url}/mcp", http_client=http)) as tools:
            return await scenario(tools)

    return asyncio.run(asyncio.wait_for(run(), 120))


def test_an_agent_remembers_and_finds_by_tools(served):
    word = f"Quince{uuid.uuid4().hex[:6]}"

    async def scenario(tools):
        await tools.call_tool("remember", {"content": f"The ferry {word} leaves at 9:15.", "trajectory": word})
        return await tools.call_tool("search", {"query": f"When does the ferry {word} leave?"})

    assert "9:15" in with_tools(served, scenario).structured_content["context"]


def test_an_agent_explains_corrects_and_forgets_by_tools(served, talk):
    async def scenario(tools):
        listed = {tool.name for tool in (await tools.list_tools()).tools}
        why = await tools.call_tool("why", {"query": "the hotel", "step": "ask", "trajectory": talk})
        line = await tools.call_tool("timeline", {"trajectory": talk})
        await tools.call_tool(
            "correct", {"step": "cost", "trajectory": talk, "text": "It costs $89.", "asks": ["lodging bill"]}
        )
        found = await tools.call_tool("search", {"query": "lodging bill", "trajectory": talk, "k": 1})
        assert found.structured_content["steps"] == [f"{talk}/cost"]
        counted = await tools.call_tool("forget", {"trajectory": talk, "step": "cost"})
        gone = await tools.call_tool("forget", {"trajectory": talk, "step": "cost", "confirm": True})
        return listed, why, line, counted, gone

    listed, why, line, counted, gone = with_tools(served, scenario)
    assert listed >= {"search", "remember", "why", "timeline", "themes", "correct", "forget"}
    assert not why.is_error
    assert "Harbor Inn" in line.structured_content["context"]
    assert (counted.structured_content["done"], gone.structured_content["done"]) == (False, True)


def test_a_tool_does_what_the_key_allows(keyed):
    async def scenario(tools):
        return await tools.call_tool("remember", {"content": "hello"})

    assert with_tools(keyed["eve"], scenario).is_error


def test_the_calls_of_the_page_find_what_they_store(served):
    page = Path(__file__).resolve().parents[2] / "docs/serving.md"
    [block] = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8").split("## Over HTTP")[1], re.DOTALL)[:1]
    calls = [shlex.split(each) for each in re.split(r"^(?=curl )", block, flags=re.MULTILINE)[1:]]
    stored, found = (
        served.ask("POST", call[2].removeprefix("localhost:8765"), json.loads(call[call.index("-d") + 1])).json
        for call in calls
    )
    assert [receipt["state"] for receipt in stored["receipts"]] == ["stored", "stored"]
    assert "$98" in found["context"]

"""Tools at /mcp, spoken to by the protocol's own client: the key says whose memory it is and what may be done."""

import asyncio

import pytest

from stitch.serve.keys import ACTIONS

pytest.importorskip("mcp")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


def with_tools(client, scenario):
    """Run a scenario with a client of the protocol."""

    async def run():
        headers = {"Authorization": f"Bearer {client.key}"} if client.key else {}
        http = httpx2.AsyncClient(headers=headers)
        async with http, Client(streamable_http_client(f"{client.url}/mcp", http_client=http)) as tools:
            return await scenario(tools)

    return asyncio.run(asyncio.wait_for(run(), 30))


def test_what_a_tool_remembers_rest_finds_and_the_other_way_round(serving):
    client = serving()
    client.add("The Harbor Inn costs $98 a night.")

    async def scenario(tools):
        await tools.call_tool("remember", {"content": "The ferry leaves at 9:15.", "trajectory": "t"})
        return await tools.call_tool("search", {"query": "What does the Harbor Inn cost?"})

    found = with_tools(client, scenario)
    assert "$98" in found.structured_content["context"]
    assert client.get("/v1/status").json["stored"] == 2


def test_a_tool_does_what_the_key_allows_in_the_memory_of_its_tenant(keyed):
    ann, bea = keyed(ann=ACTIONS, bea=["read"])
    ann.add("swordfish")

    async def scenario(tools):
        found = await tools.call_tool("search", {"query": "swordfish"})
        refused = await tools.call_tool("remember", {"content": "hello"})
        return found, refused

    found, refused = with_tools(bea, scenario)
    assert found.structured_content["steps"] == []
    assert refused.is_error
    assert "does not allow 'write'" in refused.content[0].text


def test_without_a_key_the_tools_are_401(keyed):
    [ann] = keyed(ann=ACTIONS)
    ann.key = None
    assert ann.post("/mcp", {}).status == 401


def test_a_foreign_page_reaches_no_tool(serving):
    client = serving()
    assert client.post("/mcp", {}, Host="evil.example").status == 421
    assert client.post("/mcp", {}, Origin="http://evil.example").status == 403
    assert client.post("/mcp", {}).status in (400, 406)


def test_who_only_listens_does_not_keep_the_server_from_ending(serving):
    client = serving()
    connection = client.send("GET", "/mcp", Accept="text/event-stream")
    assert connection.getresponse().status in (200, 400, 405, 406)
    client.end()
    connection.close()


HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def session_of(client):
    """A session that a client opens."""
    opened = client.post("/mcp", HELLO, **ACCEPT)
    assert opened.status == 200
    return {**ACCEPT, "Mcp-Session-Id": opened.headers["mcp-session-id"]}


def test_a_session_is_there_for_the_key_alone_that_opened_it(keyed):
    ann, bea = keyed(ann=ACTIONS, bea=ACTIONS)
    session = session_of(ann)
    assert bea.post("/mcp", PING, **session).status == 404
    assert bea.ask("GET", "/mcp", **session).status == 404
    assert bea.ask("DELETE", "/mcp", **session).status == 404
    assert ann.post("/mcp", PING, **session).status == 200


def test_a_session_that_was_ended_is_gone_and_one_of_another_version_needs_none(keyed):
    [ann] = keyed(ann=ACTIONS)
    session = session_of(ann)
    assert ann.ask("DELETE", "/mcp", **session).status == 200
    assert ann.post("/mcp", PING, **session).status == 404
    told = ann.post("/mcp", PING, **ACCEPT, **{"MCP-Protocol-Version": "9999-01-01"})
    assert (told.status, b"session" in told.body.lower()) == (400, False)


def test_one_key_cannot_fill_the_server_with_sessions(keyed):
    from stitch.adapters.mcp_sessions import MOST_OF_ONE

    ann, bea = keyed(ann=ACTIONS, bea=ACTIONS)
    sessions = [session_of(ann) for _ in range(MOST_OF_ONE)]
    assert ann.post("/mcp", HELLO, **ACCEPT).status == 429
    session_of(bea)
    assert ann.ask("DELETE", "/mcp", **sessions[0]).status == 200
    session_of(ann)

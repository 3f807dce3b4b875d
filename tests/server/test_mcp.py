"""Tools at /mcp, spoken to by the protocol's own client: the key says whose memory it is and what may be done."""

import pytest

from stitch.server.keys import ACTIONS

pytest.importorskip("mcp")

from stitch.adapters.mcp import MOST_SESSIONS, McpOverHttp


@pytest.fixture
def serving(serving):
    return lambda **options: serving(mcp=McpOverHttp, **options)


def test_a_foreign_page_reaches_no_tool(serving):
    client = serving()
    assert client.post("/mcp", {}, Host="evil.example").status == 421
    assert client.post("/mcp", {}, Origin="http://evil.example").status == 403
    assert client.post("/mcp", {}).status in (400, 406)


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


def test_one_key_cannot_fill_the_server_with_sessions(keyed):
    ann, bea = keyed(ann=ACTIONS, bea=ACTIONS)
    sessions = [session_of(ann) for _ in range(MOST_SESSIONS)]
    assert ann.post("/mcp", HELLO, **ACCEPT).status == 429
    session_of(bea)
    assert ann.ask("DELETE", "/mcp", **sessions[0]).status == 200
    session_of(ann)

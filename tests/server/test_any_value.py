"""Whatever stands in a field of a request, the answer is one that is described: no operation fails of itself."""

import json

import pytest
from fastapi.testclient import TestClient

from doubles.serving import app_of
from stitch import Step, open_tenants
from stitch.server.errors import DOCUMENTED
from stitch.server.operations.operation import OPERATIONS

VALUES: tuple[object, ...] = ("\u0000", 10**30, {"a": [[]]})
GOOD = {
    "query": "hotel", "step": "0", "trajectory": "t", "tree": "plan", "theme": "t1", "version": "v1", "before": "v1",
    "steps": [{"role": "user", "content": "y"}], "messages": [{"role": "user", "content": "z"}], "replies": [],
    "to": "", "model": "m", "window_steps": 3, "commits": [{"operations": []}], "name": "n", "request": "x",
}  # fmt: skip
"""What is given for a field that is needed, where another one is tried."""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with open_tenants(tmp_path_factory.mktemp("any") / "m") as tenants:
        memory = tenants.memory("default")
        memory.add(Step(role="user", content="Book the Harbor Inn for day 1."), trajectory="t")
        with TestClient(app_of(tenants), base_url="http://localhost", raise_server_exceptions=False) as opened:
            assert opened.post("/v1/trees", json={"tree": "plan", "value": {"Trip": {"zoo": 1}}}).status_code == 200
            yield opened


def asked(client, operation, fields):
    if operation.method == "POST" and not operation.takes_lines:
        return client.post(operation.path, json=fields)
    query = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    if operation.takes_lines:
        return client.post(
            operation.path, params=query, content="{}\n", headers={"Content-Type": "application/x-ndjson"}
        )
    return client.get(operation.path, params=query)


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - {"reindex", "relabel", "verify"}))
def test_no_value_of_a_field_makes_an_operation_fail(client, name):
    operation = OPERATIONS[name]
    fields = operation.request.model_fields
    needed = {each: GOOD[each] for each, about in fields.items() if about.is_required()}
    if "dry_run" in fields:
        needed["dry_run"] = True
    for field in sorted(fields.keys() - {"dry_run"}):
        for value in VALUES:
            answer = asked(client, operation, {**needed, field: value})
            assert answer.status_code in {200, *DOCUMENTED} - {500}, (field, value, answer.text)
            if answer.status_code != 200:
                assert set(answer.json()) == {"error", "message", "hint"}

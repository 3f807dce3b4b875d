"""What can be done with a memory over HTTP, as its description says it, and by many at once."""

import json
from pathlib import Path
from typing import Any

from doubles.golden import compare
from doubles.serving import app_of
from stitch import open_tenants


def test_an_answer_that_is_long_comes_in_pieces(serving):
    client = serving()
    client.lines([{"role": "user", "content": f"step {number}"} for number in range(300)])
    exported = client.get("/v1/export")
    assert exported.headers["Content-Type"] == "application/x-ndjson"
    assert len(exported.lines) >= 300
    assert client.get("/v1/export?trajectory=none").status == 422


DESCRIPTION = Path(__file__).parent / "openapi.json"


def fields_of(schema, schemas, *, depth=3):
    """Names of the fields of a schema, with those below them."""
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    found = {}
    for name, field in schema.get("properties", {}).items():
        inner = [field, field.get("items", {}), *field.get("anyOf", ())]
        inner += [each["items"] for each in inner if isinstance(each.get("items"), dict)]
        below = [fields_of(each, schemas, depth=depth - 1) for each in inner] if depth else []
        found[name] = {key: value for each in below for key, value in each.items()}
    return found


def described_by(app):
    """Paths with what they take and give, as far as clients depend on it, whatever version the framework has."""
    whole = app.openapi()
    schemas = whole["components"]["schemas"]
    paths: dict[str, dict[str, Any]] = {}
    for path, methods in whole["paths"].items():
        for method, about in methods.items():
            contents = {
                "body": about.get("requestBody", {}).get("content", {}),
                "answer": about["responses"]["200"].get("content", {}),
            }
            paths.setdefault(path, {})[method] = {
                "parameters": {each["name"]: each["required"] for each in about.get("parameters", ())},
                **{
                    part: {kind: fields_of(each.get("schema", {}), schemas) for kind, each in content.items()}
                    for part, content in contents.items()
                },
            }
    return {"paths": paths}


def test_what_clients_depend_on_reads_as_its_golden_file(tmp_path):
    with open_tenants(tmp_path / "m") as tenants:
        described = described_by(app_of(tenants))
    compare(DESCRIPTION, json.dumps(described, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def test_the_list_of_paths_names_each_and_loads_nothing_from_elsewhere(serving):
    answer = serving().get("/docs")
    paths = json.loads(DESCRIPTION.read_text())["paths"]
    assert answer.status == 200
    assert all(f" {path}</code>" in answer.body.decode() for path in paths)
    assert "//" not in answer.body.decode().replace("http://www.w3.org", "")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'; ")

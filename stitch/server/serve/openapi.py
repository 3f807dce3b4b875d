"""The description of what is served, in OpenAPI, made from the table of operations.

It is not left to the framework: it would change with the framework's version though nothing that is served had changed,
and would describe errors in a shape that is not ours. `tests/server/serve/openapi.json` is how it reads now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from stitch.server.api.failures import Failure
from stitch.server.api.operations import Operation
from stitch.server.serve.bodies import JSON, LINES
from stitch.server.serve.metrics import CONTENT_TYPE as METRICS_TYPE
from stitch.server.serve.refusals import DOCUMENTED
from stitch.server.serve.routes import STREAM_PATH
from stitch.server.serve.streaming import StreamedLine, StreamedStep, StreamRequest

VERSION = "1"
_SCHEMAS = "#/components/schemas/"
_ALWAYS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
_OF_BODIES = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)
_ABOUT = (
    "The memory of an agent: steps go in, and questions find them by what they were for. "
    "Errors of every path have one shape, `Failure`; a path that is not here is 404, a method that is not here 405. "
    "A tenant comes from the key and from nothing else. Adding is idempotent by the ids of steps."
)


class Health(BaseModel):
    """The server answers."""

    status: Literal["ok"]


def describe(operations: Iterable[Operation], *, keyed: bool) -> dict[str, Any]:
    """The whole description."""
    table = list(operations)
    models: dict[type[BaseModel], None] = {Failure: None, Health: None, StreamedStep: None, StreamedLine: None}
    for each in table:
        models |= {each.request: None} if each.raw else {each.request: None, each.response: None}
    # As they are given, not as they are made: an answer leaves out what was not set.
    _, schema = models_json_schema([(model, "validation") for model in models], ref_template=_SCHEMAS + "{model}")
    schemas = schema["$defs"]
    paths: dict[str, dict[str, Any]] = {}
    for each in table:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    paths[STREAM_PATH] = {"post": _stream()}
    paths |= _others()
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "stitch", "version": VERSION, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": {name: schemas[name] for name in sorted(schemas)},
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "Made by `stitch keys add`."}
            },
        },
    }
    if keyed:
        described["security"] = [{"key": []}]
    return described


def _operation(operation: Operation, schemas: Mapping[str, Any]) -> dict[str, Any]:
    """An operation of the table."""
    answer: dict[str, Any] = {"schema": {"$ref": _SCHEMAS + operation.response.__name__}}
    if operation.raw:
        answer = {"schema": {"type": "string", "description": operation.response.__doc__}}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"Needs a key that allows `{operation.action}`.",
    }
    more: list[HTTPStatus] = []
    if operation.takes_lines:
        more += _OF_BODIES
        described["parameters"] = _parameters(operation.request)
        described["requestBody"] = {"required": True, "content": {LINES: {"schema": {"type": "string"}}}}
    elif operation.method == "GET":
        if parameters := _parameters(operation.request):
            described["parameters"] = parameters
    else:
        more += _OF_BODIES
        content = {JSON: {"schema": {"$ref": _SCHEMAS + operation.request.__name__}}}
        described["requestBody"] = {"required": True, "content": content}
    if operation.action != "read":
        more.append(HTTPStatus.CONFLICT)
    more.append(HTTPStatus.PAYMENT_REQUIRED)
    described["responses"] = _responses(operation.summary, {LINES if operation.streams else JSON: answer}, more=more)
    return described


def _stream() -> dict[str, Any]:
    return {
        "operationId": "stream",
        "summary": "Store steps that come as lines of JSON, for as long as they come.",
        "description": (
            "Needs a key that allows `write`. Each line is a step, as in `StreamedStep`; each line of the answer says "
            "what became of one, in their order, and the last one has `done`. Steps are read no faster than they are "
            f"stored. `/v1/steps` takes the same with the content type {LINES}."
        ),
        "parameters": _parameters(StreamRequest),
        "requestBody": {"required": True, "content": {LINES: {"schema": {"type": "string"}}}},
        "responses": _responses(
            "What became of each line.", {LINES: {"schema": {"$ref": _SCHEMAS + "StreamedLine"}}},
            more=(*_OF_BODIES, HTTPStatus.PAYMENT_REQUIRED),
        ),
    }  # fmt: skip


def _others() -> dict[str, Any]:
    """What is no operation of a memory."""
    plain = {"schema": {"type": "string"}}
    health = {JSON: {"schema": {"$ref": _SCHEMAS + "Health"}}}
    last = {
        "name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"},
        "description": "The id of the last event that was read: what followed it is told first.",
    }  # fmt: skip
    return {
        "/v1/events": {
            "get": {
                "operationId": "events",
                "summary": "Tell what happens in the memory, as it happens.",
                "description": "Needs a key that allows `read`. Server-sent events.",
                "parameters": [last],
                "responses": _responses("Events, until either side ends.", {"text/event-stream": plain}),
            }
        },
        "/metrics": {
            "get": {
                "operationId": "metrics",
                "summary": "Numbers of the server, as OpenMetrics.",
                "description": "Needs a key that allows `admin`.",
                "responses": _responses("All of them.", {METRICS_TYPE: plain}),
            }
        },
        "/healthz": {
            "get": {
                "operationId": "health",
                "summary": "Whether the server answers.",
                "security": [],
                "responses": _responses("It does.", health),
            }
        },
        "/readyz": {
            "get": {
                "operationId": "ready",
                "summary": "Whether the memory can be searched and written.",
                "security": [],
                "responses": _responses("It can.", health),
            }
        },
    }


def _parameters(request: type[BaseModel]) -> list[dict[str, Any]]:
    """The fields of a request as the query of a URL."""
    schema = request.model_json_schema(ref_template=_SCHEMAS + "{model}")
    needed = schema.get("required", ())
    parameters = []
    for name, field in schema.get("properties", {}).items():
        own = {key: value for key, value in field.items() if key != "description"}
        if options := own.get("anyOf"):  # null cannot be written in a URL: the field is left out
            [own] = [option for option in options if option.get("type") != "null"]
        parameter = {"name": name, "in": "query", "required": name in needed, "schema": own}
        if said := field.get("description"):
            parameter["description"] = said
        parameters.append(parameter)
    return parameters


def _responses(said: str, content: Mapping[str, Any], *, more: Sequence[HTTPStatus] = ()) -> dict[str, Any]:
    failure = {JSON: {"schema": {"$ref": _SCHEMAS + "Failure"}}}
    refused = {
        str(status.value): {"description": DOCUMENTED[status], "content": failure}
        for status in sorted({*_ALWAYS, *more})
    }
    return {"200": {"description": said, "content": dict(content)}, **refused}

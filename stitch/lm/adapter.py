"""Prompts and replies through DSPy's JSON adapter: the schema goes out once; a reply is healed, and never made up."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

import dspy
from dspy.adapters.utils import apply_output_field_defaults
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, TypeAdapter, create_model
from pydantic.json_schema import GenerateJsonSchema

from stitch.lm.reading import are_objects, json_in, valid_items
from stitch.signatures.replies import Names, Number, Text

_LENIENT: dict[Any, Any] = {str: Text, int: Number, list[str]: Names}
"""How values are read that are not quite of their kind."""


class ReplyAdapter(dspy.JSONAdapter):  # type: ignore[misc]  # DSPy is not typed
    """DSPy's JSON adapter with a schema in `response_format` alone, and with lists that are read item by item."""

    def format_field_structure(self, signature: Any) -> str:
        """One line: inputs name themselves, and the schema of the reply stands in the request."""
        return "Inputs stand under marks with their names. The reply is one JSON object that has the output fields."

    def format_task_description(self, signature: Any) -> str:
        """The instructions as they are."""
        return f"\n{signature.instructions}"

    def user_message_output_requirements(self, signature: Any) -> str:
        """The last line of a prompt."""
        fields = ", then ".join(f"`{name}`" for name in signature.output_fields)
        return f"Respond with a JSON object in the following order of fields: {fields}."

    def format_assistant_message_content(
        self, signature: Any, outputs: dict[str, Any], missing_field_message: Any = None
    ) -> str:
        """The reply of an example, in one line."""
        return compact({name: outputs.get(name, missing_field_message) for name in signature.output_fields})

    def _prepare_response_format(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any) -> None:
        if "response_format" in lm.supported_params:
            lm_kwargs["response_format"] = response_format(signature)

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """The fields of a reply; of a list of objects those that can be read.

        Raises:
            AdapterParseError: It is torn, is no JSON, lacks a field, or has one of another kind.
        """
        fields = signature.output_fields
        try:
            said = _under_names(json_in(completion), fields)
            values = {name: _value(said[name], field.annotation) for name, field in fields.items() if name in said}
        except (ValueError, TypeError) as error:
            raise AdapterParseError("ReplyAdapter", signature, completion, str(error)) from error
        read: dict[str, Any] = apply_output_field_defaults(signature, values)
        if read.keys() != fields.keys():
            raise AdapterParseError("ReplyAdapter", signature, completion, parsed_result=read)
        return read


def _under_names(found: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an object, or of the only one inside it; a list may be all that is asked for."""
    while isinstance(found, dict) and len(found) == 1 and found.keys().isdisjoint(fields):
        [found] = found.values()
    required = [name for name, field in fields.items() if field.is_required()]
    if are_objects(found):
        whole = len(found) == 1 and not found[0].keys().isdisjoint(fields)
        found = found[0] if whole else {required[0]: found} if len(required) == 1 else None
    if not isinstance(found, dict) or found.keys().isdisjoint(fields):
        raise ValueError("no whole JSON object with these fields")
    names = [name for name in required if fields[name].annotation == list[str]]
    return {**dict.fromkeys(names, ()), **found}  # who says what goes with it, and no names, means that there are none


def _value(value: Any, annotation: Any) -> Any:
    [inner] = get_args(annotation) if get_origin(annotation) is list else [None]
    if inner is not None and isinstance(value, str):
        value = _listed(value)
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        return _items(value, inner)
    if inner == dict[str, Any]:  # what is no object stays, for whoever reads it says so
        return [json_in(own) or own if isinstance(own, str) else own for own in value or ()]
    if get_origin(annotation) is Literal:
        value = str(value).strip(" .\"'").upper()
    if annotation is str and isinstance(value, list):
        return "; ".join(_value(own, str) for own in value)
    return TypeAdapter(_LENIENT.get(annotation, annotation)).validate_python(value)


def _listed(text: str) -> Any:
    """A list that stands in a text, as JSON or with commas."""
    with suppress(ValueError):
        return json.loads(text)
    return [] if text.strip().casefold() in ("", "none") else text.split(",")


def _items(value: Any, item: type[BaseModel]) -> list[BaseModel]:
    """The objects of a list that can be read; of numbered ones that have no number, their places from 1."""
    if not isinstance(value, list):
        raise TypeError("no list")
    if are_objects(value) and not any("n" in own for own in value):
        value = [{"n": n, **own} for n, own in enumerate(value, start=1)]
    read = valid_items(value, item)
    if value and not read:
        raise ValueError("nothing in the list can be read")
    return read


class _StrictSchema(GenerateJsonSchema):
    """Schemas as strict providers take them: closed objects, every property required, no defaults, no titles."""

    def default_schema(self, schema: Any) -> Any:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> Any:
        made = super().model_schema(schema)
        made.pop("title", None)
        return {**made, "required": list(made["properties"]), "additionalProperties": False}


def response_format(signature: Any) -> dict[str, Any]:
    """The form that is asked for; an object without a schema where one of its fields is open."""
    schema = json.loads(_schema(*((name, field.annotation) for name, field in signature.output_fields.items())))
    if schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": signature.__name__, "schema": schema, "strict": True}}


@lru_cache(maxsize=64)
def _schema(*fields: tuple[str, Any]) -> str:
    """The schema of fields as JSON, for it takes some milliseconds to make; null where one of them is open."""
    kinds: dict[str, Any] = {name: (annotation, ...) for name, annotation in fields}
    schema = json.dumps(create_model("Reply", **kinds).model_json_schema(schema_generator=_StrictSchema))
    return "null" if '"additionalProperties": true' in schema else schema


def compact(value: Any) -> str:
    """A value as JSON without a space too many; a text as it is, and of objects nothing that is empty."""
    if isinstance(value, str):
        return value
    plain = TypeAdapter(Any).dump_python(value, mode="json", exclude_defaults=True)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

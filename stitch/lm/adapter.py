"""Prompts and replies through DSPy's JSON adapter: the schema goes out once; a reply is healed, and never made up."""

from __future__ import annotations

import json
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, create_model
from pydantic.json_schema import GenerateJsonSchema

from stitch.lm.reading import read_fields


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
            AdapterParseError: It is torn, is no JSON, or lacks a field.
        """
        try:
            return read_fields(completion, signature.output_fields)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise AdapterParseError(
                adapter_name="ReplyAdapter", signature=signature, lm_response=completion, message=str(error)
            ) from error


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
    fields: dict[str, Any] = {name: (field.annotation, ...) for name, field in signature.output_fields.items()}
    schema = create_model("Reply", **fields).model_json_schema(schema_generator=_StrictSchema)
    if '"additionalProperties": true' in json.dumps(schema):
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": signature.__name__, "schema": schema, "strict": True}}


def compact(value: Any) -> str:
    """A value as JSON without a space too many; a text as it is, and of objects nothing that is empty."""
    return value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode="json", exclude_defaults=True))
    if isinstance(value, dict):
        return {name: _plain(own) for name, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, (list, tuple)) else value

"""How prompts are rendered: DSPy's JSON adapter, which makes the parts that never change once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import dspy
from pydantic import BaseModel

_Made = TypeVar("_Made")

_MOST_KEPT = 256
"""An optimizer tries many prompts: beyond so many, all are made anew."""


class PromptAdapter(dspy.JSONAdapter):
    """Renders the same messages and schemas as DSPy's JSON adapter, without defaults, in less than half of its time.

    The description of the fields, the instructions and the schema of the reply depend on the signature alone, and are
    most of what rendering costs. Safe to use from several threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[tuple[str, Any, str], Any] = {}
        self._lock = threading.Lock()

    def format_system_message(self, signature: Any) -> str:
        """The part of a prompt that is the same for all inputs."""
        made: str = self._once("system", signature, lambda: super(PromptAdapter, self).format_system_message(signature))
        return made

    def user_message_output_requirements(self, signature: Any) -> str:
        """The last line of a prompt."""
        made: str = self._once(
            "wanted", signature, lambda: super(PromptAdapter, self).user_message_output_requirements(signature)
        )
        return made

    def format_user_message_content(self, signature: Any, inputs: dict[str, Any], *parts: Any, **options: Any) -> str:
        """The inputs, each under its mark; strings and lists of strings as they are, anything else by DSPy's rules."""
        fields = [(name, field) for name, field in signature.input_fields.items() if name in inputs]
        if parts or options != {"main_request": True} or not all(_is_plain(inputs[name], f) for name, f in fields):
            made: str = super().format_user_message_content(signature, inputs, *parts, **options)
            return made
        values = [(name, inputs[name]) for name, _ in fields]
        shown = [(name, value if isinstance(value, str) else _as_json(value)) for name, value in values]
        messages = [f"[[ ## {name} ## ]]\n{value}" for name, value in shown]
        return "\n\n".join(["", *messages, self.user_message_output_requirements(signature), ""]).strip()

    def format_assistant_message_content(
        self, signature: Any, outputs: dict[str, Any], missing_field_message: Any = None
    ) -> str:
        """The reply of an example, in one line: what it is shown for is said once with every call."""
        return compact({name: outputs.get(name, missing_field_message) for name in signature.output_fields})

    def _prepare_response_format(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any) -> None:
        def prepare() -> Any:
            prepared = dict(lm_kwargs)
            super(PromptAdapter, self)._prepare_response_format(lm, prepared, signature)
            wanted = prepared.get("response_format")
            if isinstance(wanted, type) and issubclass(wanted, BaseModel):
                _drop_defaults(wanted.model_json_schema())  # DSPy hands out the same object each time
            return wanted

        made = self._once("schema", signature, prepare)
        if made is not None:
            lm_kwargs["response_format"] = made

    def _once(self, what: str, signature: Any, make: Callable[[], _Made]) -> _Made:
        key = (what, signature, getattr(signature, "instructions", ""))
        with self._lock:
            made: _Made | None = self._kept.get(key)
        if made is None:
            made = make()
            with self._lock:
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = made
        return made


def compact(value: Any) -> str:
    """A value as JSON without a space too many; a text as it is, and of objects nothing that is empty."""
    return value if isinstance(value, str) else json.dumps(_told(value), ensure_ascii=False, separators=(",", ":"))


def _told(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _told(value.model_dump(mode="json", exclude_defaults=True))
    if isinstance(value, dict):
        return {name: _told(own) for name, own in value.items()}
    return [_told(own) for own in value] if isinstance(value, (list, tuple)) else value


def _drop_defaults(schema: dict[str, Any]) -> None:
    """Take the defaults out of a schema: OpenAI refuses a strict one that has any ("'default' is not permitted")."""
    schema.pop("default", None)
    named = (own for what in ("properties", "$defs") for own in schema.get(what, {}).values())
    for own in (*named, *schema.get("anyOf", ()), schema.get("items")):
        if isinstance(own, dict):
            _drop_defaults(own)


def _is_plain(value: Any, field: Any) -> bool:
    if isinstance(value, str):
        return True
    return field.annotation is not str and isinstance(value, list) and all(isinstance(one, str) for one in value)


def _as_json(value: list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)

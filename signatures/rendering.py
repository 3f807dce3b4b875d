"""How prompts are rendered: DSPy's JSON adapter, which makes the parts that never change once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, get_args, get_origin

import dspy
from pydantic import BaseModel, TypeAdapter, ValidationError

_Made = TypeVar("_Made")

_MOST_KEPT = 256
"""An optimizer tries many prompts: beyond so many, all are made anew."""


class PromptAdapter(dspy.JSONAdapter):
    """Renders the same messages and schemas as DSPy's JSON adapter, in less than half of its time.

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

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """The fields of a reply; what is not plainly right is read by DSPy's rules.

        Of a list of objects each is read by itself, and those that cannot be are left out. A list alone, or under
        another name, is the only field of a signature that has one.
        """
        fields = signature.output_fields
        try:
            said = json.loads(completion)
            if len(fields) == 1:
                said = _only_field(said, *fields)
            return {name: self._read(said[name], field) for name, field in fields.items()}
        except (ValueError, KeyError, TypeError):
            read: dict[str, Any] = super().parse(signature, completion)
            return read

    def _read(self, value: Any, field: Any) -> Any:
        if isinstance(value, str):
            if field.annotation is not str:
                raise ValueError("text where there should be none")
            return value
        reader = self._once("reader", field.annotation, lambda: TypeAdapter(field.annotation))
        if (item := _item_type(field.annotation)) is None:
            return reader.validate_python(value)
        return read_items(value, item)

    def _prepare_response_format(self, lm: Any, lm_kwargs: dict[str, Any], signature: Any) -> None:
        def prepare() -> Any:
            prepared = dict(lm_kwargs)
            super(PromptAdapter, self)._prepare_response_format(lm, prepared, signature)
            return prepared.get("response_format")

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


def read_items(value: Any, item: type[BaseModel]) -> list[Any]:
    """The objects of a list that can be read, in order; items that have no number `n` at all are numbered from 1.

    Raises:
        TypeError: It is no list.
        ValueError: Nothing in it can be read.
    """
    objects = _objects(value)
    if "n" in item.model_fields and not any("n" in one for one in objects):
        objects = [{"n": place, **one} for place, one in enumerate(objects, start=1)]
    read = []
    for one in objects:
        with suppress(ValidationError):
            read.append(item.model_validate(one))
    if value and not read:
        raise ValueError("nothing in the list can be read")
    return read


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, of a mapping from their numbers, or the one that stands for a list."""
    if isinstance(value, dict):
        numbered = all(key.isdecimal() and isinstance(one, dict) for key, one in value.items())
        value = [{"n": int(key), **one} for key, one in value.items()] if numbered else [value]
    if not isinstance(value, list):
        raise TypeError("no list")
    return [one for one in value if isinstance(one, dict)]


def _item_type(annotation: Any) -> type[BaseModel] | None:
    """Of what objects a list is made; None if it is no list of objects."""
    inner = get_args(annotation)[0] if get_origin(annotation) is list else None
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def _only_field(said: Any, name: str) -> Any:
    """A reply to a signature with one field, under its name."""
    if isinstance(said, list):
        return {name: said}
    if isinstance(said, dict) and name not in said and len(said) == 1:
        return {name: next(iter(said.values()))}
    return said


def _is_plain(value: Any, field: Any) -> bool:
    if isinstance(value, str):
        return True
    return field.annotation is not str and isinstance(value, list) and all(isinstance(one, str) for one in value)


def _as_json(value: list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)

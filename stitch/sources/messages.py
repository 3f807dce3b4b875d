"""From a message, as chat programs and agents write them down, to steps.

More than 400 lines because all forms in which one message may be written stand in one place.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from stitch.core import Origin, Step, ToolCall, origin_of
from stitch.core.trust import less_trusted, origin_of_name
from stitch.errors import StepRejectedError
from stitch.sources.fields import (
    ROLES,
    TEXT_FIELDS,
    Row,
    metadata_of,
    moment,
    named_in,
    role_in,
    seconds_of,
    taken,
    unwrapped,
)
from stitch.sources.parts import (
    ANSWERS,
    CALL_ARGUMENTS,
    CALL_IDS,
    CALL_NAMES,
    RESULT_IDS,
    answer_of,
    arguments_of,
    beyond_call,
    beyond_texts,
    calls_beside,
    calls_in,
    document_given,
    document_of,
    has_parts,
    identity_of,
    is_call,
    kind_of,
    plain_part,
    result_in,
    several_in,
    text_of,
    words_of,
)
from stitch.sources.spoken import spoken_calls

_UNSAID = ("refusal", "reasoning_content", "reasoning", "thinking")
_THOUGHT = ("summary", "content", "text", "thinking", "reasoning")
_LAST = ""
"""Under this id stands the tool that was called last: an observation answers it and names none."""
_CONTENTS: tuple[tuple[str, type], ...] = (("parts", list), ("body", str), ("text", str))
"""Where the words of a content stand that is an object."""
_CALLED_BY_NOBODY = ("user", "system", "developer", "tool", "document")
"""Who calls no tools in words of their own; agents have names of any kind."""
_REMEMBERED = 32
_KINDS = ("type", "kind", "message_type", "event")
_ORIGINS = frozenset(origin.value for origin in Origin)


def make_step(row: Row) -> Step:
    """Return `Step(**row)`.

    Raises:
        StepRejectedError: In one line, which field is wrong and why.
    """
    try:
        return Step(**{**row, "timestamp": seconds_of(row.get("timestamp"))})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        reason = str(first["msg"]).removeprefix("Value error, ")
        raise StepRejectedError(f"step field {where!r}: {reason}" if where else f"step: {reason}") from None


class MessageReader:
    """Reads messages of the OpenAI, Anthropic and Gemini kinds and their relatives; one reader a file.

    Content may be a text, null, or a list of parts; tool calls and results may stand in fields or in parts. A message
    that holds tool results becomes one step a result, in the order in which it tells them. The reader remembers the
    names of called tools, because a result often names only the id of the call. Whatever else a message has
    becomes metadata. One that has no words, but parts, says what these parts are.
    """

    def __init__(self) -> None:
        self.tool_names: dict[str, str] = {}
        """The names of called tools, by the id of the call."""
        self._said: OrderedDict[str, bool] = OrderedDict()

    def rows(self, message: Any, *, speaker: bool = False) -> Iterator[Row]:
        """Yield the steps of a message as rows.

        Args:
            message: One message.
            speaker: The field `name` says who speaks, and is the role.

        Raises:
            StepRejectedError: It is no message.
        """
        if not isinstance(message, Mapping):
            raise StepRejectedError(f"step is not an object but {type(message).__name__}")
        fields = unwrapped(message)
        kind = kind_of(fields)
        if "role" in fields:
            kind = None
        if kind == "call":
            yield from self._called(dict(plain_part(fields)))
        elif kind == "result":
            yield self.result(plain_part(fields))
        elif kind == "thought":
            yield self._thought(fields)
        else:
            yield from self._spoken(fields, speaker=speaker)

    def said_twice(self, text: str, *, item: bool) -> bool:
        """Whether a text that a log holds in two forms, as an `item` and not as one, was just seen in the other."""
        if self._said.get(text, item) is not item:
            del self._said[text]
            return True
        self._said[text] = item
        if len(self._said) > _REMEMBERED:
            self._said.popitem(last=False)
        return False

    def _spoken(self, fields: dict[str, Any], *, speaker: bool) -> Iterator[Row]:
        field = role_in(fields) or role_in(fields, typed=True)
        if field is None:
            if "action" in fields:
                yield from self._acted(fields)
                return
            raise StepRejectedError("step has no field 'role'")
        row, said = _row_of(fields, field, speaker=speaker)
        metadata = row["metadata"]
        for several in several_in(metadata, row["role"]):
            yield from self.rows({**moment(row), **several})
        if row["role"] == "tool" and metadata.pop("several", False):
            return
        written, content = _calls_and_content(row, _content_of(row), said)
        if (origin := _told_origin(row, calls=bool(written))) is not None:
            row["origin"] = origin
        results = _results_observed(metadata)
        telling = _Telling(self, row)
        for call in written:
            telling.call(call)
        if beyond := [rest for call in written if (rest := beyond_call(call))]:
            metadata["calls"] = beyond
        # A tool's result may be any JSON value; only a list is a list of parts.
        whole = row["role"] == "tool" and not has_parts(content)
        for part in content if isinstance(content, list) and not whole else [text_of(content)]:
            telling.take_in(part)
        self._name_result(row, observes=said.lower() in ("observation", "function", "tool"))
        yield from telling.rows(written)
        for result in results:
            yield {**moment(row), **self.result(result)}

    def _acted(self, fields: dict[str, Any]) -> Iterator[Row]:
        """An entry of thought, action and observation: what was done with which tool, and what came of it."""
        metadata = metadata_of(fields)
        action, observed = metadata.pop("action"), metadata.pop("observation", metadata.pop("obs", None))
        row: Row = {"role": "assistant", "metadata": metadata}
        row |= {name: value for name in ("id", "timestamp") if (value := taken(metadata, name)) is not None}
        row["content"] = text_of(metadata.pop("thought", None) or metadata.pop("response", None))
        if isinstance(action, Mapping):
            call = self.made({"name": "action", **action})
        else:
            said = text_of(action)
            given = metadata.pop("action_input", None)
            call = ToolCall(name=(said.replace("(", " ").replace("[", " ").split() or ["action"])[0][:512],
                            arguments={"input": said} if given is None else arguments_of(given))  # fmt: skip
        yield {**row, "tool_calls": (call,)}
        if observed is not None:
            yield {**moment(row), "role": "tool", "tool_name": call.name, "content": text_of(observed)}

    def _called(self, fields: dict[str, Any]) -> Iterator[Row]:
        """A call that stands as an item of its own, and what came of it, if it says so."""
        call = self.made(fields)
        given = next((name for name in CALL_ARGUMENTS if fields.get(name) is not None), None)
        known = (*CALL_NAMES, given, "call_id", "type", "function")
        rest = {key: value for key, value in fields.items() if key not in known}
        if (identity := identity_of(fields)) is not None:
            rest = {key: value for key, value in rest.items() if key not in CALL_IDS or value != identity}
        answer = answer_of(fields)
        rest = {key: value for key, value in rest.items() if value is not answer}
        row: Row = {"role": "assistant", "content": "", "tool_calls": (call,), "metadata": metadata_of(rest)}
        row |= {name: value for name in ("timestamp", "parent") if (value := taken(row["metadata"], name)) is not None}
        if fields.get("type") not in ("function_call", "tool_use", "tool_call"):
            row["metadata"]["type"] = fields.get("type")
        yield row
        if answer is not None:
            yield {**moment(row), **self.result({"id": call.id, "name": call.name, "content": answer})}

    def result(self, fields: Mapping[str, Any], *, beside: Mapping[str, Any] | None = None) -> Row:
        """A tool's result, with what stands `beside` it in its message."""
        rest = {key: value for key, value in fields.items() if key not in ("type", "own")}
        reference = next((rest.pop(name) for name in RESULT_IDS if rest.get(name) is not None), None)
        field = next((name for name in ANSWERS if rest.get(name) is not None), None)
        answer = rest.pop(field) if field else None
        run = rest.get("run")
        if field is None and isinstance(run, Mapping) and run.get("result") is not None:
            answer = run["result"]
            rest["run"] = {key: value for key, value in run.items() if key != "result"}
        metadata = metadata_of({**(beside or {}), **rest})
        if isinstance(answer, list) and (more := beyond_texts(answer)):
            metadata["parts"] = [*metadata.get("parts", ()), *more]
        named = next((metadata.pop(name) for name in CALL_NAMES if isinstance(metadata.get(name), str)), None)
        row: Row = {"role": "tool", "content": text_of(answer), "metadata": metadata}
        row |= {name: value for name in ("timestamp", "parent") if (value := taken(metadata, name)) is not None}
        if reference is not None:
            metadata["tool_call_id"] = str(reference)
        return {**row, "tool_name": named or self.tool_names.get(str(reference)) or "tool"}

    def _thought(self, fields: dict[str, Any]) -> Row:
        """A thought that stands as an item of its own; one without words is named by its kind."""
        metadata = metadata_of(fields)
        texts = [text_of(metadata.pop(name)) for name in _THOUGHT if name in metadata]
        said = "\n".join(text for text in texts if text.strip() and text not in ("[]", "{}"))
        row: Row = {"role": "assistant", "content": said or str(fields["type"]), "metadata": metadata}
        return row | {name: value for name in ("timestamp",) if (value := taken(metadata, name)) is not None}

    def _name_result(self, row: Row, *, observes: bool) -> None:
        """Name the tool whose result a message of the role `tool` is."""
        if row["role"] != "tool" or "tool_name" in row:
            return
        metadata = row["metadata"]
        references = metadata.get("tool_call_ids") or [
            metadata[name] for name in RESULT_IDS[:-1] if metadata.get(name) is not None
        ]
        if not references and str(row.get("id")) in self.tool_names:
            references = [row["id"]]
            metadata["tool_call_id"] = str(row["id"])
        if not references and observes:
            references = [_LAST]
        known = (self.tool_names.get(str(reference)) for reference in references)
        named = metadata.pop("name", None) or metadata.pop("toolName", None)
        row["tool_name"] = named or next(filter(None, known), "tool")

    def made(self, call: Any) -> ToolCall:
        """The call that is written down in any of the forms in use.

        Raises:
            StepRejectedError: It names no tool.
        """
        inner = call.get("function", call) if isinstance(call, Mapping) else None
        if isinstance(inner, str):
            inner = {**call, "name": inner}
        if isinstance(inner, Mapping) and isinstance(inner.get("toolCall"), Mapping):
            inner = {**inner["toolCall"], **inner["toolCall"].get("value", {})}
        name = next((inner[key] for key in CALL_NAMES if isinstance(inner.get(key), str)), None) if inner else None
        if name is None and isinstance(call, Mapping) and isinstance(call.get("type"), str):
            name, inner = _provided(call, inner)
        if not isinstance(inner, Mapping) or name is None:
            raise StepRejectedError("tool call has no name")
        given = next((key for key in CALL_ARGUMENTS if inner.get(key) is not None), None)
        written = inner[given] if given else None
        if given in ("queries", "code") and not isinstance(written, Mapping):
            written = {given: written}
        identity = identity_of(call)
        try:
            made = ToolCall(name=name, arguments=arguments_of(written), id=None if identity is None else str(identity))
        except ValidationError as error:
            raise StepRejectedError(f"tool call {name!r}: {error.errors()[0]['msg']}") from None
        if made.id is not None:
            self.tool_names[made.id] = made.name
        self.tool_names[_LAST] = made.name
        return made


def _provided(call: Mapping[str, Any], inner: Any) -> tuple[str | None, Any]:
    """The name of a tool that a provider runs itself, and what its call holds."""
    kind = call["type"]
    if isinstance(own := call.get(kind), Mapping):  # a tool of the provider, in a field of its own
        given = {key: value for key, value in own.items() if key != "outputs"}
        return kind, given if any(key in given for key in CALL_ARGUMENTS) else {"arguments": given}
    if not kind_of(call) or kind in ("function_call", "tool_use", "tool_call", "tool-call"):
        return None, inner
    return kind.removesuffix("_call").removeprefix("tool-") or None, inner  # "web_search_call", "tool-weather"


def _row_of(fields: dict[str, Any], field: str, *, speaker: bool) -> tuple[Row, str]:
    """The row of a message whose `field` says who speaks, and who does as it is written; what is left is metadata."""
    said = fields.pop(field)
    if isinstance(said, Mapping):  # the author of a message, as an object of its own
        author, said = said, named_in(said) or ""
        if said == "tool" and isinstance(author.get("name"), str):
            fields.setdefault("tool_name", author["name"])
        fields.setdefault(field, author)
    elif isinstance(said, int):
        said = f"{field.split('_')[0]} {said}"
    metadata = metadata_of(fields)
    row: Row = {"role": ROLES.get(said.lower(), "tool" if said.lower() == "tool" else said), "metadata": metadata}
    if row["role"] != said:
        metadata["role"] = said
    for name in ("id", "timestamp", "session", "parent", "tool_name"):
        if (value := taken(metadata, name)) is not None:
            row[name] = value
    if speaker and isinstance(metadata.get("name"), str):
        metadata["role"] = said
        row["role"] = metadata.pop("name")
    return row, said


def _content_of(row: Row) -> Any:
    """Take what a message says out of its metadata; of a content that is an object, the words in it."""
    metadata = row["metadata"]
    content = _content_in(metadata)
    if not isinstance(content, Mapping) or row["role"] == "tool":
        return content
    inner = next((name for name, kind in _CONTENTS if isinstance(content.get(name), kind)), None)
    if inner is None:
        return content
    metadata.update({key: value for key, value in content.items() if key != inner})
    if "parent" not in row and (answered := taken(metadata, "parent")) is not None:
        row["parent"] = answered
    return content[inner]


def _calls_and_content(row: Row, content: Any, said: str) -> tuple[list[Any], Any]:
    """The calls that stand beside the content or are written in it, and what is left of it."""
    # A summary repeats the calls that it sums up.
    summary = row["metadata"].get("type") == "ToolCallSummaryMessage"
    written = [] if summary else calls_beside(row["metadata"])
    if not written and said.lower() == "function_call":
        written, content = calls_in(content)
    if not written and row["role"] not in _CALLED_BY_NOBODY and isinstance(content, str):
        written = spoken_calls(content)
    return written, content


def _results_observed(metadata: dict[str, Any]) -> list[Mapping[str, Any]]:
    """Take the results that a message brings with it out of its metadata."""
    observed = metadata.get("observation")
    if not isinstance(observed, Mapping) or not isinstance(observed.get("results"), list):
        return []
    metadata.pop("observation")
    return [result for result in observed["results"] if isinstance(result, Mapping)]


def _told_origin(row: Row, *, calls: bool) -> Origin | None:
    """Where a text comes from by what stands beside its role, if that is trusted less: its name, its kind, a claim."""
    metadata = row["metadata"]
    told: list[Origin | None] = [] if calls else [origin_of_name(name) for name in _names_in(metadata)]
    kinds = [metadata[name] for name in _KINDS if isinstance(metadata.get(name), str)]
    for kind in kinds:
        means = kind_of({"type": kind})
        if means == "result" or (means is None and not calls and "request" not in kind.lower()):
            told.append(origin_of_name(kind))
    if not calls and any(metadata.get(name) is not None for name in RESULT_IDS[:-1]):
        told.append(Origin.TOOL)
    if (claimed := metadata.get("origin")) in _ORIGINS:
        told.append(Origin(claimed))
    own = origin_of(row["role"], answers_tool=row.get("tool_name") is not None)
    least = less_trusted(own, *told)
    return least if least.trust < own.trust else None


def _names_in(metadata: Mapping[str, Any]) -> Iterator[str]:
    """The names that stand beside a role: of the message, and of its author."""
    for holder in (metadata, metadata.get("author")):
        if isinstance(holder, Mapping) and isinstance(holder.get("name"), str):
            yield holder["name"]


def _content_in(metadata: dict[str, Any]) -> Any:
    """Take what a message says out of the metadata: its parts, where a text beside them only repeats these."""
    named = [name for name in TEXT_FIELDS if name in metadata]
    field = next((name for name in named if metadata[name]), named[0] if named else None)
    if field is None:
        return None
    content, parts = metadata.pop(field), metadata.get("parts")
    if isinstance(content, str) and isinstance(parts, list) and has_parts(parts) and content == _texts_of(parts):
        for name in ("toolInvocations", "parts"):
            metadata.pop(name, None)
        return parts
    return content


def _texts_of(parts: list[Any]) -> str:
    texts = (part for part in parts if isinstance(part, Mapping) and part.get("type") == "text")
    return "".join(str(part.get("text", "")) for part in texts)


class _Telling:
    """What a message tells, part by part: steps in the order of its parts."""

    def __init__(self, reader: MessageReader, row: Row) -> None:
        self._reader = reader
        self._first = self._row = row
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._before: list[Row] = []
        self._told: list[Row] = []

    def call(self, call: Any) -> None:
        """Take in a call; one that is written twice counts once."""
        made = self._reader.made(call)
        if made.id is None or made.id not in {known.id for known in self._made()}:
            self._calls.append(made)

    def take_in(self, part: Any) -> None:
        """Take in a part; what is no text and no tool goes to the metadata.

        Results of earlier calls come before what the message says; those of its own calls after the call.
        """
        if part is None or part == "":
            return
        if not isinstance(part, Mapping):
            self._texts.append(text_of(part))
            return
        part = plain_part(part)
        kind = kind_of(part)
        metadata = self._row["metadata"]
        if kind == "call" or (kind is None and self._first["role"] not in _CALLED_BY_NOBODY and is_call(part)):
            self.call(part)
            if beyond := beyond_call(part):
                metadata.setdefault("parts", []).append(beyond)
            # Some programs write the result into the part of the call.
            if (answer := answer_of(part)) is not None and self._calls:
                call = self._calls[-1]
                self._answered({"type": "tool_result", "id": call.id, "name": call.name, "content": answer})
        elif kind == "result":
            own = part.get("own") or any(
                str(part[name]) in {call.id for call in self._made()} for name in RESULT_IDS if part.get(name)
            )
            if own:
                self._answered(part)
            else:
                result = self._reader.result(part, beside=self._first["metadata"])
                self._before.append({**moment(self._first), **result})
        elif (document := document_of(part)) is not None:
            rest = {key: value for key, value in part.items() if key not in ("type", "source")}
            self._before.append({**moment(self._first), "role": "document", "content": document,
                                 "origin": Origin.DOCUMENT, "metadata": {**metadata, **rest}})  # fmt: skip
        else:
            self._say(part, metadata, thought=kind == "thought" or part.get("thought") is True)

    def rows(self, written: Iterable[Any]) -> Iterator[Row]:
        """All steps, those of the answers that stand in the calls `written` beside the content among them."""
        for call, made in zip(written, list(self._calls), strict=False):
            if isinstance(call, Mapping) and (answer := answer_of(call)) is not None:
                result = self._reader.result(result_in(answer))
                result["tool_name"] = made.name
                if made.id is not None:
                    result["metadata"]["tool_call_id"] = made.id
                self._told.append({**moment(self._first), **result})
        answers, self._told = self._told, []
        rows = [*self._before]
        if self._row is self._first:
            if self._texts or self._calls or not rows:
                rows.append({**self._first, "content": self._words(), "tool_calls": tuple(self._calls)})
            rows += answers
        else:
            rows += answers
            if self._texts or self._calls:
                rows.append({**self._row, "content": "\n".join(self._texts), "tool_calls": tuple(self._calls)})
        yield from _identified(rows, self._first.get("id"))

    def _answered(self, part: Mapping[str, Any]) -> None:
        """One of its own calls was answered: what it says after that is a step after the answer."""
        if self._texts or self._calls:
            content = "\n".join(self._texts)
            self._told.append({**self._row, "content": content, "tool_calls": tuple(self._calls)})
        self._told.append({**moment(self._first), **self._reader.result(part)})
        origin = {"origin": self._first["origin"]} if "origin" in self._first else {}
        self._row = {**moment(self._first), "role": self._first["role"], **origin, "metadata": {}}
        self._texts, self._calls = [], []

    def _made(self) -> list[ToolCall]:
        return [*self._calls, *(call for row in self._told for call in row.get("tool_calls", ()))]

    def _say(self, part: Mapping[str, Any], metadata: dict[str, Any], *, thought: bool) -> None:
        text = part.get("text", part.get("content"))
        if isinstance(text, Mapping):  # a text with its annotations
            beside = {key: value for key, value in text.items() if key != "value" and value}
            part, text = {**part, **beside, "text": text.get("value")}, text.get("value")
        if text is None and (given := document_given(part)) is not None:
            part, text = {**part, "document": {**part["document"], "data": None}}, given
        if text is None and part.get("type") == "refusal":
            text = part.get("refusal")
            part = {"refused": True, **part}
        if isinstance(text, str) and not thought:
            self._texts.append(text)
            rest = {key: value for key, value in part.items() if value and part[key] != text and key != "type"}
            if rest:
                metadata.setdefault("parts", []).append(rest)
        else:
            metadata.setdefault("parts", []).append(dict(part))

    def _words(self) -> str:
        """What it says; of a message without words and calls, what its parts are."""
        said = "\n".join(self._texts)
        if said.strip() or self._calls or self._first["role"] == "tool":
            return said
        metadata = self._first["metadata"]
        beside = [{name: metadata[name]} for name in _UNSAID if isinstance(metadata.get(name), str) and metadata[name]]
        return words_of([*beside, *metadata.get("parts", ())])


def _identified(rows: list[Row], identity: Any) -> Iterator[Row]:
    """The steps of a message that has an id: one of them has it, the others are numbered after it."""
    bearer = next((row for row in rows if "id" in row), rows[0])
    number = 0
    for row in rows:
        if identity is not None and row is not bearer:
            number += 1
            row = {**row, "id": f"{identity}-{number}"}
        yield row if identity is None or row is not bearer else {**row, "id": identity}

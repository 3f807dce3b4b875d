"""From a message, as chat programs and agents write them down, to steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from stitch.core import Origin, Step, origin_of
from stitch.core.trust import USERS, less_trusted, origin_of_kind, origin_of_name
from stitch.errors import StepRejectedError
from stitch.sources.fields import (
    KNOWN_ROLES,
    ROLES,
    SPEAKERS,
    TEXT_FIELDS,
    Row,
    event,
    metadata_of,
    moment,
    named_in,
    plain_role,
    role_in,
    seconds_of,
    taken,
    taken_of,
    time_in,
    unwrapped,
)
from stitch.sources.markup import unmarked
from stitch.sources.parts import (
    first_of,
    has_parts,
    is_html,
    joined_text,
    kind_of,
    object_in,
    plain_part,
    text_of,
    without,
    words_of_html,
)
from stitch.sources.telling import CALLED_BY_NOBODY, Telling, with_files
from stitch.sources.tool_calls import (
    LAST_CALLED,
    RESULT_IDS,
    SEVERAL,
    ToolCalls,
    beyond_call,
    calls_beside,
    calls_in,
    outcome_told,
    several_in,
    spoken_calls,
)
from stitch.sources.unread import texts_in

_THOUGHTS = ("thought", "response", "next_goal", "model_output")
_THOUGHT = ("summary", "content", "text", "thinking", "reasoning")
_CONTENTS: tuple[tuple[str, type], ...] = (
    ("parts", list), ("body", str), ("text", str), ("content", list), ("content", str), ("thoughts", list),
)  # fmt: skip
"""Where the words of a content stand that is an object."""
_TEXT_KINDS = ("contentType", "content_type", "bodyType", "mimeType")
_OF_MESSAGE = (("id", "message_id"), ("tool_name", "tool_name"))
"""What of a message with several results none of them has, and under which name it is kept."""
_EVENT_KINDS = ("type", "kind", "event", "messageType")
_REMEMBERED = 32
_LONGEST_NAME = 64
_KINDS = ("type", "kind", "message_type", "event")
_ORIGINS = frozenset(origin.value for origin in Origin)
_TRUSTED = {"low": Origin.DOCUMENT, "medium": Origin.AGENT}
"""What a claimed class of trust means: what lowers it."""


def make_step(row: Row) -> Step:
    """Return `Step(**row)`; where flags tell how a call came out, or an error, `outcome` in its metadata does, too.

    Raises:
        StepRejectedError: In one line, which field is wrong and why.
    """
    metadata = row.get("metadata")
    if isinstance(metadata, Mapping):
        fault = row.get("role") == "error" or metadata.get("isApiErrorMessage") is True
        told = "failure" if fault else outcome_told(metadata) if row.get("tool_name") is not None else None
        row = {**row, "metadata": {"outcome": told, **metadata}} if told else row
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
        self.tools = ToolCalls()
        self.repeated: list[Row] = []
        """Rows that were left out since `repeated_taken`, for the log has shown them already."""
        self.people: dict[str, str] = {}
        """The names of those who speak, by their ids, where the file says them."""
        self._said: OrderedDict[str, bool] = OrderedDict()

    def rows(self, message: Any, *, speaker: bool = False) -> Iterator[Row]:
        """Yield the steps of a message as rows.

        With `speaker` the field `name` says who speaks, and is the role.

        Raises:
            StepRejectedError: It is no message.
        """
        if isinstance(message, str) and message.strip():  # a mark between messages, which nobody says
            message = {"type": "event", "text": message}
        if not isinstance(message, Mapping):
            raise StepRejectedError(f"step is not an object but {type(message).__name__}")
        fields = unwrapped(message)
        kind = kind_of(fields)
        if "role" in fields:
            kind = None
        if kind == "call":
            yield from self._called(plain_part(fields))
        elif kind == "result":
            yield self.tools.result(plain_part(fields))
        elif kind == "thought":
            yield self._thought(fields)
        elif (field := role_in(fields) or role_in(fields, typed=True)) is not None:
            yield from self._spoken(fields, field, speaker=speaker)
        elif "action" in fields or "model_output" in message:
            yield from self._acted(fields)
        elif (named := first_of(fields, _EVENT_KINDS, str)) is not None:  # nobody says it
            said = event({**fields, "type": named}, without(fields, "type", "timestamp", "id"))
            yield {"timestamp": time_in(fields), **said, **({"id": str(fields["id"])} if "id" in fields else {})}
        else:
            yield from self._unnamed(message, fields)

    def _unnamed(self, message: Mapping[str, Any], fields: dict[str, Any]) -> Iterator[Row]:
        """The words of somebody whose name is null."""
        if None not in [message.get(name, "") for name in SPEAKERS] or first_of(fields, TEXT_FIELDS, str) is None:
            wrong = "step field 'role' is no name" if message.get("role") is not None else "step has no field 'role'"
            raise StepRejectedError(wrong)
        yield from self.rows({"role": "unknown", **fields})

    def repeated_taken(self) -> list[Row]:
        """Rows that were left out as repetitions since the last time."""
        taken, self.repeated = self.repeated, []
        return taken

    def said_twice(self, text: str, *, item: bool) -> bool:
        """Whether a text that a log holds in two forms, as an `item` and not as one, was just seen in the other."""
        if self._said.get(text, item) is not item:
            del self._said[text]
            return True
        self._said[text] = item
        if len(self._said) > _REMEMBERED:
            self._said.popitem(last=False)
        return False

    def _spoken(self, fields: dict[str, Any], field: str, *, speaker: bool) -> Iterator[Row]:
        """A message whose `field` says who speaks."""
        row, said = _row_of(fields, field, speaker=speaker, people=self.people)
        metadata = row["metadata"]
        if (several := several_in(metadata, row["role"])) is not None:
            yield from self._several(several, row)
            return
        written, content = _calls_and_content(row, self._unmarked(_content_of(row), fields), said)
        if (origin := _told_origin(row, calls=bool(written))) is not None:
            row["origin"] = origin
        observed = first_of(metadata.get("observation"), ("results",), list)
        if observed is not None:
            del metadata["observation"]
        telling = Telling(self.tools, row)
        for call in written:
            telling.call(call)
        if beyond := list(filter(None, map(beyond_call, written))):
            metadata["calls"] = beyond
        # A tool's result may be any JSON value; only a list is a list of parts.
        whole = not isinstance(content, list) or (row["role"] == "tool" and not has_parts(content))
        for part in [text_of(content)] if whole else content:
            telling.take_in(part)
        self._name_result(row, observes=said.lower() in ("observation", "function", "tool"))
        yield from with_files(row, telling.rows(written))
        for result in (one for one in observed or () if isinstance(one, Mapping)):
            yield {**moment(row), **self.tools.result(result)}

    def _unmarked(self, content: Any, fields: Row) -> Any:
        """A content as a reader of its program sees it; how it is written counts as a repetition."""
        if not isinstance(content, str) or (seen := unmarked(content, fields, self.people)) == content:
            return content
        self.repeated.append({"content": content})
        return seen

    def _several(self, results: list[dict[str, Any]], message: Row) -> Iterator[Row]:
        """The results that a message holds; what else it says stands beside the first of them."""
        beside = {key: value for key, value in message["metadata"].items() if key not in (*SEVERAL, "role")}
        beside |= {name: message[key] for key, name in _OF_MESSAGE if key in message}
        for result in results:
            for row in self.rows({**moment(message), **result}):
                yield {**row, "metadata": {**beside, **row["metadata"]}}
                beside = {}

    def _acted(self, fields: dict[str, Any]) -> Iterator[Row]:
        """An entry of thought, actions and observations: what was done with which tools, and what came of it."""
        made = object_in(fields, "model_output")
        metadata = metadata_of({**without(fields, "model_output"), **made} if made else fields)
        row: Row = {"role": "assistant", "metadata": metadata, **taken_of(metadata, "id", "timestamp")}
        calls, came = self.tools.acted(metadata)
        said = next((name for name in _THOUGHTS if metadata.get(name)), "thought")
        row["content"] = text_of(metadata.pop(said, None))
        if calls or row["content"]:
            yield {**row, "tool_calls": calls}
        yield from ({**moment(row), **result} for result in came)

    def _called(self, fields: Mapping[str, Any]) -> Iterator[Row]:
        """A call that stands as an item of its own, and what came of it, if it says so."""
        call, kind = self.tools.call(fields), fields.get("type")
        row: Row = {"role": "assistant", "content": "", "tool_calls": (call,)}
        row["metadata"] = metadata_of(beyond_call(fields))
        row |= taken_of(row["metadata"], "timestamp", "parent")
        if kind not in ("function_call", "tool_use", "tool_call"):
            row["metadata"]["type"] = kind
        result = self.tools.own_result(fields, call)
        if result is not None and fields.get("subtype") == "completed":  # as Cursor tells what was `started` before
            self.repeated.append(row)
            yield {**moment(row), **result, "metadata": {**row["metadata"], **result["metadata"]}}
            return
        yield row
        if result is not None:
            yield {**moment(row), **result}

    def _thought(self, fields: dict[str, Any]) -> Row:
        """A thought that stands as an item of its own; one without words is named by its kind."""
        metadata = metadata_of(fields)
        texts = [text_of(metadata.pop(name)) for name in _THOUGHT if name in metadata]
        said = "\n".join(text for text in texts if text.strip() and text not in ("[]", "{}"))
        row: Row = {"role": "assistant", "content": said or str(fields["type"]), "metadata": metadata}
        return row | taken_of(metadata, "timestamp")

    def _name_result(self, row: Row, *, observes: bool) -> None:
        """Name the tool whose result a message of the role `tool` is."""
        if row["role"] != "tool" or "tool_name" in row:
            return
        metadata = row["metadata"]
        references = metadata.get("tool_call_ids") or [metadata[name] for name in RESULT_IDS[:-1] if name in metadata]
        if not references and str(row.get("id")) in self.tools.names:
            references = [row["id"]]
            metadata["tool_call_id"] = str(row["id"])
        named = metadata.pop("name", None) or metadata.pop("toolName", None)
        row["tool_name"] = named or self.tools.name_of(references or ([LAST_CALLED] if observes else []))


def _row_of(fields: dict[str, Any], field: str, *, speaker: bool, people: Mapping[str, str]) -> tuple[Row, str]:
    """The row of a message whose `field` says who speaks, and who does as it is written; what is left is metadata."""
    said = fields.pop(field)
    if field != "role" and isinstance(said, str | int) and (name := people.get(str(said))) is not None:
        fields.setdefault(field, said)
        said = name
    if isinstance(said, Mapping):  # the author of a message, as an object of its own
        author, said = said, named_in(said) or ""
        if said == "tool" and isinstance(author.get("name"), str):
            fields.setdefault("tool_name", author["name"])
        fields.setdefault(field, author)
    elif isinstance(said, int):
        said = f"{field.split('_')[0]} {said}"
    metadata, plain = metadata_of(fields), plain_role(said)
    known = plain if plain == "tool" or plain != said.lower() else said
    row: Row = {"role": ROLES.get(plain, known), "metadata": metadata}
    if row["role"] != said:
        metadata["role"] = said
    row |= taken_of(metadata, "id", "timestamp", "session", "parent", "tool_name")
    if _says_who(metadata.get("name"), row, speaker=speaker):
        row["role"], metadata["role"] = metadata.pop("name"), said
    return row, said


def _says_who(name: object, row: Row, *, speaker: bool) -> bool:
    """Whether a name beside a role is that of who speaks: beside `user` it tells the people of a talk apart."""
    if speaker or row["role"] != "user" or "is_user" in row["metadata"]:
        return speaker and isinstance(name, str)
    is_short = isinstance(name, str) and 0 < len(name.strip()) <= _LONGEST_NAME
    return is_short and origin_of_name(str(name)) is None and str(name).casefold() not in USERS


def _content_of(row: Row) -> Any:
    """Take what a message says out of its metadata; of a content that is an object, the words in it."""
    metadata = row["metadata"]
    content = _content_in(metadata)
    if isinstance(content, Mapping) and (row["role"] != "tool" or "content_type" in content):
        inner = next((name for name, kind in _CONTENTS if isinstance(content.get(name), kind)), None)
        if inner is None and row["role"] in KNOWN_ROLES:
            return content
        metadata.update({key: value for key, value in content.items() if key != inner})
        if "parent" not in row and (answered := taken(metadata, "parent")) is not None:
            row["parent"] = answered
        content = _shown_by(content, metadata) if inner is None else content[inner]
    return _without_tags(content, row) if isinstance(content, str) else joined_text(content)


def _without_tags(text: str, row: Row) -> str:
    """A text; the words of one in HTML, which its metadata keep."""
    flagged = str(first_of(row["metadata"], _TEXT_KINDS)).lower() in ("html", "text/html")
    if not flagged and (row["role"] in KNOWN_ROLES or not is_html(text)):
        return text
    row["metadata"]["html"] = text
    return words_of_html(text)


def _shown_by(content: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Words for an object in place of what a person says, who says no JSON: those in it, or what it is."""
    words = "\n".join(dict.fromkeys(text for _, text in texts_in(content, least=1)))
    return words or str(first_of(metadata, _EVENT_KINDS, str) or "event")


def _calls_and_content(row: Row, content: Any, said: str) -> tuple[list[Any], Any]:
    """The calls that stand beside the content or are written in it, and what is left of it."""
    # A summary repeats the calls that it sums up.
    summary = row["metadata"].get("type") == "ToolCallSummaryMessage"
    written = [] if summary else calls_beside(row["metadata"])
    if not written and said.lower() == "function_call":
        written, content = calls_in(content)
    if not written and row["role"] not in CALLED_BY_NOBODY and (isinstance(content, str) or _is_text(content)):
        written = spoken_calls(text_of(content))
    return written, content


def _is_text(content: Any) -> bool:
    """Whether a content is a list of texts."""
    return isinstance(content, list) and all(first_of(part, ("type",)) == "text" for part in content)


def _told_origin(row: Row, *, calls: bool) -> Origin | None:
    """Origin of a text by what stands beside its role, if that is trusted less: its name, its kind, a claim."""
    metadata = row["metadata"]
    own = origin_of(row["role"], answers_tool=row.get("tool_name") is not None)
    least = less_trusted(own, *_told_by_name(metadata, calls=calls), *_claims(metadata))
    return least if least.trust < own.trust else None


def _told_by_name(metadata: Mapping[str, Any], *, calls: bool) -> Iterator[Origin | None]:
    """Origins by the names of a message and its author, and by its kind; who calls is an agent."""
    for kind in (metadata[name] for name in _KINDS if isinstance(metadata.get(name), str)):
        means = kind_of({"type": kind})
        if means == "result" or (means is None and not calls and "request" not in kind.lower()):
            yield origin_of_kind(kind)
    if not calls:
        named = (first_of(holder, ("name",), str) for holder in (metadata, metadata.get("author")))
        yield from (origin_of_name(name) for name in named if name is not None)
        if first_of(metadata, RESULT_IDS[:-1]) is not None:
            yield Origin.TOOL


def _claims(metadata: Mapping[str, Any]) -> Iterator[Origin | None]:
    """Origins that a message claims, as such and by how far it is to be trusted."""
    if isinstance(claimed := metadata.get("origin"), str) and claimed in _ORIGINS:
        yield Origin(claimed)
    if isinstance(trusted := metadata.get("trust"), str):
        yield _TRUSTED.get(trusted.strip().lower())


def _content_in(metadata: dict[str, Any]) -> Any:
    """Take what a message says out of the metadata: its parts, where a text beside them only repeats these."""
    named = [name for name in TEXT_FIELDS if name in metadata]
    field = next((name for name in named if metadata[name]), named[0] if named else "output")
    if not metadata.get(field) and metadata.get("output") and has_parts(metadata["output"]):
        metadata.pop(field, None)
        return metadata.pop("output")  # items of a response, of which one may be what is said
    if field not in named:
        return None
    content, parts = metadata.pop(field), metadata.get("parts")
    if isinstance(content, str) and isinstance(parts, list) and has_parts(parts) and content == _texts_of(parts):
        metadata.pop("toolInvocations", None)
        return metadata.pop("parts")
    return content


def _texts_of(parts: list[Any]) -> str:
    texts = (part for part in parts if isinstance(part, Mapping) and part.get("type") == "text")
    return "".join(str(part.get("text", "")) for part in texts)

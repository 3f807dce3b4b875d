"""Names of the fields of a message, whatever program wrote it: who speaks, what, when, and in answer to what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from stitch.sources.parts import fault_in, first_of, has_parts, kind_of, object_in, without
from stitch.text.dates import iso_of, read_timestamp

ROLES = {"human": "user", "gpt": "assistant", "ai": "assistant", "model": "assistant", "bot": "assistant"} | {
    "agent": "assistant", "gemini": "assistant", "environment": "tool", "aimessage": "assistant",
    "humanmessage": "user", "systemmessage": "system", "toolmessage": "tool", "functionmessage": "tool",
    "aimessagechunk": "assistant", "function": "tool", "observation": "tool", "function_call": "assistant",
    "prompter": "user", "chatbot": "assistant", "toolresult": "tool", "customer": "user",
}  # fmt: skip
"""What other programs call the roles."""

KNOWN_ROLES = frozenset({*ROLES, "user", "assistant", "system", "developer", "tool", "chatmessage"})
_SAYING = ("role", "from", "sender", "speaker", "author")
_NAMING = ("user", "username", "participant", "agent", "actor", "sender_name", "speaker_name", "author_name",
           "user_name", "speaker_label", "author_id", "sender_id", "user_id", "from_id", "speakerId",
           "participantId", "requester_id")  # fmt: skip
_AUTHORS = ("role", "author", "from", "sender", "user")
_AUTHORING = re.compile(r"(?i).*(?:author|creator|sender|speaker|poster)")
SPEAKERS = (*_SAYING, "source", *_NAMING)
_NEVER_NUMBERS = ("role", "source", "from")
_ENVELOPES = ("message", "data", "kwargs", "info")
_NAMES = ("role", "real_name", "full_name", "fullName", "label", "displayName", "display_name", "nickname", "login",
          "name", "username", "user", "application", "participantRole", "id")  # fmt: skip
_PEOPLE = re.compile(r"(?i)(?:.*_)?(?:users|user_?profiles?|requester|participants|parties|members|speakers|people"
                     r"|contacts)")  # fmt: skip
"""Under which names a record says of people, by their ids, what they are called."""
_PERSON_IDS = ("speakerId", "participantId", "user_id", "userId", "uuid", "id")
SHOWN = ("embeds", "forwardedMessage", "forwarded", "quoted", "cards", "attachments", "files", "stickers", "sticker",
         "poll", "share", "photos", "videos", "audio_files", "gifs", "driveDocument", "driveImage", "driveVideo",
         "inlineFile")  # fmt: skip
"""What a message without words of its own shows."""
TEXT_FIELDS = ("content", "parts", "text", "value", "message", "system_prompt", "utterance", "blocks", "items", "body",
               "msg", "mes", "rawText", "transcript", "sentences", "cooked", "description_text")  # fmt: skip
_TEXT_NAMES = frozenset((*TEXT_FIELDS, *SHOWN))
_ALIASES = {
    "timestamp": ("date_unixtime", "timestamp_ms", "created_at", "create_at", "createdAt", "create_time", "created",
                  "start_time", "ts", "time", "datetime", "date", "createdDateTime", "created_date", "started_at",
                  "startTime", "sent_at", "date_sent", "send_date"),
    "parent": ("parent_id", "parentId", "parentUuid", "parent_uuid", "parent_message_id", "reply_to", "in_reply_to",
               "parentID", "reply_to_message_id", "replyToId", "thread_ts", "cause", "action_id"),
    "id": ("uuid", "message_id", "messageId", "step_id", "dia_id"),
    "session": ("session_id", "sessionId", "session_name", "sessionID"),
    "tool_name": ("toolName",),
}  # fmt: skip
"""Under which other names what a step has a field for may stand."""
_TIME = re.compile(
    r"(?:^|.*_)(?:timestamp|time|ts|created|sent|logged)(?:_(?:at|ms|ts|utc|time|unix|unix_secs))?|.*_(?:created|sent|logged)_at"
    r"|(?:sent|logged|created|event)(?:At|Time|Timestamp)"
)
_DATED = re.compile(r"(?i)time|date|sent|logged|created|inserted|(?:^|_)ts(?:_|$)")
_NO_TIME = re.compile(
    r"(?i)birth|due|edit|updat|end|expire|complet|last|finish|modif|process|read|parent|thread|wait|duration"
)
_WHEN = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|\d{10,19}(?:\.\d+)?")
_LEAST_TIME, _MOST_TIME = 3e8, 4e18
"""What a number must be to be a time: seconds after 1979, or a smaller unit of them."""
_FEW_ALIKE = 0.1
"""What share of neighbors in a list may have the same time where the newest stands first."""
_DEEPEST = 6
_ANSWERED = ("reference", "reply_to", "reply", "quoted", "m.relates_to", "m.in_reply_to")
_ANSWERED_IDS = ("messageId", "message_id", "event_id", "id")

_EVENT_WORDS = ("content", "message", "text", "instructions", "transcript", "result", "prompt", "summary",
                "description")  # fmt: skip
_SYSTEM_FIELDS = ("system", "systemInstruction", "system_instruction", "instructions", "preamble", "system_prompt",
                  "systemPrompt")  # fmt: skip
_IN_CALL, _SECONDS_OF_DAY = re.compile(r"(?:in_call|offset)_sec"), 86_400
_COUNTED = re.compile(r"\d{10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19}")

BROKEN = (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError, RecursionError)
"""What a record raises that looks like a format and breaks its rules: in files of other people all may be wrong."""
Row = dict[str, Any]
"""The fields of a `Step`, not yet checked."""


def seconds_of(stamp: Any) -> Any:
    """A time in Unix seconds if it was counted in a smaller unit or is a number in a text, else as `iso_of` has it."""
    if stamp == "NaN":  # as a table says that there is none
        return None
    if isinstance(stamp, str):
        stamp = float(stamp) if _COUNTED.fullmatch(stamp) else iso_of(stamp)
    if not isinstance(stamp, int | float) or isinstance(stamp, bool) or stamp > _MOST_TIME:
        return stamp  # a number of hundreds of digits cannot be divided, and is refused as what it is
    return next((stamp / unit for least, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)) if stamp > least), stamp)


def is_message(record: Any) -> bool:
    """Whether a record says who speaks and what, calls a tool, or is a tool's result."""
    if not isinstance(record, Mapping):
        return False
    if kind_of(record) is not None and record.get("type") != "message":
        return True
    if _says_who(record):
        return True
    if isinstance(record.get("kwargs"), Mapping) and isinstance(record.get("id"), list):
        return "content" in record["kwargs"]
    inner = next((record[name] for name in _ENVELOPES if name in record), None)
    return isinstance(inner, Mapping) and (role_in(inner) is not None or role_in(record, typed=True) is not None)


def _says_who(record: Mapping[str, Any]) -> bool:
    """Whether a record itself says who speaks, in any of the ways in use."""
    if "role" in record or _tagged(record) or (role_in(record) or _role_by_flag(record)) is not None:
        return True
    return isinstance(record.get("message_type"), str) or ("Role" in record and "Items" in record)


def system_of(record: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The instructions that stand beside the messages of a record: the field, and a message that says them."""
    for name in _SYSTEM_FIELDS:
        value = record.get(name)
        if isinstance(value, Mapping):
            value = value.get("parts") or value.get("text")
        if (isinstance(value, str) and value.strip()) or (isinstance(value, list) and value and has_parts(value)):
            return name, {"role": "system", "content": value}
    return None


def is_system(message: Any) -> bool:
    """Whether a message says how to behave."""
    return isinstance(message, Mapping) and message.get("role") in ("system", "developer")


def unwrapped(message: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message without nulls; of one inside an envelope, with those of the envelope."""
    message = _tagged(message) or message
    if "Role" in message:
        message = decapitalized(message)
    if isinstance(kind := message.get("message_type"), str) and "type" not in message and "role" not in message:
        message = {**message, "type": kind.removesuffix("_message")}
    fields = _without_nulls(message)
    if "role" not in fields and (by_flag := _role_by_flag(fields)) is not None:
        return {**fields, "role": by_flag}
    if role_in(fields) is not None:
        return fields
    opened = (_opened(fields, name) for name in _ENVELOPES if isinstance(fields.get(name), Mapping))
    return next((whole for whole in opened if whole is not None), fields)


def _tagged(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message whose only field is named after who speaks, as programs of Rust write it (`{"User": {...}}`)."""
    name = str(next(iter(message))) if len(message) == 1 else ""
    held = object_in(message, name)
    if not isinstance(held.get("content"), list) or plain_role(name) not in KNOWN_ROLES:
        return None
    answers = (one for one in object_in(held, "tool_results").values() if isinstance(one, Mapping))
    content = [*map(_part_of, held["content"]), *({"type": "tool_result", **_part_of(one)} for one in answers)]
    return {"role": name.lower(), **without(held, "tool_results"), "content": content}


def _part_of(value: Any) -> Any:
    """A part whose only field is named after what it is, or a result that holds one, with that as its `type`."""
    if not isinstance(value, Mapping):
        return value
    name, held = next(iter(value.items())) if len(value) == 1 else ("", None)
    if str(name)[:1].isupper():
        return {"type": name.lower(), **(held if isinstance(held, Mapping) else {name.lower(): held})}
    return {**value, **({"content": [_part_of(value["content"])]} if "tool_use_id" in value else {})}


def _role_by_flag(fields: Mapping[str, Any]) -> str | None:
    """The role that flags alone tell; None without them."""
    by_user = fields.get("is_user") if "mes" in fields else fields.get("isCreatedByUser")
    if not isinstance(by_user, bool):
        return None
    return "user" if by_user else "system" if fields.get("is_system") is True else "assistant"


def _opened(fields: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The message in an envelope, with the fields of the envelope; None if neither of them says who speaks."""
    inner = _without_nulls(fields[name])
    outer = {key: value for key, value in fields.items() if key != name}
    if name == "kwargs" and isinstance(path := outer.get("id"), list) and path:  # an object of LangChain: its class
        inner.setdefault("role", str(path[-1]))
        return {**without(outer, "id", "lc", "type"), **inner}
    if role_in(inner) is not None or role_in(outer, typed=True) is not None:
        return {**outer, **inner}
    return None


def _without_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def decapitalized(value: Any, *, depth: int = 0) -> Any:
    """A value whose fields begin with a capital, as programs of .NET write them, with small ones."""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {
            key.lower() if key.isupper() else key[:1].lower() + key[1:]: decapitalized(inner, depth=depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, list) and depth < _DEEPEST:
        return [decapitalized(inner, depth=depth + 1) for inner in value]
    return value


def role_in(fields: Mapping[str, Any], *, typed: bool = False) -> str | None:
    """The field that says who speaks; with `typed`, the field `type` may."""
    has_text = not _TEXT_NAMES.isdisjoint(fields)
    for name in filter(fields.__contains__, SPEAKERS):
        value = fields[name]
        if isinstance(value, Mapping):
            if name in _AUTHORS and (has_text or "role" in value) and named_in(value):
                return name
        elif _may_say_who(fields, name, has_text=has_text):
            if isinstance(value, str) and value.strip():
                return name
            if type(value) is int and name not in _NEVER_NUMBERS:
                return name if _says(fields) else None
    return _otherwise_in(fields, has_text=has_text) if typed or has_text else None


def _otherwise_in(fields: Mapping[str, Any], *, has_text: bool) -> str | None:
    """The field with an object that names who wrote a text, or the kind of a record, if that is a role."""
    objects = ((name, value) for name, value in fields.items() if has_text and isinstance(value, Mapping))
    author = next((name for name, value in objects if _AUTHORING.fullmatch(name) and named_in(value)), None)
    return author or next(
        (name for name in ("type", "event") if plain_role(str(fields.get(name))) in KNOWN_ROLES), None
    )


def _may_say_who(fields: Mapping[str, Any], name: str, *, has_text: bool) -> bool:
    """Whether a field means who speaks: those with other meanings do so beside a text alone."""
    return name in _SAYING or (has_text and (name not in _NAMING or _says(fields)))


def plain_role(said: str) -> str:
    """A role in small letters, without the word that some programs put behind it (`user.message`)."""
    return said.lower().removesuffix(".message")


def _says(fields: Mapping[str, Any]) -> bool:
    """Whether it holds a text, and not only a field of this name."""
    said = first_of(fields, TEXT_FIELDS, str) is not None or first_of(fields, ("sentences", *SHOWN), list | dict)
    return bool(said) and str(fields.get("type")) not in KNOWN_ROLES


def named_in(author: Mapping[str, Any]) -> str | None:
    """Name of an author that is an object."""
    for name in _NAMES:
        value = author.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if name in ("user", "application") and isinstance(value, Mapping):
            return named_in(without(value, "user"))
    return None


def people_in(record: Any, *, depth: int = 0) -> dict[str, str]:
    """The names of those of whom a record says it apart from what they say, by the ids under which they speak."""
    if depth > _DEEPEST or not isinstance(record, Mapping):
        return {}
    joined = first_of(record.get("content"), ("displayname",), str)  # as Matrix tells it
    found = {} if joined is None else {str(record.get("state_key")): joined}
    for key, value in record.items():
        several = value if isinstance(value, list) else [value]
        for one in several:
            if not _PEOPLE.fullmatch(key):
                found |= people_in(one, depth=depth + 1)
            elif isinstance(one, Mapping) and (name := named_in(without(one, "role", "id"))) is not None:
                ids = (one[each] for each in _PERSON_IDS if isinstance(one.get(each), str | int))
                # One that stands beside what is said, as in Slack, is of who says it.
                own = (record["user"],) if isinstance(record.get("user"), str) and one is value else ()
                found |= {str(identity): name for identity in (*ids, *own)}
    return found


def taken(metadata: dict[str, Any], name: str) -> Any:
    """Take what a step has a field for out of the metadata, whatever it is called there."""
    kinds = (str, int, float) if name == "timestamp" else (str, int)
    for alias in (name, *_ALIASES.get(name, ())):
        if (value := metadata.get(alias)) is None:
            continue
        if name == "timestamp" and isinstance(value, Mapping) and (at := _time_held(value)) is not None:
            if "created" not in value:
                del metadata[alias]
            return at
        plain = isinstance(value, kinds) and not isinstance(value, bool) and value != ""
        if plain or alias == name:  # of the wrong type: the step says so
            return metadata.pop(alias)
    return _taken_by_shape(metadata, name)


def _taken_by_shape(metadata: dict[str, Any], name: str) -> Any:
    if name == "timestamp":
        held = {**metadata, **object_in(metadata, "meta"), **object_in(metadata, "timing")}
        at = next((key for key, value in held.items() if is_time(key, value)), None)
        return None if at is None else metadata.pop(at, held[at])
    return _answered_in(metadata) if name == "parent" else None


def _time_held(value: Mapping[str, Any]) -> Any:
    """A time in an object, as MongoDB (`$date`), Firestore (`_seconds`) and OpenCode (`created`) write it, or None."""
    if (seconds := first_of(value, ("_seconds", "seconds"), int)) is not None:
        return seconds + (first_of(value, ("_nanoseconds", "nanoseconds", "nanos"), int) or 0) / 1e9
    at = first_of(value, ("$date", "created"))
    at = at.get("$numberLong") if isinstance(at, Mapping) else at
    return at if isinstance(at, str | int | float) else None


def taken_of(metadata: dict[str, Any], *names: str) -> Row:
    """As `taken`, for several fields; those that the metadata have."""
    return {name: value for name in names if (value := taken(metadata, name)) is not None}


def is_time(key: str, value: Any) -> bool:
    """Whether a field says when something was said, by its name and by what stands there."""
    if _NO_TIME.search(key):
        return False
    if isinstance(value, str):
        return bool(_DATED.search(key) and _WHEN.fullmatch(value))
    counts = isinstance(value, int | float) and not isinstance(value, bool)
    return counts and bool(_TIME.fullmatch(key)) and _LEAST_TIME < value < _MOST_TIME


def time_in(record: Mapping[str, Any]) -> Any:
    """Time of a record, under any of the names in use; None if a record does not say."""
    fields = {key: value for key, value in record.items() if isinstance(value, str | int | float)}
    return taken(fields, "timestamp") if fields else None


def second_of_call(began: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The time of an entry that says how many seconds after the beginning of a call it is."""
    after = next((value for key, value in entry.items() if _IN_CALL.search(key) and type(value) in (int, float)), None)
    if after is None or not 0 <= after < _SECONDS_OF_DAY or time_in(entry) is not None:
        return {}
    at = read_timestamp(began) if isinstance(began := seconds_of(began), str) else began
    return {"timestamp": (at + timedelta(seconds=after)).isoformat() if isinstance(at, datetime) else at and at + after}


def oldest_first(entries: list[Any]) -> list[Any]:
    """The entries of a list, turned round if their times say that the newest stands first.

    Where many share a time, as those of a session do that all have its date, their order is the one they stand in.
    """
    times = [seconds_of(time_in(entry)) for entry in entries if isinstance(entry, Mapping)]
    if len(times) < 2 or len(times) < len(entries) or len({type(at) for at in times}) > 1 or times[0] is None:
        return entries
    pairs = list(pairwise(times))
    alike = sum(earlier == later for earlier, later in pairs)
    newest_first = all(earlier >= later for earlier, later in pairs) and alike <= _FEW_ALIKE * len(pairs)
    return entries[::-1] if newest_first else entries


def _answered_in(fields: Mapping[str, Any], *, depth: int = 0) -> Any:
    """The id of the message that one answers, where it stands in an object of its own."""
    for name in _ANSWERED:
        inner = fields.get(name)
        if isinstance(inner, Mapping) and depth < 2:
            own = first_of(inner, _ANSWERED_IDS, str | int)
            return own if own is not None else _answered_in(inner, depth=depth + 1)
    return None


def event(record: Mapping[str, Any], rest: Mapping[str, Any]) -> Row:
    """Row of what is no message of anybody: it is named by its kind, and its words are its text.

    One without words is a mark of the program that wrote the log, and no step: its text is None.
    """
    kind = str(record.get("type") or record.get("event") or "event")
    words = _words_in(record)
    metadata = {key: value for key, value in rest.items() if key != words and value is not None}
    # The user's voice, as it was understood, or what the user wrote while the agent was at work.
    heard = words == ("transcript" if "input_audio_transcription" in kind else "content") and _HEARD.search(kind)
    said = record[words] if words else fault_in(record)
    row: Row = {"role": "user" if heard else "event" if kind == "user" else kind, "content": said}
    return {**row, "metadata": metadata if words or said is None else {"outcome": "failure", **metadata}}


_HEARD = re.compile(r"input_audio_transcription|^queue-operation$")


def _words_in(record: Mapping[str, Any]) -> str:
    """The field with the words of an event; an empty name if it has none."""
    texts = (key for key in _EVENT_WORDS if isinstance(record.get(key), str))
    return next((key for key in texts if record[key].strip()), "")


def moment(row: Row) -> Row:
    """Time, session and parent of a row."""
    return {key: row[key] for key in ("timestamp", "session", "parent") if key in row}


def metadata_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as metadata, those that a row calls `metadata` among them."""
    metadata = {key: value for key, value in fields.items() if value is not None and key != "trajectory"}
    inner = metadata.get("metadata")
    return {**without(metadata, "metadata"), **inner} if isinstance(inner, Mapping) else metadata

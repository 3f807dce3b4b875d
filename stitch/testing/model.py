"""Language models for tests: scripted replies in the process, and a provider on this machine that speaks HTTP."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from stitch.lm.replies import chars_of, prompt_of, reply_of
from stitch.testing.servers import LoopbackServer, Reply, Request, Silence

if TYPE_CHECKING:
    from dspy import lm15

Script = Callable[[str, str], Any]
"""Gives a reply from the system prompt and the messages, those of examples first: JSON, or a string sent as it is."""


def fields_of(message: str) -> dict[str, str]:
    """The input fields of a rendered prompt, by name."""
    fields: dict[str, str] = {}
    for part in message.split("[[ ## ")[1:]:
        name, _, value = part.partition(" ## ]]\n")
        fields[name] = value.strip()
    last = next(reversed(fields), None)
    if last is not None:
        fields[last] = fields[last].rsplit("\n\nRespond with a JSON object", 1)[0]
    return fields


class ScriptedCompletion:
    """Answers requests by a script, in the process: in the place of a provider (`LanguageModel(completion=...)`).

    Args:
        script: Gives the replies.
        finish_reason: How every reply ends; `length` for one that is cut.
    """

    def __init__(self, script: Script, *, finish_reason: str = "stop") -> None:
        self.script = script
        self.finish_reason = finish_reason
        self.prompts: list[tuple[str, str]] = []
        """System prompt and user's message of every request, in order."""
        self._errors: list[Exception] = []
        self._lock = threading.Lock()

    def fail_next(self, *errors: Exception) -> None:
        """Raise these for the next requests, one each."""
        self._errors.extend(errors)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Return what the script says; tokens are counted as four characters each."""
        system, user = prompt_of(request)
        with self._lock:
            self.prompts.append((system, user))
            if self._errors:
                raise self._errors.pop(0)
        said = self.script(system, user)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        usage = chars_of(request) // 4, len(text) // 4
        return reply_of(text, model=request.model, finish_reason=self.finish_reason, usage=usage)


class LoopbackProvider(LoopbackServer):
    """A provider on this machine that speaks OpenAI's chat completions and answers by a script.

    >>> with LoopbackProvider(lambda system, user: {"answer": "42"}) as provider:
    ...     provider.base_url.endswith("/v1")
    True

    Args:
        script: Gives the replies.
        faults: Sent in the place of the first replies, one each; None lets the script answer.
    """

    def __init__(self, script: Script, *, faults: Iterable[Reply | Silence | None] = ()) -> None:
        self.script = script
        self._faults = iter(faults)
        self._lock = threading.Lock()
        super().__init__(self._answer)

    def __enter__(self) -> LoopbackProvider:
        super().__enter__()
        return self

    @property
    def base_url(self) -> str:
        """The `base_url` for clients."""
        return f"{self.url}/v1"

    def _answer(self, request: Request) -> Reply | Silence:
        with self._lock:
            fault = next(self._faults, None)
        if fault is not None:
            return fault
        messages = request.body["messages"]
        system = "".join(message["content"] for message in messages if message["role"] in ("system", "developer"))
        user = "".join(_content(m["content"]) for m in messages if m["role"] in ("user", "assistant"))
        said = self.script(system, user)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        form = request.body.get("response_format") or {}
        schema = json.dumps(form["json_schema"]) if "json_schema" in form else ""
        return completion(text, prompt_tokens=len(system + user + schema) // 4)


def completion(text: str | None, *, finish_reason: str = "stop", prompt_tokens: int = 10) -> Reply:
    """A reply of the protocol with `text` in it."""
    replied = len(text or "") // 4
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": replied, "total_tokens": prompt_tokens + replied}
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}
    body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    return Reply(body)


def failure(status: int, *, retry_after_s: float | None = None) -> Reply:
    """A reply that reports an error, as the protocol says."""
    headers = {} if retry_after_s is None else {"retry-after": f"{retry_after_s:g}"}
    return Reply({"error": {"message": f"status {status}", "type": "error"}}, status=status, headers=headers)


def _content(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def label_by_rules(system: str, user: str) -> Any:
    """A script that answers every labeling prompt by plain rules, knowing only what stands before each step.

    The scope is the last "day N" that was named; the act is to ask or to tell; a "$" is a price.
    """
    fields = fields_of(user)
    if "`readings`" in system:
        current = re.search(r"^> \d+\. (.+?)(?:: |$)", fields["known_scopes"], re.MULTILINE)
        scope = current[1] if current else "opening"
        readings = []
        for line in fields["steps"].split("\n"):  # a text may hold other ends of lines
            step = json.loads(line)
            scope = _scope(step["text"], scope)
            readings.append({"n": step["n"], "scope": scope, **_labels(step["text"]), "references": []})
        return {"readings": readings}
    text = json.loads(fields["step"])["text"] if fields.get("step", "").startswith("{") else ""
    answers: dict[str, Any] = {
        "scope": _scope(text, fields.get("current_scope") or "opening"),
        "event_types": _labels(text)["events"],
        "entity_types": _labels(text)["entities"],
        "new_event_types": [],
        "references": [],
        "synonyms": [],
        "summary": _labels(text)["summary"],
    }
    return {name: value for name, value in answers.items() if f"`{name}`" in user.rpartition("Respond with")[2]}


def _scope(text: str, current: str) -> str:
    found = re.findall(r"\bday \d+", text)
    return f"plan of {found[-1]}" if found else current


def _labels(text: str) -> dict[str, Any]:
    return {
        "events": ["ask question" if "?" in text else "give answer"],
        "entities": ["price"] if "$" in text else [],
        "summary": " ".join(text.split()[:8]),
    }

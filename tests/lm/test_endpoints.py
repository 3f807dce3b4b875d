"""Endpoints as they are: odd places for the reply, refused forms, and reasons that are told in the server's words."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from doubles.files import files_with
from stitch import Step, open_memory
from stitch.errors import ModelError, ModelUnavailableError, ReplyError
from stitch.lm import LanguageModel, Limits, Purpose
from stitch.lm.batch import read_reply
from stitch.signatures import LabelWindow
from stitch.testing.model import LoopbackProvider, label_by_rules
from stitch.testing.servers import LoopbackServer, Reply, Request

READING = {"n": 1, "scope": "trip", "events": ["ask"], "entities": []}
SAID = json.dumps({"readings": [READING]})
CALL = {"id": "c", "type": "function", "function": {"name": "label", "arguments": SAID}}


def chat(message: dict[str, Any], *, finish_reason: str = "stop", **more: Any) -> Reply:
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    return Reply({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage, **more})


def refused(message: str, *, status: int = 400, **more: Any) -> Reply:
    return Reply({"error": {"message": message, "type": "invalid_request_error", **more}}, status=status)


def asked_of(*replies: Reply) -> Any:
    """The prediction of a model whose provider gives these replies."""
    with LoopbackProvider(lambda system, user: SAID, faults=replies) as provider:
        model = LanguageModel("m", base_url=provider.base_url, limits=Limits(retries=0))
        try:
            return model.run(dspy.Predict(LabelWindow), purpose=Purpose("test"), steps="s")
        finally:
            model.close()


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "reasoning_content": SAID},
        {"content": None, "reasoning": f"I label them.\n{SAID}"},
        {"content": "  ", "tool_calls": [CALL]},
        {"content": f"Okay.</think>{SAID}"},
        {"content": [{"type": "text", "text": SAID}]},
    ],
)
def test_the_json_is_read_wherever_it_stands(message: dict[str, Any]) -> None:
    assert [one.scope for one in asked_of(chat(message)).readings] == ["trip"]


@pytest.mark.parametrize(
    ("reply", "kind", "reason"),
    [
        (chat({"content": None, "refusal": "I can't assist\nwith that."}), ReplyError, "refusal: I can't assist with"),
        (chat({"content": ""}, finish_reason="content_filter"), ReplyError, "content filter"),
        (chat({"content": "", "reasoning_content": "Let me see."}), ReplyError, "did not answer"),
        (chat({}, choices=[]), ReplyError, "has no choices"),
        (chat({}, choices=None), ReplyError, "has no choices"),
        (chat({"content": SAID}, finish_reason="length"), ReplyError, "was cut"),
        (chat({"content": ""}), ReplyError, "is empty"),
        (refused("9000 tokens are too many", code="context_length_exceeded"), ReplyError, "9000 tokens"),
        (refused("This model's maximum context length is 2048 tokens."), ReplyError, "too long.* 2048 tokens"),
        (refused("The prompt was filtered", code="content_filter"), ReplyError, "filter keeps .* was filtered"),
        (Reply({"object": "error", "message": "No such adapter", "code": 404}, status=404), ModelUnavailableError,
         "No such adapter"),
        (Reply({"detail": [{"loc": ["body"], "msg": "field required"}]}, status=422), ModelUnavailableError,
         "field required"),
        (Reply({"detail": "Not Found"}, status=404), ModelUnavailableError, "Not Found"),
        (Reply(b"<h1>Bad Gateway</h1>", status=502), ModelUnavailableError, "Bad Gateway"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_the_words_of_the_server(reply: Reply, kind: type[ModelError], reason: str) -> None:
    with pytest.raises(kind, match=reason):
        asked_of(reply)


FORMS = {
    "no schema": ("json_schema", refused("This response_format type is unavailable now")),
    "a grammar that fails": ("json_schema", Reply({"object": "error", "message": "Grammar error: x"}, status=400)),
    "no form at all": ("json", refused("Unrecognized request argument supplied: response_format")),
    "nothing said": ("json_schema", Reply(b"", status=400)),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_refused_form_is_fallen_back_from_once_and_the_schema_goes_where_it_is_taken(name: str) -> None:
    refuses, refusal = FORMS[name]
    bodies: list[dict[str, Any]] = []

    def answer(request: Request) -> Reply:
        bodies.append(request.body)
        kind = (request.body.get("response_format") or {}).get("type", "")
        return refusal if kind.startswith(refuses) else chat({"content": SAID})

    with LoopbackServer(answer) as server:
        model = LanguageModel("m", base_url=f"{server.url}/v1", limits=Limits(retries=0))
        for _ in range(2):
            assert model.run(dspy.Predict(LabelWindow), purpose=Purpose("test"), steps="s").readings
        model.close()
    forms = [(body.get("response_format") or {}).get("type") for body in bodies]
    assert (
        forms
        == {
            "json_schema": ["json_schema", "json_object", "json_object"],
            "json": ["json_schema", "json_object", None, None],
        }[refuses]
    )
    for form, body in zip(forms, bodies, strict=True):  # never both, never neither
        assert ("JSON schema" in body["messages"][0]["content"]) == (form != "json_schema")
    assert model.ledger.total().calls == 2


ALIVE = "\n\n\n: OPENROUTER PROCESSING\n\n : OPENROUTER PROCESSING\n\n"
PIECES = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": SAID[:9]}}]},
    {"choices": [{"index": 0, "delta": {"content": SAID[9:]}, "finish_reason": None}]},
    {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
]
SSE = "".join(f"data: {json.dumps(piece)}\n\n" for piece in PIECES)
WHOLE = json.dumps(chat({"content": SAID}).body)


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        (ALIVE + WHOLE, 14),
        ("\n\n   \n" + WHOLE, 14),
        ("\ufeff" + WHOLE, 14),
        (f"{SSE}data: [DONE]\n\n", 10),
        (f"{ALIVE}event: chunk\n{SSE}data: [DONE]\n", 10),
        (f"data: {WHOLE}\n\n", 14),
    ],
)
@pytest.mark.parametrize("of_dspy", [False, True])
def test_lines_that_keep_a_connection_alive_and_pieces_cost_nothing(body: str, tokens: int, *, of_dspy: bool) -> None:
    with LoopbackServer(lambda request: Reply(body.encode())) as server:
        url = f"{server.url}/v1"
        lm = dspy.LM("openrouter/m", api_base=url, api_key="k")
        model = LanguageModel(lm) if of_dspy else LanguageModel("m", base_url=url)
        assert model.run(dspy.Predict(LabelWindow), purpose=Purpose("test"), steps="s").readings[0].scope == "trip"
        model.close()
    assert model.ledger.total().tokens == tokens


def test_pieces_without_an_end_are_a_reply_that_was_cut() -> None:
    with pytest.raises(ReplyError, match="was cut"):
        asked_of(Reply(SSE.encode()))
    with pytest.raises(ModelUnavailableError, match="is not JSON"):
        asked_of(Reply(b"data: {"))


@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_an_error_says_the_name_of_the_model_and_the_words_of_the_server_and_no_name_of_ours(status: int) -> None:
    fault = refused("No such deployment", status=status)
    with LoopbackProvider(lambda system, user: SAID, faults=[fault] * 2) as provider:
        lm = dspy.LM("openai/small", api_base=provider.base_url, api_key="k")
        limits = Limits(retries=0)
        named = LanguageModel("acme/small", base_url=provider.base_url, limits=limits)
        for model in (named, LanguageModel(lm, limits=limits)):
            with pytest.raises(ModelUnavailableError) as caught:
                model.run(dspy.Predict(LabelWindow), purpose=Purpose("test"), steps="s")
            does = "refuses" if status == 401 else "does not answer"
            assert caught.value.message == f"model {model.name!r} {does}: No such deployment (HTTP {status})"


def test_another_refusal_is_no_matter_of_form() -> None:
    with pytest.raises(ModelUnavailableError, match="temperature"):
        asked_of(refused("Unsupported value: 'temperature' does not support 0.0", param="temperature"))


def test_a_context_that_is_too_long_halves_the_window_and_why_labels_are_local_stands_in_the_receipts(
    tmp_path: Path,
) -> None:
    sizes: list[int] = []

    def answer(request: Request) -> Reply:
        user = request.body["messages"][-1]["content"]
        count = user.partition("[[ ## steps ## ]]")[2].count('"n"')
        sizes.append(count)
        if count > 2 or "poison" in user.partition("[[ ## steps ## ]]")[2]:
            return refused("too many tokens", code="context_length_exceeded")
        return chat({"content": json.dumps(label_by_rules("`readings`", user))})

    steps = [Step(id=str(n), role="user", content="poison" if n == 4 else f"Is day {n} free?") for n in range(5)]
    with (
        LoopbackServer(answer) as server,
        open_memory(tmp_path / "m", labels="model", model="m", base_url=f"{server.url}/v1") as memory,
    ):
        memory.add_many(steps, trajectory="t")
        memory.flush()
        receipts = list(memory.receipts())
    assert sizes == [5, 3, 2, 1, 2, 1, 1]
    assert [receipt.reason for receipt in receipts[:4]] == [""] * 4
    assert "has local labels: the prompt is too long for model 'm': too many tokens" in receipts[4].reason


def test_a_key_that_a_server_quotes_is_neither_shown_nor_kept_with_the_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = "sk-live-" + "Q7rT2mXw9ZpL4vBn"
    with (
        LoopbackServer(lambda request: refused(f"Incorrect API key provided: {key}", status=401)) as server,
        open_memory(tmp_path / "m", labels="model", model="m", base_url=f"{server.url}/v1") as memory,
    ):
        memory.add(Step(role="user", content="Is day 1 free?"), trajectory="t")
        memory.flush()
        [receipt] = memory.receipts()
        memory.search("Is day 1 free?")
    told = "Incorrect API key provided: [redacted:"
    assert told in receipt.reason
    assert told in caplog.text
    assert key not in caplog.text
    assert files_with(tmp_path / "m", key.encode()) == []
    for reply in (refused(f"{'x' * 190} {key}"), chat({"content": None, "refusal": f"You gave me {key}."})):
        with pytest.raises(ModelError) as caught:
            asked_of(reply)
        assert key[:8] not in str(caught.value)
    failed = {"custom_id": "c", "response": {"status_code": 401, "body": {"error": {"message": f"no key {key}"}}}}
    with pytest.raises(ReplyError, match=r"the provider failed: no key \[redacted:"):
        read_reply(json.dumps(failed).encode())

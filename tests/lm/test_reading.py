"""Replies as models write them, to each kind of prompt: what is read, what is not guessed, and how they are kept."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy import lm15
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from doubles.golden import compare_phrases
from stitch import signatures
from stitch.lm import LanguageModel, Purpose
from stitch.lm.adapter import ReplyAdapter, compact
from stitch.lm.reading import json_in, whole_items
from stitch.lm.replies import KeptReplies, asking_again, decode_reply, digest_of, encode_reply, reply_of, text_of
from stitch.testing.model import ScriptedCompletion


def plain(said: Any) -> Any:
    if isinstance(said, list):
        return [plain(one) for one in said]
    return said.model_dump(exclude_defaults=True) if isinstance(said, BaseModel) else said


def test_what_a_model_says_is_read_and_never_guessed() -> None:
    def read(prompt_and_field: str, text: str) -> str:
        prompt, _, field = prompt_and_field.partition(" ")
        try:
            return json.dumps(plain(ReplyAdapter().parse(getattr(signatures, prompt), text)[field]))
        except AdapterParseError:
            return "refused"  # the same is asked once more, or for less

    compare_phrases(Path(__file__).parent / "replies.txt", read)


class Verdict(dspy.Signature):  # type: ignore[misc]  # DSPy is not typed
    """Tell."""

    question: str = dspy.InputField()
    answer: str = dspy.OutputField()
    sure: bool = dspy.OutputField()


def run(said: str) -> Any:
    model = LanguageModel("m", completion=ScriptedCompletion(lambda system, user: said))
    return model.run(dspy.Predict(Verdict), purpose=Purpose("test"), question="x")


def test_an_example_is_shown_in_one_line_without_what_is_empty() -> None:
    reading = signatures.StepReading(n=1, scope="trip", events=["ask"], entities=[])
    demos = [{"steps": "s", "readings": [reading], "renames": []}]
    messages = ReplyAdapter().format(signatures.LabelWindow, demos, {"steps": "t"})
    [example] = [one["content"] for one in messages if one["role"] == "assistant"]
    assert example.startswith('{"readings":[{"n":1,"scope":"trip","events":["ask"],"entities":[]}]')
    assert compact("as it is") == "as it is"


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3))
objects = st.dictionaries(texts, values, min_size=1, max_size=4)
talk = texts.filter(lambda text: not set(text) & set("{}[]<>"))
items = st.lists(st.builds(signatures.Synonym, name=texts, read_as=texts), min_size=1, max_size=4)


@given(objects, talk, talk)
def test_an_object_is_found_in_any_talk(said: dict[str, Any], before: str, after: str) -> None:
    assert json_in(f"{before} {json.dumps(said)} {after}") == said
    assert json_in(f"{before}\n```json\n{json.dumps(said, ensure_ascii=False)}\n```{after}") == said


@given(items, st.data())
def test_what_is_torn_is_never_healed_and_its_whole_items_are_those_that_were_said(
    said: list[signatures.Synonym], data: st.DataObject
) -> None:
    text = json.dumps({"synonyms": [each.model_dump() for each in said]})
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    if not set("".join(f"{each.name}{each.read_as}" for each in said)) & set("{}[]"):
        assert json_in(cut) is None
    found = whole_items(cut, signatures.Synonym)
    assert found == said[: len(found)]
    assert whole_items(text, signatures.Synonym) == said


@pytest.mark.parametrize(
    "text", ["", "sorry", "{", "[1, 2]", "{scope}", '"text"', "{" * 5000, "[" * 100_000, '{"a": ' * 9_999]
)
def test_what_holds_no_object_gives_none(text: str) -> None:
    assert json_in(text) is None
    assert whole_items(text, signatures.Synonym) == []


@given(st.text(alphabet=st.sampled_from("\n :-|*#<>()[]{}=,;.1\"'\\“”nı"), max_size=80))
def test_no_text_breaks_it(said: str) -> None:
    for prompt in (signatures.LabelWindow, signatures.SelectFilter, signatures.JudgeAnswerSet):
        with suppress(AdapterParseError):
            ReplyAdapter().parse(prompt, said)


def test_a_reply_is_the_same_after_it_was_kept() -> None:
    reply = reply_of('{"answer": "hôtel"}', model="m", finish_reason="length", usage=(12, None))
    again = decode_reply(encode_reply(reply), model="m")
    assert again == reply
    assert (text_of(again), again.finish_reason) == ('{"answer": "hôtel"}', "length")
    assert (again.usage.input_tokens, again.usage.output_tokens) == (12, None)


def test_a_reply_that_was_kept_survives_a_line_that_is_torn_and_a_further_try_has_its_own(tmp_path: Path) -> None:
    request = lm15.Request(model="m", messages=(lm15.Message.user("Q"),))
    first = digest_of(request)
    with asking_again(), asking_again():
        third = digest_of(request)
    assert len({first, third}) == 2
    file = tmp_path / "kept" / "replies.jsonl"
    KeptReplies(file).keep(first, b"one")
    with file.open("ab") as lines:
        lines.write(b'{"id": "to')
    KeptReplies(file).keep(third, b"three")
    kept = KeptReplies(file)
    assert (kept.get(first), kept.get(third), kept.get(b"other")) == (b"one", b"three", None)

"""Secrets are taken out before anything is written, and are told by kind, count and place only."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from doubles.files import files_with
from doubles.golden import asked_in, compare_phrases
from stitch import open_memory
from stitch.cli.main import cli
from stitch.core import Redaction, Step, ToolCall
from stitch.errors import InputError, SettingsError
from stitch.ingest.redact import redact_step, redact_value
from stitch.lifecycle.selection import Selector
from stitch.text.secrets import kinds, redact_text

_A = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b"  # mixed, as providers make them
_HEX = "0123456789abcdef" * 4


def _pem(kind: str) -> str:
    return f"-----BEGIN {kind}-----\nMIIEpAIBAAKCAQEA7\nzZ+/x==\n-----END {kind}-----"


SECRETS = {
    "anthropic-key": [f"sk-ant-api03-{_A}"],
    "openai-key": [f"sk-proj-{_A}", f"sk-{_A}", "sk-or-v1-" + _HEX],
    "aws-key": ["AKIAIOSFODNN7EXAMPLE", "ASIAQWERTYUIOP234567"],
    "github-token": [f"ghp_{_A}", f"ghs_{_A}", "github_pat_11ABCDEFG0123456789_" + _A],
    "gitlab-token": [f"glpat-{_A[:20]}"],
    "google-key": ["AIza" + _A[:35]],
    "google-token": [f"ya29.{_A}", f"GOCSPX-{_A[:28]}"],
    "slack-token": ["xoxb-123456789012-123456789012-" + _A[:24]],
    "slack-webhook": ["https://hooks.slack.com/services/T0AB1CD2E/B0AB1CD2E/" + _A[:24]],
    "stripe-key": ["sk_live_" + _A[:24], "rk_test_" + _A[:24], "whsec_" + _A[:32]],
    "huggingface-token": ["hf_" + _A[:34]],
    "provider-key": [f"gsk_{_A}", f"r8_{_A}", f"pplx-{_A}", f"xai-{_A}", f"tvly-dev-{_A}", f"lsv2_pt_{_A}"],
    "package-token": [f"npm_{_A}", "pypi-AgEIcHlwaS5vcmc" + _A + _A, f"dckr_pat_{_A[:27]}"],
    "cloud-token": ["dop_v1_" + _HEX, "dapi" + _HEX[:32], f"hvs.{_A}", f"glsa_{_A}", "shpat_" + _HEX[:32]],
    "mail-key": ["SG." + _A[:22] + "." + _A + _A[:7], "key-" + _HEX[:32]],
    "chat-token": ["123456789:AA" + _A[:33]],
    "tool-token": [f"figd_{_A}", "AGE-SECRET-KEY-1" + "Q" * 58],
    "phone-key": ["SK" + _HEX[:32]],
    "password-hash": ["$2b$12$" + _A + "abcdefghijklmnopq", "$6$salt$" + _A + _A],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"],
    "private-key": [_pem("RSA PRIVATE KEY"), _pem("PRIVATE KEY"), _pem("OPENSSH PRIVATE KEY"),
                    _pem("PGP PRIVATE KEY BLOCK")],
}  # fmt: skip
"""Made up, each of the form of its kind; all of it has to go."""

CLEANED = Path(__file__).parent / "secrets"
HARMLESS = asked_in(CLEANED / "harmless.txt")


@pytest.mark.parametrize("around", ["{}", "use {} now", '{{"k": "{}"}}', "a\n{}\nb", "x={},"])
def test_every_known_token_is_taken_out_whole(around: str) -> None:
    wrong = []
    for kind, secret in [(kind, each) for kind, some in SECRETS.items() for each in some]:
        text, found = redact_text(around.format(secret))
        left = text.replace("hooks.slack.com/", "")
        leaks = any(secret[at : at + 12] in left for at in range(8, max(9, len(secret) - 12)))
        if leaks or sum(found.values()) != 1 or not set(found) <= {kind, "secret", "password"}:
            wrong.append((kind, text, found))
    assert wrong == []


def text_cleaned(_: str, text: str) -> str:
    cleaned = redact_text(text)[0]
    return "as it is" if cleaned == text else cleaned.replace("\n", "\\n")


def value_cleaned(_: str, text: str) -> str:
    cleaned = redact_value(json.loads(text))
    assert redact_value(cleaned) == cleaned
    return json.dumps(cleaned)


@pytest.mark.parametrize("kind", ["texts", "harmless", "values"])
def test_what_is_taken_out_by_what_stands_around_it_is_what_was_looked_at(kind: str) -> None:
    compare_phrases(CLEANED / f"{kind}.txt", value_cleaned if kind == "values" else text_cleaned)


def test_every_kind_has_an_example() -> None:
    told = {kind for file in CLEANED.glob("*.txt") for kind in re.findall(r"\[redacted:([\w-]+)\]", file.read_text())}
    assert set(kinds()) <= {*SECRETS, *told}


def test_a_rule_of_the_users_own_takes_out_more(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", redact=lambda text: text.replace("Project Falcon", "[project]")) as memory:
        receipt = memory.add(Step(role="user", content="Project Falcon ships in May"), trajectory="t")
        assert [entry.step.content for entry in memory.steps("t")] == ["[project] ships in May"]
        assert receipt.redacted == (Redaction(kind="custom", count=1, place="content"),)


def test_the_rule_of_detect_secrets_needs_its_extra(tmp_path: Path) -> None:
    if find_spec("detect_secrets") is not None:
        pytest.skip("it is installed")
    with (
        pytest.raises(SettingsError, match="detect_secrets") as caught,
        open_memory(tmp_path / "m", redact="detect-secrets"),
    ):
        pass
    assert "stitch-memory[detect-secrets]" in str(caught.value.hint)


_PIECES = st.sampled_from(
    [*HARMLESS, *(s for some in SECRETS.values() for s in some), "password", "=", ":", " ", "\n", '"', "@", "://", "é"]
)


@given(st.lists(_PIECES, max_size=8).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    cleaned, _ = redact_text(text)
    assert redact_text(cleaned)[0] == cleaned


def test_a_step_is_cleaned_everywhere_and_told_of_without_the_values() -> None:
    token = SECRETS["github-token"][0]
    step = Step(
        id=f"call {token}", role="assistant", tool_name=f"get {token}", timestamp=f"today {token}",
        content=f"I use {token} twice: {token}", session=token, parent=token,
        tool_calls=[
            ToolCall(name="login", arguments={"password": "plain", "deep": [{"note": token}], "n": 3}, id=token)
        ],
        metadata={"env": {"OPENAI_API_KEY": _A, token: 1}, "token": "the", "auth_token": "${X}", "password": "tulip",
                  "argv": ["mysql", "-pHunter22"]},
    )  # fmt: skip
    cleaned, redactions = redact_step(step)
    written = cleaned.model_dump_json()
    assert token not in written
    assert "plain" not in written
    assert _A not in written
    assert cleaned.metadata["token"] == "the"
    assert cleaned.tool_calls[0].arguments["n"] == 3
    assert Redaction(kind="github-token", count=2, place="content") in redactions
    assert {each.place for each in redactions} == {
        "content", "id", "session", "parent", "tool_name", "timestamp", "tool_calls", "metadata",
    }  # fmt: skip
    assert Redaction(kind="password", count=2, place="metadata") in redactions
    assert cleaned.id is not None
    assert cleaned.id == redact_step(step)[0].id
    assert cleaned.parent != cleaned.id


def test_two_ids_with_secrets_stay_two() -> None:
    one, two = (redact_step(Step(id=token, role="user", content="x"))[0] for token in SECRETS["github-token"][:2])
    assert one.id != two.id


def test_corrections_with_labels_reasons_and_names_of_who_corrects_are_cleaned_too(tmp_path: Path) -> None:
    token = SECRETS["github-token"][0]
    with open_memory(tmp_path / "m") as memory:
        for name in ("1", "2"):
            memory.add(Step(id=name, role="user", content="hello"), trajectory="t")
        memory.lifecycle.correct("1", trajectory="t", labels={"scope": f"deploy with {token}"}, by=f"ann {token}")
        memory.lifecycle.correct("1", trajectory="t", text="the password is hunter2!")
        assert next(memory.steps("t")).step.content == "the password is [redacted:password]"
        memory.lifecycle.retire(Selector(trajectory="t", step="2"), reason=f"it told {token}")
        assert "".join(memory.lifecycle.export()).count("[redacted:github-token]") >= 3
    assert files_with(tmp_path / "m", token.encode()) == []


def test_what_is_imported_is_cleaned_in_labels_reasons_and_history(tmp_path: Path) -> None:
    token = SECRETS["github-token"][0]
    with open_memory(tmp_path / "open", redact_secrets=False) as memory:
        for name in ("1", "2"):
            memory.add(Step(id=name, role="user", content="hello"), trajectory="t")
        memory.lifecycle.correct("1", trajectory="t", labels={"scope": f"deploy with {token}"}, by=f"ann {token}")
        memory.lifecycle.correct("1", trajectory="t", text="good day", by=f"ben {token}")
        memory.lifecycle.retire(Selector(trajectory="t", step="2"), reason=f"it told {token}")
        lines = list(memory.lifecycle.export())
    assert token in "".join(lines)
    with open_memory(tmp_path / "m") as memory:
        assert memory.lifecycle.import_lines(lines).rejections == ()
    assert files_with(tmp_path / "m", token.encode()) == []


def test_a_name_with_a_secret_is_refused_without_saying_it(tmp_path: Path) -> None:
    token = SECRETS["github-token"][0]
    with open_memory(tmp_path / "m") as memory:
        with pytest.raises(InputError, match="name of the trajectory holds a secret") as caught:
            memory.add(Step(role="user", content="x"), trajectory=f"run {token}")
        assert token not in json.dumps([caught.value.message, caught.value.hint])
        assert memory.trajectories() == []


def test_a_rejected_line_is_written_without_its_secrets(tmp_path: Path) -> None:
    token = SECRETS["github-token"][0]
    (tmp_path / "bad.jsonl").write_text(
        f'{{"role": "user", "content": "token {token}"\n{{"role": 1, "x": "{token}"}}\n'
    )
    told = CliRunner().invoke(cli, ["ingest", str(tmp_path / "bad.jsonl"), "--memory", str(tmp_path / "m")])
    assert told.exit_code == 3
    assert token not in told.output
    assert token.encode() not in (tmp_path / "m" / "rejects.jsonl").read_bytes()
    assert b"[redacted:github-token]" in (tmp_path / "m" / "rejects.jsonl").read_bytes()

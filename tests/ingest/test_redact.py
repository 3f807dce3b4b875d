"""Secrets are taken out before anything is written, and are told by kind, count and place only."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from stitch import open_memory
from stitch.cli.main import cli
from stitch.core import Redaction, Step, ToolCall
from stitch.errors import InputError, SettingsError
from stitch.ingest.redact import redact_path, redact_step, redact_text, redact_value
from stitch.ingest.secrets import kinds
from stitch.lifecycle.selection import Selector

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

IN_PLACE = [
    ("password", "password: {}", "hunter2!"),
    ("password", 'DB_PASSWORD="{}"', "s3cr3t"),
    ("password", "PGPASSWORD={} psql", "Tr0ub4dor&3"),
    ("password", '{{"password": "{}"}}', "opensesame"),
    ("secret", "api_key = {}", _A),
    ("secret", 'client_secret: "{}"', _A),
    ("secret", "AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("secret", "AccountKey={};EndpointSuffix=x", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu=="),
    ("url-password", "postgres://bob:{}@db.example:5432/app", "p4ss:word"),
    ("url-token", "https://x.example/a?api_key={}&b=1", "a1b2c3d4e5"),
    ("bearer-token", "Bearer {}", _A),
    ("authorization", "Authorization: Basic {}", "dXNlcjpwYXNzMTIz"),
    ("cookie", "Cookie: lang=en; sessionid={}; a=b", "k3j4h5g6f7d8s9a0"),
    ("pin", "My PIN is {}.", "482913"),
    ("one-time-code", "Your verification code is {}", "482913"),
    ("password", '{{"body": "{{\\"password\\": \\"{}\\"}}"}}', "zL7cEp9h"),
    ("password", "curl -u ann:{} https://x", "hunter22"),
    ("password", "mysql -u root -p{} shop", "Bvwn2UV"),
    ("password", "<dbPassword>{}</dbPassword>", "p4T29Dcl"),
    ("password", "password: |\n  {}\nport: 1", "NgA3DOfp"),
    ("password", "- name: DB_PASSWORD\n  value: {}", "KXdFOyq9"),
    ("webhook", "https://discord.com/api/webhooks/1139283746152837465/{}", _A),
    ("password", "Das Passwort lautet {}", "Sommer24"),
    ("password", "пароль: {}", "WnAIvK5N"),
    ("password", "Passphrase: {}", "correct horse battery staple"),
    ("password", "login with erik@acme.example / {} please", "N0rdpol*88"),
    (
        "recovery-phrase",
        "my seed phrase is {}",
        "witch collapse practice feed shame open despair creek road again ice least",
    ),
    ("password", "| user | password |\n|---|---|\n| app | {} |", "tab1e-Top"),
    ("password", "INSERT INTO users (name, password) VALUES ('jo', '{}');", "ins3rtMe!"),
    ("password", '{{"element": "Password box", "ref": "e7", "text": "{}"}}', "pl4yBill"),
    ("password", "パスワードは「{}」です", "sushi-2020"),
    ("url-password", "root:{}@tcp(db:3306)/app", "gol4ng!"),
    ("secret", "kind: Secret\ndata:\n  foo: {}\n", "Y29ybmZsb3dlci1CbHVlLTEy"),
    ("one-time-code", "{} is your login code", "90871"),
    ("pin", "The PIN for the door is {}, tell nobody", "90210"),
    ("wallet-key", "WIF {}", "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ"),
    ("secret", '{{"auths": {{"x": {{"auth": "{}"}}}}}}', "YW5uOng1MmpYQmdqV3V5UDc="),
    ("password", "Traceback: connect failed (user bob, password {})", "kXq82-Lm!v"),
]

HARMLESS = [
    "password = get_password()",
    "password=os.environ['PW']",
    "password: ********",
    "api_key = 'your-api-key-here'",
    "max_tokens=4096, token: next",
    "Authorization: Bearer <token>",
    "commit 4dc14970a9db589c7d3ecbd054e2ef90db0c7a958a4",
    "sha256:" + _HEX,
    "see https://example.com:8080/path@v2 and bob@example.com",
    "token = tokenizer.decode(ids[0])",
    "The secret of success is patience.",
    "",
    "xoxb-your-slack-token",
    "def test_password_reset(user, password):",
    "[redacted:password]",
    "password: [redacted:password]",
    "nextPageToken: EAAaBlBUOkNESQ",
    "Das Passwort ist abgelaufen",
    '- textbox "Password" [ref=e21]',
    "our discount code is SAVE20",
    "order 4000-1234-5678-9017 shipped",
    "create_user('a', password='password',\n  email='a@x.example', is_staff=True,\n)",
    "/usr/lib/python3.11/site-packages/key_manager/__init__.py",
    "self.pwd = pwd",
    "user.password_hash = hash_password(raw)",
    "Rotate password of grafana\n7166b928 bump token ttl",
    "$ mysql -u root -p\nEnter password:",
]


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


@pytest.mark.parametrize(("kind", "text", "secret"), IN_PLACE)
def test_what_is_assigned_to_a_telling_name_is_taken_out(kind: str, text: str, secret: str) -> None:
    cleaned, found = redact_text(text.format(secret))
    assert dict(found) == {kind: 1}
    assert cleaned == text.format(f"[redacted:{kind}]")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact_text(text) == (text, {})


def test_every_kind_has_an_example() -> None:
    assert set(kinds()) - {"wallet-key", "url-token", "bearer-token"} <= {*SECRETS, *(kind for kind, _, _ in IN_PLACE)}


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


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        (["mysql", "-u", "root", "-pHunter22"], ["mysql", "-u", "root", "-p[redacted:password]"]),
        (["curl", "-u", "ci:abcDEF12", "x"], ["curl", "-u", "ci:[redacted:password]", "x"]),
        (["--password", "hunter22"], ["--password", "[redacted:password]"]),
        (["curl", "-s", "https://bob:hunter2@x.io/a"], ["curl", "-s", "https://bob:[redacted:url-password]@x.io/a"]),
        ({"name": "DB_PASSWORD", "value": "tulip"}, {"name": "DB_PASSWORD", "value": "[redacted:password]"}),
        (
            {"id": 3, "name": "DB_PASSWORD", "value": "x"},
            {"id": 3, "name": "DB_PASSWORD", "value": "[redacted:password]"},
        ),
        ({"name": "city", "value": "Berlin"}, {"name": "city", "value": "Berlin"}),
        ({"element": "Password box", "text": "tulip"}, {"element": "Password box", "text": "[redacted:password]"}),
        ({"passwords": ["tulip", "rose"]}, {"passwords": ["[redacted:password]", "[redacted:password]"]}),
        ({"pin": 4711, "port": 8080}, {"pin": "[redacted:secret]", "port": 8080}),
        ({"otp": "482913", "max_tokens": 4096}, {"otp": "[redacted:secret]", "max_tokens": 4096}),
        (
            {"pin": 471, "pins": 47, "password": 4711},
            {"pin": "[redacted:secret]", "pins": 47, "password": "[redacted:password]"},
        ),
        ({"cvv": "123", "cvc": "12", "pin": "none"}, {"cvv": "[redacted:secret]", "cvc": "12", "pin": "none"}),
        ({"password": None, "token": ""}, {"password": None, "token": ""}),
    ],
)
def test_json_is_cleaned_by_what_stands_around_a_value(given: object, cleaned: object) -> None:
    assert redact_value(given) == cleaned
    assert redact_value(cleaned) == cleaned


def test_of_a_path_the_names_that_hold_secrets_change_and_still_tell_files_apart() -> None:
    one, two = (redact_path(f"runs/{token}/a.jsonl") for token in SECRETS["github-token"][:2])
    assert redact_path("runs/one/a.jsonl") == "runs/one/a.jsonl"
    assert one != two
    assert re.fullmatch(r"runs/\w+-\[redacted:github-token\]/a\.jsonl", one)


def test_two_ids_with_secrets_stay_two() -> None:
    one, two = (redact_step(Step(id=token, role="user", content="x"))[0] for token in SECRETS["github-token"][:2])
    assert one.id != two.id


def test_nothing_in_the_folder_of_a_memory_holds_the_secret(tmp_path: Path) -> None:
    canary = "sk-ant-api03-CANARYcanary0123456789CANARY"
    step = Step(id="1", role="user", content=f"my key is {canary}", metadata={"password": "canary-Pa55"})
    with open_memory(tmp_path / "m") as memory:
        receipt = memory.add(step, trajectory="t")
        again = memory.add(step, trajectory="t")
        assert [receipt.redacted, again.redacted, again.repeated] == [receipt.redacted, receipt.redacted, True]
        assert {(each.kind, each.count, each.place) for each in receipt.redacted} == {
            ("anthropic-key", 1, "content"), ("password", 1, "metadata"),
        }  # fmt: skip
        assert [each.redacted for each in memory.receipts()] == [receipt.redacted]
        assert memory.status().redacted == {"anthropic-key": 1, "password": 1}
        assert "[redacted:anthropic-key]" in memory.search("which key?").context()
    for path in (tmp_path / "m").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert b"CANARYcanary" not in data
            assert b"canary-Pa55" not in data


def test_a_correction_is_cleaned_too(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        memory.add(Step(id="1", role="user", content="hello"), trajectory="t")
        memory.lifecycle.correct("1", trajectory="t", text="the password is hunter2!")
        assert [entry.step.content for entry in memory.steps("t")] == ["the password is [redacted:password]"]


def test_labels_reasons_and_names_of_who_corrects_are_cleaned_too(tmp_path: Path) -> None:
    token = SECRETS["github-token"][0]
    with open_memory(tmp_path / "m") as memory:
        for name in ("1", "2"):
            memory.add(Step(id=name, role="user", content="hello"), trajectory="t")
        memory.lifecycle.correct("1", trajectory="t", labels={"scope": f"deploy with {token}"}, by=f"ann {token}")
        memory.lifecycle.retire(Selector(trajectory="t", step="2"), reason=f"it told {token}")
        assert "".join(memory.lifecycle.export()).count("[redacted:github-token]") >= 3
    assert _holding(tmp_path / "m", token) == []


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
    assert _holding(tmp_path / "m", token) == []


def _holding(folder: Path, secret: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", redact_secrets=False) as memory:
        receipt = memory.add(Step(role="user", content="password: hunter2!"), trajectory="t")
        assert receipt.redacted == ()
        assert [entry.step.content for entry in memory.steps("t")] == ["password: hunter2!"]


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

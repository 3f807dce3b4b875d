"""Each test of what a secret looks like, on both sides of where it changes its mind."""

from __future__ import annotations

import pytest

from stitch.ingest.secrets import values

DENSE = "aB1cD2eF3gH4iJ5kL6mN"
LONGER = DENSE + "xY7z"
EVEN = "aA1bB2cCddddeeeeffffggggaA1bB2cC"
"""Eight signs twice and four signs four times: 3.5 bits a sign."""


def repeated(word: str, times: int) -> str:
    return " ".join([word] * times)


SECRET: dict[str, tuple[list[str], list[str]]] = {
    "looks_random": (
        ["a1b2c3d4e5f6g7h8", "A1234567890123456", "a1b2c3d4a1b2c3d4"],
        ["a1b2c3d4e5f6g7h", "abcdefghijklmnop", "1234567890123456", "1234-5678-9012-34567",
         "aaaaaaaaaaaaaaa1", "a1b2c3a1b2c3a1b2"],
    ),
    "is_dense": (
        [DENSE, f"{LONGER[:12]}/{LONGER[13:]}", f"x0{LONGER}", EVEN],
        [DENSE[:19], f"{DENSE[:10]}/{DENSE[11:]}", DENSE.lower(), DENSE.upper(), f"0x{LONGER}", f"//{LONGER}",
         EVEN[:31] + "d"],
    ),
    "varied": ([EVEN], [EVEN[:31] + "d", "abcabc"]),
    "has_digit": (["a1"], ["a", "٣"]),
    "has_three_kinds": (["aB1"], ["ab1", "AB1", "aBc"]),
    "has_two_kinds": (["a1", "aB", "a!", "1!"], ["a", "A", "1", "a.b", "a(1)"]),
    "is_mixed": (["abc1ddee"], ["abcdddee", "12345678", "aac1ddee", "abc1"]),
    "is_password": (
        ["hunter2", "k@y!", "kPqzBwQr", "aB!", "a!b", "ab+c", "aB3", "Passwort1", "lbs.u1Uac55", "lbs.u1Uac5",
         "self.u1Uac55"],
        ["lbs.parser2Name", "lbs.parserName2", "a.b.u1Uac55", "lbs.u1uac55", "lbs.onlyWords", "lbs.u1Ua5",
         "Hunter", "hunter", "get_password()", "self.token", "std::token", "a->b", "~/key1", "./key1", "../key1",
         "C:\\key1", "/etc/k1", "http://x1", "2024-05-01", "2024-05-01T10:00", "12:30", "12:30:59", "sha256", "UTF8",
         "userName", "mapOneTwo", "kPqzBwQ", "ab!", "abc!", "12345678", "name{x1}", "x[1]"],
    ),
    "is_odd_word": (
        ["hunt3r!x", "hu3!xy", "ann3!mail.com", "hunt3r!x.", "hunt3r!x?!", "a1" * 10 + "!" + "b2" * 9 + "b"],
        ["hu3!x", "hunter!x", "3!", "ann3@mail.com", "a1" * 10 + "!" + "b2" * 10],
    ),
    "is_plain_secret": (
        ["hunt3r", "hunt-2024r", "hunt-20245", "tr0ub4dor", "q1w2e3"],
        ["h1nte", "sha256", "utf-8x", "hunter", "3hunter", "hunt/3r", "hunt-2024", "oauth2-v1", "ann3@mail.com",
         "page-12", "a12", "2fa", "12px"],
    ),
    "is_joined_words": (
        ["mapleSyrup", "MAPLEsyrup", "redFoxes"],
        ["newPassword", "maple", "mapleSy", "maplesyrup", "maple_Syrup", "redFoxe"],
    ),
    "is_quoted_password": (
        ["hunter2", "thecat", "maple wrong"],
        ["must be long", "the cat", "call(x)", "a://b", "wrong: try", "Wrong", "required field"],
    ),
    "is_word_password": (
        ["maple", "maple-syrup", "runn-ing", "MAPLE", "Maple", "maplexY"],
        ["mapl", "maple-2", "hashedPassword", "maple-the", "maple-wrong", "running", "walked", "readable", "sensible",
         "quickly", "wrong", "mapleSyrup", "mapleSyr"],
    ),
    "is_pass_phrase": (
        ["maple syrup", "maple on toast", "maple the syrup", "dogs running", repeated("maple", 12)],
        ["maple", "the maple", "maple is good", "maple wrong", "running dogs", "maple 2", repeated("maple", 13),
         "minimum maple", "maple minimum"],
    ),
    "is_seed_phrase": (
        [repeated("maple", 11), repeated("maple", 25), repeated("maple,", 12), f"1. {repeated('maple', 11)}",
         repeated("Maple", 12), repeated("fox", 12), repeated("mapletre", 12)],
        [repeated("maple", 10), repeated("maple", 26), f"{repeated('maple', 11)} the", repeated("ox", 12),
         repeated("mapletree", 12), f"a {repeated('maple', 12)}"],
    ),
    "is_placeholder": (
        ["<token>", "${TOKEN}", "xxxx", "***", "*", "your-key", "[redacted:x]", "changeme", "change-me", "secret",
         "'secret'", "%s", "{x}", "example", "my password", "todo_x", ""],
        ["xx", "yourkey", "hunter2", "$2b$10$abc", "{abcdefghijklmnopqrstuvwxyz}"],
    ),
    "is_credential": (
        ["a1", "abcdefghijklmnop", "abcdABCDefghEFGH", "abcdefghiijjkkll"],
        ["abc", "abcdefghijklmno", "aaaabbbbccccdddd", "call(1)"],
    ),
    "is_cookie": (["a1b2c3d4a1b2c3d4", "abcdefghijk1"], ["abcdefghij1", "abcdefghijkl", "a1b2c3a1b2c3"]),
    "is_key_of_call": (
        ["a1b2c3d4", "maple-trees", "a_b1c2d3"],
        ["a1b2c3d", "mapletrees", "MapleTrees", "_b1c2d3e4", "sha-256-x", "f(x1y2z3)"],
    ),
    "is_argument": (["hunter2", "ab-c"], ["123", "-p", "/etc/x", "$HOME", ""]),
    "is_odd_argument": (["hunter2", "8080x"], ["8080", "80:80", "80/tcp", "img/x1", "alpine", "-x1", "10.0.0.1"]),
    "is_card": (
        ["4111 1111 1111 1111", "4222222222222", "6304000000000000000", "378282246310005"],
        ["4111 1111 1111 1112", "0000 0000 0000 0000", "422222222222", "63040000000000000000", "1411 1111 1111 1111"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_what_looks_like_a_secret_and_what_just_does_not(name: str) -> None:
    test, (yes, no) = getattr(values, name), SECRET[name]
    assert ([text for text in yes if not test(text)], [text for text in no if test(text)]) == ([], [])

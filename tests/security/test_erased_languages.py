"""Of an erased step nothing is left in labels, whatever its language and the way its words are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stitch import open_memory
from stitch.lifecycle.selection import Selector

SAID = {
    "fr": ("Bonjour, je dois réparer l'horlogerie de l'escalier.", "D'accord, quand faut-il venir ?"),
    "hi": ("नमस्ते, मुझे जयपुर की यात्रा की योजना बनानी है।", "ठीक है, यात्रा कब है?"),
    "ja": ("金沢への出張を計画したいです。", "出張はいつですか？"),
    "ko": ("안녕하세요, 세탁기를 수리하고 싶어요. 세탁기에서 물이 새요.", "네, 언제가 좋으세요?"),
    "tr": ("Merhaba, İstanbul otelini arıyorum.", "Otel bulundu, tamam."),
    "zh": ("你好，我想安排去上海的会议。", "好的，会议几点开始？"),
}
ONLY = {"fr": "horlogerie", "hi": "जयपुर", "ja": "金沢", "ko": "세탁기", "tr": "istanbul", "zh": "上海"}


@pytest.mark.parametrize("language", SAID)
def test_a_scope_that_was_named_by_an_erased_step_loses_its_words(language: str, tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        steps = [
            {"role": role, "content": text, "id": role}
            for role, text in zip(("user", "assistant"), SAID[language], strict=True)
        ]
        memory.add_many(steps, trajectory="t")
        assert any(ONLY[language] in scope.name for scope in memory.inventory().scopes)
        erased = memory.lifecycle.erase(Selector(trajectory="t", step="user"))
    assert erased.proof.found == ()
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        text = path.read_bytes().decode(errors="ignore").replace("\u0130", "I").lower()
        assert re.search(ONLY[language], text) is None, path

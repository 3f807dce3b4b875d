"""Tables of finished runs, and the figures beside them."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.golden import compare
from stitch.bench.commands import group
from stitch.bench.metrics.evidence import BUDGETS
from stitch.bench.records import (
    Answered,
    LabeledTrajectory,
    Prepared,
    Record,
    RunSettings,
    append,
    claim,
    new_manifest,
    prepared_file,
    record_file,
)
from stitch.bench.runs import read_run
from stitch.errors import InputError
from stitch.server.operations.steps import ScopeSpans

RANKINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "stitch": {"q1": ("a", "b"), "q2": ("c", "a"), "q3": ("a",)},
    "stitch-unlabeled": {"q1": ("b", "x"), "q2": ("c", "a"), "q3": ("x",)},
    "bm25": {"q1": ("x", "y"), "q2": ("x", "y"), "q3": ("x",)},
    "oracle": {"q1": ("a",), "q2": ("c",), "q3": ("a",)},
}
EVIDENCE = {"q1": ("a",), "q2": ("c",), "q3": ("a",)}


LABELED = LabeledTrajectory(
    steps=tuple(f"s{number}" for number in range(100)),
    scopes=(ScopeSpans(name="</script><b>day 1", steps=100, spans=((0, 99),)),),
)


def make_run(folder: Path, *, suite: str = "retrieval", cost: float = 0.0, name: str = "toy <set>",
             labeled: bool = False) -> Path:  # fmt: skip
    settings = RunSettings(
        suite=suite, set=name, data_sha256="0" * 64, k=200, budget_tokens=100, tokenizer="pieces-1",
        labels="local-1", embedder="static",
    )  # fmt: skip
    claim(folder, new_manifest(settings, command="stitch bench retrieval --data toy", notes=("one note",)))
    for method, rankings in RANKINGS.items():
        for question, steps in rankings.items():
            answered = Answered(answer="a", correct=1, cost_usd=cost, model_calls=2) if cost else None
            labels = {"scope": ("day <1>",), "event_type": ()} if method.startswith("stitch") else None
            record = Record(
                question=question, trajectory=f"t{question}", type=f"type_{question[1]}", domain="travel",
                text="What & <where>?", gold_answer="Apollo", evidence=EVIDENCE[question], steps=steps,
                shown={each: steps[: each // 60] for each in (100, *BUDGETS)}, milliseconds=1.0 + len(method),
                labels=labels,
                context="Apollo" if suite == "came" else None, context_tokens=10, context_steps=steps[:1],
                matched={steps[0]: {"scope": ("day <1>",)}} if labels else {}, answered=answered,
                diagnostics=(1.0, 1.0, 0.5, 0.5, 0.0, 0.0) if labels else None,
            )  # fmt: skip
            append(record_file(folder, method), record)
        for place, question in enumerate(rankings):
            note = Prepared(
                method=method, trajectory=f"t{question}", steps=100 * (place + 1), seconds=0.5, operations=2,
                named=1 if method.startswith("stitch") else None,
                labeled=LABELED if labeled and method == "stitch" else None,
            )  # fmt: skip
            append(prepared_file(folder), note)
    return folder


class Page(HTMLParser):
    """Collects what a page holds, and fails on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag not in ("meta", "br", "wbr", "path", "use", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "use"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def call(*arguments: str) -> Any:
    result = CliRunner().invoke(group, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("suite", ["retrieval", "came"])
def test_the_page_stands_alone_and_shows_what_the_runs_hold(tmp_path: Path, suite: str) -> None:
    run = make_run(tmp_path / "r", suite=suite, cost=0.01)
    call("report", str(run), "--out", str(tmp_path / "page.html"))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(html)
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", html.replace("http://www.w3.org", ""))
    assert "script" not in page.tags
    assert {"table", "details"} <= page.tags
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    assert all(word in page.text for word in ("bm25", "one note", "Apollo", "What & <where>?", "day <1>"))
    assert str(tmp_path) not in html


def test_the_page_of_a_run_with_labels_has_what_draws_scopes_over_steps(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", labeled=True)
    call("report", str(run), "--out", str(tmp_path / "page.html"))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "script" in Page(html).tags
    assert "class Lanes" in html
    assert "</script><b>day 1" not in html
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", html)


def test_the_same_runs_give_the_same_page(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    pages = []
    for name in ("one.html", "two.html"):
        call("report", str(run), "--out", str(tmp_path / name), "--questions", "1")
        pages.append((tmp_path / name).read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    assert pages[0].count("<details") == 1


def test_tables_are_those_of_the_runs(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r")
    compare(Path(__file__).parent / "results.txt", call("results", str(run)).stdout)
    with pytest.raises(InputError, match="is no run"):
        call("results", str(tmp_path / "x.json"))


def test_an_empty_run_has_nothing_to_show(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r")
    for path in folder.glob("*.jsonl"):
        path.unlink()
    with pytest.raises(InputError, match="has no records yet"):
        read_run(folder)

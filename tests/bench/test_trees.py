"""`stitch bench trees`: path queries and edits on a domain of our own making."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stitch.bench.fit.paths import command as fit_command
from stitch.bench.fit.paths import examples_of, fit, fits_without, judged_by
from stitch.bench.trees.sets import load_tree_set, meets, own_sets
from stitch.bench.trees.suite import command, measure, unseen
from stitch.errors import InputError, SettingsError
from stitch.retrieve.path import Cut
from stitch.retrieve.path.scorers import ExactScorer, static_scorer
from stitch.trees.core.edits import apply

DOMAIN = Path(__file__).parent / "domain"


def run(*arguments):
    done = CliRunner().invoke(command, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(DOMAIN, tmp_path / "domain")


def test_a_domain_is_measured_part_by_part(folder):
    figures = measure(load_tree_set(folder), static_scorer(), cut=Cut())
    assert figures["requests"] == 5
    assert figures["exact"] == {"requests": 2, "precision": 1, "recall": 1, "f1": 1, "exact_share": 1}
    assert figures["semantic"]["f1"] == figures["mixed"]["f1"] == figures["version"]["f1"] == 1
    nothing = measure(load_tree_set(folder), static_scorer(), cut=Cut(threshold=1))
    assert (nothing["semantic"]["recall"], nothing["exact"]["f1"]) == (0, 1)


def test_an_edit_is_wrong_if_it_does_less_or_more_than_is_expected(folder):
    domain = load_tree_set(folder)
    expected = domain.requests[4].edit
    operations: list[Any] = [
        {"op": "set", "id": "b", "field": "cost", "value": "EUR 10"},
        {"op": "set", "id": "a", "field": "name", "value": "cheap"},
        {"op": "set", "id": "a", "field": "time", "value": "10:00 AM"},
        {"op": "move", "id": "c", "after": "b"},
        {"op": "add", "parent": "d1", "position": 1,
         "node": {"type": "Stop", "fields": {"name": "tea", "cost": "5", "time": "8:00 AM to 9:00 AM"}}},
    ]  # fmt: skip
    assert meets(expected, before=domain.tree, after=apply(domain.tree, operations))
    for without in range(len(operations)):
        some = operations[:without] + operations[without + 1 :]
        assert not meets(expected, before=domain.tree, after=apply(domain.tree, some))
    more = [*operations, {"op": "set", "id": "b", "field": "name", "value": "Else"}]
    assert not meets(expected, before=domain.tree, after=apply(domain.tree, more))
    elsewhere = [*operations[:3], {"op": "move", "id": "c", "parent": "d2", "position": 1}, operations[4]]
    assert not meets(expected, before=domain.tree, after=apply(domain.tree, elsewhere))
    assert not meets((), before=domain.tree, after=apply(domain.tree, [{"op": "delete", "id": "b"}]))
    assert not meets(domain.requests[2].edit, before=domain.tree, after=domain.tree)


def test_a_fit_learns_what_is_right_and_is_judged_on_what_it_did_not_see(folder):
    domain = load_tree_set(folder)
    examples = examples_of(domain, static_scorer())
    model = fit(examples, strength=1)
    for example in examples:
        assert model.probabilities(example.columns)[example.counts].argmax() == example.right[example.counts].argmax()
    domains = {"one": examples[:1], "others": examples[1:]}
    judged = list(judged_by(static_scorer(), domains, fits_without(domains, beside=())))
    assert {each.example.gold.condition for each in judged} == {"meeting", "fish", "a walk by the sea"}
    assert all(0 <= each.f1 <= 1 for each in judged)


def test_the_command_fits_a_scorer_that_can_be_fitted(folder):
    run = CliRunner().invoke(fit_command, ["--data", str(folder), "--scorer", "lexical"])
    assert "lexical: domains left out: F1" in run.output
    for scorer, why in (("best", "no scorer 'best'"), ("exact", "nothing to fit")):
        with pytest.raises((InputError, SettingsError), match=why):
            CliRunner().invoke(fit_command, ["--data", str(folder), "--scorer", scorer], catch_exceptions=False)


def test_a_set_of_the_fit_is_judged_by_a_model_that_saw_nothing_of_it():
    scorer, exact = static_scorer(), ExactScorer()
    assert unseen(scorer, domain="another") is scorer
    assert unseen(exact, domain="itinerary") is exact
    assert unseen(scorer, domain="itinerary") is not scorer


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("requests.jsonl", "\nnonsense\n", "line 2 of"),
        ("history.jsonl", (DOMAIN / "history.jsonl").read_text().splitlines()[0], "do not lead to its tree"),
        ("tree.xml", None, r"cannot read .*tree\.xml"),
    ],
)
def test_a_folder_that_is_no_domain_is_refused_with_its_file(folder, file, text, message):
    (folder / file).unlink() if text is None else (folder / file).write_text(text)
    with pytest.raises(InputError, match=message):
        load_tree_set(folder)


def test_the_command_prints_figures(folder):
    told = json.loads(run("--data", folder, "--json", "--threshold", "1"))
    assert told["semantic"]["f1"] == 0
    assert "semantic" in run("--data", folder)


@pytest.mark.parametrize("told", ["b", "a ? a"])
def test_a_condition_of_our_own_that_names_a_strange_node_is_refused(tmp_path, told):
    (tmp_path / "small.txt").write_text(f"a Thing | name: Drill\n= tools: {told}\n", encoding="utf-8")
    with pytest.raises(InputError, match="'tools' of 'small'"):
        own_sets(tmp_path)
    assert len({gold.condition for each in own_sets() for gold in each.judgements}) > 100

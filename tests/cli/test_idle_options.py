"""An option that would do nothing is refused in one line, and one that can only mean one thing means it."""

import json

import pytest

from stitch.testing.model import LoopbackProvider, label_by_rules


@pytest.fixture
def memory(run, tmp_path):
    steps = tmp_path / "steps.jsonl"
    steps.write_text('{"role": "user", "content": "What does the Zephyr Mill cost?"}\n')
    run("ingest", str(steps), "--memory", "m")
    return "m"


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("relabel --memory m --model x --labels local", "--model"),
        ("ingest steps.jsonl --memory m --window 4 --labels local", "--window"),
        ("relabel --memory m --model x --stepwise --window 4", "--window"),
        ("query cost --memory m --program p.json", "--program"),
        ("query cost --memory m --base-url http://127.0.0.1:9", "--base-url"),
        ("query cost --memory m --filter local --model x", "--model"),
        ("query cost --memory m --retriever lexical --model x", "--model"),
        ("query cost --memory m --retriever dense --filter local", "--filter"),
        ("serve --memory m --model-budget-tokens 5", "--model-budget-tokens"),
        ("optimize filter --train x --reflection-model y --model z", "--reflection-model"),
        ("bench judges --data x --judge containment --judge-model y", "--judge-model"),
        ("bench trees --data x --program y", "--program"),
        ("bench trees --data x --base-url y", "--base-url"),
        ("bench trees --data x --model y", "--model"),
    ],
)
def test_what_would_do_nothing_is_refused(run, memory, line, option):
    status, out, err = run(*line.split())
    told = err.splitlines()
    assert (status, out, len(told)) == (2, "", 2)
    assert told[0].startswith(f"stitch: {option} would do nothing: ")
    assert told[1].startswith("  next: ")


@pytest.mark.parametrize("more", ["--judge containment", "--judge-model y", "--answer-effort low", "--seed 3"])
def test_a_bench_without_answers_takes_no_option_about_them(run, tmp_path, more):
    run("generate", "came", "--domain", "debate", "--size", "S", "--out", "d")
    status, _, err = run("bench", "came", "--data", "d", "--limit", "1", *more.split())
    assert (status, err.splitlines()[-1]) == (2, "  next: add --answers")


def test_who_names_a_model_to_relabel_gets_its_labels(run, memory):
    with LoopbackProvider(label_by_rules) as provider:
        status, out, _ = run("relabel", "--memory", "m", "--model", "x", "--base-url", provider.base_url, "--json")
        assert (status, json.loads(out)["relabeled"], len(provider.requests)) == (0, 1, 1)


def test_a_model_that_is_named_for_statements_labels_nothing(run, memory, monkeypatch):
    monkeypatch.setenv("STITCH_STATEMENTS", "model")
    status, out, _ = run("ingest", "steps.jsonl", "--memory", "m", "--model", "x", "--dry-run", "--json")
    assert (status, json.loads(out)["model_calls"]) == (0, 0)

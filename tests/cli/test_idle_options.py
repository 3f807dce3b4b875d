"""An option that would do nothing is refused in one line, and one that can only mean one thing means it."""

import pytest


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

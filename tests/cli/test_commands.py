"""The command, as people and programs call it: output, JSON, exit status, and what an error says."""

import gzip
import json
import math
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stitch import open_memory

STEPS = [
    {"role": "user", "content": "Let's plan day 1. One idea for breakfast is the Olympus Summit Dining Hall."},
    {"role": "user", "content": "How much is the first restaurant I raised for day 1's breakfast?"},
    {"role": "assistant", "content": "It is priced at around $76.22."},
    {"role": "user", "content": "Now let's turn to day 2. One idea for breakfast is the Hyperion Horizon."},
    {"role": "user", "content": "What is its price?"},
    {"role": "assistant", "content": "It costs about $31.50."},
]


@pytest.fixture
def trip(tmp_path):
    path = tmp_path / "trip.jsonl"
    path.write_text("".join(json.dumps({**step, "trajectory": "trip-1"}) + "\n" for step in STEPS))
    return str(path)


@pytest.fixture
def memory(run, trip):
    assert run("ingest", trip, "--memory", "m")[0] == 0
    return "m"


def order_again(found):
    """The hits of a reply to `stitch query --json`, ordered by what it says of them alone."""
    rule = found["rule"]

    def total(hit, names):
        said = [hit["parts"][name] for name in names if name in hit["parts"]]
        return said[0] if len(said) == 1 else round(math.fsum(said), rule["decimals"])

    def key(hit):
        totals = [-total(hit, names) for names in (*rule["tiers"], rule["summed"])]
        return *totals, *(hit[name] for name in rule["ties"])

    return sorted(found["hits"], key=key)


@pytest.mark.parametrize("ranking", ["auto", "strict", "weighed"])
def test_from_what_a_query_prints_the_order_can_be_computed_again(run, memory, ranking):
    for query, decided_by in (
        ("What did the Olympus Summit Dining Hall and breakfast cost?", "no labels"),
        ("List all restaurants that were named.", None),
        ("How much is the Olympus Summit Dining Hall?", None),
        ("In the plan where the restaurant is Olympus Summit Dining Hall, what was the price?", None),
        ("Which price came last?", None),
        ("zzz", "no labels"),
    ):
        asked = ("query", query, "--memory", memory, "--ranking", ranking, "--min-relevance", "0", "--json")
        _, out, _ = run(*asked)
        found = json.loads(out)
        hits = found["hits"]
        assert order_again(found) == order_again({**found, "hits": hits[::-1]}) == hits, query
        if ranking == "auto":
            assert decided_by in (None, found["decided_by"]), query
        else:
            assert found["ranking"] == ranking, query
        for hit in hits:
            assert hit["density"] == hit["parts"].get("density", 0), query
            assert hit["similarity"] == round(hit["parts"]["similarity"], 6), query
        assert hits[-1]["above_next_by"] is None, query
        assert all(hit["above_next_by"] in (*hit["parts"], "order") for hit in hits[:-1]), query


def test_a_query_to_which_nothing_is_relevant_says_so_whatever_is_printed(run, memory):
    asked = ("query", "price on day 2", "--memory", memory, "--min-relevance", "1")
    code, out, _ = run(*asked)
    assert (code, out.splitlines()[1][:17]) == (0, "nothing relevant:")
    code, out, err = run(*asked, "--context")
    assert (code, out.strip()) == (0, "")
    assert "nothing relevant: the chance that anything bears on this is " in err
    assert "no step fits into 5 tokens" in run(*asked[:-2], "--context", "--context-tokens", "5")[2]
    assert "the question has no word" in run("query", "?!", "--memory", memory, "--min-trust", "high")[1]
    assert json.loads(run(*asked, "--json")[1])["nothing_relevant"] is True
    _, near, _ = run("query", "price on day 2", "--memory", memory, "--min-share", "1", "--json")
    assert len(json.loads(near)["hits"]) == 1


def test_the_timeline_draws_a_lane_for_each_scope(run, memory):
    code, out, _ = run("show", "--memory", memory, "--steps")
    assert code == 0
    assert out.startswith("trip-1  (6 steps, counted from 0)")
    assert "━" in out
    assert "$76.22" in out
    shown = json.loads(run("show", "--memory", memory, "--trajectory", "trip-1", "--json")[1])["trajectories"][0]
    assert [step["position"] for step in shown["steps"]] == list(range(6))
    code, _, err = run("show", "--memory", memory, "--trajectory", "trip-9")
    assert code == 2
    assert "no trajectory 'trip-9'" in err


def test_files_are_drawn_without_a_memory(run, trip, tmp_path):
    before = sorted(tmp_path.iterdir())
    code, out, err = run("show", str(trip), "--steps")

    assert (code, err) == (0, "")
    assert "(6 steps, counted from 0)" in out
    assert "━" in out
    assert "$76.22" in out
    assert sorted(tmp_path.iterdir()) == before


def test_settings_are_shown_with_their_sources(run, monkeypatch):
    monkeypatch.setenv("STITCH_K", "7")
    monkeypatch.setenv("STITCH_QDRANT_KEY", "hidden")
    code, out, _ = run("config", "--tenant", "me", "--json")
    shown = json.loads(out)
    assert code == 0
    assert shown["k"] == {"value": 7, "from": "environment STITCH_K"}
    assert shown["tenant"] == {"value": "me", "from": "argument"}
    assert "hidden" not in out
    assert "environment STITCH_K" in run("config")[1]


def test_standard_input_is_stored_step_by_step_and_ctrl_c_loses_nothing(begin):
    process = begin("ingest", "-", "--memory", "m")
    for step in STEPS[:3]:
        process.stdin.write(json.dumps(step).encode() + b"\n")
    process.stdin.write(b"nonsense\n")
    process.stdin.flush()
    assert b"line 4: " in process.stderr.readline()  # the rejection: all before it has been taken in
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, b"Traceback" in err) == (130, False)
    assert b"everything accepted so far is kept" in err
    with open_memory("m") as memory:
        assert memory.status().stored == 3


@pytest.mark.slow
def test_output_that_nobody_reads_ends_the_command_quietly(memory):
    command = f"'{Path(sys.executable).parent / 'stitch'}' show --memory {memory} --steps --json | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=300)
    assert done.stderr == ""


def test_what_stands_before_the_place_where_a_packed_file_breaks_off_is_stored(run, tmp_path):
    lines = [json.dumps({"role": "user", "content": f"Book hotel {n}."}).encode() + b"\n" for n in range(3)]
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(map(gzip.compress, lines)) + b"no gzip")
    code, _, err = run("ingest", "a.jsonl.gz", "--memory", "m")
    assert (code, "cannot read" in err) == (2, True)
    assert json.loads(run("status", "--memory", "m", "--json")[1])["stored"] == 3
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"".join(lines)))
    assert run("ingest", "a.jsonl.gz", "--memory", "m")[0] == 0
    assert json.loads(run("status", "--memory", "m", "--json")[1])["stored"] == 3


def test_a_line_that_is_nested_deeper_than_anything_walks_is_rejected_and_the_others_are_stored(run, tmp_path):
    deep = [b'{"role": "user", "content": ' + b'{"a":' * n + b"1" + b"}" * n + b"}" for n in (99, 150, 300, 600, 5_000)]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*deep, b'{"role": "user", "content": "Book a hotel."}']))
    code, _, err = run("ingest", "a.jsonl", "--memory", "m")
    assert (code, err.count("nested more than")) == (3, 4)
    assert json.loads(run("status", "--memory", "m", "--json")[1])["stored"] == 1


def test_recalls_say_how_questions_are_kept_and_list_what_any_process_kept(run, memory, monkeypatch):
    code, out, err = run("recalls", "--memory", memory)
    assert (code, out) == (0, "")
    assert "STITCH_RECALL_LOG" in err
    monkeypatch.setenv("STITCH_RECALL_LOG", "5")
    run("query", "breakfast", "--memory", memory)
    monkeypatch.delenv("STITCH_RECALL_LOG")
    assert "breakfast" in run("recalls", "--memory", memory)[1]
    assert run("recalls", "--memory", memory, "--tenant", "ann")[1] == ""


def test_help_lists_every_command_once():
    from stitch.cli.main import COMMANDS, SECTIONS

    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)

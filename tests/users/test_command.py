"""The command, as the pages show it: results on standard output, all else on standard error, exit statuses."""

import json
from pathlib import Path

import pytest

from doubles.files import files_with
from stitch import open_memory

M = ("--memory", "trip.memory")
COMMANDS = """\
ingest add query search why recalls show labels themes select tree chat status receipts retry verify reindex relabel
label correct history optimize ledger forget export import backup restore inspect serve keys mcp config completion bench
generate demo"""


@pytest.mark.parametrize("group", COMMANDS.splitlines())
def test_every_command_has_help(stitch, group):
    listed = stitch("--help")[1]
    for name in group.split():
        assert f"  {name} " in listed
        status, out, _ = stitch(name, "--help")
        assert (status, "Usage: stitch" in out) == (0, True), name


def test_the_version_is_told(stitch):
    assert stitch("--version")[0] == 0


def test_ingesting_counts_and_twice_changes_nothing(told, trip_file):
    first, second = (told("ingest", trip_file, *M) for _ in range(2))
    assert (first["stored"], first["failed"], first["rejected"], first["trajectories"]) == (8, 0, 0, 1)
    assert second["repeated"] == 8
    assert told("status", *M)["stored"] == 8


def test_lines_that_cannot_be_read_are_named_counted_and_kept(stitch, trip_file):
    with trip_file.open("a") as file:
        file.write('{"role": "user"}\nnonsense\n')
    status, _, err = stitch("ingest", trip_file, *M, "--rejects", "bad.jsonl")
    assert status == 3
    assert "trip.jsonl" in err
    assert len(Path("bad.jsonl").read_text().splitlines()) == 2
    assert stitch("status", *M)[0] == 0


def test_what_was_rejected_is_mended_and_fed_in_again(stitch, told, tmp_path):
    Path("odd.jsonl").write_text('{"nome": "kettle descaler", "said": "twenty minutes"}\n')
    status, _, err = stitch("ingest", "odd.jsonl", *M, "--rejects", "bad.jsonl")
    assert (status, "its fields are nome, said" in err) == (3, True)
    mended = Path("bad.jsonl").read_text().replace("nome", "role").replace("said", "content")
    Path("bad.jsonl").write_text(mended)
    assert told("ingest", "bad.jsonl", *M)["stored"] == 1
    assert "twenty minutes" in stitch("query", "how many minutes", *M)[1]


def test_a_step_whose_id_is_taken_stands_whole_in_the_rejects_file(stitch, told):
    Path("two.jsonl").write_text("".join(
        json.dumps({"role": "user", "content": said, "id": "5", "timestamp": "2026-03-01"}) + "\n"
        for said in ("The lamp is green.", f"The door is blue. {'x' * 300}")
    ))  # fmt: skip
    assert stitch("ingest", "two.jsonl", *M, "--rejects", "bad.jsonl")[0] == 3
    assert stitch("ingest", "bad.jsonl", *M, "--rejects", "again.jsonl")[0] == 3, "its id is taken still"
    Path("bad.jsonl").write_text(Path("bad.jsonl").read_text().replace('\\"5\\"', '\\"6\\"'))
    assert told("ingest", "bad.jsonl", *M)["stored"] == 1
    with open_memory("trip.memory") as memory:
        [kept] = [each.step for each in memory.steps("two") if each.step.id == "6"]
    assert (len(kept.content), kept.timestamp) == (318, "2026-03-01")


def test_a_step_is_added_as_it_is_typed(stitch, told):
    assert stitch("add", "The lamp is green.", "--trajectory", "home", *M)[0] == 0
    assert "lamp" in told("query", "the lamp", *M)["hits"][0]["text"]


@pytest.mark.parametrize("name", ["query", "search"])
def test_a_query_prints_what_it_found(stitch, kept, name):
    status, out, err = stitch(name, "What does the boat to Faro cost?", *M, "-k", "3")
    assert (status, "35 euros" in out, err) == (0, True, "")


def test_a_query_as_json_has_hits_with_ranks_labels_and_parts(told, kept):
    found = told("query", "What does the boat to Faro cost?", *M, "-k", "3")
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3]
    assert set(found["filter"]) == {"scopes", "event_types", "entity_types"}
    for hit in found["hits"]:
        assert set(hit) >= {"trajectory", "step", "position", "role", "density", "similarity", "scope", "event_types",
                            "entity_types", "text"}  # fmt: skip


def test_a_query_gives_a_context_for_a_prompt(stitch, kept):
    status, out, _ = stitch("query", "What does the boat to Faro cost?", *M, "--context", "--context-tokens", "300")
    assert (status, "35 euros" in out) == (0, True)


def test_a_query_asks_the_past_and_only_the_trusted(told, kept):
    past = told("query", "Faro", *M, "--as-of", "2001-01-01")
    assert past["hits"] == []
    trusted = told("query", "the pier", *M, "--min-trust", "high")
    assert {hit["role"] for hit in trusted["hits"]} <= {"user"}


def test_a_date_alone_is_told_as_the_end_of_its_day(stitch, kept):
    status, _, err = stitch("query", "the boat", "--as-of", "2099-12-31", *M)
    assert (status, "as of the end of that day here, 2099-12-31T23:59:59" in err) == (0, True)
    assert "end of that day" not in stitch("query", "the boat", "--as-of", "2099-12-31T10:00", *M)[2]


def test_lanes_steps_and_labels_are_shown(stitch, kept):
    assert "trip" in stitch("show", *M)[1]
    assert "Casa Azul" in stitch("show", "--steps", *M)[1]
    assert stitch("labels", *M)[1].strip()
    assert stitch("select", "//Step[@role = 'tool']", *M)[1].strip()


def test_a_correction_has_a_history(stitch, told, kept):
    assert (
        stitch("correct", "boat", "--trajectory", "trip", "--scope", "day 9", "--event", "tell", "--by", "ann", *M)[0]
        == 0
    )
    [revision] = told("history", "boat", "--trajectory", "trip", *M)["revisions"]
    assert revision["corrected_by"] == "ann"
    assert "day 9" in stitch("labels", *M)[1]
    assert stitch("correct", "boat", "--trajectory", "trip", "--ask", "catamaran departure", *M)[0] == 0
    assert told("query", "catamaran departure", *M)["hits"][0]["step"] == "boat"


def test_forgetting_counts_first_and_prints_a_proof(stitch, told, kept):
    selected = ("--trajectory", "trip", "--step", "boat", *M)
    assert told("forget", "erase", "--dry-run", *selected) == {"steps": 1, "meant": {"trip": 1}, "dry_run": True}
    status, out, _ = stitch("forget", "erase", *selected)
    assert (status, "proof" in out) == (0, True)
    assert told("status", *M)["stored"] == 7
    assert files_with(kept, b"boat to Faro leaves") == []


def test_a_copy_that_still_holds_the_words_is_named(stitch, kept):
    Path(kept, "copy.txt").write_text("The boat to Faro leaves at nine and costs 35 euros.")
    assert stitch("forget", "erase", "--trajectory", "trip", "--step", "boat", *M)[0] == 5


def test_retiring_takes_steps_out_of_answers(stitch, told, kept):
    assert stitch("forget", "retire", "--trajectory", "trip", "--step", "boat", *M)[0] == 0
    assert "boat" not in [hit["step"] for hit in told("query", "the boat to Faro", *M)["hits"]]


def test_exporting_and_importing_loses_nothing(stitch, told, kept):
    assert stitch("export", *M, "--out", "trip.export")[0] == 0
    taken = told("import", "trip.export", "--memory", "copy.memory")
    assert taken["steps"] == 8
    assert (
        told("query", "Faro", *M)["hits"][0]["text"]
        == told("query", "Faro", "--memory", "copy.memory")["hits"][0]["text"]
    )


def test_an_export_into_a_memory_is_refused_for_an_erasure_would_blank_it(stitch, kept):
    status, _, err = stitch("export", *M, "--out", f"{kept}/e.jsonl")
    assert (status, "folder of a memory" in err, Path(kept, "e.jsonl").exists()) == (2, True, False)


def test_backing_up_and_restoring_loses_nothing(stitch, told, kept):
    assert stitch("backup", *M, "--to", "monday")[0] == 0
    assert stitch("restore", "monday", "--memory", "other.memory")[0] == 0
    assert told("status", "--memory", "other.memory")["stored"] == 8
    assert stitch("restore", "monday", "--memory", "other.memory")[0] != 0, "it is not overwritten"


def test_verifying_retrying_and_reindexing_end_well(stitch, kept):
    for command in (("verify",), ("verify", "--repair"), ("retry",), ("reindex",), ("relabel",)):
        assert stitch(*command, *M)[0] == 0, command
    assert stitch("status", *M)[0] == 0


def test_a_store_that_lost_its_files_is_told_and_repaired(stitch, kept):
    import shutil

    shutil.rmtree(Path(kept, "store"))
    stitch("verify", "--repair", *M)
    stitch("reindex", *M)
    assert "35 euros" in stitch("query", "What does the boat to Faro cost?", *M)[1]


def test_shells_are_told_how_to_complete(stitch):
    assert "stitch" in stitch("completion", "bash")[1]


def test_the_demo_shows_what_it_does_and_keeps_what_it_made(stitch):
    status, out, _ = stitch("demo", "--keep", "demo")
    assert (status, bool(out.strip())) == (0, True)
    assert stitch("show", "--trajectory", "bugs", "--memory", "demo/demo.memory")[0] == 0


@pytest.mark.parametrize(
    ("status", "arguments", "named"),
    [
        (2, ("remember",), "remember"),
        (2, ("query", "x", "--memory", "none"), "none"),
        (2, ("query", "x", "--memory", "none", "--sideways"), "sideways"),
        (2, ("ingest", "no-such-file.jsonl", "--memory", "m"), "no-such-file"),
        (2, ("query", "x", "--trajectory", "nowhere", *M), "nowhere"),
        (2, ("correct", "nothing", "--trajectory", "trip", "--scope", "x", *M), "nothing"),
        (2, ("import", "trip.jsonl", "--memory", "m"), "no export"),
        (2, ("restore", "nowhere", "--memory", "m"), "nowhere"),
        (2, ("status", "--config", "none.yaml", *M), "none.yaml"),
        (2, ("forget", "erase", *M), "selected"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_wrong_ends_with_its_status_and_is_named(stitch, kept, status, arguments, named):
    ended, out, err = stitch(*arguments)
    assert (ended, out) == (status, "")
    assert named in err


def test_a_wrong_setting_in_a_file_is_named(stitch, kept):
    Path("s.yaml").write_text("colour: red\n")
    status, _, err = stitch("status", "--config", "s.yaml", *M)
    assert (status, "colour" in err) == (2, True)


def test_a_journal_that_is_damaged_ends_with_5(stitch, kept):
    Path(kept, "journal.sqlite").write_bytes(b"no database " * 1000)
    status, _, err = stitch("status", *M)
    assert (status, bool(err)) == (5, True)


@pytest.mark.parametrize(
    "log",
    [
        {"messages": [{"role": "user", "content": "Is the lamp green?"}]},
        {"type": "user", "message": {"role": "user", "content": "Is the lamp green?"}, "sessionId": "s", "uuid": "u",
         "timestamp": "2026-03-01T12:00:00Z", "cwd": "/", "version": "1"},
        {"role": "user", "content": [{"type": "text", "text": "Is the lamp green?"}]},
    ],
    ids=["chats", "a coding agent", "content blocks"],
)  # fmt: skip
def test_logs_of_others_are_known_by_their_content(told, log):
    Path("log.jsonl").write_text(json.dumps(log) + "\n")
    assert told("ingest", "log.jsonl", *M)["stored"] == 1
    assert "lamp" in told("query", "the lamp", *M)["hits"][0]["text"]

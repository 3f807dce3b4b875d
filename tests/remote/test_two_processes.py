"""A memory that one process has open is used by another: watched, searched, corrected, written."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stitch import Memory, Step, open_memory, open_tenants
from stitch.cli import main
from stitch.core import StepState
from stitch.errors import (
    ForkedProcessError,
    OwnerLostError,
    ScopeError,
    SettingsError,
    StepRejectedError,
    StitchError,
    StoreLockedError,
)
from stitch.lifecycle.folder import LEDGER_FILE
from stitch.lm import Charge, Ledger
from stitch.observe import LogObserver
from stitch.remote import address, joining
from stitch.remote.memory import RemoteMemory

Begin = Callable[..., subprocess.Popen[str]]
Command = Callable[..., tuple[int, str]]

OWNER = """
import sys
from stitch import Step, open_memory
with open_memory(sys.argv[1]) as memory:
    memory.add(Step(role="user", content="Day 1: a hotel in Kyoto."), trajectory="trip")
    print("ready", flush=True)
    for line in sys.stdin:
        memory.add(Step(role="user", content=line.strip()), trajectory="trip")
        print("added", flush=True)
"""
WRITER = """
import sys
from stitch import Step, open_memory
with open_memory(sys.argv[1]) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        memory.add(Step(role="user", content=f"{sys.argv[2]} {number}"), trajectory="shared")
"""
HANGING = """
import sys, time
from stitch import Step, open_memory
memory = open_memory(sys.argv[1])
memory.add(Step(role="user", content="Day 1: a hotel in Kyoto."), trajectory="trip")
def hang(*_, **__):
    print("hangs", flush=True)
    time.sleep(600)
memory.add_many = hang
print("ready", flush=True)
sys.stdin.readline()
"""


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return said(process)


@pytest.fixture
def owner(begin: Begin, tmp_path: Path) -> subprocess.Popen[str]:
    process = begin(OWNER, tmp_path / "m")
    assert said(process) == "ready"
    return process


@pytest.fixture
def stitch(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in this process, beside the owner; gives its status and what it prints."""

    def call(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["stitch", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), capfd.readouterr().out

    return call


def test_a_second_terminal_watches_searches_and_corrects_what_the_first_writes(
    owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m") as memory:
        assert isinstance(memory, RemoteMemory)
        assert memory.status().owner["pid"] == str(owner.pid)
        assert tell(owner, "The Maple Inn costs 120 dollars.") == "added"
        assert "120 dollars" in memory.search("What does the Maple Inn cost?").context()
        memory.lifecycle.correct("1", trajectory="trip", text="The Maple Inn costs 95 dollars.")
        assert tell(owner, "Now day 2.") == "added"
        assert [entry.step.content for entry in memory.steps("trip")][1:] == [
            "The Maple Inn costs 95 dollars.", "Now day 2.",
        ]  # fmt: skip


def test_commands_work_beside_an_owner(owner: subprocess.Popen[str], tmp_path: Path, stitch: Command) -> None:
    at = ("--memory", tmp_path / "m")
    (tmp_path / "more.jsonl").write_text('{"role": "user", "content": "Day 3 is for the onsen.", "id": "o"}\n')
    assert stitch("ingest", tmp_path / "more.jsonl", "--trajectory", "trip", *at)[0] == 0
    _, asked = stitch("query", "What is day 3 for?", *at, "--json")
    assert "onsen" in json.loads(asked)["hits"][0]["text"]
    assert owner.poll() is None


def test_a_killed_owner_is_followed_by_whoever_asks_next(owner: subprocess.Popen[str], tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        assert memory.add(Step(role="user", content="Day 2."), trajectory="trip").state is StepState.STORED
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
        assert (tmp_path / "m" / address.SOCKET_FILE).exists(), "a killed owner leaves its socket"
        assert [entry.step.content for entry in memory.steps("trip")][1] == "Day 2."
        assert memory.add(Step(role="user", content="Day 3."), trajectory="trip").position == 2
        with open_memory(tmp_path / "m") as third:
            assert third.status().owner["pid"] == str(os.getpid())
    with open_memory(tmp_path / "m") as again:
        assert not isinstance(again, RemoteMemory)
        assert again.lifecycle.verify() == (3, 3, ())


def test_an_owner_that_ends_in_the_midst_of_a_call_is_told_of_in_one_line(begin: Begin, tmp_path: Path) -> None:
    process = begin(HANGING, tmp_path / "m")
    assert said(process) == "ready"
    with open_memory(tmp_path / "m") as memory:
        failed: list[StitchError] = []

        def add() -> None:
            try:
                memory.add(Step(role="user", content="Day 2."), trajectory="trip")
            except StitchError as error:
                failed.append(error)

        thread = threading.Thread(target=add)
        thread.start()
        assert said(process) == "hangs"
        os.kill(process.pid, signal.SIGKILL)
        thread.join(120)
        [error] = failed
        assert isinstance(error, OwnerLostError)
        assert "whether 'add' was done is not known" in error.message
        assert "\n" not in error.message
        assert "steps with an id can be given twice" in error.hint
        assert len(list(memory.steps("trip"))) == 1, "the next call opens the memory"


def test_two_writers_on_one_trajectory_are_put_in_one_order(begin: Begin, tmp_path: Path) -> None:
    writers = [begin(WRITER, tmp_path / "m", name, 40) for name in ("left", "right")]
    for each in writers:
        assert said(each) == "ready"
    for each in writers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in writers:
        assert each.wait(60) == 0, each.stderr and each.stderr.read()
    with open_memory(tmp_path / "m") as memory:
        entries = list(memory.steps("shared"))
        assert [entry.position for entry in entries] == list(range(80))
        assert len({entry.id for entry in entries}) == 80
        for name in ("left", "right"):
            own = [entry.step.content for entry in entries if entry.step.content.startswith(name)]
            assert own == [f"{name} {number}" for number in range(40)]
        assert memory.lifecycle.verify() == (80, 80, ())


def test_steps_without_ids_of_two_writers_are_kept_apart(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory, open_memory(tmp_path / "m") as other:
        same = Step(role="user", content="yes")
        assert [each.add(same, trajectory="t").step for each in (memory, other, memory, other)] == ["0", "1", "2", "3"]
        taken = Step(id="a", role="user", content="one")
        assert memory.add(taken, trajectory="t").repeated is False
        assert other.add(taken, trajectory="t").repeated is True
        with pytest.raises(StepRejectedError):
            other.add(Step(id="a", role="user", content="two"), trajectory="t")


def test_the_owner_closes_while_others_use_the_memory(tmp_path: Path) -> None:
    owner = open_memory(tmp_path / "m")
    other, third = open_memory(tmp_path / "m"), open_memory(tmp_path / "m")
    other.add(Step(role="user", content="Day 1."), trajectory="t")
    third.search("day")
    owner.close()
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["journal.sqlite", "store"]
    assert other.add(Step(role="user", content="Day 2."), trajectory="t").position == 1
    assert len(list(third.steps("t"))) == 2
    assert third.status().owner["pid"] == str(os.getpid())
    other.close()
    assert len(third.search("day").hits) == 2
    third.close()
    with pytest.raises(StitchError, match="is closed"):
        third.search("day")


def test_what_is_under_way_is_finished_before_the_owner_has_closed(tmp_path: Path) -> None:
    owner = open_memory(tmp_path / "m")
    stop, added = threading.Event(), list[str]()

    def write() -> None:
        with open_memory(tmp_path / "m") as memory:
            while not stop.is_set():
                step = Step(role="user", content=f"Day {len(added)}.")
                added.append(memory.add(step, trajectory="t").step)
                many.release()

    many = threading.Semaphore(0)
    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(20):
        assert many.acquire(timeout=120)
    owner.close()
    for _ in range(5):
        assert many.acquire(timeout=120)
    stop.set()
    thread.join(120)
    with open_memory(tmp_path / "m") as memory:
        assert [entry.id for entry in memory.steps("t")] == added
        assert len({entry.step.content for entry in memory.steps("t")}) == len(added)


def test_only_the_user_can_reach_the_socket(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m"):
        mode = (tmp_path / "m" / address.SOCKET_FILE).lstat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600


def test_nothing_is_shared_where_the_settings_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "OPENING_S", 600.0)
    monkeypatch.setattr(joining, "HOLDING_S", 600.0)
    with open_memory(tmp_path / "m", share=False):
        assert not (tmp_path / "m" / address.SOCKET_FILE).exists()
        with pytest.raises(StoreLockedError, match=f"in use by process {os.getpid()}"):
            open_memory(tmp_path / "m")
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["journal.sqlite", "store"]


def test_somebody_who_holds_the_memory_and_never_answers_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "HOLDING_S", 0.05)
    with open_memory(tmp_path / "m", share=False):
        (tmp_path / "m" / address.ADDRESS_FILE).unlink()
        with pytest.raises(StoreLockedError):
            open_memory(tmp_path / "m")


def test_an_owner_that_is_opening_the_memory_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Memory] = []
    waits, pause = threading.Event(), joining._pause

    def note(folder: Path) -> None:
        waits.set()
        pause(folder)

    monkeypatch.setattr(joining, "_pause", note)
    with open_memory(tmp_path / "m", share=False):
        address.announce(tmp_path / "m", share=True)
        thread = threading.Thread(target=lambda: found.append(open_memory(tmp_path / "m")))
        thread.start()
        assert waits.wait(120)
        assert found == []
    thread.join(120)
    [memory] = found
    with memory:
        assert not isinstance(memory, RemoteMemory)
        assert memory.status().accepted == 0


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", recall_log=5, model_key="secret-1"):
        for wrong, told in (
            ({"labels": "model", "model": "a/b"}, "labels: 'local' there, 'model' here"),
            ({"embedder": "openai/x", "embedder_dimension": 8}, "embedder: 'static' there, 'openai/x' here"),
            ({"recall_log": 6}, "recall_log: 5 there, 6 here"),
            ({"model_key": "secret-2"}, r"model_key: \(a secret\) there, \(a secret\) here"),
        ):
            with pytest.raises(SettingsError, match=told) as refused:
                open_memory(tmp_path / "m", **wrong)
            assert "secret-" not in str(refused.value)
        with open_memory(tmp_path / "m", recall_log=5, model_key="secret-1", k=3) as memory:
            assert memory.search("x").request.k == 3


def test_another_tenant_names_the_model_to_which_its_texts_are_shown(tmp_path: Path) -> None:
    chosen: Any = {"labels": "model", "model": "a/b", "offline": True, "base_url": "http://127.0.0.1:1/v1"}
    with open_memory(tmp_path / "m", tenant="ann", **chosen):
        with open_memory(tmp_path / "m", tenant="ann") as memory:
            assert memory.uses_model
            assert memory.ledger.total().calls == 0
            assert memory.ledger.stages() == {}
        with pytest.raises(SettingsError, match="for another tenant"):
            open_memory(tmp_path / "m", tenant="bob")
        open_memory(tmp_path / "m", tenant="bob", labels="model", model="a/b").close()


def test_the_store_is_built_anew_by_the_owner(owner: subprocess.Popen[str], tmp_path: Path, stitch: Command) -> None:
    told = json.loads(stitch("reindex", "--memory", tmp_path / "m", "--json")[1])
    assert (told["snippets"], told["written"]) == (1, 1)
    with open_memory(tmp_path / "m") as memory:
        assert told["embedder"] == memory.status().embedder
    assert tell(owner, "Now day 2.") == "added"


@pytest.mark.parametrize("command", ["reindex --embedder hashing", "serve --port 0"])
def test_what_goes_by_no_other_process_says_so_in_one_line(
    command: str,
    owner: subprocess.Popen[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["stitch", *command.split(), "--memory", str(tmp_path / "m")])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capfd.readouterr().err
    first, following = said.splitlines()
    assert (ended.value.code, "in use" in said) == (4, False)
    assert first.startswith(f"stitch: process {owner.pid} has the memory")
    assert following.startswith("  next: ")


def test_the_tenants_of_a_memory_that_is_open_are_used_through_its_owner(
    owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    with open_tenants(tmp_path / "m") as tenants:
        ann, bob = tenants.memory("ann"), tenants.memory("bob")
        assert isinstance(ann, RemoteMemory)
        with ann:
            ann.add(Step(role="user", content="Ann's hotel in Kyoto."), trajectory="t")
        bob.add(Step(role="user", content="Bob's hotel in Nara."), trajectory="t")
        assert [hit.snippet.text for hit in tenants.memory("ann").search("hotel")] == ["Ann's hotel in Kyoto."]
        assert {"ann", "bob"} < set(tenants.names())
        assert (tenants.away, tenants.ledger.total().calls, tenants.folder) == ("", 0, tmp_path / "m")
        assert tenants.backup(tmp_path / "copy").tenants == len(tenants.names())
        assert tenants.reindex() > 1
    assert tell(owner, "Now day 2.") == "added"


def test_tenants_go_on_when_the_process_that_had_them_open_is_gone(
    owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    with open_tenants(tmp_path / "m") as tenants:
        ann = tenants.memory("ann")
        ann.add(Step(role="user", content="Ann's hotel in Kyoto."), trajectory="t")
        before = tenants.names()
        owner.kill()
        owner.wait()
        assert tenants.names() == before
        assert len(ann.search("hotel").hits) == 1
        tenants.memory("bob").add(Step(role="user", content="Bob's hotel in Nara."), trajectory="t")
        assert tenants.names() == [*before, "bob"]
        assert tenants.backup(tmp_path / "copy").tenants == len(tenants.names())
        assert tenants.reindex() > 1
        assert tenants.away == ""
    with open_memory(tmp_path / "m", tenant="bob", share=False) as bob:
        assert bob.trajectories() == ["t"]


def test_what_models_cost_all_tenants_is_told_by_the_lines_of_the_ledger(
    owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "m" / LEDGER_FILE)
    charge = Charge(model="m", stage="window", tenant="ann", prompt_tokens=3, reply_tokens=4, cost_usd=0.5, key="k")
    ledger.charge(charge)
    with open_tenants(tmp_path / "m") as tenants:
        assert (tenants.ledger.total().calls, tenants.ledger.stages(), tenants.ledger.keys()) == (0, {}, {})
        ledger.charge(charge)
        told = tenants.ledger
        assert (told.total().tokens, told.stages()["window"].calls, told.keys()["k"].cost_usd) == (7, 1, 0.5)
    assert tell(owner, "Now day 2.") == "added"


def test_observers_of_all_tenants_are_told_in_the_process_that_has_them_open(
    owner: subprocess.Popen[str], tmp_path: Path
) -> None:
    with pytest.raises(StoreLockedError, match=f"process {owner.pid} has the memory .* its own observers"):
        open_tenants(tmp_path / "m", observers=[LogObserver()])
    assert tell(owner, "Now day 2.") == "added"


def test_options_of_a_search_are_no_options_of_a_path_query(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m"), open_memory(tmp_path / "m", k=1) as memory:
        memory.add_many([Step(role="user", content=f"Day {n}: a hotel.") for n in range(3)], trajectory="t")
        assert len(memory.search("hotel")) == 1
        assert len(memory.select("//Step", trajectory="t")) == 3


def test_what_each_may_set_as_it_likes_counts_where_it_was_set(tmp_path: Path) -> None:
    rule: Any = {"older_than_days": 1, "action": "retire"}
    with open_memory(tmp_path / "m", k=7) as owner, open_memory(tmp_path / "m") as plain:
        owner.add(Step(role="user", content="Day 1: a hotel."), trajectory="t")
        assert plain.search("hotel").request.k == 7
        with open_memory(tmp_path / "m", k=2, budget_tokens=50, retriever="dense", retention=[rule]) as memory:
            result = memory.search("hotel")
            assert (result.request.k, result.request.budget_tokens, result.mode) == (2, 50, "dense")
            assert memory.search("hotel", k=1).request.k == 1
            assert [each.rule.action for each in memory.lifecycle.expire(dry_run=True).rules] == ["retire"]
        assert plain.lifecycle.expire(dry_run=True).rules == ()


def test_tenants_see_nothing_of_each_other(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m", tenant="ann") as ann, open_memory(tmp_path / "m", tenant="bob") as bob:
        ann.add(Step(role="user", content="Ann's hotel in Kyoto."), trajectory="t")
        assert (bob.trajectories(), bob.search("hotel").hits, bob.tenant) == ([], (), "bob")
        bob.add(Step(role="user", content="Bob's hotel."), trajectory="t")
        assert [hit.snippet.text for hit in ann.search("hotel")] == ["Ann's hotel in Kyoto."]
        with pytest.raises(ScopeError):
            open_memory(tmp_path / "m", tenant=" ")


def test_the_owner_of_all_tenants_answers_too(tmp_path: Path) -> None:
    with open_tenants(tmp_path / "m") as tenants, open_memory(tmp_path / "m", tenant="ann") as ann:
        ann.add(Step(role="user", content="A hotel."), trajectory="t")
        assert tenants.memory("ann").trajectories() == ["t"]
        assert tenants.names() == ["ann"]


def test_a_path_that_is_too_long_for_a_socket_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("TMPDIR", "/tmp")
    folder = tmp_path / ("deep" * 20) / "m"
    with open_memory(folder) as owner, open_memory(folder) as memory:
        assert isinstance(memory, RemoteMemory)
        owner.add(Step(role="user", content="A hotel."), trajectory="t")
        assert memory.trajectories() == ["t"]
        known = address.read_address(folder)
        assert known is not None
        assert known.socket is not None
        place = Path(known.socket)
        assert stat.S_IMODE(place.lstat().st_mode) == 0o600
        assert stat.S_IMODE((folder / address.ADDRESS_FILE).stat().st_mode) == 0o600
    assert not place.exists()
    assert not (folder / address.ADDRESS_FILE).exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_may_not_use_the_connection_of_its_parent(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m"), open_memory(tmp_path / "m") as memory:
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                memory.search("x")
                os.write(write, b"used")
            except ForkedProcessError:
                os.write(write, b"refused")
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        assert os.read(read, 100) == b"refused"
        os.close(read)
        os.close(write)
        assert memory.trajectories() == []


def test_many_threads_share_one_memory(tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as owner, open_memory(tmp_path / "m") as memory:
        failed = list[BaseException]()

        def work(name: str) -> None:
            try:
                for number in range(10):
                    memory.add(Step(role="user", content=f"{name} {number}"), trajectory=name)
                    memory.search(name, k=3)
            except StitchError as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(12)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        assert not failed
        assert owner.status().accepted == 120

"""Each promise of the page of security, and each command of the page of correcting, is held by tests, named here."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROMISES = {
    "What was accepted survives kill -9": (
        "test_processes_killed_at_boundaries_and_at_random_leave_what_an_undisturbed_one_leaves",
        "test_a_torn_last_write_loses_only_what_it_wrote",
        "test_a_full_disk_refuses_or_fails_steps_and_loses_none",
        "test_where_power_may_be_lost_every_step_is_on_the_disk_before_its_receipt",
    ),
    "One process owns a memory": (
        "test_a_second_process_is_told_who_owns_the_store",
        "test_a_second_terminal_watches_searches_and_corrects_what_the_first_writes",
        "test_two_writers_on_one_trajectory_are_put_in_one_order",
        "test_a_killed_owner_is_followed_by_whoever_asks_next",
        "test_only_the_user_can_reach_the_socket",
        "test_nothing_is_shared_where_the_settings_say_so",
        "test_nothing_of_another_tenant_or_trajectory_is_exported",
        "test_use_in_a_fork_is_refused_and_touches_no_file",
        "test_a_fork_that_closes_or_ends_takes_nothing_from_its_parent",
        "test_a_worker_opens_the_memory_itself_if_it_was_forked_before_its_parent_did",
    ),
    "On a read-only disk": (
        "test_it_is_read_and_every_change_is_refused_in_one_line",
        "test_every_method_is_known_to_read_or_to_be_refused",
    ),
    "A memory's folder and files are their user's alone": (
        "test_what_is_written_is_the_users_alone",
        "test_what_an_ingest_writes_down_is_the_users_alone",
        "test_a_link_in_a_folder_is_refused_by_name_and_what_it_leads_to_is_untouched",
        "test_a_pipe_in_a_folder_does_not_stop_what_opens_it",
        "test_a_file_of_holes_is_refused_before_it_fills_the_memory",
        "test_a_backup_with_links_is_refused",
        "test_a_hostile_journal_or_backup_is_refused_before_anything_of_it_runs",
        "test_a_backup_with_rows_that_are_none_is_refused_by_their_place_and_leaves_nothing",
        "test_what_is_no_line_of_an_export_is_refused",
    ),
    "Nothing of one tenant is in another's": (
        "test_tenants_that_do_everything_at_once_never_see_each_other",
        "test_what_a_tenant_is_told_does_not_depend_on_others",
        "test_each_tenant_has_a_ledger_of_its_own",
        "test_a_session_is_there_for_the_key_alone_that_opened_it",
        "test_a_backup_of_one_tenant_has_no_byte_of_another",
    ),
    "Keys, tokens and passwords are taken out": (
        "test_every_known_token_is_taken_out_whole",
        "test_a_step_is_cleaned_everywhere_and_told_of_without_the_values",
        "test_what_the_frames_of_the_project_hold_is_found_and_what_only_looks_like_it_is_left_alone",
        "test_secrets_are_taken_out_before_anything_is_written",
    ),
    "Contexts are quoted data": (
        "test_the_context_holds_each_step_once_as_data",
        "test_no_marker_comes_through",
        "test_what_came_from_outside_is_never_among_what_is_trusted",
        "test_a_claim_lowers_trust_and_never_raises_it",
    ),
    "An erasure rewrites the files": (
        "test_no_field_of_an_erased_step_is_left_in_any_file",
        "test_the_proof_finds_what_is_left",
        "test_of_what_was_erased_no_byte_is_in_a_later_backup",
        "test_an_erased_step_is_refused_by_every_way_of_adding",
        "test_an_import_brings_nothing_back_that_was_erased",
        "test_an_erased_trajectory_stays_erased_and_an_erased_tenant_is_forgotten",
        "test_a_backup_from_before_an_erasure_brings_it_back",
    ),
    "Retention rules of the settings": (
        "test_the_rules_of_the_settings_are_applied_by_command",
        "test_by_a_clock_that_jumped_ahead_nothing_expires_until_somebody_says_that_it_is_right",
    ),
    "A command whose work failed": (
        "test_an_ingest_whose_steps_failed_ends_with_status_1",
        "test_an_ingest_whose_model_never_answered_ends_with_status_6_and_keeps_the_steps",
    ),
}
"""By the beginning of a promise, the tests that would fail if it were not kept."""
COMMANDS = {
    "status": ("test_ingesting_counts_and_twice_changes_nothing", "test_a_model_labels_steps_in_windows"),
    "receipts --failed": (
        "test_receipts_are_listed_and_failures_are_told_with_their_reason",
        "test_retrying_says_how_many_are_stored_now",
    ),
    "verify --repair": (
        "test_a_memory_that_does_not_agree_ends_with_5_until_it_is_repaired",
        "test_each_thing_that_does_not_agree_is_named_and_repaired",
    ),
    "show --steps": ("test_lanes_steps_and_labels_are_shown",),
    "correct": (
        "test_a_correction_has_a_history",
        "test_a_correction_changes_its_step_alone_and_nothing_is_read_again",
    ),
    "history": ("test_a_correction_has_a_history", "test_as_of_a_step_the_memory_is_what_it_was_then"),
    "backup": ("test_adding_goes_on_while_a_backup_is_made", "test_a_restored_memory_is_the_one_that_was_backed_up"),
    "restore": ("test_backing_up_and_restoring_loses_nothing",),
    "export": ("test_nothing_of_another_tenant_or_trajectory_is_exported",),
    "import": ("test_exporting_and_importing_loses_nothing",),
    "forget erase": ("test_forgetting_counts_first_and_prints_a_proof",),
}
"""The same of the commands that are shown above them."""


def section(page: str, heading: str) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text.split(f"## {heading}\n")[1].split("\n## ")[0]


def promises() -> list[str]:
    return [
        " ".join(item.split())
        for item in re.findall(r"^- (.*(?:\n  .*)*)", section("security.md", "What is promised"), re.MULTILINE)
    ]


def test_every_promise_has_tests() -> None:
    said = promises()
    assert len(said) == len(PROMISES)
    assert [item for item in said if not item.startswith(tuple(PROMISES))] == []


def test_every_command_for_operating_has_tests() -> None:
    shown = re.findall(r"^stitch (.*)$", section("correcting.md", "Look after a memory"), re.MULTILINE)
    assert len(shown) == len(COMMANDS)
    assert [line for line in shown if not line.startswith(tuple(COMMANDS))] == []


def test_the_tests_of_promises_are_there() -> None:
    defined = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {name for names in (*PROMISES.values(), *COMMANDS.values()) for name in names} - defined == set()

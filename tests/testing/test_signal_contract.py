"""The contract of signals: who breaks it is found out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BROKEN = Path(__file__).with_name("broken_signals.py")

FOUND_BY = {
    "TestSortsPositions": "test_a_list_of_indices_is_a_view",
    "TestForgetsTheStep": "test_a_slice_is_a_view",
    "TestShowsTheNextValue": "test_an_index_counts_from_either_end",
    "TestCopies": "test_views_share_memory",
    "TestStampsCanBeChanged": "test_whole_arrays_are_read_only",
    "TestStampsAreFractions": "test_stamps_reach_as_far_as_the_lane_does",
    "TestCannotBeEmpty": "test_an_empty_signal_is_fine",
    "TestReadsToCount": "test_nothing_is_read_before_it_is_needed",
    "TestReadsToPrint": "test_nothing_is_read_before_it_is_needed",
    "TestReadsTooMuch": "test_only_what_is_asked_for_is_read",
    "TestHasItsOwnSlices": "test_what_is_final_is_as_written_once",
    "TestStaysInItsProcess": "test_it_travels_to_a_spawned_process",
    "TestThreadsMeet": "test_threads_may_share_it",
    "TestLosesSigns": "test_it_is_a_sequence_of_samples",
    "TestMergesStamps": "test_of_one_stamp_the_last_sample_counts",
}


@pytest.fixture(scope="module")
def failures() -> set[str]:
    """Run each broken signal under the test that should find it, and the sound one under all of those."""
    names = [f"{case}::{test}" for broken, test in FOUND_BY.items() for case in (broken, "TestSound")]
    command = [sys.executable, "-m", "pytest", *(f"{BROKEN}::{name}" for name in names), "--tb=no", "-rf"]
    run = subprocess.run([*command, "-p", "no:cacheprovider"], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    return set(re.findall(r"^FAILED \S+?::(\w+)", run.stdout, re.MULTILINE))


@pytest.mark.parametrize("case", FOUND_BY)
def test_a_broken_signal_is_found_out(case: str, failures: set[str]) -> None:
    assert case in failures


def test_a_sound_signal_is_not(failures: set[str]) -> None:
    assert "TestSound" not in failures

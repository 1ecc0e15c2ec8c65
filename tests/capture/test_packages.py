"""Installed distributions are found by the names of their folders."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from playhead.capture.packages import installed


def test_the_answer_agrees_with_importlib_metadata():
    expected: dict[str, str] = {}
    for distribution in metadata.distributions():
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        expected.setdefault(name, distribution.version)
    notes: list[str] = []
    assert installed(sys.path, notes) == dict(sorted(expected.items()))
    assert notes == []


def test_every_form_of_metadata_folder_is_understood(tmp_path: Path):
    (tmp_path / "Zope.Event_x-1.0+cu12.dist-info").mkdir()
    (tmp_path / "PyYAML-6.0-py3.11.egg-info").mkdir()
    (tmp_path / "plain-2.1.egg-info").write_text("Name: plain\n")
    (tmp_path / "linked.egg-info").mkdir()
    (tmp_path / "linked.egg-info" / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: linked\nVersion: 3.2.dev1\n")
    (tmp_path / "~umpy-1.0.dist-info").mkdir()
    (tmp_path / "numpy").mkdir()
    assert installed([str(tmp_path)], []) == {
        "linked": "3.2.dev1",
        "plain": "2.1",
        "pyyaml": "6.0",
        "zope-event-x": "1.0+cu12",
    }


def test_the_first_folder_wins_and_missing_folders_do_not_matter(tmp_path: Path):
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "thing-1.dist-info").mkdir(parents=True)
    (second / "thing-2.dist-info").mkdir(parents=True)
    notes: list[str] = []
    folders = [str(tmp_path / "missing"), str(first), str(second), str(Path(__file__))]
    assert installed(folders, notes) == {"thing": "1"}
    assert notes == []


def test_metadata_that_cannot_be_read_is_noted(tmp_path: Path):
    (tmp_path / "broken.egg-info").mkdir()
    notes: list[str] = []
    assert installed([str(tmp_path)], notes) == {}
    assert len(notes) == 1
    assert "broken.egg-info" in notes[0]


def test_a_folder_that_cannot_be_listed_is_noted(tmp_path: Path):
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    notes: list[str] = []
    assert installed([str(circle)], notes) == {}
    assert len(notes) == 1
    assert "could not be listed" in notes[0]

"""Names that become folders: refused with a reason or stored safely, never outside the store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import playhead
from playhead import layout
from playhead.errors import BadName

REFUSED = [
    "", " ", "..", ".", "../x", "a/../b", "/etc/passwd", "a//b", "a/", "\\\\host\\share", "a\x00b", "a\nb", "x" * 300, " a",
    "a ", "a\u202egnp.exe", "zero\u200bwidth", "\ud800", "/" * 50 + "a", "\u2028",
]  # fmt: skip
STORED = [
    "replay", "episodes", "traces", "tables", "artifacts", "runs", "Runs", "playhead.db", "con", "NUL.txt", "com1", "a/b", "a\\b",
    ".hidden", "dot.", "a:b", "what?", "50%", "%2E%2E", "ünïcode", "损失", "a" * 200, "раураl", "．．／x", "C:\\x", "~", "$HOME", "-rf",
    "e\u0301", "a*b", '"q"', "<x>|y",
]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_names_are_refused_and_leave_no_trace(store: playhead.Store, name: str) -> None:
    before = sorted(store.path.parent.rglob("*"))
    for project, run_name in ((name, "n"), ("p", name)):
        with pytest.raises(BadName):
            store.run(project, run_name)
    assert [path for path in sorted(store.path.parent.rglob("*")) if path not in before] == []


@pytest.mark.parametrize("name", STORED)
def test_odd_names_are_stored_safely_and_come_back(store: playhead.Store, name: str) -> None:
    with store.run(name, name, environment=False) as run:
        run.log({"a": 1})
    composed = layout.check_name(name)
    assert (run.project, run.name) == (composed, composed)
    assert run.path.parent.parent.parent.parent == store.path
    assert len(store.runs(composed)) == 1
    lanes = {entry for entry in os.listdir(store.path) if entry in layout.LANES}
    assert lanes == set()
    store.close()
    assert playhead.rebuild(store.path) == []
    with playhead.open(store.path) as again:
        assert again.runs[run.id].project == composed
        assert again.runs[run.id]["a"].values.tolist() == [1]


@given(st.text(max_size=60))
def test_any_text_is_refused_or_becomes_one_folder(text: str) -> None:
    try:
        folder = layout.folder_name(layout.check_name(text), top=True)
    except BadName as error:
        assert str(error)
        return
    assert Path("store", folder).parts == ("store", folder)
    assert folder not in (".", "..")
    assert not folder.startswith(".")
    assert len(folder.encode()) <= 255
    assert folder.casefold() not in layout.LANES
    assert layout.name_of_folder(folder) == layout.check_name(text)


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_two_names_never_share_a_folder(one: str, two: str) -> None:
    try:
        one, two = layout.check_name(one), layout.check_name(two)
    except BadName:
        return
    assert (layout.folder_name(one) == layout.folder_name(two)) == (one == two)


@pytest.mark.parametrize("name", [3, None, b"bytes"])
def test_what_is_not_text_is_refused(store: playhead.Store, name: object) -> None:
    with pytest.raises(BadName, match="is text, not"):
        store.run(name, "n")  # type: ignore[arg-type]

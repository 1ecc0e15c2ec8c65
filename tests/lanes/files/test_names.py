"""Names within artifacts: what is a path, and what Windows would refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.errors import BadName
from playhead.layout import check_member, windows_problems


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/.", "a\0b", "ü" * 200, "\udcff"]
)
def test_what_is_no_path_within_is_refused(path: str) -> None:
    with pytest.raises(BadName):
        check_member(path)


@pytest.mark.parametrize("path", ["a", "a/b.txt", ".hidden", "...", "a/..b", "a b", "CON", "ü/ß", "a:b", "a\nb"])
def test_what_a_file_system_takes_is_taken(path: str) -> None:
    assert check_member(path) == path


@given(st.text(st.sampled_from("ab./\0"), max_size=12))
def test_the_rule_is_the_same_as_looking_at_each_part(path: str) -> None:
    fits = all(part not in ("", ".", "..") and "\0" not in part for part in path.split("/"))
    try:
        check_member(path)
        assert fits
    except BadName:
        assert not fits


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        (["a/CON.txt"], "cannot be a name"),
        (["a:b"], "cannot be a name"),
        (["trailing."], "cannot be a name"),
        (["x/" * 130 + "x"], "characters"),
        (["Readme", "README"], "differ only in case"),
        (["Data/a", "data/b"], "differ only in case"),
    ],
)
def test_what_windows_refuses_is_told(paths: list[str], why: str) -> None:
    assert why in " ".join(windows_problems(paths))


def test_what_windows_takes_is_not_told_of() -> None:
    assert list(windows_problems(["a/b.txt", "a/c.txt", "con-text", ".hidden", "ä"])) == []

"""Numbers of things and lists of names."""

from __future__ import annotations

from playhead.wording import counted, listed


def test_numbers_of_things() -> None:
    assert [counted(count, "run") for count in (0, 1, 2, 1234)] == ["0 runs", "1 run", "2 runs", "1,234 runs"]


def test_long_lists_are_cut() -> None:
    assert listed([]) == ""
    assert listed("abc") == "a, b, c"
    assert listed(range(5), 3) == "0, 1, 2 and 2 more"

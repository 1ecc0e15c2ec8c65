"""Lines are assembled as a reader of the terminal would see them at last."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.capture.screen import HEIGHT, LINE_LIMIT
from playhead.capture.terminal import LineAssembler

UP, ERASE, HIDE, SHOW = "\x1b[A", "\x1b[2K", "\x1b[?25l", "\x1b[?25h"


def lines_of(*writes: str) -> list[str]:
    assembler = LineAssembler()
    return [*itertools.chain.from_iterable(map(assembler.feed, writes)), *assembler.finish()]


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]), max_size=10)), st.data())
def test_plain_text_comes_out_line_by_line_however_it_is_cut(lines: list[str], data: st.DataObject):
    text = "".join(line + "\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    writes = [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]
    assert lines_of(*writes) == lines


PARTS = ["a", "bc", "字", " ", "\r", "\n", "\b", "\x1b[K", "\x1b[1K", ERASE, "\x1b[3G", "\x1b[1;32m"]


@given(st.lists(st.sampled_from(PARTS)), st.data())
def test_redrawn_text_is_the_same_however_it_is_cut(parts: list[str], data: st.DataObject):
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    writes = [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]
    assert [line.rstrip(" ") for line in lines_of(*writes)] == [line.rstrip(" ") for line in lines_of(text)]


@given(st.lists(st.text(alphabet="ab\n\r\b\t\x1b[]?;0123456789ABCDEFGHJKmhl\x07\\P\x9b\u0301字", max_size=30)))
def test_no_text_whatever_leaves_a_control_character(writes: list[str]):
    assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]", "".join(lines_of(*writes)))


def test_a_complete_line_is_given_at_once_and_a_partial_one_at_the_end():
    assembler = LineAssembler()
    assert assembler.feed("one\ntwo\nthr") == ["one", "two"]
    assert assembler.feed("ee") == []
    assert assembler.finish() == ["three"]


def test_blank_lines_and_blanks_at_the_end_of_plain_lines_are_kept():
    assert lines_of("a \n\n  b\n") == ["a ", "", "  b"]


def test_nothing_is_given_for_nothing():
    assert lines_of() == lines_of("") == []


def test_a_bar_drawn_with_carriage_returns_leaves_its_last_state():
    assert lines_of("start\n", *(f"\r{i:3}%|{'#' * (i // 10):10}|" for i in range(101)), "\nend\n") == [
        "start",
        "100%|##########|",
        "end",
    ]


def test_windows_line_ends_are_line_ends():
    assert lines_of("one\r\ntwo\r", "\n") == ["one", "two"]


def test_what_a_shorter_text_does_not_cover_stays_as_on_a_terminal():
    assert lines_of("Progress 100%\rdone\n") == ["doneress 100%"]
    assert lines_of("Progress 100%\r\x1b[Kdone\n") == ["done"]


def test_wide_characters_take_two_columns():
    assert lines_of("字字字\rabcd\n") == ["abcd字"]
    assert lines_of("abcdef\r字\n") == ["字cdef"]
    assert lines_of("字字\r\x1b[Cx\n") == [" x字"]
    assert lines_of("字字\rx\n") == ["x 字"]


def test_a_bar_that_was_cleared_leaves_nothing():
    assert lines_of("\r 50%|###  |", "\r           \r") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://a.b\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPdata\x1b\\text", "text"),
        ("\x1b(Btext\x07", "text"),
        ("abc\b\bX", "aXc"),
        ("abc\x1b[2DX", "aXc"),
        ("a\x1b[3Cb", "a   b"),
        ("abc\x1b[1GX", "Xbc"),
        ("abcdef\x1b[3D\x1b[1K", "    ef"),
        ("a\tb", "a\tb"),
    ],
)
def test_control_sequences_act_and_vanish(text: str, line: str):
    assert lines_of(text + "\n") == [line]


def test_a_sequence_in_two_writes_is_one_sequence():
    assert lines_of("\x1b[3", "1mred\x1b", "[0m\n") == ["red"]
    assert lines_of("\x1b]0;ti", "tle\x1b", "\\text\n") == ["text"]


def test_a_sequence_that_never_ends_does_not_swallow_the_rest():
    lines = lines_of("\x1b]0;", *("x" * 1000 + "\n" for _ in range(10)))
    assert lines[-1] == "x" * 1000


def test_bars_over_several_lines_leave_their_last_state():
    redraw = "\r" + ERASE + (UP + ERASE) * 2
    writes = [f"{redraw if i else HIDE}a {i}\nb {i}\nc {i}" for i in range(50)]
    lines = lines_of(*writes, "\n" + SHOW, "after\n")
    assert lines[-4:] == ["a 49", "b 49", "c 49", "after"]
    assert len(lines) <= 6  # the first state of the upper lines was given before the first move upwards


def test_a_line_printed_above_bars_is_given_at_once():
    assembler = LineAssembler()
    redraw = "\r" + ERASE + UP + ERASE
    for i in range(5):
        assembler.feed(f"{redraw if i else ''}a {i}\nb {i}")
    assert assembler.feed(f"{redraw}message\na 5\nb 5") == ["message"]
    assert assembler.feed(f"{redraw}a 6\nb 6") == []
    assert assembler.finish() == ["a 6", "b 6"]


def test_bars_that_clear_their_lines_at_the_end_leave_no_blank_lines():
    redraw = "\r" + ERASE + UP + ERASE
    lines = lines_of("before\n", "a 1\nb 1", f"{redraw}a 2\nb 2", redraw, "after\n")
    assert lines == ["before", "a 1", "after"]


def test_lines_are_given_soon_after_the_last_move_upwards():
    assembler = LineAssembler()
    assembler.feed("outer\n\rinner" + UP)
    assembler.feed("\router done\n")
    given = [assembler.feed(f"line {i}\n") for i in range(5)]
    assert given[-1] == ["line 4"]
    assert [line for part in given for line in part][-5:] == [f"line {i}" for i in range(5)]


def test_moving_over_lines_without_changing_them_does_not_repeat_them():
    assert lines_of("one\ntwo\n", "\x1b[2A", "\x1b[2B", "three\n") == ["one", "two", "three"]


def test_a_line_that_is_changed_after_it_was_given_is_given_again():
    assert lines_of("task a: running\n", UP, "\rtask a: done   \n") == ["task a: running", "task a: done"]


def test_clearing_the_whole_screen_ends_the_line():
    assert lines_of("one", "\x1b[2J\x1b[H", "two\n") == ["one", "two"]


def test_a_long_line_is_given_in_pieces_and_not_kept_in_memory():
    assembler = LineAssembler()
    pieces: list[str] = []
    for _ in range(300):
        pieces += assembler.feed("x" * 1000)
        assert len("".join(assembler._partial)) <= LINE_LIMIT
    pieces += assembler.finish()
    assert {len(piece) for piece in pieces[:-1]} == {LINE_LIMIT}
    assert "".join(pieces) == "x" * 300_000


@pytest.mark.parametrize("beginning", ["", "\r", UP, "\x1b[999999C"])
def test_one_huge_write_is_given_in_pieces(beginning: str):
    lines = lines_of(beginning + "y" * 500_000 + "\nend\n")
    assert max(map(len, lines)) <= LINE_LIMIT
    assert "".join(lines).count("y") == 500_000
    assert lines[-1] == "end"


def test_moving_far_beyond_what_is_kept_does_no_harm():
    rows = "".join(f"{i}\n" for i in range(HEIGHT * 3))
    lines = lines_of(rows, "\x1b[999999A", "\x1b[999999B", "\x1b[999999E", "end\n")
    assert lines[: HEIGHT * 3] == [str(i) for i in range(HEIGHT * 3)]
    assert lines[-1] == "end"

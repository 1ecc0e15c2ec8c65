"""Numbers and times as people read them."""

from __future__ import annotations

import math

import pytest

from playhead import clock
from playhead.cli import words

DAY = 86_400


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0.0, "0"),
        (3, "3"),
        (12_345_678, "12345678"),
        (2.0, "2"),
        (1 / 3, "0.33333"),
        (1e-7, "1e-07"),
        (1e300, "1e+300"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (3599.7, "1h00m"),
        (3 * 3600 + 240, "3h04m"),
        (2 * DAY + 3700, "2d01h"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("ago", "text"),
    [(5, "just now"), (-5, "just now"), (90, "1 min ago"), (2 * 3600 + 5, "2 h ago"), (3 * DAY + 5, "3 d ago")],
)
def test_ages(ago: float, text: str) -> None:
    assert words.age(clock.now() - ago) == text


def test_what_is_long_ago_is_told_by_its_date() -> None:
    then = clock.now() - 30 * DAY
    assert words.age(then) == words.moment(then)[:10]


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_000_000, "2.0 MB")])
def test_sizes(count: int, text: str) -> None:
    assert words.size(count) == text


def test_counts() -> None:
    assert [words.counted(count, "run") for count in (0, 1, 1234)] == ["0 runs", "1 run", "1,234 runs"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (None, "null"),
        ("a\tb", r"a\tb"),
        ([1, math.nan], '[1,"NaN"]'),
        ({"a": 1}, '{"a":1}'),
        (0.1, "0.1"),
    ],
)
def test_values(value: object, text: str) -> None:
    assert words.value(value) == text


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\x7f", "\u202e", "\x00"])
def test_no_control_character_survives(text: str) -> None:
    assert words.one_line(text).isprintable()


def test_printable_text_stays_as_it_is() -> None:
    assert words.one_line("größer 日本 ½") == "größer 日本 ½"

"""Steps in the catalogue: every value comes back as it was, and one that cannot be held keeps no other run away."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import playhead
from playhead import replays
from playhead.care.verifying import verify
from playhead.catalog import made
from playhead.errors import Damaged
from tests.dump import assert_catalogue_agrees_with_folders

MOST = (1 << 63) - 1


def record(store: playhead.Store, run_id: str, *steps: tuple[dict[str, Any], bytes]) -> None:
    with store.run("p", "n", run_id=run_id, environment=False) as run:
        reel = run.new_reel(facts={})
        reel.begin()
        for arrays, info in steps:
            reel.step(arrays, 1.0, False, False, info)
        reel.close()


def recorded(store: playhead.Store, run_id: str) -> list[dict[str, Any]]:
    return store.recent_steps(run_id, 100, arrays=False)


@pytest.mark.parametrize("value", [0, MOST, MOST + 1, (1 << 64) - 1])
def test_a_whole_number_that_sqlite_cannot_hold_comes_back(store: playhead.Store, value: int) -> None:
    """Was a bug: the store could not be opened any more."""
    record(store, "r", ({"actions": np.uint64(value)}, b""))
    assert recorded(store, "r")[0]["action"] == value
    assert type(store.step_of("h5://r/actions/0")["action"]) is int
    assert_catalogue_agrees_with_folders(store.path)


@pytest.mark.parametrize("value", ["left", "12", "null", "NaN", "-Infinity", "[1]", '{"a"', '"', "née", ""])
def test_a_text_is_a_text_whatever_it_says(store: playhead.Store, value: str) -> None:
    """Was a bug: the steps could not be asked for, or held a number."""
    record(store, "r", ({"actions": np.array(value.encode(), "S16")}, b""))
    assert recorded(store, "r")[0]["action"] == value
    with sqlite3.connect(store.path / "playhead.db") as plain:
        assert json.loads(plain.execute("SELECT action FROM steps").fetchone()[0]) == value


@pytest.mark.parametrize(
    ("held", "read"),
    [
        ("left", "left"),
        ("12", "12"),
        ("NaN", "NaN"),
        ("null", "null"),
        ("(1+2j)", "(1+2j)"),
        ("[1,2.5]", [1, 2.5]),
        ('{"a":"Infinity"}', {"a": math.inf}),
        ("[1,", "[1,"),
        ("²", "²"),
    ],
)
def test_actions_of_catalogues_of_earlier_versions_are_read(store: playhead.Store, held: str, read: Any) -> None:
    record(store, "r", ({"actions": np.array(b"x")}, b""))
    with sqlite3.connect(store.path / "playhead.db") as plain:
        plain.execute("UPDATE replay_steps SET action = ?", (held,))
    assert recorded(store, "r")[0]["action"] == read


@pytest.mark.parametrize(
    ("action", "read"),
    [
        (np.array([np.inf, np.nan, 0.5, -np.inf], np.float32), [math.inf, math.nan, 0.5, -math.inf]),
        (np.array([1, 2], np.longdouble), [1, 2]),
        (np.array([1, np.nan], np.longdouble), [1, math.nan]),
        (np.array([0.5, 2], np.float16), [0.5, 2]),
        (np.array([0.1, 0.2], np.float32), [0.1, 0.2]),
        (np.array([[1, 2], [3, MOST * 2 + 1]], np.uint64), [[1, 2], [3, MOST * 2 + 1]]),
        (np.longdouble(0.25), 0.25),
        (np.float64(np.inf), math.inf),
        (np.complex128(1 + 2j), "(1+2j)"),
        (np.array([b"a", b"\xc3\xa9"]), ["a", "é"]),
    ],
)
def test_vectors_and_wide_numbers_come_back(store: playhead.Store, action: Any, read: Any) -> None:
    """Was a bug: what is not finite was null, and a longdouble kept the store from opening."""
    record(store, "r", ({"actions": action}, b""))
    np.testing.assert_equal(recorded(store, "r")[0]["action"], read)
    assert_catalogue_agrees_with_folders(store.path)


def test_parts_that_are_not_finite_are_as_vectors_are(store: playhead.Store) -> None:
    arrays = {"actions.a": np.array([np.inf, np.nan]), "actions.b": np.float32("nan"), "actions.c": np.longdouble(2)}
    record(store, "r", (arrays, b""))
    np.testing.assert_equal(recorded(store, "r")[0]["action"], {"a": [math.inf, math.nan], "b": math.nan, "c": 2.0})


NUMBERS = st.integers(-(10**400), 10**400) | st.integers(-(2**64), 2**65) | st.sampled_from([MOST, MOST + 1, -MOST - 2])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.dictionaries(st.text("ab", max_size=2), NUMBERS | st.lists(NUMBERS, max_size=2)), max_size=4))
def test_whole_numbers_in_infos_are_exact_however_long(infos: list[dict[str, Any]]) -> None:
    """Was a bug: those over 63 bits came back rounded, and one of 310 digits kept the store from opening."""
    with tempfile.TemporaryDirectory() as folder, playhead.open(Path(folder, "store")) as store:
        record(store, "r", *(({}, json.dumps(info).encode()) for info in [*infos, {}]))
        assert [step["info"] for step in recorded(store, "r")] == [*infos, {}]
        assert [json.loads(row["info"]) for row in store.sql("SELECT info FROM steps ORDER BY row").to_pylist()] == [
            *infos,
            {},
        ]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4
)  # a text of SQL ends at NUL


@settings(max_examples=20, deadline=None)
@given(st.lists(st.dictionaries(NAMES, FLOATS | st.lists(FLOATS, max_size=3), max_size=4), max_size=8))
def test_numbers_in_infos_have_all_their_digits(infos: list[dict[str, Any]]) -> None:
    """Was a bug: the view had 15 of them."""
    exact = [{"x": 0.1 + 0.2, "y": 1e22, "z": -5e-324, "deep": {"x": [0.1 + 0.2]}, "n": 3, "t": "0.30", "no": None}]
    infos = [*exact, *infos]
    with tempfile.TemporaryDirectory() as folder, playhead.open(Path(folder) / "s") as store:
        record(store, "r", *(({}, json.dumps(info).encode()) for info in infos))
        rows = store.sql("SELECT info FROM steps ORDER BY row").to_pylist()
        assert [json.loads(row["info"] or "{}") for row in rows] == infos
        assert repr([json.loads(row["info"] or "{}") for row in rows]) == repr(infos)  # also the sign of zero


def test_a_catalogue_of_an_earlier_version_gets_all_digits(store: playhead.Store) -> None:
    record(store, "r", ({}, b'{"x": 0.30000000000000004}'))
    store.close()
    with sqlite3.connect(store.path / "playhead.db") as plain:
        plain.execute("DROP VIEW steps")
        plain.execute(f"CREATE VIEW steps AS {made.EARLIER['view', 'steps']}")
        plain.execute("DELETE FROM migrations WHERE name = 'keep_digits_of_infos'")
    with playhead.open(store.path) as again:
        assert again.sql("SELECT info FROM steps").to_pylist() == [{"info": '{"x":0.30000000000000004}'}]
    assert_catalogue_agrees_with_folders(store.path)


def test_infos_of_other_programs_are_understood(store: playhead.Store) -> None:
    infos = [b'{"a": NaN, "b": null}', b'{"half": "\\ud800", "n": 1}', b'{"a": -Infinity}', b"[1, NaN]", b"7"]
    record(store, "r", *(({}, info) for info in infos))
    found = [step["info"] for step in recorded(store, "r")]
    np.testing.assert_equal(found[0], {"a": math.nan, "b": None})
    assert found[1:] == [{"half": "\\ud800", "n": 1}, {"a": -math.inf}, [1, pytest.approx(math.nan, nan_ok=True)], 7]
    for row in store.sql("SELECT info FROM steps").to_pylist():
        json.loads(row["info"], parse_constant=pytest.fail)


# -- what cannot be held ------------------------------------------------------------------------------------------------

SCRIPT = """
import os, sys, numpy as np, playhead
store = playhead.open(sys.argv[1])
run = store.run("p", "n", run_id="bad", environment=False)
run.log({"loss": 1.0})
for info in (b'{"half": ', b'{"whole": 1}'):
    reel = run.new_reel(facts={"info": info.decode()})
    reel.step({"actions": 1}, 1.0, True, False, info)
    reel.flush()
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def hurt(tmp_path: Path) -> Path:
    """Leave a store in which one of two runs has steps that the catalogue cannot hold."""
    with playhead.open(tmp_path / "store") as store:
        record(store, "good", ({"actions": 1}, b"{}"))
    subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path / "store")], check=False, capture_output=True)
    return tmp_path / "store"


def test_a_run_that_cannot_be_indexed_keeps_no_other_away(hurt: Path) -> None:
    """Was a bug: neither opening nor `rebuild`, `rm` or `compact` did anything but fail."""
    with pytest.warns(RuntimeWarning, match=r"replay/bad\..*the run bad from a copy"), playhead.open(hurt) as store:
        assert (store.runs["bad"].status, store.runs["bad"]["loss"].values.tolist()) == ("failed", [1.0])
        assert [step["action"] for step in recorded(store, "good")] == [1]
        assert [episode.id for episode in store.runs["bad"].episodes] == ["bad.1-ep0000"]  # the other reel of the run
        assert not list((hurt / ".recording").iterdir())
    playhead.open(hurt).close()  # it was told once, and nothing is left to settle
    for full in (False, True):
        found = [finding for finding in verify(hurt, full=full) if "bad." in str(finding) and not finding.is_harmless]
        assert found, full
    problems = playhead.rebuild(hurt)
    assert [Path(problem.path).name.partition(".")[0] for problem in problems] == ["bad"]
    with playhead.open(hurt) as store:
        assert len(store.runs) == 2
        assert len(store.runs["bad"].episodes) == 1


def test_steps_with_one_number_are_damage_and_not_an_error_of_sqlite(store: playhead.Store) -> None:
    record(store, "r", *[({"actions": number}, b"") for number in range(3)])
    with store._home.database.write() as connection:
        connection.exec_driver_sql("UPDATE reels SET steps = 0")
        key = connection.exec_driver_sql("SELECT key FROM runs").scalar()
    from playhead import replay_index

    with pytest.raises(Damaged, match="the same number"):
        replay_index.index_run(store._home, int(key or 0), "r")
    assert [step["action"] for step in recorded(store, "r")] == [0, 1, 2]


def test_a_number_that_is_text_is_one_only_where_sqlite_has_no_room(store: playhead.Store) -> None:
    assert (replays._action(str(MOST)), replays._action(str(MOST + 1))) == (str(MOST), MOST + 1)

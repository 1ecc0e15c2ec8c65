"""The `where` language refuses what SQLite could not take."""

from __future__ import annotations

from pathlib import Path

import pytest

import playhead
from playhead.errors import BadQuery


@pytest.mark.parametrize("condition", ["best > 1", "config.a = 1", "not points > 1", "'x' in tags", "(name = 'a')"])
@pytest.mark.parametrize("word", ["and", "or"])
def test_so_many_comparisons(tmp_path: Path, condition: str, word: str) -> None:
    with playhead.open(tmp_path / "store") as store:
        assert len(store.runs(where=f" {word} ".join([condition] * 200))) == 0
        with pytest.raises(BadQuery, match="more than 200 comparisons"):
            len(store.runs(where=f" {word} ".join([condition] * 700)))


@pytest.mark.parametrize("name", ["id", "name", "best", "config.a"])
def test_so_many_values(tmp_path: Path, name: str) -> None:
    with playhead.open(tmp_path / "store") as store:
        value = "'x'" if name in ("id", "name") else "1"
        assert len(store.runs(where=f"{name} in ({', '.join([value] * 400)})")) == 0
        with pytest.raises(BadQuery, match="more than 400 values"):
            len(store.runs(where=f"{name} in ({', '.join([value] * 2000)})"))

"""The example of 2048 runs: games become files, files a table, and the table a better player."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import playhead
from playhead.table import games

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "train_2048.py"


def test_a_network_learns_to_play(tmp_path: Path) -> None:
    options = ["--store", tmp_path / "store", "--games", "30", "--epochs", "2"]
    found = subprocess.run([sys.executable, EXAMPLE, *options], capture_output=True, text=True, check=True).stdout
    said = re.search(r"scored ([\d,]+) untrained and ([\d,]+) trained", found)
    assert said, found
    before, after = (int(number.replace(",", "")) for number in said.groups())
    with playhead.open(tmp_path / "store", mode="r") as store:
        run = store.runs[-1]
        table = store.tables["2048"]
        summary = run.summary()
        assert len(run.metrics(["loss"])) == 2
    assert (round(summary["score/untrained"]), round(summary["score/trained"])) == (before, after)
    assert after > 1.5 * before

    files = games.find(tmp_path / "store-games" / run.id)
    assert len(files) == len(table.runs) == 30
    rows = np.concatenate([rows for file in files for rows, _ in games.read(file, dtype=games.STEP)])
    names = ["board", "move", "ev_legal", "ev_values", "step_index"]
    assert all(np.array_equal(table.array[name], rows[name]) for name in names)
    assert np.array_equal(games.legal_moves(rows["board"]), rows["ev_legal"])
    assert (rows["ev_values"][np.arange(len(rows)), rows["move"]] == 1).all()


def test_what_the_document_shows_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "tables-2048.md").read_text(), re.M | re.S)
    shown = "".join(blocks)
    assert "assert " in shown
    result = subprocess.run([sys.executable, "-c", shown], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr

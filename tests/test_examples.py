"""The examples run, and record what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import playhead
from tests.cli.invoking import invoke

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What `make demo` records, in small, and what it said."""
    store, said = tmp_path_factory.mktemp("demo") / "store", ""
    for name, *more in (["atari", "--steps", "60"], ["pendulum", "--episodes", "1"], ["cartpole", "--iterations", "2"]):
        script = [sys.executable, EXAMPLES / f"{name}.py", "--store", store, *more]
        said += subprocess.run(script, capture_output=True, text=True, check=True).stdout
    return store, said


def test_the_pendulum_is_recorded_with_its_camera(demo: tuple[Path, str]) -> None:
    path, said = demo
    assert "half way:" in said
    with playhead.open(path, mode="r") as store:
        (episode,) = store.runs("pendulum")[0].episodes
        assert len(episode["camera"]) == 100
        assert episode["camera"].loss.psnr_db > 35
        assert episode["state"].values[-1][0] > 0.95  # upright: the cosine of the angle


def test_the_demo_has_one_of_each_and_says_what_to_type_next(demo: tuple[Path, str], tmp_path: Path) -> None:
    path, _ = demo
    with playhead.open(path, mode="r") as store:
        assert list(store.runs("cartpole")[0].holdings.lines()) == ["played", "traces", "made"]
        assert np.load(store.artifacts["policy:best"].file("weights.npy")).shape == (5,)
        assert len(store.runs("atari")[0].episodes[0]["frame"]) == 60
    look = [sys.executable, EXAMPLES / "look.py", "--store", path]
    once = {**os.environ, "CI": "true"}
    said = subprocess.run(look, capture_output=True, text=True, check=True, env=once).stdout
    assert "shows 3 runs" in said
    commands = re.findall(r"^  playhead (.+?)  +# \w", said, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        words = [str(tmp_path / word) if word.endswith((".gif", ".png")) else word for word in command.split()]
        assert invoke(*words, store=path).output, command


def test_a_game_is_recorded_without_its_frames(tmp_path: Path) -> None:
    script = [sys.executable, EXAMPLES / "resimulate.py", "--store", tmp_path / "store", "--steps", "150"]
    found = subprocess.run(script, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert "0 differences" in found
    with playhead.open(tmp_path / "store", mode="r") as store:
        made, stored = store.runs[0].episodes[0], store.runs[1].episodes[0]
        assert made["frame"][70][0].tobytes() == stored["frame"][70][0].tobytes()


def test_the_fit_is_killed_goes_on_and_comes_out_again(tmp_path: Path) -> None:
    store, picture = tmp_path / "store", tmp_path / "fit.png"
    script = [sys.executable, EXAMPLES / "fit.py", "--store", store, "--steps", "1000", "--picture", picture]
    found = subprocess.run(script, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert "killed: the run is failed" in found
    assert "to the last bit" in found
    with playhead.open(store, mode="r") as opened:
        trace = opened.runs["spirals"].traces["fit"]
        assert len(trace) == 1000
        assert trace.errors[trace.best] < 0.05
    assert picture.exists()


def test_the_best_line_is_found_again_with_its_data(tmp_path: Path) -> None:
    script = [sys.executable, EXAMPLES / "artifacts.py", "--store", tmp_path / "store"]
    found = subprocess.run(script, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert "dataset/points:v1" in found
    with playhead.open(tmp_path / "store", mode="r") as store:
        best = store.artifacts["line:best"]
        assert best.metadata["loss"] < 0.05
        assert best.verify() == []


def test_the_dqn_records_its_training_and_what_it_learned(tmp_path: Path) -> None:
    script = [sys.executable, EXAMPLES / "cleanrl_dqn.py", "--store", tmp_path / "store", "--total-timesteps", "2000"]
    subprocess.run(script, capture_output=True, text=True, check=True, cwd=tmp_path)
    with playhead.open(tmp_path / "store", mode="r") as store:
        run = store.runs[-1]
        training, evaluation = (
            [e for e in run.episodes if e.static["frames"] == wanted] for wanted in (None, "render")
        )
        assert sum(episode.length for episode in training) == 2000
        assert run["charts/episodic_return"].values.tolist() == [
            episode.total_reward for episode in training if episode.how == "terminated"
        ]
        assert len(evaluation) == 5
        assert evaluation[0]["frame"].values.shape[1:] == (400, 600, 3)
        assert store.artifacts["dqn:latest"].files == ["q_network.npz"]

"""`Recorder(live=True)`: what is recorded is seen while it happens."""

from __future__ import annotations

import errno
import os
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import playhead
from playhead import clock, disk, live
from playhead.integrations.gymnasium import Recorder, VectorRecorder
from playhead.lanes.live import segments
from playhead.process import Process

gymnasium.register_envs(ale_py)


class Counting(gymnasium.Env[Any, Any]):
    """Shows in each pixel how many steps it took; an episode has five."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    action_space = spaces.Discrete(2)

    def __init__(self, render_mode: str | None = "rgb_array", *, sees: bool = False) -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0, 255, (20, 30, 3) if sees else (2,), np.uint8 if sees else np.float32)
        self.taken = self.rendered = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.place = 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.taken += 1
        self.place += 1
        return self._seen(), 2.0, self.place == 5, False, {}

    def render(self) -> Any:
        self.rendered += 1
        return np.full((40, 60, 3), self.taken % 256, np.uint8)

    def _seen(self) -> Any:
        return np.full(self.observation_space.shape, self.taken, self.observation_space.dtype)


def shown(run_id: str) -> live.LiveFrame:
    with live.LiveReader(run_id) as reader:
        found = reader.latest()
    assert found is not None
    return found


def play(env: Any, steps: int) -> None:
    for _ in range(steps):
        if env.step(1)[2]:
            env.reset()


@pytest.mark.parametrize("frames", ["auto", None, "render"])
@pytest.mark.parametrize("sees", [False, True])
def test_the_newest_step_is_seen(store: playhead.Store, frames: str | None, sees: bool) -> None:
    with store.run("here", "now", environment=False) as run:
        env = Recorder(Counting(sees=sees), run, frames=frames, live=True)
        env.reset()
        play(env, 12)
        clock.sleep(0.02)
        play(env, 1)
        found = shown(run.id)
        assert (found.picture == 13).all()
        assert found.picture.shape == ((20, 30, 3) if sees else (40, 60, 3))
        assert found.figures[:2] == (2.0, 10.0)
        about = found.metadata
        assert (about.step, about.episode, about.episode_return) == (13, 2, 6.0)
        assert about.facts == {"env_id": "Counting"}
        env.close()
        assert run.id not in segments.paths()
    assert len(store.runs[run.id].episodes) == 3


def test_nothing_is_rendered_but_what_is_shown(store: playhead.Store) -> None:
    with store.run("here", "now", environment=False) as run:
        within = Counting()
        env = Recorder(within, run, frames=None, live=True)
        env.reset()
        began = clock.elapsed_ns()
        play(env, 300)
        assert within.rendered <= 2 + (clock.elapsed_ns() - began) * 60 / clock.SECOND
        env.close()


def test_an_environment_without_pictures_shows_its_figures(store: playhead.Store) -> None:
    with store.run("here", "now", environment=False) as run:
        env = Recorder(Counting(None), run, live=True)
        env.reset()
        play(env, 1)
        assert shown(run.id).picture.shape == (1, 1, 3)
        assert shown(run.id).figures.reward == 2.0
        env.close()


def test_two_environments_of_a_run_are_seen_beside_each_other(store: playhead.Store) -> None:
    with store.run("here", "now", environment=False) as run:
        envs = [Recorder(Counting(), run, live=True) for _ in range(2)]
        for env in envs:
            env.reset()
            play(env, 1)
        found = [one.run_id for one in live.runs() if one.run_id.startswith(run.id)]
        assert found == [run.id, f"{run.id}.1"]
        for env in envs:
            env.close()


@pytest.mark.parametrize("sees", [False, True])
def test_a_vector_environment_is_one_grid(store: playhead.Store, sees: bool) -> None:
    with store.run("here", "now", environment=False) as run:
        many = gymnasium.vector.SyncVectorEnv([lambda: Counting(sees=sees)] * 3)
        envs = VectorRecorder(many, run, live=True)
        envs.reset()
        for _ in range(6):
            envs.step(np.ones(3, np.int64))
        clock.sleep(0.02)
        envs.step(np.ones(3, np.int64))
        found = shown(run.id)
        height, width = (20, 30) if sees else (40, 60)
        assert found.picture.shape == (2 * height, 2 * width, 3)
        # The sixth step only resets: it is none that is counted.
        assert (found.picture[height:, :width] == 6).all()
        assert not found.picture[height:, width:].any()
        assert (found.metadata.step, found.metadata.episode) == (18, 3)
        assert found.figures[:2] == (2.0, 10.0)
        envs.close()
        assert run.id not in segments.paths()


def test_atari_is_seen_as_it_looks(store: playhead.Store) -> None:
    with store.run("here", "now", environment=False) as run:
        env = Recorder(gymnasium.make("ALE/Pong-v5"), run, live=True)
        env.reset(seed=1)
        observation = env.step(2)[0]
        assert np.array_equal(shown(run.id).picture, observation)
        assert shown(run.id).metadata.facts == {"env_id": "ALE/Pong-v5"}
        env.close()


def test_no_room_ends_the_show_and_not_the_training(store: playhead.Store) -> None:
    def full(operation: str, path: str, _size: int) -> None:
        if operation == "write" and str(segments.FOLDER) in path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    with store.run("here", "now", environment=False) as run:
        env = Recorder(Counting(), run, live=True)
        env.reset()
        with disk.hooked(full), pytest.warns(RuntimeWarning, match=r"nothing is shown live any more: .*no room"):
            play(env, 1)
        play(env, 20)
        env.close()
    assert sum(len(episode["reward"]) for episode in store.runs[run.id].episodes) == 21


def test_a_name_that_cannot_be_ends_the_show_and_not_the_training(
    store: playhead.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "FOLDER", Path("/proc/version"))  # a file, in which no names can be
    with store.run("here", "now", environment=False) as run:
        env = Recorder(Counting(), run, live=True)
        env.reset()
        with pytest.warns(RuntimeWarning, match="nothing is shown live any more"):
            play(env, 1)
        play(env, 20)
        env.close()
    assert sum(len(episode["reward"]) for episode in store.runs[run.id].episodes) == 21


@pytest.fixture
def hostile() -> Iterator[Any]:
    """Gives what puts a ring of a stranger there, whose newest frame may never be whole."""
    path = segments.FOLDER / f"{segments.PREFIX}hostile-{os.getpid()}"

    def put(width: int, height: int, sequence: int, metadata: bytes) -> None:
        frame = width * height * 3
        slot = 16 + frame + 512
        with open(path, "wb") as file:
            file.truncate(80 + 2 * slot)  # of which nothing takes memory
            sizes = 2, slot, slot - 16, width, height, 3, zlib.crc32(b"RGB")
            file.write(struct.pack("<4s9I2Q3d", b"FLAN", 1, 0, *sizes, 1, 0, 0, 0, 0))
            file.write(struct.pack("<Q2I", sequence, frame, len(metadata)))
            file.seek(96 + frame)
            file.write(metadata)

    yield put
    path.unlink(missing_ok=True)


@pytest.mark.parametrize("number", ["1e999", "1e308", "-1", "9" * 400])
@pytest.mark.parametrize("size", [8, 4096])
@pytest.mark.parametrize("sequence", [3, 4])
def test_a_strangers_ring_neither_ends_nor_stalls_a_training(
    number: str, size: int, sequence: int, hostile: Any, store: playhead.Store
) -> None:
    place = Process.current().place
    about = f'{{"writer":{{"pid":{number},"started":{number},"place":"{place}","hostname":"x"}}}}'
    hostile(size, size, sequence, about[:512].encode())
    with store.run("here", "now", environment=False) as run:
        env = Recorder(Counting(), run, live=True)
        env.reset()
        began = time.process_time_ns()
        play(env, 1)
        assert time.process_time_ns() - began < clock.SECOND // 2
        assert shown(run.id).metadata.step == 1
        env.close()


def test_who_does_not_ask_publishes_nothing(store: playhead.Store) -> None:
    with store.run("here", "now", environment=False) as run:
        env = Recorder(Counting(), run)
        env.reset()
        play(env, 3)
        assert run.id not in segments.paths()
        env.close()

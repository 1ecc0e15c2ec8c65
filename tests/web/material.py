"""Episodes with pictures of every kind, holes, several agents; and how answers are compared with the store."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from PIL import Image

import playhead
from playhead.lanes.arrays.config import ReplayConfig
from tests.check.making import START, append, frame

RUN, REEL_CHUNK = "kinds", 8
STEPS = 60
HOLES = (*range(5, 8), 20)  # steps without a frame
OTHER_STEPS = 15  # of the second episode
STEP_NS = 20_000_000
MANY, DUEL = "many", "duel"


def picture(step: int, *, height: int = 20, width: int = 24) -> NDArray[np.uint8]:
    """Give a picture that no other step has."""
    shown = np.zeros((height, width, 3), np.uint8)
    shown[..., 2] = 40
    shown[:, step % width] = (255, step % 256, 0)
    shown[step % height, :, 1] = 200
    return shown


def arrays_of(step: int) -> dict[str, Any]:
    """Give what a step has; some have no frame."""
    grid = np.add.outer(np.arange(16), np.arange(18)) + step
    arrays: dict[str, Any] = {
        "observations.grey": (grid * 3 % 256).astype(np.uint8),
        "observations.stack": (grid * 5 % 256).astype(np.uint8),
        "observations.float": (grid % 32 / 32).astype(np.float32),
        "observations.wide": (grid * 10.0 - 500).astype(np.float32),
        "observations.depth": (grid * 700 % 65_536).astype(np.uint16),
        "observations.rgba": np.dstack([picture(step, height=16, width=18), np.full((16, 18), 255, np.uint8)]),
        "observations.first": np.moveaxis(picture(step, height=16, width=18), -1, 0),
        "observations.flow": np.zeros((16, 18, 2), np.float32),
        "observations.vector": np.arange(5, dtype=np.float32) + step,
        "observations.text": np.array(f"s{step:03}".encode(), "S4"),
        "actions.move": np.array([step, -step], np.float32),
        "actions.grip": np.array(step % 2, np.int8),
    }
    if step not in HOLES:
        arrays["frames"] = picture(step)
    return arrays


def play_kinds(store: playhead.Store, run_id: str = RUN) -> None:
    """Record two episodes with arrays of every kind; the first has holes."""
    with store.run("kinds", "all of/them", run_id=run_id, environment=False) as run:
        config = ReplayConfig(chunk=REEL_CHUNK)
        reel = run.new_reel(facts={"fps": 50}, stacks={"observations.stack": 4}, config=config)
        for count, begin in ((STEPS, START), (OTHER_STEPS, START + 10**10)):
            before = np.zeros((3, 16, 18), np.uint8)
            reel.begin({"seed": count}, {"observations.stack": before}, ts_ns=begin)
            for step in range(count):
                info = b'{"lives": %d, "x": NaN}' % (3 - step // 25)
                reward = {10: 5.0, 30: -1.0}.get(step, 0.0)
                is_last = step == count - 1
                at = begin + step * STEP_NS
                reel.step(arrays_of(step), reward, is_last, False, info.replace(b"NaN", b'"NaN"'), ts_ns=at)
            reel.end("terminated")
        reel.close()


def play_duel(store: playhead.Store) -> None:
    """Record an episode in which two agents act in turn, each with frames of its own."""
    with store.run("duel", "two", run_id=DUEL, environment=False) as run:
        reel = run.new_reel()
        reel.begin(ts_ns=START)
        for row in range(40):
            agent = ("red", "blue")[row % 2]
            arrays = {"frames": picture(row), "actions": np.array(row)}
            reel.step(arrays, float(row % 2), False, row == 39, agent=agent, step=row // 2, ts_ns=START + row * STEP_NS)
        reel.end("truncated")
        reel.close()


def play_many(store: playhead.Store, count: int = 30) -> None:
    """Record many short episodes whose returns are known."""
    with store.run("many", "short", run_id=MANY, environment=False) as run:
        reel = run.new_reel()
        for number in range(count):
            reel.begin(ts_ns=START + number * 10**9)
            for step in range(1 + number % 3):
                at = START + number * 10**9 + step
                reel.step({"actions": np.array(step)}, float(number), False, False, ts_ns=at)
            reel.end("closed")
        reel.close()


def record_odd(store: playhead.Store) -> None:
    """Record episodes of datasets: one without a wall clock, one that was cut short, and one with gaps and spikes."""
    with store.dataset("odd").new_episode(uid="relative1") as episode:
        append(episode, "force", [0.0, 1.0, 2.0], at=0)
        episode.append("cam", frame(0), 5_000_000)
    with store.dataset("odd").new_episode(uid="curves1", created_ts_ns=START) as episode:
        values = np.sin(np.arange(50_000) / 500)
        values[12_345], values[30_000:30_500] = 99.0, np.nan
        append(episode, "spiky", values.tolist(), hz=1000)
        vectors = np.stack([np.zeros(5000), np.arange(5000.0), np.zeros(5000)], axis=1)
        vectors[777, 0], vectors[4000, 2] = -50.0, np.inf
        append(episode, "vector", vectors, hz=100)
        append(episode, "long", np.zeros((20, 100)), hz=10)
        append(episode, "matrix", np.arange(20 * 6.0).reshape(20, 2, 3), hz=10)
        append(episode, "board", np.zeros((20, 9, 9), np.float64), hz=10)
        episode.set_static("vector.names", ["x", "y", "z"])
    cut = store.dataset("odd").new_episode(uid="cut1", created_ts_ns=START)
    try:
        with cut:
            append(cut, "force", [1.0, 2.0])
            raise RuntimeError("the robot fell over")
    except RuntimeError:
        pass
    with store.dataset("odd").new_episode(uid="dropped1", created_ts_ns=START) as episode:
        append(episode, "force", [1.0])
    store.dataset("odd").drop("dropped1").set_static("relative1", {"grade": "A"})


def make(path: Path) -> Path:
    """Make a store with all of it."""
    with playhead.open(path) as store:
        play_kinds(store)
        play_duel(store)
        play_many(store)
        record_odd(store)
    return path


def pixels(answer: httpx.Response) -> NDArray[Any]:
    """Decode the picture of an answer."""
    assert answer.status_code == 200, answer.text
    return np.asarray(Image.open(io.BytesIO(answer.content)))


def batch(answer: httpx.Response) -> list[tuple[int, NDArray[Any] | None]]:
    """Decode a batch of pictures."""
    assert answer.status_code == 200, answer.text
    found, at, data = [], 0, answer.content
    while at < len(data):
        number, size = struct.unpack_from("<II", data, at)
        image = data[at + 8 : at + 8 + size]
        found.append((number, np.asarray(Image.open(io.BytesIO(image))) if size else None))
        at += 8 + size
    return found


def fails(answer: httpx.Response, status: int) -> str:
    """Give the message of an answer that says what is wrong."""
    assert answer.status_code == status, (answer.status_code, answer.text[:300])
    assert answer.headers["content-type"] == "application/json"
    content = answer.json()
    assert set(content) == {"error"}
    return str(content["error"]["message"])

"""Databases as MOSAIC writes them, with the values that a test wants."""

from __future__ import annotations

import base64
import json
import sqlite3
from pathlib import Path
from typing import Any

import h5py
import numpy as np

SCHEMA = """
CREATE TABLE steps (
    episode_id TEXT NOT NULL, step_index INTEGER NOT NULL, action INTEGER, observation BLOB, reward REAL NOT NULL,
    terminated INTEGER NOT NULL, truncated INTEGER NOT NULL, info BLOB, render_payload BLOB, timestamp TEXT NOT NULL,
    agent_id TEXT, render_hint BLOB, frame_ref TEXT, obs_ref TEXT, payload_version INTEGER NOT NULL DEFAULT 0,
    run_id TEXT, worker_id TEXT, space_signature BLOB, vector_metadata BLOB, time_step INTEGER,
    episode_seed INTEGER, game_id TEXT);
CREATE TABLE episodes (
    episode_id TEXT PRIMARY KEY, total_reward REAL NOT NULL, steps INTEGER NOT NULL, terminated INTEGER NOT NULL,
    truncated INTEGER NOT NULL, metadata BLOB, timestamp TEXT NOT NULL, agent_id TEXT, run_id TEXT, worker_id TEXT,
    ep_index INTEGER, game_id TEXT);
CREATE TABLE run_status (
    run_id TEXT PRIMARY KEY, status TEXT NOT NULL DEFAULT 'active', deleted_at TEXT, archived_at TEXT);
CREATE INDEX idx_steps_episode ON steps(episode_id, step_index);
CREATE INDEX idx_steps_run ON steps(run_id, episode_id);
"""


def encoded(array: np.ndarray) -> dict[str, Any]:
    """Give an array as MOSAIC's encoder does."""
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    kind = {"__type__": "ndarray", "dtype": str(array.dtype), "shape": list(array.shape)}
    return {**kind, "encoding": "base64", "data": data}


def blob(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def stamp(second: float) -> str:
    minute, rest = divmod(second, 60)
    return f"2026-03-01T10:{int(minute):02}:{rest:09.6f}+00:00"


class MosaicDatabase:
    """A `telemetry.sqlite` that grows by rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.executescript(SCHEMA)
        self._second = 0.0

    def step(self, episode: str, index: int, **columns: Any) -> None:
        self._second += 0.125
        row = {"reward": 0.5 * index, "terminated": 0, "truncated": 0, "timestamp": stamp(self._second)}
        row |= {"episode_id": episode, "step_index": index, "run_id": episode.rpartition("-ep")[0], "action": index % 4}
        self.insert("steps", row | columns)

    def episode(self, episode: str, count: int, **columns: Any) -> None:
        """Write an episode of 4 × 4 pictures, encoded, with the same as a frame."""
        for index in range(count):
            picture = picture_of(index)
            payload = {"mode": "rgb_array", "rgb": picture.tolist(), "game_id": "Game-v1"}
            given = {"observation": blob(encoded(picture)), "render_payload": blob(payload), "info": blob({"lives": 3})}
            self.step(episode, index, **given, terminated=int(index == count - 1), **columns)
        rollup = {"episode_id": episode, "total_reward": 1.5, "steps": count, "terminated": 1, "truncated": 0}
        given = {"run_id": episode.rpartition("-ep")[0], "timestamp": stamp(self._second), "game_id": "Game-v1"}
        self.insert("episodes", rollup | given)

    def insert(self, table: str, row: dict[str, Any]) -> None:
        marks = ", ".join("?" * len(row))
        self.connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))

    def everything(self, *without: str) -> list[tuple[Any, ...]]:
        """Give all rows of all tables, but for some columns."""
        return everything(self.connection, *without)

    def close(self) -> Path:
        self.connection.close()
        return self.path


def everything(connection: sqlite3.Connection, *without: str) -> list[tuple[Any, ...]]:
    found = []
    for table in ("steps", "episodes", "run_status"):
        names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        wanted = ", ".join(name for name in names if name not in without)
        found += connection.execute(f"SELECT {wanted} FROM {table} ORDER BY rowid").fetchall()
    return found


def picture_of(index: int) -> np.ndarray:
    return (np.arange(48).reshape(4, 4, 3) + index).astype(np.uint8)


def replay_file(path: Path, steps: int) -> Path:
    """Write a replay file as MOSAIC does: no episode was ended before the file was closed."""
    with h5py.File(path, "w") as file:
        frames = np.stack([picture_of(index) for index in range(steps)])
        file.create_dataset("frames", data=frames, chunks=(2, 4, 4, 3), compression="lzf", maxshape=(None, 4, 4, 3))
        file.create_dataset("actions", data=np.arange(steps, dtype=np.int32) % 4)
        file.create_dataset("rewards", data=np.arange(steps, dtype=np.float32) / 2)
        file.create_dataset("dones", data=np.arange(steps) == steps - 1)
    return path

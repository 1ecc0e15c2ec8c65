"""A small store with something in every lane, made once; and what comes out of it by every reader."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow.parquet as pq

import playhead
from playhead.episode import DiskEpisode
from playhead.errors import Misplaced
from playhead.lanes.arrays.config import ReplayConfig
from playhead.lanes.arrays.reel import Reel
from playhead.layout import Layout
from playhead.table import Table
from tests.dump import dump

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
ROW = np.dtype([("value", "<f4"), ("run_id", "<u4"), ("step_index", "<u2")])


def make(path: Path) -> None:
    """Make the store."""
    _die_recording(path)
    with playhead.open(path) as store:
        with store.run("pong", "dqn", run_id="run_a", config={"lr": 1e-3}, tags=["paper"], environment=False) as run:
            run.set_primary_metric("loss")
            for step in range(200):
                run.log({"loss": 1 / (step + 1), "return": float(step)}, step=step)
            run.log_image("frame", np.zeros((4, 4, 3), np.uint8), step=7, caption="black")
            run.summary(wins=12)
            run.log_text("12 wins")
            with run.trace("fit", bucket=20) as trace:
                for step in range(200):
                    trace.append({"w": np.arange(3.0) + step}, error=1 / (step + 1), input=np.float64(step))
            _play(run.new_reel(), 60)
            _play(run.new_reel(config=ReplayConfig(segment_bytes=1 << 14)), 40)
        with store.run("pong", "dqn", run_id="run_b", environment=False) as run:
            run.log({"loss": 0.5})
            reel = run.new_reel()
            _play(reel, 20, close=False)
            reel.flush()
            reel.abandon()
        _record(store)
        _save(store, path.parent / "sources")
        rows = np.zeros(3000, ROW)
        rows["value"] = np.arange(3000)
        store.tables.build("numbers", rows)


def _die_recording(path: Path) -> None:
    """Leave an episode of which there is only a tape."""
    child = os.fork()
    if child == 0:
        writer = playhead.open(path).dataset("teleop").new_episode(uid="cut", created_ts_ns=START)
        for k in range(50):
            writer.append("joint", np.arange(4.0) + k, START + k)
        writer.flush(sync=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def _play(reel: Any, steps: int, *, close: bool = True) -> None:
    pictures = np.random.default_rng(5)
    for step in range(steps):
        frame = pictures.integers(0, 40, (24, 24, 3), dtype=np.uint8)
        reel.step({"frames": frame, "observations": np.arange(6.0) + step}, 1.0, step % 10 == 9, False)
    if close:
        reel.close()


def _record(store: playhead.Store) -> None:
    for number in range(2):
        with store.dataset("teleop").new_episode(uid=f"uid{number}", created_ts_ns=START) as writer:
            writer.set_static("task", "stack")
            for k in range(120):
                writer.append("joint", np.arange(4.0) + k, START + k * 1000)
                writer.append("said", f"word {k}", START + k * 1000)
            for k in range(12):
                writer.append("camera", np.full((32, 32, 3), 10 * k, np.uint8), START + k * SECOND // 25)


def _save(store: playhead.Store, sources: Path) -> None:
    sources.mkdir(exist_ok=True)
    for name, data in {"weights.bin": os.urandom(5000), "same.bin": b"same" * 500, "config.json": b"{}"}.items():
        (sources / name).write_bytes(data)
    with store.run("pong", "export", run_id="run_c", environment=False) as run:
        run.log_artifact("policy", sources, aliases=["best"], metadata={"score": 7}, tags=["paper"])
        (sources / "weights.bin").write_bytes(os.urandom(4000))
        run.log_artifact("policy", sources)
        run.use_artifact("policy:v1")


def values_of(path: Path) -> dict[str, str]:
    """Read everything, by our readers and by those of others; give a digest of each."""
    found: dict[str, Any] = {}
    with playhead.open(path, mode="r") as store:
        found |= {f"catalogue {name}": rows for name, rows in dump(store).items()}
        for name in store.datasets:
            for episode in store.dataset(name):
                assert isinstance(episode, DiskEpisode)
                for signal, values in episode.signals.items():
                    found[f"{episode.path.name} {signal}"] = (values.timestamps.tolist(), _plain(values.values))
                found[f"{episode.path.name} static"] = (episode.meta["uid"], dict(episode.static))
        fit = store.runs["run_a"].traces["fit"]
        states = [(step, fit.seek(step)["w"].tolist()) for step in fit.keyframes.tolist()]
        found["trace"] = (states, fit.errors.tolist(), [float(fit.input(step)) for step in range(len(fit) - 1)])
        found |= {f"artifact {name}": _held(store, name) for name in ("policy:v1", "policy:v2", "policy:best")}
    layout = Layout(path)
    for reel_id in layout.replay.reels():
        # A journal that a test copied as litter is refused, since it says whose it is.
        with contextlib.suppress(Misplaced), contextlib.closing(Reel(layout.replay.reel(reel_id))) as reel:
            rows = reel.rows(0, reel.length).tolist()
            arrays = {name: _plain(reel.read(name, 0, reel.length)) for name in sorted(reel.kinds)}
            spans = [(span.start, span.length, span.how) for span in reel.spans]
            found[f"reel {reel_id}"] = (rows, arrays, spans, reel.infos(0, reel.length), reel.facts)
    for name in layout.tables():
        table = Table.open(layout.table(name).path)
        found[f"table {name}"] = (table[:].tobytes().hex(), list(table.runs), table.dtype.descr)
    return {name: hashlib.sha256(repr(value).encode()).hexdigest() for name, value in (found | others(path)).items()}


def _held(store: playhead.Store, name: str) -> Any:
    version = store.artifacts[name]
    with tempfile.TemporaryDirectory() as target:
        handed = version.download(Path(target) / "out")
        files = {
            str(file.relative_to(handed)): file.read_bytes() for file in sorted(handed.rglob("*")) if file.is_file()
        }
    return files, version.version, version.metadata, list(version.tags), version.size


def others(path: Path) -> dict[str, Any]:
    """Read what other programs read."""
    found: dict[str, Any] = {}

    def files(pattern: str) -> list[Path]:
        return sorted(file for file in path.rglob(pattern) if not {".quarantine", ".trash"} & {*file.parts})

    for file in files("*.parquet"):
        table = pq.read_table(file)
        found[str(file.relative_to(path))] = table.to_pydict()
    for file in files("*.h5"):
        with h5py.File(file) as opened:
            items: list[Any] = []

            def note(name: str, item: Any, items: list[Any] = items) -> None:
                if isinstance(item, h5py.Dataset):
                    items.append((name, item.shape, item.dtype.str, sorted(dict(item.attrs).items(), key=repr)))

            opened.visititems(note)
            found[str(file.relative_to(path))] = (items, repr(sorted(dict(opened.attrs).items())))
    for file in files("metadata.db"):
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            found[str(file.relative_to(path))] = database.execute("SELECT * FROM runs").fetchall()
    for file in (*files("runs/*/*.json"), *files("runs/*/events*.jsonl"), *files("runs/*/logs.txt")):
        found[str(file.relative_to(path))] = file.read_bytes()
    for file in files("index.json"):
        found[str(file.relative_to(path))] = json.loads(file.read_text())
    return found


def _plain(values: Any) -> Any:
    array = np.asarray(values)
    return (array.dtype.str, array.shape, array.tolist() if array.dtype == object else array.tobytes())

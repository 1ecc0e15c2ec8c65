"""A store with two of every kind of file, and what comes out of it: for swapping one with the other."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import playhead
from playhead.episode import DiskEpisode, Unfinished
from playhead.errors import PlayheadError
from playhead.lanes.arrays.reel import Reel
from playhead.layout import Layout
from playhead.table import Table

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TWINS = (1, 2)

Values = dict[str, str | PlayheadError]


def make(path: Path) -> None:
    """Make the store: whatever the first has, the second has with other values of the same shape."""
    _in_a_child(path, _die)
    with playhead.open(path) as store:
        for twin in TWINS:
            _record_run(store, twin)
            _record_episodes(store, twin)
            _save(store, path.parent / "sources", twin)
            store.tables.build(f"table{twin}", np.arange(300, dtype="<f4") * twin)
            store.tables.build(f"shards{twin}", np.arange(3000, dtype="<f4") * twin, shard_bytes=4096)
        for twin in TWINS:
            store.runs[f"gone{twin}"].delete(f"reason {twin}")
            store.artifacts[f"model{twin}:v1"].delete()
    _in_a_child(path, _die_claiming)  # last: the next open would settle it


def _in_a_child(path: Path, record: Callable[[playhead.Store, int], object]) -> None:
    child = os.fork()
    if child == 0:
        try:
            store = playhead.open(path)
            kept = [record(store, twin) for twin in TWINS]
            os._exit(0 if all(kept) else 1)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def _die(store: playhead.Store, twin: int) -> object:
    """Leave an episode of which there is only a tape."""
    writer = store.dataset(f"cut{twin}").new_episode(uid=f"cut{twin}", created_ts_ns=START)
    for k in range(50):
        writer.append("joint", np.arange(4.0) + k * twin, START + k)
    writer.flush(sync=True)
    return writer


def _die_claiming(store: playhead.Store, twin: int) -> object:
    """Leave a run with a claim, a reel of which there is a journal, and a trace of which there is a tape."""
    run = store.run("project", f"died{twin}", run_id=f"died{twin}", environment=False)
    run.log({"loss": float(twin)})
    reel = run.new_reel()
    _play(reel, 60, twin, close=False)
    reel.flush(sync=True)
    trace = run.trace("taped", bucket=20)
    for step in range(30):
        trace.append({"w": np.arange(3.0) * twin + step}, error=1 / (step + 1), input=np.float64(step * twin))
    trace.flush(sync=True)
    run.flush(sync=True)
    return run, reel, trace


def _record_run(store: playhead.Store, twin: int) -> None:
    config = {"lr": twin / 1000}
    with store.run("project", f"run{twin}", run_id=f"run{twin}", config=config, tags=[f"t{twin}"]) as run:
        run.set_primary_metric("loss")
        for step in range(20):
            run.log({"loss": twin / (step + 1)}, step=step)
        for number, name in enumerate(("first", "second")):
            run.log_image(name, np.full((4, 4, 3), 100 * number + twin, np.uint8), step=number)
        run.summary(wins=twin)
        run.log_text(f"text {twin}")
        with store.attach(run.id) as other:
            other.log({"part": float(twin)})
        for form in ("trace", "json", "json.gz"):
            with run.trace(form.replace(".", "-"), form=form) as trace:
                for step in range(30):
                    trace.append({"w": [float(step * twin)]}, error=1 / (step + 1), input=float(step * twin))
        _play(run.new_reel(facts={"of": 1}), 20, twin)
        for _ in range(2):  # each gives a part
            _play(run.new_reel(facts={"of": 2}), 20, twin)
    store.run("project", f"gone{twin}", run_id=f"gone{twin}", environment=False).finish()


def _play(reel: Any, steps: int, twin: int, *, close: bool = True) -> None:
    pictures = np.random.default_rng(twin)
    for step in range(steps):
        frame = pictures.integers(0, 40, (24, 24, 3), dtype=np.uint8)
        reel.step({"frames": frame, "observations": np.arange(6.0) + step * twin}, float(twin), step % 10 == 9, False)
    if close:
        reel.close()


def _record_episodes(store: playhead.Store, twin: int) -> None:
    dataset = store.dataset(f"data{twin}")
    for number in range(2):
        uid = f"uid{twin}{number}"
        with dataset.new_episode(uid=uid, created_ts_ns=START + twin * SECOND) as writer:
            writer.set_static("task", uid)
            for k in range(60):
                writer.append("joint", np.arange(4.0) + k * twin + number, START + k * 1000)
                writer.append("other", np.arange(4.0) - k * twin - number, START + k * 1000)
                writer.append("said", f"word {k * twin + number}", START + k * 1000)
                writer.append("told", f"text {k * twin + number}", START + k * 1000)
            for k in range(6):
                for camera in ("camera", "wrist"):
                    image = np.full((32, 32, 3), 10 * k + twin + 3 * number + 5 * (camera == "wrist"), np.uint8)
                    writer.append(camera, image, START + k * SECOND // 25)
    edited = store.dataset(f"data{twin}")
    edited.set_static(f"uid{twin}0", {"task": f"edited {twin}"})
    edited.drop(f"uid{twin}1")


def _save(store: playhead.Store, sources: Path, twin: int) -> None:
    with store.run("project", f"made{twin}", run_id=f"made{twin}", environment=False) as run:
        for version in range(3):
            (sources / "sub").mkdir(parents=True, exist_ok=True)
            (sources / "weights.bin").write_bytes(bytes([twin, version]) * 500)
            (sources / "sub/config.bin").write_bytes(bytes([twin, version, 7]) * 500)
            run.log_artifact(f"model{twin}", sources, aliases=[f"word{version}"], metadata={"score": twin + version})
        run.use_artifact(f"model{twin}:v2")
    with store.run("project", f"user{twin}", run_id=f"user{twin}", environment=False) as run:
        run.use_artifact(f"model{twin}:v3")


# -- reading ----------------------------------------------------------------------------------------------------------


def values_of(path: Path) -> Values:
    """Read everything; give a digest of each value, or the error with which it is refused."""
    found: Values = {}
    with contextlib.ExitStack() as held:
        store = held.enter_context(playhead.open(path, mode="r"))
        for what, read in _readers(store, Layout(path)):
            try:
                found[what] = hashlib.sha256(repr(read()).encode()).hexdigest()
            except PlayheadError as error:
                found[what] = error
    return found


def _readers(store: playhead.Store, layout: Layout) -> Iterator[tuple[str, Callable[[], Any]]]:
    for twin in TWINS:
        for name in ("run", "gone", "made", "user", "died"):
            yield from _of_run(store, layout, f"{name}{twin}")
        for name in (f"data{twin}", f"cut{twin}"):
            yield from _of_dataset(store, layout, name)
        for name in (f"table{twin}", f"shards{twin}"):
            yield f"table {name}", lambda name=name: _table(layout, name)
        for version in (2, 3):
            ref = f"model{twin}:v{version}"
            yield f"artifact {ref}", lambda ref=ref: _held(store, ref)
            yield f"lineage {ref}", lambda ref=ref: store.artifacts[ref].lineage().to_json()
        yield f"artifact model{twin}", lambda name=f"model{twin}": _versions(store, name)


def _of_run(store: playhead.Store, layout: Layout, run_id: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    def run() -> playhead.Run:
        return (store.runs.deleted if run_id[:4] == "gone" else store.runs)[run_id]

    def values() -> Any:
        return run().metrics().to_pydict() if run_id[:4] != "died" else None  # settled by whoever opens it to write

    def facts() -> Any:
        found = run()
        return (
            (found.id, found.project, found.name, found.created_at, found.config, found.tags, found.best, found.points),
            (found.status, found.duration, found.exit_reason, found.deleted_at),
        )

    settled = run_id[:4] != "died"
    yield f"{run_id} facts", facts if settled else lambda: run().name
    yield f"{run_id} metrics", values
    if not settled:
        yield f"{run_id} reel", lambda: _reel(layout, run_id)
        yield f"{run_id} trace", lambda: _trace(run(), "taped")
        return
    yield f"{run_id} log", lambda: run().logs()
    yield f"{run_id} summary", lambda: run().summary()
    yield f"{run_id} environment", lambda: run().environment
    yield f"{run_id} media", lambda: [(one.key, one.step, _bytes(one.path)) for one in run().media]
    yield f"{run_id} made", lambda: run().artifacts_created
    yield f"{run_id} used", lambda: run().artifacts_used
    if run_id[:3] == "run":
        for name in ("trace", "json", "json-gz"):
            yield f"{run_id} trace {name}", lambda name=name: _trace(run(), name)
        for reel_id in (run_id, f"{run_id}.1"):
            yield f"{run_id} reel {reel_id}", lambda reel_id=reel_id: _reel(layout, reel_id)
            yield f"{run_id} refs {reel_id}", lambda reel_id=reel_id: store.resolve(f"h5://{reel_id}/frames/3").tolist()
    steps = "SELECT episode_id, step_index, reward FROM steps WHERE run_id = ? ORDER BY 1, 2"
    yield f"{run_id} steps", lambda: store.sql(steps, [run_id]).to_pydict()


def _trace(run: playhead.Run, name: str) -> Any:
    with contextlib.closing(run.traces[name]) as trace:
        states = [(step, _plain(trace.seek(step)["w"])) for step in trace.keyframes.tolist()]
        return states, trace.errors.tolist(), [float(trace.input(step)) for step in range(len(trace) - 1)]


def _reel(layout: Layout, reel_id: str) -> Any:
    with contextlib.closing(Reel(layout.replay.reel(reel_id))) as reel:
        rows = [row[:-1] for row in reel.rows(0, reel.length).tolist()]
        return rows, [_plain(reel.read(name, 0, reel.length)) for name in sorted(reel.kinds)]


def _of_dataset(store: playhead.Store, layout: Layout, name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Walk over what is in the episodes of a dataset; each is known by its uid, wherever its folder is."""
    for number in layout.dataset(name).numbers():
        path = layout.dataset(name).episode(number).path
        try:
            uid = Unfinished(path).uid
        except PlayheadError:
            uid = None
        where = f"episode {uid or path}"
        whole = cache(partial(_recovered, path))
        yield f"{where} static", lambda whole=whole: dict(DiskEpisode(whole()).static)
        for signal in ("joint", "other", "said", "told", "camera", "wrist"):
            yield f"{where} {signal}", lambda whole=whole, signal=signal: _signal(DiskEpisode(whole()), signal)
    yield f"dataset {name}", lambda: [(episode.uid, dict(episode.static)) for episode in store.dataset(name)]


def _signal(episode: DiskEpisode, name: str) -> Any:
    found = episode.signals.get(name)
    return None if found is None else (found.timestamps.tolist(), _plain(found.values))


def _recovered(path: Path) -> Path:
    """Return an episode; of one that was cut short, a copy that was recovered."""
    if not (path / ".unfinished").exists():
        return path
    copy = Path(tempfile.mkdtemp()) / "episode"
    shutil.copytree(path, copy)
    Unfinished(copy).recover()
    return copy


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _table(layout: Layout, name: str) -> Any:
    table = Table.open(layout.table(name).path)
    return table[:].tobytes().hex(), list(table.runs), table.dtype.descr


def _versions(store: playhead.Store, name: str) -> Any:
    found = store.artifacts.versions(name, deleted=True)
    return [(one.version, one.is_deleted, list(one.aliases)) for one in found]


def _held(store: playhead.Store, ref: str) -> Any:
    version = store.artifacts[ref]
    with tempfile.TemporaryDirectory() as target:
        handed = version.download(Path(target) / "out")
        files = {str(one.relative_to(handed)): one.read_bytes() for one in sorted(handed.rglob("*")) if one.is_file()}
    return files, version.version, version.metadata, list(version.tags), version.size


def _plain(values: Any) -> Any:
    array = np.asarray(values)
    return array.dtype.str, array.shape, array.tolist() if array.dtype == object else array.tobytes()

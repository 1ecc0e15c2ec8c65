"""Holds a store to what the ledgers of the soak say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import playhead
from playhead import Store
from tests.crash import soak_content as content

LOSS = 4  # of a grey frame, by its encoder


@dataclass
class Noted:
    """What the ledgers say, by kind and name."""

    lines: Sequence[Sequence[Any]]
    facts: dict[str, dict[str, list[Any]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    def __post_init__(self) -> None:
        for kind, name, *facts in self.lines:
            self.facts[kind][str(name)].append(facts)

    @classmethod
    def read(cls, ledgers: Path) -> Noted:
        return cls(list(content.lines_of(ledgers)))

    def count(self, kind: str) -> int:
        return sum(map(len, self.facts[kind].values()))

    def ended(self) -> list[str]:
        """List the runs that have ended and were not to be purged."""
        return [name for name in self.facts["ended"] | self.facts["long"] if name not in self.facts["purging"]]


@dataclass
class Tally:
    """What was compared, and what was not as it had been acknowledged."""

    values: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def compare(self, what: str, found: Any, due: Any) -> None:
        """Compare arrays or plain values: what is shorter is lost, what differs is wrong."""
        found, due = np.asarray(found), np.asarray(due)
        self.values += due.size
        if found.ndim and len(found) < (len(due) if due.ndim else 1):
            self.lost.append(f"{what}: {len(found)} of {len(due)}")
        elif found.shape != due.shape or found.dtype.kind != due.dtype.kind or not np.array_equal(found, due):
            self.wrong.append(f"{what}: {str(found)[:300]} for {str(due)[:300]}")


def check(store: Store, noted: Noted, names: Iterable[str]) -> Tally:
    """Compare all that belongs to some runs that have ended."""
    tally = Tally()
    for name in names:
        try:
            _check_run(store, noted, name, tally)
        except playhead.PlayheadError as error:
            tally.lost.append(f"{name}: {type(error).__name__}: {error}")
    return tally


def check_purged(store: Store, noted: Noted) -> list[str]:
    """List the runs that were purged and are there."""
    return [name for name in noted.facts["purged"] if store.runs.get(name) or store.runs.deleted.get(name)]


def _check_run(store: Store, noted: Noted, name: str, tally: Tally) -> None:
    run = store.runs.get(name) or store.runs.deleted.get(name)
    if run is None:
        tally.lost.append(f"the run {name}")
        return
    facts = {kind: by_name[name] for kind, by_name in noted.facts.items() if name in by_name}
    count = facts["long"][-1][0] if "long" in facts else content.VALUES
    due = content.values(name, count)
    tally.compare(f"x of {name}", run["x"].values, due)
    tally.compare(f"status of {name}", run.status, "finished")
    if "long" not in facts:
        tally.compare(f"y of {name}", run["y"].values, np.negative(due))
        tally.compare(f"steps of {name}", run["x"].steps, np.arange(count))
        tally.compare(f"summary of {name}", run.summary()["number"], facts["ended"][-1][0])
    if "media" in facts:
        said = [line for line in run.logs().splitlines() if " says " in line]
        ends = [line.endswith(content.text(name, number)) for number, line in enumerate(said)]
        tally.compare(f"texts of {name}", ends, [True] * 3)
        pictures = [_pixels(one.path) for one in run.media]
        tally.compare(f"pictures of {name}", pictures, [content.picture(name)])
    if "tagged" in facts:
        tally.compare(f"tags of {name}", sorted({*run.tags} & {tag for (tag,) in facts["tagged"]}), sorted({tag for (tag,) in facts["tagged"]}))  # fmt: skip
    for lane, compare in _LANES.items():
        if lane in facts:
            try:
                compare(store, name, tally, facts)
            except playhead.NotFound:
                if store.runs.deleted.get(name) is None:  # else its editor ended before it restored the run
                    raise


def _pixels(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image)


def _episode(store: Store, name: str, tally: Tally, facts: dict[str, list[Any]]) -> None:
    dataset = store.dataset(content.DATASET)
    episode = dataset.by_uid(name)
    stamps = np.arange(content.SAMPLES) * content.STEP_NS
    tally.compare(f"times of {name}", episode["grip"].timestamps, stamps)
    grip = [content.seed_of(name) + place / 4 for place in range(content.SAMPLES)]
    tally.compare(f"grip of {name}", episode["grip"].values, grip)
    pose = [content.state(name, place) for place in range(content.SAMPLES)]
    tally.compare(f"pose of {name}", episode["pose"].values, pose)
    frames = np.asarray(episode["camera"].values, int)
    due = np.array([content.frame(name, place) for place in range(content.FRAMES)], int)
    tally.compare(f"frames of {name}", len(frames), len(due))
    tally.compare(f"camera of {name}", np.abs(frames - due).max() <= LOSS, True)
    tally.compare(f"static of {name}", episode.static["of"], name)
    if "edited" in facts or "dropped" in facts:
        if "dropped" in facts:
            tally.compare(f"dropped {name}", name in dataset.dropped, True)
        if name not in dataset.dropped:
            static = next(found for found in dataset if found.uid == name).static
            for (number,) in facts["edited"]:
                tally.compare(f"edit {number} of {name}", static.get(f"verdict{number}"), number)


def _steps(store: Store, name: str, tally: Tally, facts: dict[str, list[Any]]) -> None:
    episodes = list(store.runs[name].episodes)
    rows = range(content.STEPS)
    seen = [value for episode in episodes for value in episode["observation"].values]
    tally.compare(f"observations of {name}", seen, [content.observation(name, row) for row in rows])
    tally.compare(f"frames of {name}", [store.resolve(f"h5://{name}/frames/{row}") for row in rows], [content.screen(name, row) for row in rows])  # fmt: skip
    found = store.sql("SELECT reward, action, info FROM steps WHERE run_id = ? ORDER BY row", [name]).to_pylist()
    tally.compare(f"rewards of {name}", [row["reward"] for row in found], [row / 2 for row in rows])
    tally.compare(f"infos of {name}", [row["info"] for row in found], [f'{{"row":{row}}}' for row in rows])
    tally.compare(f"first of {name}", [episode.static["of"] for episode in episodes], [name, name])


def _trace(store: Store, name: str, tally: Tally, facts: dict[str, list[Any]]) -> None:
    trace = store.runs[name].traces[content.TRACE]
    tally.compare(f"length of the trace of {name}", len(trace), content.STATES)
    kept = trace.keyframes.tolist()
    found, due = [trace.seek(step)["w"] for step in kept], [content.state(name, step) for step in kept]
    tally.compare(f"states of {name}", found, due)
    tally.compare(f"errors of {name}", trace.errors, [1 / (step + 1) for step in range(content.STATES)])


def _version(store: Store, name: str, tally: Tally, facts: dict[str, list[Any]]) -> None:
    for artifact, number in facts["version"]:
        version = store.artifacts[f"{artifact}:v{number}"]
        tally.compare(f"weights of {name}", version.file("weights.bin").read_bytes(), content.weights(name))
        tally.compare(f"files of {name}", sorted(version.files), ["same.bin", "weights.bin"])
        tally.compare(f"maker of {artifact}:v{number}", version.created_by_run, name)


def _table(store: Store, name: str, tally: Tally, facts: dict[str, list[Any]]) -> None:
    table = store.tables.open(name)
    tally.compare(f"table {name}", table[:]["value"], content.rows(name)["value"])


_LANES = {"episode": _episode, "steps": _steps, "trace": _trace, "version": _version, "table": _table}

"""TensorBoard's event files by tensorboardX; the safest way flushes after each step."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers.contract import Answer, key


def start(folder: Path, name: str, *, safest: bool) -> Session:
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(str(folder / name))

    def log(values: dict[str, float], *, step: int) -> None:
        for what, value in values.items():
            writer.add_scalar(what, value, step)
        if safest:
            writer.flush()

    return Session(log, writer.close)


def read(folder: Path) -> Answer:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: Answer = {}
    for run in sorted(folder.iterdir()):
        accumulator = EventAccumulator(str(run), size_guidance={"scalars": 0, "tensors": 0})
        accumulator.Reload()
        for what in accumulator.Tags()["scalars"]:
            found |= {key(run.name, what, event.step): event.value for event in accumulator.Scalars(what)}
    return found


def data(folder: Path) -> list[Path]:
    return sorted(folder.rglob("events.out.*"))


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    return {"event file": data(folder)}

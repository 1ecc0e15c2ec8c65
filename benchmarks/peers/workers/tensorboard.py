"""TensorBoard's event files, written by tensorboardX; there is no list of runs but the folders."""

from pathlib import Path

from benchmarks.peers.adapter import Session


def start(folder: Path) -> Session:
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(str(folder))

    def log(values: dict[str, float], *, step: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    return Session(log, writer.close)


def surviving_steps(folder: Path) -> list[int]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    if "loss" not in accumulator.Tags()["scalars"]:
        return []
    return [event.step for event in accumulator.Scalars("loss")]

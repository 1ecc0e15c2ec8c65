"""Traces that are recorded, finished and gone on with, stopped at any change of the disk, and what must be there then.

As a program under `LD_PRELOAD=faults.so` it takes what `campaign` takes, with a key of `WORKLOADS` for what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

from playhead import disk
from playhead.errors import NotFound
from playhead.lanes.keyframes import tape, tiers
from playhead.lanes.keyframes.retention import Aged, Retention, Tiered
from playhead.lanes.keyframes.sealed import Sealed
from playhead.trace import Trace, TraceWriter
from playhead.trace.writing import recover
from tests.trace.made import append, assert_holds, update

STAGES = [0, 26, 40]  # each is recorded from the one before on, finished, and gone on with
EACH = 5  # steps between two acknowledgements
BUCKET = 3

Acknowledge = Callable[[str], None]


def calm() -> None:
    """Leave it to the workload when the tape's thread would write."""
    tape.INTERVAL = 3600.0


def work(folder: Path, acknowledge: Acknowledge, name: str, way: Retention) -> None:
    """Record a trace in two stages."""
    calm()
    for start, stop in pairwise(STAGES):
        writer = TraceWriter(folder / name, step=update, retention=way if start == 0 else None, resume=start > 0)
        try:
            for number in range(start + EACH, stop, EACH):
                append(writer, number, start=len(writer))
                writer.flush(sync=number % 2 == 0)
                acknowledge(str(number))
                writer._tape._round()  # which makes the file anew where enough was dropped
            append(writer, stop, start=len(writer))
            writer.close()
            acknowledge(f"{stop} closed")
        except BaseException:
            writer._tape.abandon()  # as the end of the process would
            raise


def keyframes(way: Retention, steps: int) -> list[int]:
    """Tell which of so many steps are kept."""
    if isinstance(way, Aged):
        return [n for n in range(steps) if n % tiers.resolution(tiers.tier(steps - 1 - n, way.tier_keeps)) == 0]
    return [n for n in range(steps) if tiers.is_keyframe(n, BUCKET)]


def hold_to(folder: Path, acknowledged: list[str], name: str, way: Retention) -> None:
    """Open the trace as the next user would: all that was acknowledged is there and right; then go on."""
    calm()
    path = folder / name
    least = max([0, *(int(line.split()[0]) for line in acknowledged)])
    closed = max([0, *(int(line.split()[0]) for line in acknowledged if line.endswith("closed"))])
    if path.exists() and path.suffix == ".trace":  # the file by itself is an old one or a new one
        with_file = Sealed(path)
        assert with_file.length >= closed
        with_file.close()
    steps = check(path, way, least)
    recover(path)
    assert not recover(path)
    if steps is not None:
        assert check(path, way, least) == steps
        assert [left.name for left in folder.iterdir()] == [name]
    with TraceWriter(path, step=update, retention=None if steps else way, resume=True) as writer:
        append(writer, STAGES[-1] + 9, start=len(writer))
    assert check(path, way, STAGES[-1] + 9) == STAGES[-1] + 9
    assert [left.name for left in folder.rglob("*") if disk.is_temporary(left.name)] == []


def check(path: Path, way: Retention, least: int) -> int | None:
    """See that a trace is right; give how many steps it has, None where there is none."""
    try:
        trace = Trace.open(path, update)
    except NotFound:
        assert least == 0, f"{least} steps were acknowledged, and there is no trace"
        return None
    steps = len(trace)
    assert steps >= least, f"{least} steps were acknowledged, {steps} are there"
    assert_holds(trace, steps)
    assert trace.keyframes.tolist() == keyframes(way, steps)
    trace.close()
    return steps


WORKLOADS = {
    f"{name.partition('.')[2]}-{way.name}": (partial(work, name=name, way=way), partial(hold_to, name=name, way=way))
    for name, way in (("x.trace", Tiered(BUCKET)), ("x.trace", Aged(BUCKET)), ("x.json", Tiered(BUCKET)))
}


if __name__ == "__main__":
    from tests.crash import campaign

    campaign.WORKLOADS.update(WORKLOADS)
    campaign.main()

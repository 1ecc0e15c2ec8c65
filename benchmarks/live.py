"""What publishing costs, and what a worker loses that goes flat out while two readers look.

Run: python -m benchmarks.live [--seconds 130] [--steps 200]

The worker plays the same stretch of Pong again and again, without a policy: alone, watched, watched, alone. Watched, it
has a live writer, and two processes read 60 frames a second, which are stopped otherwise; then the same with the writer
and nobody who reads. Each stretch is compared with its neighbour of the other kind, in CPU time of the worker and by
the clock. The median over all pairs counts, with the interval that holds it for 95 of 100 samples drawn anew from the
pairs. The same for neighbours that were both alone shows what the measuring itself does.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import playhead
from benchmarks.measure import median_of, report
from playhead import live

READING = """
import sys, time
from playhead import live
reader = live.LiveReader(sys.argv[1])
print("reading", flush=True)
while True:
    reader.latest()
    time.sleep(1 / 60)
"""
NAME = "playhead-benchmark"
ROUNDS = 25


def cost_us(work: Callable[[], object], calls: int = 1_000) -> float:
    """Give the median of one call in the best of some rounds, in microseconds, without what taking the time costs."""

    def measured(call: Callable[[], object]) -> float:
        times = []
        for _ in range(calls):
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
        return statistics.median(times)

    return (min(measured(work) for _ in range(ROUNDS)) - min(measured(lambda: None) for _ in range(ROUNDS))) / 1000


def costs() -> None:
    frame = np.random.default_rng(0).integers(0, 256, (210, 160, 3), np.uint8)
    frames = [frame.copy() for _ in range(200)]
    with live.LiveWriter(NAME, rate=None) as writer:
        report("publish an Atari frame that was just made", cost_us(lambda: writer.step(frame, 1.0)), "µs", 12)
        order = iter(range(10**9))
        report("publish one that is in no cache", cost_us(lambda: writer.step(frames[next(order) % 200])), "µs", 12)
        reader = live.LiveReader(NAME)
        report("read one", cost_us(reader.latest), "µs")
    with live.LiveWriter(NAME, rate=0.01) as writer:
        writer.step(frame)
        report("a step that is not published", cost_us(lambda: writer.step(frame, 1.0)), "µs", 1)


class Stretch(NamedTuple):
    """The seconds that a stretch took."""

    cpu: float
    wall: float


def in_turns(
    alone: Callable[[], object], watched: Callable[[], object], prepare: Callable[[bool], object], seconds: float
) -> tuple[list[Stretch], list[Stretch]]:
    """Do two things in turns, the order of which turns each time: alone, watched, watched, alone.

    Args:
        alone: One thing.
        watched: The other one.
        prepare: Called before each, with whether it is the other one; it is not measured.
        seconds: How long, about.
    """

    def took(work: Callable[[], object], is_watched: bool) -> Stretch:
        prepare(is_watched)
        start, cpu = time.perf_counter(), time.thread_time()
        work()
        return Stretch(time.thread_time() - cpu, time.perf_counter() - start)

    before, after = [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        before.append(took(alone, False))
        after += [took(watched, True), took(watched, True)]
        before.append(took(alone, False))
    return before, after


def report_loss(name: str, alone: list[Stretch], watched: list[Stretch], bar: float | None) -> None:
    """Print what is lost, in percent of the steps a second, and what two stretches alone differ by."""
    between = list(zip(alone[1:-1:2], alone[2::2], strict=True))  # the last of one turn, the first of the next
    control = [pair if number % 2 else pair[::-1] for number, pair in enumerate(between)]
    pairs = list(zip(alone, watched, strict=True))
    for what, limit, field in (("CPU time", bar, 0), ("the clock", None, 1)):
        for which, found, most in ((name, pairs, limit), ("alone, against itself", control, None)):
            lost, low, high = median_of([100 * (1 - one[field] / other[field]) for one, other in found])
            report(f"steps/s lost, {which}, by {what}", lost, "%", most)
            print(f"    between {low:.2f} and {high:.2f} %, {len(found)} pairs")


def loss(seconds: float, steps: int) -> None:
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    env: Any = gymnasium.make("ALE/Pong-v5")
    env.reset(seed=0)
    play_from = env.unwrapped.clone_state(include_rng=True)

    def play() -> None:
        for _ in range(steps):
            _observation, _reward, _terminated, _truncated, _ = env.step(2)  # held as long as where it is watched

    with live.LiveWriter(NAME) as writer, contextlib.ExitStack() as stack:
        writer.publish(np.zeros((210, 160, 3), np.uint8))
        readers = stack.enter_context(reading())

        def play_watched() -> None:
            for _ in range(steps):
                observation, reward, terminated, truncated, _ = env.step(2)
                writer.step(observation, float(reward), terminated or truncated)

        def prepare(is_watched: bool) -> None:
            for reader in readers:
                reader.send_signal(signal.SIGCONT if is_watched else signal.SIGSTOP)
            env.unwrapped.restore_state(play_from)

        here = stack.enter_context(live.LiveReader(NAME))
        before = _number(here)
        alone, watched = in_turns(play, play_watched, prepare, seconds * 2 / 3)
        shown = _number(here) - before
        report_loss("with two readers", alone, watched, 1)
        report("frames a second that were published meanwhile", shown / sum(one.wall for one in watched), "")
        alone, watched = in_turns(play, play_watched, lambda _: prepare(False), seconds / 3)
        report_loss("with nobody who looks", alone, watched, None)
    report("its steps a second, by CPU time", steps / statistics.median(one.cpu for one in alone), "")


def _number(reader: live.LiveReader) -> int:
    newest = reader.latest()
    assert newest is not None
    return newest.number


@contextlib.contextmanager
def reading() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start two processes that read, once there is something to read."""
    readers = [subprocess.Popen([sys.executable, "-c", READING, NAME], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for reader in readers:
            assert reader.stdout is not None
            reader.stdout.readline()
        yield readers
    finally:
        for reader in readers:
            reader.kill()
            reader.communicate()


def recorders(seconds: float, steps: int = 2000) -> None:
    """Print what `live=True` adds to a step of a recorder, in an environment that costs nothing."""
    import gymnasium

    from playhead.integrations.gymnasium import Recorder

    class Nothing(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 1, (2,), np.float32)
        action_space = gymnasium.spaces.Discrete(2)
        seen = np.zeros(2, np.float32)

        def reset(self, **_: Any) -> Any:
            return self.seen, {}

        def step(self, _: Any) -> Any:
            return self.seen, 1.0, False, False, {}

    def play(env: Any) -> None:
        for _ in range(steps):
            env.step(1)

    with tempfile.TemporaryDirectory() as folder, playhead.open(folder) as store, store.run("here", "now") as run:
        envs = [Recorder(Nothing(), run, live=is_live) for is_live in (False, True)]
        for env in envs:
            env.reset()
        alone, shown = in_turns(lambda: play(envs[0]), lambda: play(envs[1]), lambda _: None, seconds)
        for env in envs:
            env.close()
    added = [1e6 * (other.cpu - one.cpu) / steps for one, other in zip(alone, shown, strict=True)]
    found, low, high = median_of(added)
    report("what live=True adds to a recorder's step, mostly not shown", found, "µs", 1)
    print(f"    between {low:.2f} and {high:.2f} µs, {len(added)} pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=130, help="for the worker; a third of it without readers")
    parser.add_argument("--steps", type=int, default=200, help="of a stretch")
    options, _ = parser.parse_known_args()
    print("Live")
    costs()
    recorders(10)
    loss(options.seconds, options.steps)


if __name__ == "__main__":
    main()

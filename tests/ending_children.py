"""Children of `multiprocessing` that end with recorders open; run by `test_children_end`.

`python ending_children.py folder method` starts a child for each way to end, and writes their exit codes to `codes.json`.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import playhead
import playhead.replay
import playhead.trace
from playhead.integrations.gymnasium import Recorder

STEPS = 12

kept: list[Any] = []


def record(folder: Path, name: str) -> Any:
    """Record with all kinds of recorders, and leave them open."""
    store = playhead.open(folder / name)
    played = store.run("p", "played", run_id="played", environment=False)
    env = Recorder(gymnasium.make("CartPole-v1"), played)
    env.reset(seed=1)
    plain = store.run("p", "plain", run_id="plain", environment=False)
    replay = playhead.replay.ReplayWriter("r", folder / name / "replay_of_mine")
    replay.start()
    trace = playhead.trace.TraceWriter(folder / name / "fit.trace")
    for number in range(STEPS):
        env.step(number % 2)
        plain.log({"loss": number / 2})
        replay.record_step(None, np.full(4, number, np.float32), 0, 1.0, False)
        trace.append({"x": np.full(3, float(number))})
    kept.extend([env, plain, replay, trace])
    return plain


def returns(folder: Path) -> None:
    record(folder, "returns")


def raises(folder: Path) -> None:
    record(folder, "raises")
    raise ValueError("oh")


def exits(folder: Path) -> None:
    record(folder, "exits")
    sys.exit(3)


def exits_well(folder: Path) -> None:
    record(folder, "exits_well")
    sys.exit()


def catches(folder: Path) -> None:
    record(folder, "catches")
    try:
        raise ValueError("oh")
    except ValueError:
        pass


def has_a_thread(folder: Path) -> None:
    run = record(folder, "has_a_thread")

    def work() -> None:
        for number in range(STEPS):
            time.sleep(0.05)
            run.log({"later": number})

    threading.Thread(target=work, daemon=False).start()


def has_finalizers(folder: Path) -> None:
    run = record(folder, "has_finalizers")
    Finalize(None, run.log, args=({"final": 1.0},), exitpriority=-5)


def attaches(folder: Path) -> None:
    run = playhead.open(folder / "attaches").attach("plain")
    run.log({"of the child": 1.0})
    kept.append(run)


WAYS: list[Callable[[Path], None]] = [returns, raises, exits, exits_well, catches, has_a_thread, has_finalizers]


def work_in_pool(folder: Path) -> None:
    record(folder, f"pool{multiprocessing.current_process().name.replace(':', '_')}")


def main(folder: Path, method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    context.set_forkserver_preload(["ending_children"])
    try:
        raise KeyError("handled where the children are forked")
    except KeyError:
        children = [context.Process(target=way, args=(folder,), name=way.__name__) for way in WAYS]
        for child in children:
            child.start()
    for child in children:
        child.join()
    (folder / "codes.json").write_text(json.dumps({child.name: child.exitcode for child in children}))
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        executor.submit(work_in_pool, folder).result()
    with context.Pool(1) as pool:
        pool.apply(work_in_pool, (folder,))
        pool.close()
        pool.join()
    run = record(folder, "attaches")
    run.flush()
    time.sleep(1)  # a thread that is within SQLite when the process is forked would leave its locks to the child
    child = context.Process(target=attaches, args=(folder,))
    child.start()
    child.join()
    run.log({"after": 1.0})


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

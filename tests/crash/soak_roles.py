"""What the processes of the soak do.

They begin nothing while there is a file `gate` among the ledgers, and end when there is one called `stop`.
"""

from __future__ import annotations

import importlib
import itertools
import os
import random
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import playhead
from playhead import RunWriter, Store, claims, opening
from playhead.care import collecting, verifying
from playhead.errors import NotAStore, StoreLocked
from playhead.layout import Layout
from tests.crash import soak_content as content
from tests.crash.soak_checks import Noted, Tally, check
from tests.crash.soak_content import Ledger, lines_of
from tests.test_copies import by_cp, check_complete

# Imported once for all processes.
LIBRARIES = ("av", "h5py", "PIL.Image", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet", "playhead.recording")
LIBRARIES += tuple(f"playhead.{name}" for name in ("artifact", "care", "episode", "replay", "table", "trace"))
GATE_SECONDS = 20
READER_LOOKS, READER_PAUSE = 25, 2
PAUSE = float(os.environ.get("PLAYHEAD_SOAK_PAUSE", "0.2"))


class Worker:
    """A process of the soak.

    Args:
        store: Where it records.
        ledgers: Where it notes what was acknowledged, and is told when to stop.
        name: Its name.
    """

    def __init__(self, store: Path, ledgers: Path, name: str) -> None:
        self.path, self.ledgers, self.name = store, ledgers, name
        self.ledger = Ledger(ledgers, name)
        self.chosen = random.Random(name)

    def goes_on(self) -> bool:
        """Wait while the gate is shut; return whether there is more to do."""
        while (self.ledgers / "gate").exists():
            time.sleep(0.02)
        return not (self.ledgers / "stop").exists()

    def repeat(self, work: Callable[[Store, int], None]) -> None:
        """Do some work again and again, with a store that stays open until somebody rebuilds its catalogue."""
        numbers = itertools.count()
        while self.goes_on():
            with playhead.open(self.path) as store:
                try:
                    while self.goes_on():
                        work(store, next(numbers))
                        time.sleep(self.chosen.uniform(0, PAUSE))
                except NotAStore as error:
                    if "made anew" not in str(error):
                        raise

    def known(self, kind: str) -> list[str]:
        """List the first facts of what others have noted."""
        return [line[1] for line in lines_of(self.ledgers) if line[0] == kind]


def make(worker: Worker) -> None:
    """Make the store."""
    playhead.open(worker.path).close()


# -- writers ------------------------------------------------------------------------------------------------------------


def write(worker: Worker) -> None:
    """Record one run after another, each with values, texts and a picture, and something of the other lanes."""
    worker.repeat(lambda store, number: _record(store, worker, f"{worker.name}-{number}", number))


def _record(store: Store, worker: Worker, name: str, number: int) -> None:
    more = (_episode, _reel, _trace, _artifact, _table)
    with store.run("soak", worker.name, run_id=name, config={"number": number}, environment=False) as run:
        run.set_primary_metric("x", "max")
        for place, value in enumerate(content.values(name, content.VALUES)):
            run.log({"x": value, "y": -value}, step=place)
            if place % 40 == 39:
                worker.ledger.add("values", name, place + 1)
                run.flush(sync=number % 8 == 0)
                time.sleep(worker.chosen.uniform(0, PAUSE / 4))
        for line in range(3):
            run.log_text(content.text(name, line))
        run.log_image("shown", content.picture(name), step=7)
        worker.ledger.add("media", name)
        more[number % len(more)](store, run, worker, name)
        run.summary(number=number)
    worker.ledger.add("ended", name, number)


def _episode(store: Store, run: RunWriter, worker: Worker, name: str) -> None:
    with run.new_episode(content.DATASET, uid=name) as episode:
        episode.set_static("of", name)
        for place in range(content.SAMPLES):
            episode.append("grip", content.seed_of(name) + place / 4, place * content.STEP_NS)
            episode.append("pose", content.state(name, place), place * content.STEP_NS)
        for place in range(content.FRAMES):
            episode.append("camera", content.frame(name, place), place * content.STEP_NS)
    worker.ledger.add("episode", name)


def _reel(store: Store, run: RunWriter, worker: Worker, name: str) -> None:
    reel = run.new_reel(facts={"env_id": "soak"})
    for half in range(2):
        reel.begin({"of": name})
        for place in range(content.STEPS // 2):
            row = half * content.STEPS // 2 + place
            arrays = {"observations": content.observation(name, row), "actions": row % 3}
            arrays["frames"] = content.screen(name, row)
            reel.step(arrays, row / 2, place == content.STEPS // 2 - 1, False, b'{"row":%d}' % row)
        reel.end("terminated", {"observations": content.observation(name, -1)})
        run.flush()
        worker.ledger.add("steps", name, (half + 1) * content.STEPS // 2)


def _trace(store: Store, run: RunWriter, worker: Worker, name: str) -> None:
    with run.trace(content.TRACE, bucket=8) as trace:
        for step in range(content.STATES):
            trace.append({"w": content.state(name, step)}, error=1 / (step + 1), input=np.float64(step))
    worker.ledger.add("trace", name)


def _artifact(store: Store, run: RunWriter, worker: Worker, name: str) -> None:
    folder = worker.ledgers / "sources" / worker.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights.bin").write_bytes(content.weights(name))
    (folder / "same.bin").write_bytes(b"same" * 500)
    version = run.log_artifact(f"model-{worker.chosen.randrange(3)}", folder)
    worker.ledger.add("version", name, version.name, version.version)
    run.use_artifact(f"{version.name}:v{version.version}")


def _table(store: Store, run: RunWriter, worker: Worker, name: str) -> None:
    store.tables.build(name, content.rows(name))
    worker.ledger.add("table", name)


# -- who changes what others recorded -----------------------------------------------------------------------------------


def edit(worker: Worker) -> None:
    """Tag, delete and restore runs that have ended, and edit the data set."""
    worker.repeat(lambda store, number: _edit(store, worker, number))


def _edit(store: Store, worker: Worker, number: int) -> None:
    ended = [name for name in worker.known("ended") if not is_purged(name)]
    if not ended:
        return
    name = worker.chosen.choice(ended)
    run = store.runs.get(name) or store.runs.deleted[name]
    run.tag(f"tag{number}")
    worker.ledger.add("tagged", name, f"tag{number}")
    if number % 3 == 0:
        run.delete("try")
        store.runs.deleted[name].restore()
        worker.ledger.add("restored", name)
    uids = worker.known("episode")
    if uids and number % 2:
        uid = worker.chosen.choice(uids)
        dataset = store.dataset(content.DATASET).set_static(uid, {f"verdict{number}": number})
        worker.ledger.add("edited", uid, number)
        if number % 4 == 1:
            dataset.drop(uid)
            worker.ledger.add("dropped", uid)


def is_purged(name: str) -> bool:
    """Return whether a run is one of those that are purged in the end."""
    return int(name.rsplit("-", 1)[1]) % 9 == 8


def purge(worker: Worker) -> None:
    """Delete and purge every ninth run."""
    worker.repeat(lambda store, _: _purge(store, worker))


def _purge(store: Store, worker: Worker) -> None:
    purged = set(worker.known("purged"))
    for name in worker.known("ended"):
        if is_purged(name) and name not in purged:
            worker.ledger.add("purging", name)
            if run := store.runs.get(name):
                run.delete("old")
            if run := store.runs.deleted.get(name):
                run.purge()
            worker.ledger.add("purged", name)


# -- care ---------------------------------------------------------------------------------------------------------------


def verify(worker: Worker) -> None:
    """Verify the whole store again and again; what is found is noted."""
    while worker.goes_on():
        for finding in verifying.verify(worker.path, full=True):
            said = {**finding.described(), "is_there": finding.path.exists()}
            worker.ledger.add("finding", str(finding.path.relative_to(worker.path)), said)
        worker.ledger.add("verified", worker.name)
        time.sleep(PAUSE)


def collect(worker: Worker) -> None:
    """Collect what nothing needs, however young it is."""
    while worker.goes_on():
        with playhead.open(worker.path) as store:
            collecting.collect(store._home, older_than=0)
        worker.ledger.add("collected", worker.name)
        time.sleep(PAUSE)


def rebuild(worker: Worker) -> None:
    """Rebuild the catalogue now and then: refused while somebody records, done while the gate is shut.

    Every other time all of them begin again in the middle of it.
    """
    gate = worker.ledgers / "gate"
    for number in itertools.count():
        if not worker.goes_on():
            return
        _rebuild(worker)
        gate.touch()
        try:
            until = time.monotonic() + GATE_SECONDS
            while claims.live(Layout(worker.path)) and time.monotonic() < until:
                time.sleep(0.05)
            if number % 2:
                gate.unlink()
            _rebuild(worker)
        finally:
            gate.unlink(missing_ok=True)
        time.sleep(6)


def _rebuild(worker: Worker) -> None:
    try:
        problems = opening.rebuild(worker.path)
    except StoreLocked:
        worker.ledger.add("refused", worker.name)
        return
    worker.ledger.add("rebuilt", worker.name)
    for problem in problems:
        worker.ledger.add("trouble", "rebuilt", str(problem))


def freeze(worker: Worker) -> None:
    """Record; who started this stops it in the middle of its runs, for longer than claims live."""
    worker.repeat(lambda store, number: _record_long(store, worker, f"{worker.name}-{number}"))


def _record_long(store: Store, worker: Worker, name: str) -> None:
    midway = worker.ledgers / "midway"  # while it is there, the run is neither at its beginning nor at its end
    with store.run("soak", worker.name, run_id=name, environment=False) as run:
        put(midway, name)
        begun = time.monotonic()
        for count in itertools.count(1):
            run.log({"x": content.values(name, 1)[0] + count - 1})
            worker.ledger.add("values", name, count)
            time.sleep(0.005)
            if time.monotonic() > begun + 2:
                midway.unlink(missing_ok=True)
            if time.monotonic() > begun + 2.2:
                break
    worker.ledger.add("long", name, count)


def judge(worker: Worker) -> None:
    """Take the run that `frozen` names for dead, in every way that there is; each must be refused."""
    worker.repeat(lambda store, _: _judge(store, worker))


def _judge(store: Store, worker: Worker) -> None:
    frozen = worker.ledgers / "frozen"
    if not frozen.exists():
        return
    name = frozen.read_text()
    run = store.runs.get(name) or store.runs.deleted[name]
    if run.status != "running" and frozen.exists():
        worker.ledger.add("trouble", name, f"{name} is said to be {run.status} while it is frozen")
    run.delete("looks dead")
    for way in (store.runs.deleted[name].purge, lambda: opening.rebuild(worker.path)):
        if not frozen.exists():
            break  # it woke before its time, since it held what is needed here
        try:
            way()
        except StoreLocked:
            worker.ledger.add("judged", name)
        else:
            worker.ledger.add("trouble", name, f"{way} was done while {name} was recorded")
    store.runs.deleted[name].restore()
    frozen.unlink(missing_ok=True)


# -- who looks ----------------------------------------------------------------------------------------------------------


def read(worker: Worker) -> None:
    """Compare a few runs with what was acknowledged before, again and again.

    What the catalogue could not take in while others held it, or replaced it, it learns from whoever opens the store
    next: nobody does while the gate is shut, which is twenty seconds and a rebuild at most. So the same is looked at
    again for that long.
    """
    while worker.goes_on():
        noted = Noted.read(worker.ledgers)
        names = noted.ended()
        chosen = worker.chosen.sample(names, min(5, len(names)))
        for _ in range(READER_LOOKS):
            with playhead.open(worker.path, mode="r") as store:
                tally = check(store, noted, chosen)
            if not tally.lost and not tally.wrong:
                break
            worker.ledger.add("again", worker.name, tally.lost + tally.wrong)
            time.sleep(READER_PAUSE)
        _tell(worker, tally, "read")
        time.sleep(PAUSE)


def _tell(worker: Worker, tally: Tally, how: str) -> None:
    purging = set(worker.known("purging"))  # in the meantime
    for text in tally.lost + tally.wrong:
        if not any(name in text.replace(":", " ").split() for name in purging):
            worker.ledger.add("trouble", how, text)
    worker.ledger.add(how, worker.name, tally.values)


def copy(worker: Worker) -> None:
    """Copy the store by `cp -a`; a copy holds what was acknowledged before, and says what its files say."""
    number = 0
    scratch = worker.ledgers / "copies"
    scratch.mkdir()
    while worker.goes_on():
        noted = Noted.read(worker.ledgers)
        number += 1
        target = scratch / f"copy{number}"
        by_cp(worker.path, target)
        try:
            check_complete(target, scratch)
        except AssertionError as error:
            worker.ledger.add("trouble", "copied", f"{error}"[:3000])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the copy does not hold
            with playhead.open(target, mode="r") as store:
                names = noted.ended()
                tally = check(store, noted, worker.chosen.sample(names, min(50, len(names))))
        _tell(worker, tally, "copied")
        shutil.rmtree(target)
        time.sleep(5 * PAUSE)


ROLES: dict[str, Callable[[Worker], None]] = {
    role.__name__: role for role in (make, write, edit, purge, verify, collect, rebuild, freeze, judge, read, copy)
}


def put(path: Path, text: str) -> None:
    """Write a file that others wait for."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text)
    temporary.rename(path)


def main() -> None:
    """Be some processes, each `ROLE:NAME`, and end well if all of them do."""
    warnings.filterwarnings("ignore", "the catalogue is behind")  # a rebuild came in between
    store, ledgers, *roles = sys.argv[1:]
    for name in LIBRARIES:
        importlib.import_module(name)
    pids = []
    for role, _, name in (said.partition(":") for said in roles):
        pids.append(os.fork())
        if pids[-1] == 0:
            status = 1
            try:
                put(Path(ledgers, f"{name}.pid"), f"{os.getpid()}")
                ROLES[role](Worker(Path(store), Path(ledgers), name))
                status = 0
            except BaseException:  # noqa: BLE001  who started this reports it
                put(Path(ledgers, f"{name}.err"), traceback.format_exc())
            finally:
                os._exit(status)
    statuses = []
    while len(statuses) < len(pids) and not any(statuses):
        statuses.append(os.wait()[1])
    sys.exit(any(statuses))

"""A store under everything at once: eight writers, editors, purges, every kind of care, backups, and a frozen process.

Two users of one group record into one store, and a third may only read it. Each process notes what was acknowledged,
outside of the store. Nothing of that is lost or wrong, not in the store, not in its copies and not after a rebuild, and
`verify --full` finds nothing, since nothing is damaged. Here most of a minute; `make campaign` does ten.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import playhead
from playhead import opening
from playhead.care import verify
from tests import elsewhere
from tests.crash.soak_checks import Noted, check, check_purged
from tests.crash.soak_roles import put
from tests.dump import dump
from tests.elsewhere import ADA, BOB, GROUP

pytest.importorskip("av", reason="video needs PyAV: pip install playhead[video]")

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.075"))
SECONDS = float(os.environ.get("PLAYHEAD_SOAK_SECONDS", 600 * SHARE))
FROZEN_SECONDS = 3 if SHARE < 1 else 15
WRITERS = 8
CAROL = 42_003
# Notes that are true of what is being recorded.
RECORDED = ("one that is recorded, edited or not settled", "one that is being recorded", "one in progress")

HELPERS = ("edit", "purge", "verify", "collect", "rebuild", "judge", "copy")
CODE = "from tests.crash.soak_roles import main; main()"


class Soak:
    """The processes of a soak, and what they noted."""

    def __init__(self, folder: Path) -> None:
        self.is_shared = elsewhere.can(ADA, mounts=False, processes=False)
        self.store = (elsewhere.shared_folder(folder) if self.is_shared else folder) / "s"
        self.ledgers = folder / "ledgers"
        for made in (self.ledgers, self.ledgers / "sources"):
            made.mkdir()
            made.chmod(0o777)
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, uid: int, gid: int, roles: list[str]) -> None:
        """Start processes as one of the users, if there can be some; they are forks of one, since importing takes long."""
        command = [sys.executable, "-c", CODE, *map(str, (self.store, self.ledgers)), *roles]
        if self.is_shared:
            command = elsewhere.program(CODE, self.store, self.ledgers, *roles, uid=uid, gid=gid, umask=0o002)
        self.running.append(subprocess.Popen(command, cwd=Path(__file__).parents[2], start_new_session=True))

    def check(self, *, wait: bool = False) -> None:
        """See that no process has ended before its time, or that all of them end well."""
        for process in self.running:
            if wait:
                process.wait(timeout=180)
            assert not process.poll(), {path.name: path.read_text()[-3000:] for path in self.ledgers.glob("*.err")}

    @contextmanager
    def all_running(self) -> Iterator[None]:
        """Run all processes until the end of the block, and see that each ended well."""
        try:
            self.start(ADA, GROUP, ["make:make"])
            self.check(wait=True)
            writers = [f"write:w{number}" for number in range(WRITERS)]
            self.start(ADA, GROUP, [*writers[2:], *(f"{role}:{role}" for role in HELPERS)])
            self.start(BOB, GROUP, [*writers[:2], "freeze:frozen"])
            self.start(CAROL, CAROL, ["read:read"])
            while not all((self.ledgers / f"{name}.pid").exists() for name in ("copy", "frozen", "read")):
                time.sleep(0.1)
                self.check()
            yield
            (self.ledgers / "stop").touch()
            self.check(wait=True)
        finally:
            for process in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def freeze(self, seconds: float) -> None:
        """Stop the frozen one in the middle of a run, as long as its claim lives, and let the judges try."""
        pid, midway, frozen = (
            int((self.ledgers / "frozen.pid").read_text()),
            self.ledgers / "midway",
            self.ledgers / "frozen",
        )
        os.kill(pid, signal.SIGSTOP)
        try:
            if not midway.exists():
                return
            name = midway.read_text()
            claim = self.store / ".recording" / f"{name}.1.json"
            said = json.loads(claim.read_text())
            said["process"]["place"] = "elsewhere"
            claim.write_text(json.dumps(said))
            os.utime(claim, (0, 0))
            put(frozen, name)
            time.sleep(seconds)
            until = time.monotonic() + 30
            while frozen.exists() and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            frozen.unlink(missing_ok=True)
            os.kill(pid, signal.SIGCONT)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder that other users keep their way to: pytest shuts its own to them whenever it is started again.

    It is kept if the test fails.
    """
    path = Path(tempfile.mkdtemp(prefix="playhead-soak-"))
    path.chmod(0o755)
    yield path
    if (path / "well").exists():
        shutil.rmtree(path)


@pytest.mark.timeout(3000)
def test_nothing_is_lost_while_everything_happens_at_once(folder: Path) -> None:
    soak, chosen = Soak(folder), random.Random(3)
    with soak.all_running():
        started = time.monotonic()
        while time.monotonic() - started < SECONDS:
            time.sleep(chosen.uniform(1, 4))
            soak.check()
            soak.freeze(FROZEN_SECONDS)
    noted = Noted.read(soak.ledgers)
    playhead.open(soak.store).close()  # who met a rebuild left the rest of its indexing to the next open
    with playhead.open(soak.store, mode="r") as store:
        tally = check(store, noted, noted.ended())
        back = check_purged(store, noted)
        before = dump(store)
    told = [said for by_name in noted.facts["finding"].values() for (said,) in by_name]
    found = [said for said in told if not said["is_harmless"] or said["found"] not in RECORDED]
    found += [finding.described() for finding in verify(soak.store, full=True)]
    problems = opening.rebuild(soak.store)
    with playhead.open(soak.store, mode="r") as store:
        again = check(store, noted, noted.ended())
        differing = [name for name, rows in dump(store).items() if rows != before[name]]
    lost, wrong = tally.lost + again.lost + back, tally.wrong + again.wrong + differing
    trouble = [facts for by_name in noted.facts["trouble"].values() for facts in by_name]
    versions, episodes, purged = (noted.count(kind) for kind in ("version", "episode", "purged"))
    care = ", ".join(f"{noted.count(kind)} {kind}" for kind in ("verified", "collected", "rebuilt", "refused", "copied", "judged", "read", "again"))  # fmt: skip
    print(
        f"soak: {noted.count('ended') + noted.count('long')} runs, {tally.values} values, {versions} versions, "
        f"{episodes} episodes, {purged} purged, {care}, {time.monotonic() - started:.0f} s: "
        f"{len(lost)} lost, {len(wrong)} wrong, {len(trouble)} on the way, {len(found)} false"
    )
    for said in (lost + wrong + trouble + found)[:30]:
        print(f"    {str(said)[:700]}")
    assert (lost, wrong, trouble, problems) == ([], [], [], [])
    if SHARE >= 1:  # a short one on a busy machine may still meet a rebuild three times in a row
        assert found == []
    (folder / "well").touch()

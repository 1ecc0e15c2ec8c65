"""Whether a recorder is alive: in doubt it is, and nothing that it holds is taken away."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import playhead
from playhead import StoreLocked, claims, filesystem, opening
from playhead.layout import Layout
from tests import elsewhere
from tests.elsewhere import ADA, BOB, GROUP

RECORDER = """
import sys, playhead
run = playhead.open(sys.argv[1]).run("p", "n", run_id="r", environment=False)
run.log({"a": 1})
run.flush()
print("recording", flush=True)
sys.stdin.readline()
run.log({"a": 2})
run.finish()
"""


@contextlib.contextmanager
def recorder(path: Path, **how: object) -> Iterator[subprocess.Popen[str]]:
    process = elsewhere.start(RECORDER, path, **how)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def end(process: subprocess.Popen[str]) -> None:
    process.communicate("go on\n", timeout=60)
    assert process.returncode == 0


def silent(path: Path) -> Path:
    """Make the claim of the run one that has not given a sign of life for long."""
    (claim,) = (path / ".recording").glob("*.json")
    os.utime(claim, (0, 0))
    return claim


def as_on_another_machine(claim: Path, **process: object) -> None:
    content = json.loads(claim.read_text())
    content["process"] |= {"place": "elsewhere", **process}
    claim.write_text(json.dumps(content))
    os.utime(claim, (0, 0))


JUDGES = """
import sys, playhead
from playhead import opening
with playhead.open(sys.argv[1]) as store:
    run = store.runs["r"]
    assert run.status == "running", (run.status, run.exit_reason)
    run.delete()
    for refuse in (store.runs.deleted["r"].purge, store.purge, lambda: opening.rebuild(store.path)):
        try:
            refuse()
        except playhead.StoreLocked as error:
            assert "being recorded" in str(error), error
        else:
            raise AssertionError("not refused")
    store.runs.deleted["r"].restore()
"""


def check_recording_ends_well(path: Path, process: subprocess.Popen[str]) -> None:
    end(process)
    with playhead.open(path) as store:
        assert store.runs["r"].status == "finished"
        assert store.runs["r"]["a"].values.tolist() == [1, 2]


def test_a_process_that_proc_hides_is_alive(tmp_path: Path) -> None:
    elsewhere.need(uid=ADA, mounts=True)
    folder = elsewhere.shared_folder(tmp_path, 0o2777)
    with recorder(folder / "s", uid=ADA, gid=GROUP, umask=0) as process:
        for _ in range(2):  # also after the first judge was there
            elsewhere.run(
                JUDGES, folder / "s", uid=BOB, gid=GROUP, umask=0, mounts=True,
                before="mount -t proc -o hidepid=2 proc /proc",
            )  # fmt: skip
        silent(folder / "s")
        elsewhere.run(
            JUDGES, folder / "s", uid=BOB, gid=GROUP, umask=0, mounts=True,
            before="mount -t proc -o hidepid=2 proc /proc",
        )  # fmt: skip
        check_recording_ends_well(folder / "s", process)


def test_a_process_of_another_container_is_alive_however_long_it_is_frozen(tmp_path: Path) -> None:
    elsewhere.need(mounts=True, processes=True)
    with recorder(tmp_path / "s", mounts=True, processes=True) as process:
        silent(tmp_path / "s")
        elsewhere.run(JUDGES, tmp_path / "s")
        check_recording_ends_well(tmp_path / "s", process)


def test_a_frozen_process_is_alive_also_for_another_machine(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", RECORDER, str(tmp_path / "s")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    try:
        process.send_signal(signal.SIGSTOP)
        (claim,) = (tmp_path / "s" / ".recording").glob("*.json")
        as_on_another_machine(claim, pid=1)
        subprocess.run([sys.executable, "-c", JUDGES, str(tmp_path / "s")], check=True)
        process.send_signal(signal.SIGCONT)
        check_recording_ends_well(tmp_path / "s", process)
    finally:
        process.kill()
        process.communicate()


def test_without_a_claim_the_lock_of_the_events_keeps_a_run_from_being_purged(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="r", environment=False) as run:
        for claim in (store.path / ".recording").iterdir():
            claim.unlink()
        with playhead.open(store.path) as other:
            assert other.runs["r"].status == "running"
            other.runs["r"].delete()
            with pytest.raises(StoreLocked, match="being recorded"):
                other.purge()
        run.log({"a": 1})
    assert store.runs.deleted["r"]["a"].values.tolist() == [1]


KILLED = "import os, sys, playhead\nrun = playhead.open(sys.argv[1]).run('p', 'n', run_id='r', environment=False)\n"
KILLED += "run.log({'a': 1})\nos.kill(os.getpid(), 9)"


def killed(path: Path) -> Path:
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    (claim,) = (path / ".recording").glob("*.json")
    return claim


def test_one_that_was_silent_on_another_machine_may_wake_for_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = killed(tmp_path / "s")
    as_on_another_machine(claim)
    monkeypatch.setattr(filesystem, "is_network", lambda _path: True)
    with playhead.open(tmp_path / "s") as store:
        assert (store.runs["r"].status, store.runs["r"].exit_reason) == ("failed", "no_sign_of_life")
        store.runs["r"].delete()
        with pytest.raises(StoreLocked, match="hours"):
            store.purge()
        monkeypatch.setattr("playhead.run._MAY_WAKE_SECONDS", 0.0)
        assert store.purge() == ["r"]


def test_on_a_local_file_system_its_free_lock_says_that_it_is_dead(tmp_path: Path) -> None:
    as_on_another_machine(killed(tmp_path / "s"))
    with playhead.open(tmp_path / "s") as store:
        assert (store.runs["r"].status, store.runs["r"].exit_reason) == ("failed", "process_not_found")
        store.runs["r"].delete()
        assert store.purge() == ["r"]


def test_a_program_that_restarts_itself_resumes_its_run(tmp_path: Path) -> None:
    code = (
        "import os, sys, playhead\n"
        "run = playhead.open(sys.argv[1]).run('p', 'n', run_id='job', resume=True, environment=False)\n"
        "run.log({'x': 1})\n"
        "if len(sys.argv) < 5:\n"
        "    os.execv(sys.executable, [sys.executable, '-c', sys.argv[2], *sys.argv[1:], 'again'])\n"
        "run.finish()\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "s"), code, "once"], check=True, timeout=120)
    with playhead.open(tmp_path / "s") as store:
        assert store.runs["job"]["x"].values.tolist() == [1, 1]
        assert store.runs["job"].status == "finished"


def test_a_claim_of_this_process_holds_through_any_path_to_the_store(store: playhead.Store, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store.path)
    with store.run("p", "n", run_id="r", environment=False) as run:
        with playhead.open(tmp_path / "link") as other:
            assert other.runs["r"].status == "running"
            with pytest.raises(StoreLocked):
                other.run("p", "n", run_id="r", resume=True, environment=False)
        run.log({"a": 1})


def test_a_claim_of_an_earlier_version_is_judged_as_before(store: playhead.Store) -> None:
    run = store.run("p", "n", run_id="r", environment=False)
    (path,) = claims.paths(Layout(store.path))
    content = json.loads(path.read_text())
    del content["store"], content["token"]
    path.write_text(json.dumps(content))
    with playhead.open(store.path) as other:
        assert other.runs["r"].status == "running"
    run.finish()
    assert store.runs["r"].status == "finished"


@pytest.mark.parametrize("pid", [0, -1, 1 << 40, 1 << 70])
def test_a_number_that_no_process_has_is_that_of_none(tmp_path: Path, pid: int) -> None:
    claim = killed(tmp_path / "s")
    content = json.loads(claim.read_text())
    content["process"]["pid"] = pid
    claim.write_text(json.dumps(content))
    with playhead.open(tmp_path / "s") as store:
        assert store.runs["r"].status == "failed"


def test_nobody_is_kept_from_recording_by_one_who_looks(store: playhead.Store) -> None:
    store.run("p", "n", run_id="r", environment=False).finish()
    looking = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys\nfrom playhead import disk\nprint('on', flush=True)\nwhile True: disk.is_held(sys.argv[1])",
            str(Layout(store.path).run("p", "n", "r").events()),
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert looking.stdout is not None
        assert looking.stdout.readline()
        for _ in range(20):
            store.run("p", "n", run_id="r", resume=True, environment=False).finish()
    finally:
        looking.kill()
        looking.communicate()


def test_a_rebuild_is_refused_by_what_the_lock_says(store: playhead.Store) -> None:
    with store.run("p", "n", run_id="r", environment=False):
        (claim,) = claims.paths(Layout(store.path))
        as_on_another_machine(claim, pid=1)
        with pytest.raises(StoreLocked, match="being recorded"):
            opening.rebuild(store.path)

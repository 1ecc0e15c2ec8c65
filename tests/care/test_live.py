"""A check of a store in which processes record, purge and tidy up finds nothing wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import playhead
from playhead import disk
from playhead.care import DAMAGE, collecting, optimizing, verify

SECONDS = 60.0 if os.environ.get("PLAYHEAD_CAMPAIGN") == "1" else 5.0

WRITER = """
import itertools, os, sys, warnings
import numpy as np
import playhead

warnings.simplefilter("ignore")
path, name = sys.argv[1], sys.argv[2]
source = f"{path}.{name}"
with playhead.open(path) as store:
    for number in itertools.count():
        run_id = f"{name}_{number}"
        with store.run("live", name, run_id=run_id, environment=False) as run:
            for step in range(20):
                run.log({"loss": float(step)})
            run.log_image("frame", np.zeros((4, 4, 3), np.uint8))
            with run.new_episode(f"data_{name}") as episode:
                for k in range(5):
                    episode.append("x", float(k), 1000 + k)
            reel = run.new_reel()
            for step in range(5):
                reel.step({"observations": np.arange(3.0)}, 1.0, step == 4, False)
            with run.trace("fit") as trace:
                trace.append({"w": np.arange(3.0)}, error=1.0, input=np.float64(1))
            with open(source, "wb") as file:
                file.write(os.urandom(100))
            run.log_artifact(f"model_{name}", source)
            run.use_artifact(f"model_{name}:latest")
        store.dataset(f"data_{name}").set_static(episode.uid, {"n": number})
        store.runs[run_id].tag("seen")
        if number % 3 == 0:
            store.runs[run_id].delete()
            store.runs.deleted[run_id].purge()
        print(number, flush=True)
"""


def test_a_store_in_use_has_no_findings(tmp_path: Path) -> None:
    path = tmp_path / "store"
    playhead.open(path).close()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stdout=subprocess.PIPE) for name in "abc"
    ]
    checks, found = 0, Counter[str]()
    try:
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found.update(str(finding) for finding in verify(path, full=checks % 2 == 0) if not finding.is_harmless)
            checks += 1
            with playhead.open(path) as store:
                collecting.collect(store._home, older_than=600)
                optimizing.compact(store._home)
            assert all(writer.poll() is None for writer in writers)
    finally:
        for writer in writers:
            writer.terminate()
            writer.communicate()
    print(f"{checks} checks of a store in use, {sum(found.values())} findings")
    assert not found
    assert checks >= 2
    with playhead.open(path):  # settles what was stopped
        pass
    assert [str(finding) for finding in verify(path, full=True) if finding.severity == DAMAGE] == []


def test_a_version_whose_saving_ends_while_it_is_looked_at_is_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, source = tmp_path / "store", tmp_path / "model.bin"
    with playhead.open(path) as store:
        listed = []
        for number in range(2):
            source.write_bytes(bytes([number]))
            version = store.artifacts.save("model", source)
            listed.append((versions := version.path.parents[1] / "versions.json").read_bytes())

    def ended(_: object) -> bool:  # the list is read, the version is saved, and its lock given back
        versions.write_bytes(listed[-1])
        return False

    monkeypatch.setattr(disk, "is_held", ended)
    versions.write_bytes(listed[0])
    assert [str(finding) for finding in verify(path)] == []
    monkeypatch.setattr(disk, "is_held", lambda _: False)
    versions.write_bytes(listed[0])
    assert "its saving was stopped" in str(*verify(path))

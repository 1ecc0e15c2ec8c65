"""A store that a group shares: umask 002, a folder of the group, and what one of them made is changed by the other."""

from __future__ import annotations

from pathlib import Path

from tests import elsewhere
from tests.elsewhere import ADA, BOB, GROUP

MEMBER = """
import sys
import numpy as np
import playhead
from playhead.care import verify
from playhead.care.collecting import collect

path, me = sys.argv[1:]
rows = np.zeros(3, [("x", "<f4"), ("run_id", "<u4"), ("step_index", "<u2")])
with playhead.open(path) as store:
    with store.run("p", "n", run_id=me, environment=False) as run:
        run.log({"a": 1.0})
        run.log_image("i", np.zeros((3, 3), np.uint8))
        with run.new_episode("ds") as episode:
            episode.append("x", 1.0, 1)
        reel = run.new_reel()
        reel.step({"observations": np.arange(2.0)}, 1.0, True, False)
        reel.close()
        with run.trace("fit", bucket=4) as trace:
            trace.append({"w": 1.0}, error=1.0)
        run.log_artifact("policy", playhead.__file__)
    store.tables.build(me, rows)
    for other in [run for run in store.runs if run.id != me]:
        other.tag(f"seen by {me}")
        other.delete()
        store.runs.deleted[other.id].restore()
        with store.run("p", "n", run_id=other.id, resume=True, environment=False) as run:
            run.log({"a": 2.0})
            run.log_artifact("policy", playhead.__file__)
        assert store.runs[other.id]["a"].values.tolist() == [1.0, 2.0]
    for table in list(store.tables):
        store.tables[table].append(rows)
    for episode in store.dataset("ds"):
        store.dataset("ds").set_static(episode.uid, {"by": me})
    store.artifacts["policy:v1"].alias(me)
playhead.rebuild(path)
with playhead.open(path) as store:
    collect(store._home, older_than=0)
assert not [finding for finding in verify(path, full=True) if finding.severity == "damage"]
if me == "bob":
    with playhead.open(path) as store:
        store.runs["ada"].delete()
        store.runs.deleted["ada"].purge()
"""


def test_each_of_a_group_changes_what_the_others_made(tmp_path: Path) -> None:
    elsewhere.need(uid=ADA)
    folder = elsewhere.shared_folder(tmp_path, 0o2775)
    for uid, name in ((ADA, "ada"), (BOB, "bob"), (ADA, "again")):
        elsewhere.run(MEMBER, folder / "s", name, uid=uid, gid=GROUP, umask=0o002)

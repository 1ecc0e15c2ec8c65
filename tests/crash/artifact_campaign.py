"""Artifacts that are saved, named, deleted and purged, stopped at any change of the disk, and what must hold after it.

As a program under `LD_PRELOAD=faults.so` it takes what `campaign` takes, with `few`, `many` or `shared` for what to save.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import playhead
from playhead.artifact import walking
from playhead.care import verify
from playhead.errors import Damaged
from playhead.lanes.files import intake, sharing
from playhead.lanes.files.pool import Pool
from playhead.layout import Layout

Acknowledge = Callable[[str], None]

FEW, MANY = 3, 12  # of which the second are synced all at once


def contents(stage: int, count: int) -> dict[str, bytes]:
    """Give the files of one version: some shared with the version before it, some its own, some alike."""
    own = {f"sub/{n}.txt": b"%d %d" % (n, stage if n % 2 else 0) for n in range(count)}
    return own | {"large.bin": bytes([stage]) * 100_000, "larger.bin": bytes([7]) * 200_000}


def write(folder: Path, stage: int, count: int) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in contents(stage, count).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def work(path: Path, acknowledge: Acknowledge, count: int) -> None:
    """Save three versions, give names, delete the first, purge the second, use the third."""
    folders = {stage: write(path.with_name(f"{path.name} {stage}"), stage, count) for stage in (1, 2, 3)}
    with playhead.open(path) as store, store.run("p", "n", run_id="run", environment=False) as run:
        for stage in (1, 2, 3):
            run.log_artifact("policy", folders[stage], aliases=["best"])
            acknowledge(f"saved {stage}")
        store.artifacts["policy:v1"].alias("first")
        acknowledge("named 1")
        store.artifacts["policy:v1"].delete("try")
        acknowledge("deleted 1")
        store.artifacts["policy:v2"].purge()
        acknowledge("purged 2")
        run.use_artifact("policy:best")
        acknowledge("used 3")


def hold_to(path: Path, acknowledged: list[str], count: int) -> None:
    """Open the store as the next user would: every version is whole, what was acknowledged is there; then save again."""
    with playhead.open(path) as store:
        layout = Layout(store.path)
        for stage in (1, 2, 3):
            ref = f"policy:v{stage}"
            if f"saved {stage}" in acknowledged and stage != 2:
                assert ref in store.artifacts, f"{ref} is gone"
            if ref in store.artifacts:
                hold_version_to(store.artifacts[ref], stage, count)
        if "saved 2" in acknowledged and "deleted 1" not in acknowledged:
            assert "policy:v2" in store.artifacts
        if "purged 2" in acknowledged:
            assert "policy:v2" not in store.artifacts
        if "saved 3" in acknowledged:
            assert store.artifacts["policy:latest"].version == store.artifacts["policy:best"].version == 3
        if "deleted 1" in acknowledged:
            assert store.artifacts["policy:v1"].is_deleted
        if "used 3" in acknowledged:
            assert [use["version"] for use in store.runs["run"].artifacts_used] == [3]
            assert "run" in [node.id for node in store.artifacts["policy:v3"].lineage().downstream]
        hold_pool_to(layout)
        listed = [one.version for one in versions_of(store)]
        again = store.artifacts.save("policy", write(path.with_name("again"), 3, count))
        hold_version_to(again, 3, count)
        assert again.version > max([0, *listed, *(n for n in (1, 2, 3) if f"saved {n}" in acknowledged)])
        assert store.artifacts["policy:latest"].version == again.version
        hold_pool_to(layout)
        assert [row.latest for row in store.artifacts] == [again.version]


def work_shared(path: Path, acknowledge: Acknowledge) -> None:
    """Save versions that share folders, and purge the one that has the files."""
    _share_early()
    folder = write(path.with_name(f"{path.name} shared"), 1, MANY)
    with playhead.open(path) as store:
        for stage in (1, 1, 2):
            (folder / "large.bin").write_bytes(contents(stage, MANY)["large.bin"])
            version = store.artifacts.save("policy", folder)
            acknowledge(f"saved {version.version}")
            assert version.version == 1 or [*sharing.links_of(version._folder)], "nothing is shared"
        store.artifacts["policy:v1"].purge()
        acknowledge("purged 1")
        acknowledge(f"saved {store.artifacts.save('policy', folder).version}")


def hold_shared_to(path: Path, acknowledged: list[str]) -> None:
    """Every version is whole, also for who opens paths; the work is done again, and then nothing is wrong."""
    _share_early()
    first = contents(1, MANY)
    due = {1: first, 2: first, 3: first | {"large.bin": contents(2, MANY)["large.bin"]}}
    due[4] = due[3]
    with playhead.open(path) as store:
        for number in range(1, 5):
            if f"saved {number}" in acknowledged and number > 1:
                assert f"policy:v{number}" in store.artifacts
            if f"policy:v{number}" in store.artifacts:
                version = store.artifacts[f"policy:v{number}"]
                assert version.verify() == []
                assert {entry.path: entry.sha256 for entry in version.manifest.files} == digests_of(due[number])
                if not version.is_deleted:  # else it may be half purged
                    assert {name: (version.path / name).read_bytes() for name in due[number]} == due[number]
        if "purged 1" in acknowledged:
            assert "policy:v1" not in store.artifacts
        elif "policy:v1" in store.artifacts:
            store.artifacts["policy:v1"].purge()
        again = store.artifacts.save("policy", write(path.with_name("again"), 1, MANY))
        assert again.version > len([one for one in acknowledged if one.startswith("saved")])
        store.artifacts.save("policy", path.with_name("again"))
        hold_pool_to(Layout(store.path))
    wrong = [finding for finding in verify(path, full=True) if not finding.is_harmless and finding.lane == "artifacts"]
    assert wrong == []


def _share_early() -> None:
    sharing.LEAST = 8
    intake._TICK_NS = intake._COARSE_NS = -1  # nobody writes to the files while they are saved


def digests_of(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def versions_of(store: playhead.Store) -> list[playhead.ArtifactVersion]:
    try:
        return list(store.artifacts.versions("policy", deleted=True))
    except playhead.NotFound:
        return []


def hold_version_to(version: playhead.ArtifactVersion, stage: int, count: int) -> None:
    """A version that can be seen is whole."""
    assert version.verify() == []
    assert {entry.path: entry.sha256 for entry in version.manifest.files} == digests_of(contents(stage, count))


def hold_pool_to(layout: Layout) -> None:
    """Everything in the pool is whole, and all that a folder of a version names is there."""
    pool = Pool(layout.artifacts.pool)
    there = set()
    for blob in pool.blobs():
        pool.check(blob.digest)
        there.add(blob.digest)
    assert walking.referenced(layout) <= there
    assert [found for found in walking.versions(layout) if isinstance(found, Damaged)] == []
    assert list(walking.missing(layout)) == []


WORKLOADS = {
    "few": (
        lambda path, acknowledge: work(path, acknowledge, FEW),
        lambda path, acknowledged: hold_to(path, acknowledged, FEW),
    ),
    "many": (
        lambda path, acknowledge: work(path, acknowledge, MANY),
        lambda path, acknowledged: hold_to(path, acknowledged, MANY),
    ),
    "shared": (work_shared, hold_shared_to),
}


if __name__ == "__main__":
    from tests.crash import campaign

    campaign.WORKLOADS.update(WORKLOADS)
    campaign.main()

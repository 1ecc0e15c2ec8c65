"""`repair`: what other files say as well is written anew, what is damaged is moved aside, nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import playhead
from playhead.care import verify
from playhead.care.repairing import Deed, Repair
from playhead.layout import Layout
from tests.care.everything import values_of
from tests.care.test_verifying import change, sql, wrong


def repair(path: Path) -> list[Deed]:
    """Repair; the episode that was cut short is for another command."""
    deeds = list(Repair(Layout(path)).mend(verify(path, full=True)))
    return [deed for deed in deeds if "episode recover" not in deed.left]


def quarantined(path: Path) -> dict[str, Path]:
    """Give what was moved aside, by where it came from."""
    found: dict[str, Path] = {}
    for note in (path / ".quarantine").glob("*/note.jsonl"):
        for line in note.read_text().splitlines():
            said = json.loads(line)
            assert said["expected"]
            assert said["found"]
            assert said["from"] not in found
            found[said["from"]] = note.parent / said["from"]
            assert found[said["from"]].exists()
    return found


def test_a_sound_store_is_left_as_it_is(path: Path) -> None:
    assert repair(path) == []
    assert not (path / ".quarantine").exists()


def test_the_catalogue_is_made_anew_and_the_old_one_kept(path: Path) -> None:
    before = values_of(path)
    sql(path, "UPDATE points SET value = 7")
    (deed,) = repair(path)
    assert deed.done.startswith("made anew")
    assert wrong(path) == []
    assert values_of(path) == before
    assert "playhead.db" in quarantined(path)


def test_a_catalogue_that_is_no_database_is_made_anew(path: Path) -> None:
    before = values_of(path)
    (path / "playhead.db").write_bytes(b"nonsense")
    assert all(deed.done for deed in repair(path))
    assert values_of(path) == before
    assert quarantined(path)["playhead.db"].read_bytes() == b"nonsense"


def test_what_other_files_say_as_well_is_written_anew(path: Path) -> None:
    before = values_of(path)
    for where in (
        "replay/index.json",
        "tables/numbers/manifest.json",
        "pong/dqn/runs/run_a/meta.json",
        "pong/dqn/runs/run_b/status.json",
        "artifacts/model/policy/versions.json",
    ):
        (path / where).write_bytes(b"{")
    change(path / "replay/run_a.h5", -30)
    deeds = repair(path)
    assert [deed for deed in deeds if deed.left] == []
    assert wrong(path) == []
    after = values_of(path)
    same = {name for name in before if after.get(name) == before[name]}
    texts = {f"pong/dqn/runs/run_a/{name}.json" for name in ("meta", "checksums")}
    assert {name for name in before if name not in same} <= {"replay/run_a.h5", "catalogue runs", *texts}
    with playhead.open(path, mode="r") as store:
        run = store.runs["run_a"]
        assert (run.config, run.tags, run.status) == ({"lr": 1e-3}, ["paper"], "finished")
    assert len(quarantined(path)) >= 6


def test_a_damaged_signal_is_moved_aside_and_the_others_can_be_read(path: Path) -> None:
    folder = path / "episodes/teleop/000000000000/000000000001"
    change(folder / "joint.parquet", 500)
    change(folder / "camera.mp4", 500)
    assert all(deed.done for deed in repair(path))
    assert wrong(path) == []
    with playhead.open(path, mode="r") as store:
        assert list(store.dataset("teleop")[0].signals) == ["said"]
    names = {Path(name).name for name in quarantined(path)}
    assert names >= {"joint.parquet", "camera.mp4", "camera.frames.parquet"}


def test_an_episode_that_does_not_say_which_it_is_is_moved_aside(path: Path) -> None:
    folder = path / "episodes/teleop/000000000000/000000000001"
    for name in ("meta.json", "joint.parquet"):
        (folder / name).write_bytes(bytes(300))
    deeds = repair(path)
    assert all(deed.done for deed in deeds), deeds
    assert wrong(path) == []
    assert not folder.exists()
    kept = quarantined(path)
    assert (kept[str(folder.relative_to(path))] / "meta.json").read_bytes() == bytes(300)
    with playhead.open(path) as store:
        assert folder not in [episode.path for episode in store.dataset("teleop").source]
        with store.dataset("teleop").new_episode() as episode:
            episode.append("x", 1.0, 1)
        assert episode.path != folder


def test_a_damaged_content_is_never_handed_out_and_comes_back_from_a_copy(path: Path) -> None:
    """The copied store has no links: the files of versions are whole, and so the content can be had from them."""
    before = values_of(path)
    blob = next(file for file in (path / "artifacts/.dedup").rglob("*") if len(file.name) == 64 and file.stat().st_size)
    change(blob)
    assert all("brought back" in deed.done for deed in repair(path) if deed.path == blob)
    assert wrong(path) == []
    assert values_of(path) == before
    assert str(blob.relative_to(path)) in quarantined(path)


def test_a_content_that_nothing_else_holds_is_moved_aside(path: Path) -> None:
    blob = next(file for file in (path / "artifacts/.dedup").rglob("*") if len(file.name) == 64 and file.stat().st_size)
    data = blob.read_bytes()
    for file in path.rglob("artifacts/model/**/*"):
        if file.is_file() and file.read_bytes() == data:
            change(file)
    change(blob)
    deeds = repair(path)
    assert any("moved aside" in deed.done for deed in deeds)
    assert not blob.exists()
    assert any(finding.path == blob for finding in wrong(path))


def test_what_cannot_be_mended_says_so(path: Path) -> None:
    change(path / "tables/numbers/steps.npy")
    (deed,) = repair(path)
    assert "again" in deed.left
    assert not (path / ".quarantine").exists()


def test_nothing_is_rebuilt_under_a_running_recording(path: Path) -> None:
    with playhead.open(path) as store, store.run("pong", "now", run_id="live", environment=False):
        sql(path, "UPDATE points SET value = 7")
        (deed,) = repair(path)
        assert "live" in deed.left
    assert any(finding.cure == "rebuild" for finding in wrong(path))

"""What is handed out is what was put in, or nothing is handed out."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import playhead
from playhead import disk
from playhead.lanes.files import sharing
from tests.artifact.conftest import CONTENTS, read


@pytest.fixture
def version(store: playhead.Store, files: Path) -> playhead.ArtifactVersion:
    return store.artifacts.save("policy", files, metadata={"a": 1.5})


def flip(path: Path, place: int, bit: int = 0) -> None:
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(content)


def blob(store: playhead.Store, content: bytes) -> Path:
    return next(path for path in store.path.glob("artifacts/.dedup/??/*") if path.read_bytes() == content)


def test_one_flipped_bit_is_found_and_nothing_is_handed_out(
    store: playhead.Store, version: playhead.ArtifactVersion, tmp_path: Path
) -> None:
    flip(blob(store, CONTENTS["model.pt"]), 1000)
    target = tmp_path / "out"
    for link in (False, True):
        with pytest.raises(playhead.Damaged, match=r"model\.pt.* found .* bytes with another"):
            version.download(target, link=link)
        assert not target.exists()
        assert [path for path in tmp_path.iterdir() if disk.is_temporary(path.name)] == []
    with pytest.raises(playhead.Damaged):
        version.file("model.pt")
    with store.run("p", "n") as run:
        with pytest.raises(playhead.Damaged):
            run.use_artifact("policy:latest")
        assert run.artifacts_used == []
    assert version.file("config.json").read_bytes() == CONTENTS["config.json"]
    assert len(version.verify()) == 1


def test_every_flipped_bit_is_found_on_use_or_changes_nothing(
    store: playhead.Store, files: Path, tmp_path: Path
) -> None:
    with store.run("p", "n") as run:
        run.log_artifact("policy", files, metadata={"a": 1.5}, tags=["t"])
        run.use_artifact("policy:v1")

    def handed_out() -> tuple[object, ...]:
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        found = store.artifacts["policy:v1"]
        contents, known = read(found.download(tmp_path / "out")), store.runs[run.id]
        return contents, found.facts, found.manifest, found.aliases, known.artifacts_created, known.artifacts_used

    due = handed_out()
    targets = [path for path in store.path.glob("artifacts/**/*") if path.is_file() and path.stat().st_size]
    targets += [run.path / "artifacts_created.json", run.path / "artifacts_used.json"]
    chance, found = random.Random(0), 0
    for _ in range(300):
        path = chance.choice(targets)
        place, bit = chance.randrange(path.stat().st_size), chance.randrange(8)
        before = path.read_bytes()
        flip(path, place, bit)
        try:
            assert handed_out() == due, f"bit {bit} of byte {place} of {path}"
        except playhead.Damaged:
            found += 1
        finally:
            path.write_bytes(before)
    assert found > 280  # the rest: names of keys that nobody reads, and of the digest itself
    assert handed_out() == due


def test_the_pools_own_file_is_given_only_when_asked_for(
    store: playhead.Store, version: playhead.ArtifactVersion, tmp_path: Path
) -> None:
    held = blob(store, CONTENTS["model.pt"])
    copy = version.download(tmp_path / "copy") / "model.pt"
    assert not os.path.samefile(copy, held)
    copy.write_bytes(b"mine now")
    linked = version.download(tmp_path / "linked", link=True) / "model.pt"
    assert os.path.samefile(linked, held)
    assert version.verify() == []


def test_files_that_are_there_are_left_or_refused_or_replaced(
    version: playhead.ArtifactVersion, tmp_path: Path
) -> None:
    target = version.download(tmp_path / "out")
    (target / "of my own").write_text("stays")
    assert version.download(target) == target
    (target / "config.json").write_text("edited")
    (target / "model.pt").unlink()
    with pytest.raises(playhead.Exists, match="overwrite=True"):
        version.download(target)
    assert (target / "config.json").read_text() == "edited"
    assert not (target / "model.pt").exists()
    version.download(target, overwrite=True)
    assert read(target) == CONTENTS | {"of my own": b"stays"}


def test_without_a_folder_a_new_one_is_made(version: playhead.ArtifactVersion) -> None:
    target = version.download()
    try:
        assert read(target) == CONTENTS
    finally:
        shutil.rmtree(target)


def test_a_store_that_was_copied_without_its_links_heals_from_the_second_copy(
    store: playhead.Store, version: playhead.ArtifactVersion, tmp_path: Path
) -> None:
    store.close()
    shutil.copytree(store.path, tmp_path / "copied")
    with playhead.open(tmp_path / "copied") as copied:
        flip(blob(copied, CONTENTS["model.pt"]), 5)
        assert read(copied.artifacts["policy:v1"].download(tmp_path / "out")) == CONTENTS


def test_saving_a_content_whose_blob_is_damaged_mends_the_pool(
    store: playhead.Store, version: playhead.ArtifactVersion, tmp_path: Path
) -> None:
    path = blob(store, CONTENTS["model.pt"])
    flip(path, 7)
    (tmp_path / "again.pt").write_bytes(CONTENTS["model.pt"])
    assert store.artifacts.save("again", tmp_path / "again.pt").verify() == []
    assert path.read_bytes() == CONTENTS["model.pt"]
    assert version.verify() == []


@pytest.mark.parametrize("meeting", ["download", "file", "verify", "use"])
def test_saving_an_unchanged_file_again_mends_what_was_found_damaged(
    store: playhead.Store, tmp_path: Path, meeting: str
) -> None:
    source = tmp_path / "m.pt"
    source.write_bytes(b"x" * 1000)
    time.sleep(0.05)  # so that the file is known by its look
    version = store.artifacts.save("policy", source)
    flip(blob(store, b"x" * 1000), 5)
    with store.run("p", "n") as run:
        if meeting == "verify":
            assert len(version.verify()) == 1
        else:
            meet: dict[str, Callable[[], object]] = {
                "download": lambda: version.download(tmp_path / "out"),
                "file": lambda: version.file("m.pt"),
                "use": lambda: run.use_artifact("policy:v1"),
            }
            with pytest.raises(playhead.Damaged, match="Save the files again"):
                meet[meeting]()
    assert store.artifacts.save("policy", source).verify() == []
    assert (version.download(tmp_path / "out") / "m.pt").read_bytes() == b"x" * 1000


def test_a_large_folder_that_was_found_damaged_is_saved_again(store: playhead.Store, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for n in range(sharing.LEAST):
        (tmp_path / "many" / f"{n}").write_text(f"content {n}")
    time.sleep(0.05)
    version = store.artifacts.save("policy", tmp_path / "many")
    assert store.artifacts.save("policy", tmp_path / "many").path.is_symlink()
    flip(blob(store, b"content 7"), 5)
    assert len(version.verify()) == 1
    assert store.artifacts.save("policy", tmp_path / "many").verify() == []
    (tmp_path / "out").mkdir()
    assert (version.download(tmp_path / "out") / "7").read_text() == "content 7"


def test_what_can_be_run_still_can(store: playhead.Store, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("tool.sh", "data"):
        (tmp_path / "src" / name).write_text(f"echo {name}")
    (tmp_path / "src" / "tool.sh").chmod(0o755)
    time.sleep(0.05)
    for n in (1, 2):  # the second time both are known
        out = store.artifacts.save("tools", tmp_path / "src", type="code").download(tmp_path / f"out{n}")
        assert [name for name in ("tool.sh", "data") if (out / name).stat().st_mode & 0o100] == ["tool.sh"]
    (tmp_path / "src" / "tool.sh").chmod(0o644)
    version = store.artifacts.save("tools", tmp_path / "src", type="code")
    assert not (version.download(tmp_path / "out3") / "tool.sh").stat().st_mode & 0o111
    assert "executables" not in json.loads((version.path.parent / "manifest.json").read_text())


def test_a_folder_that_is_there_is_all_that_is_written_to(version: playhead.ArtifactVersion, tmp_path: Path) -> None:
    """As where it is a disk of its own, or lies in a folder of somebody else."""
    target = tmp_path / "theirs" / "mine"
    target.mkdir(parents=True)
    (tmp_path / "link").symlink_to(target)
    made: list[str] = []

    def hook(operation: str, path: str, size: int) -> None:
        made.append(path)

    with disk.hooked(hook):
        version.download(tmp_path / "link")
    assert read(target) == CONTENTS
    assert made
    assert [path for path in made if not path.startswith(f"{tmp_path}/link/")] == []
    (tmp_path / "file").write_text("x")
    with pytest.raises(playhead.Exists, match="no folder"):
        version.download(tmp_path / "file")


def test_a_manifest_that_leads_out_is_refused(store: playhead.Store, files: Path, tmp_path: Path) -> None:
    store.artifacts.save("policy", files / "config.json")
    folder = store.path / "artifacts/model/policy"
    manifest = folder / "v1/manifest.json"
    manifest.write_text(manifest.read_text().replace('"config.json"', '"../../escaped"'))
    for name in ("metadata.json", "../versions.json"):  # as a program without digests would have written it
        path = folder / "v1" / name
        text = path.read_text()
        path.write_text(text.replace('"manifest_digest"', '"no"').replace('"digest"', '"no"').replace("_digests", ""))
    with pytest.raises(playhead.Damaged):
        store.artifacts["policy:v1"].download(tmp_path / "out" / "deep")
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("digest", ["../../../etc/passwd", "ABC", "", "sha256:" + "0" * 63])
def test_a_digest_that_is_none_is_refused(store: playhead.Store, files: Path, tmp_path: Path, digest: str) -> None:
    version = store.artifacts.save("policy", files / "config.json")
    entry = version.manifest.files[0]
    object.__setattr__(entry, "digest", digest)
    with pytest.raises(playhead.Damaged, match="64 hexadecimal digits"):
        version.download(tmp_path / "out")


def test_a_file_system_that_folds_case_is_named_as_the_reason(
    store: playhead.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "Readme").write_text("one")
    (tmp_path / "both" / "README").write_text("two")
    version = store.artifacts.save("policy", tmp_path / "both")
    write = disk.write_blocks

    def folding(path: str, *args: object, **options: object) -> None:
        write(path.replace("README", "Readme"), *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(disk, "write_blocks", folding)
    monkeypatch.setattr(disk, "clone", lambda *_, **_options: False)
    with pytest.raises(playhead.BadName, match="differ only in case"):
        version.download(tmp_path / "out")
    assert not (tmp_path / "out").exists()

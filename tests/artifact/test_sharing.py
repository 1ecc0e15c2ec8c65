"""Versions that share folders: a link where nothing changed, and no version the worse for what becomes of another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import playhead
from playhead import disk
from playhead.care import collecting, usage, verify
from playhead.care.repairing import Repair
from playhead.lanes.files import intake
from playhead.layout import Layout
from playhead.testing import killed_at, operations_of
from tests.artifact.conftest import read

SHARE = float(os.environ.get("PLAYHEAD_CAMPAIGN", "0.1"))
FILES = {f"{folder}/{n}.txt": f"{folder} {n}".encode() for folder in ("a", "b") for n in range(70)} | {"c/x.txt": b"x"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust files that were written just now: the tests write none while they are saved."""
    monkeypatch.setattr(intake, "_TICK_NS", -1)
    monkeypatch.setattr(intake, "_COARSE_NS", -1)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
    return tmp_path / "in"


def files_of(store: playhead.Store, number: int) -> Path:
    return store.path / "artifacts/model/data" / f"v{number}" / "files"


def links_of(store: playhead.Store) -> dict[str, str]:
    folder = store.path / "artifacts/model/data"
    return {
        path.relative_to(folder).as_posix(): os.readlink(path)
        for path in sorted(folder.rglob("*"))
        if path.is_symlink()
    }


def save(store: playhead.Store, source: Path, **changes: bytes) -> playhead.ArtifactVersion:
    """Save the folder as a version; changes are contents by names, with `_` for `/`."""
    for name, content in changes.items():
        (source / f"{name.replace('_', '/')}.txt").write_bytes(content)
    return store.artifacts.save("data", source)


def hold(store: playhead.Store, tmp_path: Path, *expected: tuple[int, dict[str, bytes]]) -> None:
    """Versions hold what they should, seen by us and by whoever opens paths; nothing is wrong with the store."""
    with playhead.open(store.path) as opened:  # a repair may have made its catalogue anew
        for number, contents in expected:
            version = opened.artifacts[f"data:v{number}"]
            assert version.verify() == []
            assert read(version.download(tmp_path / "out" / os.urandom(4).hex())) == contents
            assert {name: (version.path / name).read_bytes() for name in contents} == contents
    assert [finding for finding in verify(store.path, full=True) if finding.lane == "artifacts"] == []


def test_unchanged_is_one_link_and_changed_is_what_changed(store: playhead.Store, source: Path, tmp_path: Path) -> None:
    save(store, source)
    save(store, source)
    assert links_of(store) == {"v2/files": "../v1/files"}
    save(store, source, a_0=b"new")
    assert links_of(store) == {"v2/files": "../v1/files", "v3/files/b": "../../v1/files/b"}
    save(store, source)
    assert links_of(store)["v4/files"] == "../v3/files"
    fifth = save(store, source, c_x=b"y")
    assert fifth.manifest.files == tuple(sorted(fifth.manifest.files, key=lambda entry: entry.path))
    assert {name: link for name, link in links_of(store).items() if name.startswith("v5")} == {
        "v5/files/a": "../../v3/files/a",
        "v5/files/b": "../../v1/files/b",  # to where it lies, and never to a link
    }
    new = FILES | {"a/0.txt": b"new"}
    hold(store, tmp_path, (1, FILES), (2, FILES), (3, new), (4, new), (5, new | {"c/x.txt": b"y"}))
    blob = store.artifacts["data:v1"].manifest.files[70].sha256
    assert len({(files_of(store, n) / "b/0.txt").stat().st_ino for n in (1, 2, 3, 4, 5)}) == 1
    assert (store.path / "artifacts/.dedup" / blob[:2] / blob).stat().st_nlink == 2


def test_what_is_repeated_says_all_that_a_version_says(store: playhead.Store, source: Path) -> None:
    first = store.artifacts.save("data", source, metadata={"a": 1})
    second = store.artifacts.save("data", source, aliases=["best"], tags=["t"])
    assert (second.files, second.size, second.num_files) == (first.files, first.size, first.num_files)
    assert (second.metadata, second.tags, second.version) == ({}, ["t"], 2)
    assert second.manifest == first.manifest
    difference = store.artifacts["data:v2"].diff(store.artifacts["data:v1"])
    assert [*difference.added, *difference.removed, *difference.changed] == []
    draft = playhead.Artifact("data")
    draft.add_dir(source)
    draft.add_reference("s3://bucket/key", size=3)
    third = store.artifacts.save(draft)
    assert (len(third.references), third.files) == (1, first.files)
    assert links_of(store) == {"v2/files": "../v1/files", "v3/files": "../v1/files"}
    assert store.artifacts.save("data", source).references == []  # a version with references is no model for it


@pytest.mark.parametrize("odd", [[], ['q"', "ü\n"]])
def test_what_is_taken_over_says_what_a_manifest_made_anew_says(
    store: playhead.Store, source: Path, tmp_path: Path, odd: list[str]
) -> None:
    for folder in ("a", "a-", "a/deep", "a0", "ü", *odd):  # in order otherwise than folder by folder
        (source / folder).mkdir(exist_ok=True)
        for n in range(70):
            (source / folder / f"{n}.bin").write_bytes(folder.encode() * n)
    for runnable in ("b/3.txt", "a0/7.bin"):
        (source / runnable).chmod(0o755)
    save(store, source)
    second = save(store, source, b_5=b"new")
    assert len(links_of(store)) == 4 + len(odd)
    with playhead.open(tmp_path / "fresh") as other:
        first = other.artifacts.save("data", source)
        assert (second.manifest.files, second.manifest.executables) == (
            first.manifest.files,
            first.manifest.executables,
        )
        assert second.manifest.executables == ("a0/7.bin", "b/3.txt")
        assert (second.size, len(second.files)) == (first.size, len(first.files))
        assert said_by(second) == said_by(first)


def said_by(version: playhead.ArtifactVersion) -> list[str]:
    """Give the lines of a manifest that do not say when it was made."""
    lines = (version.path.parent / "manifest.json").read_text().splitlines()
    return [line for line in lines if "created_at" not in line]


def test_every_kind_of_change_is_seen(store: playhead.Store, source: Path, tmp_path: Path) -> None:
    def remove() -> None:
        (source / "a/1.txt").unlink()

    def rename() -> None:
        (source / "b/1.txt").rename(source / "b/one.txt")

    def swap() -> None:
        (source / "a/2.txt").rename(source / "x")
        (source / "a/3.txt").rename(source / "a/2.txt")
        (source / "x").rename(source / "a/3.txt")

    def empty() -> None:
        (source / "d/e").mkdir(parents=True)

    def rewrite_in_place() -> None:
        status = (source / "b/5.txt").stat()
        with (source / "b/5.txt").open("r+b") as file:
            file.write(b"B")
        os.utime(source / "b/5.txt", ns=(status.st_atime_ns, status.st_mtime_ns))

    changes: list[Callable[[], None]] = [remove, rename, swap, empty, rewrite_in_place]
    save(store, source)
    for number, change in enumerate(changes, 2):
        change()
        version = save(store, source)
        assert version.version == number
        assert not files_of(store, number).is_symlink()
        target = version.download(tmp_path / "out" / str(number))
        assert read(target) == read(source)
        assert (target / "d/e").is_dir() == (source / "d/e").is_dir()
    assert save(store, source).path.is_symlink()
    hold(store, tmp_path)


def test_small_folders_and_file_systems_without_links_have_files_of_their_own(
    store: playhead.Store, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.artifacts.save("few", source / "c")
    store.artifacts.save("few", source / "c")
    assert not (store.path / "artifacts/model/few/v2/files").is_symlink()

    def refuse(_text: str, path: object) -> None:
        raise OSError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(disk, "link_to", refuse)
    save(store, source)
    save(store, source)
    save(store, source, a_0=b"new")
    assert links_of(store) == {}
    hold(store, tmp_path, (1, FILES), (2, FILES), (3, FILES | {"a/0.txt": b"new"}))
    assert len({(files_of(store, n) / "b/0.txt").stat().st_ino for n in (1, 2, 3)}) == 1


def test_a_file_that_may_change_unseen_keeps_its_folder_from_being_known(
    store: playhead.Store, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = intake._is_settled
    fresh = (source / "a/7.txt").stat().st_ino
    monkeypatch.setattr(intake, "_is_settled", lambda stamp, now: stamp.inode != fresh and settled(stamp, now))
    save(store, source)
    save(store, source)
    assert links_of(store) == {"v2/files/b": "../../v1/files/b"}


# -- purging ------------------------------------------------------------------------------------------------------------


def three(store: playhead.Store, source: Path) -> list[tuple[int, dict[str, bytes]]]:
    """Save five versions that share folders in several ways; give those that stay when the first is purged."""
    save(store, source)
    save(store, source)
    save(store, source, a_0=b"new")
    save(store, source)
    save(store, source, c_x=b"y")
    new = FILES | {"a/0.txt": b"new"}
    return [(2, FILES), (3, new), (4, new), (5, new | {"c/x.txt": b"y"})]


def test_what_a_purged_version_had_goes_to_those_that_link_to_it(
    store: playhead.Store, source: Path, tmp_path: Path
) -> None:
    stay = three(store, source)
    store.artifacts["data:v1"].purge()
    assert not files_of(store, 2).is_symlink()
    assert links_of(store) == {
        "v3/files/b": "../../v2/files/b",
        "v4/files": "../v3/files",
        "v5/files/a": "../../v3/files/a",
        "v5/files/b": "../../v2/files/b",
    }
    hold(store, tmp_path, *stay)
    store.artifacts["data:v2"].purge()
    store.artifacts["data:v3"].purge()
    assert links_of(store) == {"v5/files/a": "../../v4/files/a", "v5/files/b": "../../v4/files/b"}
    hold(store, tmp_path, *stay[2:])
    for number in (4, 5):
        store.artifacts[f"data:v{number}"].purge()
    assert not list(store.path.glob("artifacts/.dedup/??/*"))


def test_what_a_purged_version_had_is_still_known_by_its_look(
    store: playhead.Store, source: Path, tmp_path: Path
) -> None:
    save(store, source)
    save(store, source)
    store.artifacts["data:v1"].purge()
    save(store, source)
    assert links_of(store) == {"v3/files": "../v2/files"}
    store.artifacts["data:v2"].purge()
    store.artifacts["data:v3"].purge()
    assert save(store, source).version == 4
    assert links_of(store) == {}
    hold(store, tmp_path, (4, FILES))


@pytest.mark.parametrize("can_exchange", [True, False])
def test_purging_killed_at_each_change(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(disk, "exchange", lambda *_: (_ for _ in ()).throw(OSError(22, "Invalid argument")))
    ground, path = tmp_path / "ground", tmp_path / "store"
    with playhead.open(ground) as store:
        stay = three(store, source)

    def purge() -> None:
        with playhead.open(path) as store:
            store.artifacts["data:v1"].purge()

    shutil.copytree(ground, path, symlinks=True)
    changes = operations_of(purge)
    places = [n for n, (_, where, _) in enumerate(changes) if "/artifacts/" in where]
    assert len(places) > 15
    for n in places if SHARE >= 1 else places[can_exchange :: round(0.5 / SHARE)]:
        shutil.rmtree(path)
        shutil.copytree(ground, path, symlinks=True)
        assert killed_at(n, lambda _: purge()).killed
        with playhead.open(path) as store:
            for number, contents in stay:
                version = store.artifacts[f"data:v{number}"]
                assert version.verify() == []
                if can_exchange:
                    assert {name: (version.path / name).read_bytes() for name in contents} == contents
            if "data:v1" in store.artifacts and n % 2:
                store.artifacts["data:v1"].purge()
        list(Repair(Layout(path)).mend(verify(path)))
        with playhead.open(path) as store:
            hold(store, tmp_path, *stay)


# -- what is damaged, and what comes from outside ------------------------------------------------------------------------


def mended(store: playhead.Store, *, full: bool = False) -> list[str]:
    """Repair a store; give what was wrong, as paths."""
    found = [finding for finding in verify(store.path, full=full) if finding.lane == "artifacts"]
    list(Repair(Layout(store.path)).mend(found))
    return [
        finding.path.relative_to(store.path / "artifacts").as_posix().removeprefix("model/data/") for finding in found
    ]


@pytest.mark.parametrize(
    ("place", "leads"),
    [
        ("v2/files", "nowhere"),
        ("v1/files/a", "out"),
        ("v2/files", "out"),
        ("v3/files/b", "by a way round"),
        ("v2/files", "up"),
        ("v3/files/b", "to another place"),
        ("v1/files/a", "to itself"),
    ],
)
def test_a_link_that_leads_elsewhere_is_never_followed_and_repaired(
    store: playhead.Store, source: Path, tmp_path: Path, place: str, leads: str
) -> None:
    stay = [(1, FILES), *three(store, source)]
    outside = shutil.copytree(source, tmp_path / "outside")
    if place.endswith(("/a", "/b")):
        outside /= place[-1]
    link = store.path / "artifacts/model/data" / place
    depth = place.count("/")
    text = {
        "nowhere": "../" * depth + "v77/files" + place.partition("files")[2],
        "out": str(outside),
        "by a way round": "../" * depth + "../data/v5/files" + place.partition("files")[2],
        "up": "..",
        "to another place": "../" * depth + "v5/files/c",
        "to itself": "../" * depth + place,
    }[leads]
    if link.is_symlink():
        link.unlink()
    else:
        shutil.rmtree(link)
    link.symlink_to(text)
    number, member = int(place[1]), "b/0.txt" if place != "v1/files/a" else "a/1.txt"
    version = store.artifacts[f"data:v{number}"]
    (Layout(store.path).artifacts.pool.path / version._find(member).sha256[:2] / version._find(member).sha256).unlink()
    with pytest.raises(playhead.Damaged):  # although the same bytes lie where the link leads
        version.file(member)
    assert place in mended(store)
    assert not link.is_symlink()
    assert read(outside) == read(source if outside.name == "outside" else source / place[-1]), "touched from within"
    with playhead.open(store.path) as opened:
        opened.artifacts.save("other", source)  # brings the content back
    mended(store)
    hold(store, tmp_path, *stay)


def test_a_link_to_a_version_that_has_other_files_is_found_and_repaired(
    store: playhead.Store, source: Path, tmp_path: Path
) -> None:
    stay = [(1, FILES), *three(store, source)]
    (files_of(store, 2)).unlink()
    (files_of(store, 2)).symlink_to("../v5/files")
    assert mended(store, full=True) == ["v2/files"]
    hold(store, tmp_path, *stay)


def test_a_folder_that_another_program_removed_comes_back_from_the_pool(
    store: playhead.Store, source: Path, tmp_path: Path
) -> None:
    stay = three(store, source)
    shutil.rmtree(files_of(store, 1).parent)
    assert {"v2/files", "v3/files/b", "v5/files/b"} <= {*mended(store)}
    hold_without_first = [finding for finding in verify(store.path) if "no folder" not in finding.found]
    assert hold_without_first == []
    with playhead.open(store.path) as opened:
        for number, contents in stay:
            assert read(opened.artifacts[f"data:v{number}"].download(tmp_path / "out" / str(number))) == contents


def test_after_a_content_was_lost_saving_again_brings_it_back(
    store: playhead.Store, source: Path, tmp_path: Path
) -> None:
    version = save(store, source)
    blob = Path(Layout(store.path).artifacts.pool.blob(version.manifest.files[0].sha256))
    blob.chmod(0o644)
    blob.write_bytes(b"?")
    mended(store)
    assert version.verify()
    with playhead.open(store.path) as opened:
        save(opened, source)
    mended(store)
    hold(store, tmp_path, (1, FILES), (2, FILES))


def test_garbage_collection_and_counting_know_links(store: playhead.Store, source: Path, tmp_path: Path) -> None:
    stay = [(1, FILES), *three(store, source)]
    assert collecting.collect(store._home, older_than=0).garbage == []
    hold(store, tmp_path, *stay)
    found = usage.measure(Layout(store.path))
    seen = {path.lstat().st_ino: path.lstat().st_size for path in store.path.rglob("*") if path.is_file()}
    assert found.total == sum(seen.values())
    held = sum(sum(map(len, contents.values())) for _, contents in stay)
    pool = sum(path.stat().st_size for path in store.path.glob("artifacts/.dedup/??/*"))
    assert found.saved == held - pool
    # A version that was never listed goes, and who links to it keeps the files.
    folder = store.path / "artifacts/model/data"
    shutil.copytree(folder / "v1", folder / "v9", symlinks=True)
    files_of(store, 2).unlink()
    files_of(store, 2).symlink_to("../v9/files")
    assert [one.path.name for one in collecting.collect(store._home, older_than=0).garbage] == ["v9"]
    hold(store, tmp_path, *stay)


def test_a_store_that_is_copied_shares_as_before(store: playhead.Store, source: Path, tmp_path: Path) -> None:
    stay = [(1, FILES), *three(store, source)]
    shutil.copytree(store.path, tmp_path / "copy", symlinks=True)
    with playhead.open(tmp_path / "copy") as copy:
        assert links_of(copy) == links_of(store)
        hold(copy, tmp_path, *stay)
    shutil.copytree(store.path, tmp_path / "followed")
    with playhead.open(tmp_path / "followed") as copy:
        assert links_of(copy) == {}
        hold(copy, tmp_path, *stay)

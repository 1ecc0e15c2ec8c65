"""Numbers, names and the end of versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import playhead
from playhead.catalog import artifacts as catalog


def save(store: playhead.Store, tmp_path: Path, content: str, **options: object) -> playhead.ArtifactVersion:
    (tmp_path / "x.txt").write_text(content)
    return store.artifacts.save("policy", tmp_path / "x.txt", **options)  # type: ignore[arg-type]


def test_a_number_is_never_given_twice(store: playhead.Store, tmp_path: Path) -> None:
    for n in range(1, 4):
        assert save(store, tmp_path, f"{n}").version == n
    store.artifacts["policy:v3"].purge()
    assert save(store, tmp_path, "4").version == 4
    for n in (1, 2, 4):
        store.artifacts[f"policy:v{n}"].purge()
    assert store.artifacts.versions("policy") == []
    assert list(store.path.glob("artifacts/.dedup/??/*")) == []
    assert save(store, tmp_path, "5").version == 5
    assert [row.versions for row in store.artifacts] == [1]


def test_latest_is_the_newest_that_is_not_deleted(store: playhead.Store, tmp_path: Path) -> None:
    for n in range(1, 4):
        save(store, tmp_path, f"{n}")
    store.artifacts["policy:v3"].delete("bad")
    assert store.artifacts["policy:latest"].version == 2
    assert json.loads((store.path / "artifacts/model/policy/versions.json").read_text())["aliases"] == {"latest": 2}
    deleted = store.artifacts["policy:v3"]
    assert deleted.is_deleted
    assert [one.version for one in store.artifacts.versions("policy")] == [1, 2]
    assert [one.version for one in store.artifacts.versions("policy", deleted=True)] == [1, 2, 3]
    assert [row.latest for row in store.artifacts] == [2]
    deleted.restore()
    assert store.artifacts["policy:latest"].version == 3
    assert not store.artifacts["policy:v3"].is_deleted


def test_a_version_that_another_program_marked_as_deleted_is_not_latest(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "1")
    save(store, tmp_path, "2")
    (store.path / "artifacts/model/policy/v2/.deleted").write_text("{}")
    assert store.artifacts["policy:latest"].version == 1
    assert store.artifacts["policy:v2"].is_deleted


def test_a_version_that_is_deleted_cannot_be_used(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "1").delete()
    with store.run("p", "n") as run:
        with pytest.raises(playhead.NotFound, match=r"policy:v1 is deleted.*restore\(\)"):
            run.use_artifact("policy:v1", verify=False)
        assert run.artifacts_used == []
        store.artifacts["policy:v1"].restore()
        assert run.use_artifact("policy:v1").version == 1


def test_a_store_open_for_reading_restores_nothing(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "1").delete("bad")
    store.close()
    mark = store.path / "artifacts/model/policy/v1/.deleted"
    before = mark.read_bytes()
    with playhead.open(store.path, mode="r") as reading:
        (version,) = reading.artifacts.versions("policy", deleted=True)
        with pytest.raises(playhead.ReadOnly):
            version.restore()
        assert version.is_deleted
    assert mark.read_bytes() == before


def test_what_a_purged_version_was_about_is_forgotten_at_once(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "1", tags=["secret"]).purge()

    def tags(of: playhead.Store) -> list[str]:
        with of._home.database.read() as connection:
            return [one.tags for one in catalog.versions(connection, "model", "policy").values()]

    assert tags(store) == ["[]"]
    store.close()
    playhead.rebuild(store.path)
    with playhead.open(store.path) as again:
        assert [row.versions for row in again.artifacts] == [0]
        assert tags(again) == ["[]"]


def test_a_link_in_the_place_of_a_version_is_not_written_to(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "1")
    folder, outside = store.path / "artifacts/model/policy", tmp_path / "outside"
    (folder / "v1").rename(outside)
    (folder / "v1").symlink_to(outside)
    before = sorted(outside.rglob("*"))
    with pytest.raises(playhead.Damaged, match="a place in the store"):
        store.artifacts["policy:v1"].delete()
    assert sorted(outside.rglob("*")) == before
    assert save(store, tmp_path, "2").version == 2


def test_words_move_from_version_to_version(store: playhead.Store, tmp_path: Path) -> None:
    one = save(store, tmp_path, "1", aliases=["best"])
    two = save(store, tmp_path, "2", aliases="best")
    assert store.artifacts["policy:best"].version == 2
    one.alias("best", "old")
    assert (one.aliases, store.artifacts["policy:v2"].aliases) == (["best", "old"], ["latest"])
    two.unalias("old")  # not its own
    assert store.artifacts["policy:old"].version == 1
    one.unalias("old")
    assert "policy:old" not in store.artifacts
    one.delete()
    with pytest.raises(playhead.NotFound, match="no alias of policy 'best'; there is: latest"):
        store.artifacts["policy:best"]
    with pytest.raises(playhead.WrongType, match="is deleted"):
        store.artifacts["policy:v1"].alias("best")
    with pytest.raises(playhead.WrongType, match="always names the newest"):
        two.alias("latest")


@pytest.mark.parametrize("ref", ["policy", "policy:", ":v1", "a/b/c:v1", "policy:v0", "policy:v1:v2", "", 3])
def test_what_names_no_version_is_refused(store: playhead.Store, tmp_path: Path, ref: str) -> None:
    save(store, tmp_path, "1")
    with pytest.raises(playhead.BadRef):
        store.artifacts[ref]


def test_what_is_not_there_is_told_with_what_is(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "1")
    with pytest.raises(playhead.NotFound, match="no artifact 'other'; there is: model/policy"):
        store.artifacts["other:v1"]
    with pytest.raises(playhead.NotFound, match="no artifact 'code/policy'"):
        store.artifacts["code/policy:v1"]
    with pytest.raises(playhead.NotFound, match="'v7'; there is: v1"):
        store.artifacts["policy:v7"]
    store.artifacts["policy:v1"].purge()
    with pytest.raises(playhead.NotFound, match="purged"):
        store.artifacts["policy:v1"]
    with pytest.raises(playhead.NotFound, match="no alias"):
        store.artifacts["policy:latest"]


def test_types_may_share_a_name(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "code", type="code")
    assert store.artifacts["policy:latest"].type == "code"
    save(store, tmp_path, "model")
    assert store.artifacts["policy:latest"].type == "model"
    assert store.artifacts["code/policy:latest"].type == "code"
    assert [one.type for one in store.artifacts.versions("code/policy")] == ["code"]


def test_purging_removes_what_no_other_version_holds(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "shared")
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "a").write_text("shared")
    (tmp_path / "both" / "b").write_text("its own")
    store.artifacts.save("other", tmp_path / "both")
    assert store.artifacts["other:v1"].purge() == len("its own")
    assert len(list(store.path.glob("artifacts/.dedup/??/*"))) == 1
    assert store.artifacts["policy:v1"].verify() == []
    assert store.artifacts["policy:v1"].purge() == len("shared")


def test_nothing_is_removed_while_it_is_not_known_who_holds_it(store: playhead.Store, tmp_path: Path) -> None:
    save(store, tmp_path, "1")
    save(store, tmp_path, "2")
    path = store.path / "artifacts/model/policy/v2/manifest.json"
    path.write_bytes(path.read_bytes().replace(b"sha256:", b"sha257:"))
    assert store.artifacts["policy:v1"].purge() == 0
    assert len(list(store.path.glob("artifacts/.dedup/??/*"))) == 2


def test_two_versions_are_compared_without_reading_them(store: playhead.Store, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("same", "changed", "gone", "old name"):
        (folder / name).write_text(name)
    one = store.artifacts.save("policy", folder, metadata={"a": 1, "b": 2})
    (folder / "changed").write_text("otherwise")
    (folder / "gone").unlink()
    (folder / "new").write_text("new")
    (folder / "old name").rename(folder / "new name")
    two = store.artifacts.save("policy", folder, metadata={"a": 1, "b": 3, "c": 4})
    found = one.diff(two)
    assert (found.added, found.removed, found.changed) == (["new"], ["gone"], ["changed"])
    assert found.moved == {"old name": "new name"}
    assert found.metadata == {"b": (2, 3), "c": (None, 4)}
    assert found.bytes == two.size - one.size
    assert one.diff(one).is_empty


def test_a_rebuilt_catalogue_knows_all_versions_before_anybody_lists_them(
    store: playhead.Store, tmp_path: Path
) -> None:
    save(store, tmp_path, "1")
    query = "SELECT * FROM artifact_versions"
    (known,) = store.sql(query).to_pylist()
    store.close()
    playhead.rebuild(store.path)
    with playhead.open(store.path) as again:
        assert again.sql(query).to_pylist() == [known]
    for path in store.path.glob("playhead.db*"):
        path.unlink()
    with playhead.open(store.path, mode="r") as again:
        assert again.sql(query).to_pylist() == [known]

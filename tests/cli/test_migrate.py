"""`playhead migrate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.invoking import answer, in_terminal, invoke, start
from tests.integrations.conftest import RunicornFolder
from tests.integrations.mosaic_database import MosaicDatabase

RUN = "20261115_072340_aaaaaa"


@pytest.fixture
def folder(tmp_path: Path) -> RunicornFolder:
    return RunicornFolder(tmp_path / "runicorn")


def test_makes_the_store_and_says_what_it_did(folder: RunicornFolder, tmp_path: Path) -> None:
    folder.old("demo", "expA", RUN)
    shown = invoke("migrate", "runicorn", folder.path, "--store", tmp_path / "store").stdout
    assert f"Imported 1 of 1 run from {folder.path} into {tmp_path / 'store'}." in shown
    assert "11 metric values, all of them in the catalogue." in shown
    assert [run["id"] for run in answer("ls", store=tmp_path / "store")] == [RUN]


def test_a_second_time_skips(folder: RunicornFolder, tmp_path: Path) -> None:
    folder.old("demo", "expA", RUN)
    first = answer("migrate", "runicorn", folder.path, store=tmp_path / "store")
    second = answer("migrate", "runicorn", folder.path, store=tmp_path / "store")
    assert (first["imported"], first["skipped"]) == (1, 0)
    assert (second["imported"], second["skipped"], second["is_complete"]) == (0, 1, True)


def test_ends_with_1_where_a_run_was_refused(folder: RunicornFolder, tmp_path: Path) -> None:
    folder.old("demo", "expA", "my run")
    shown = invoke("migrate", "runicorn", folder.path, store=tmp_path / "store", expect=1).stdout
    assert "1 run refused:" in shown
    assert "'my run' cannot be a run id" in shown


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    shown = invoke("migrate", "runicorn", tmp_path / "nowhere", store=tmp_path / "store", expect=2)
    assert "does not exist" in shown.stderr
    assert not (tmp_path / "store").exists()


def test_names_cannot_paint_the_terminal(folder: RunicornFolder, tmp_path: Path) -> None:
    folder.old("demo", "expA", "\x1b[31mred")
    shown = invoke("migrate", "runicorn", folder.path, store=tmp_path / "store", expect=1).stdout
    assert "\x1b" not in shown


def test_shows_how_far_it_is_in_a_terminal_and_not_elsewhere(folder: RunicornFolder, tmp_path: Path) -> None:
    folder.old("demo", "expA", RUN)
    code, shown = in_terminal("migrate", "runicorn", folder.path, store=tmp_path / "store")
    assert code == 0
    assert "Importing runs" in shown
    elsewhere = start("migrate", "runicorn", folder.path, store=tmp_path / "store")
    assert (elsewhere.returncode, elsewhere.stderr) == (0, "")


class TestMosaic:
    @pytest.fixture
    def database(self, tmp_path: Path) -> Path:
        database = MosaicDatabase(tmp_path / "telemetry.sqlite")
        for number in range(3):
            database.episode(f"run_a-ep{number:04}", 4)
        return database.close()

    def test_makes_the_store_and_says_what_it_did(self, database: Path, tmp_path: Path) -> None:
        shown = invoke("migrate", "mosaic", database, store=tmp_path / "store").stdout
        assert f"Imported 1 of 1 run from {database} into {tmp_path / 'store'}." in shown
        assert "12 steps, 24 arrays out of BLOBs, each compared with the database." in shown
        assert [run["id"] for run in answer("ls", store=tmp_path / "store")] == ["run_a"]

    def test_a_dry_run_makes_no_store(self, database: Path, tmp_path: Path) -> None:
        found = answer("migrate", "mosaic", database, "--dry-run", store=tmp_path / "store")
        assert (found["is_survey"], found["imported"], found["arrays"]) == (True, 1, 24)
        assert not (tmp_path / "store").exists()
        invoke("migrate", "mosaic", database, store=tmp_path / "store")
        found = answer("migrate", "mosaic", database, "--dry-run", store=tmp_path / "store")
        assert (found["imported"], found["present"]) == (0, 1)

    def test_compacting_drops_the_arrays(self, database: Path, tmp_path: Path) -> None:
        found = answer("migrate", "mosaic", database, "--compact", store=tmp_path / "store")
        assert found["bytes_after"] < found["bytes_before"]
        assert b"__type__" not in database.read_bytes()

    def test_ends_with_1_where_a_run_was_refused(self, database: Path, tmp_path: Path) -> None:
        folder = tmp_path / "replay"
        folder.mkdir()
        (folder / "broken.h5").write_bytes(b"nothing")
        shown = invoke("migrate", "mosaic", database, "--replay-dir", folder, store=tmp_path / "store", expect=1).stdout
        assert "1 run refused:" in shown
        assert "broken.h5" in shown

    def test_shows_how_far_it_is_in_a_terminal_and_not_elsewhere(self, database: Path, tmp_path: Path) -> None:
        code, shown = in_terminal("migrate", "mosaic", database, store=tmp_path / "store")
        assert code == 0
        assert "Importing steps" in shown
        elsewhere = start("migrate", "mosaic", database, store=tmp_path / "store")
        assert (elsewhere.returncode, elsewhere.stderr) == (0, "")

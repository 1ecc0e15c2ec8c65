"""`playhead episode export`, `sheet` and `plot`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.episodes import make_store
from tests.cli.invoking import answer, invoke


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("episodes") / "store")


def export(made: Path, *arguments: str | Path, expect: int = 0) -> str:
    done = invoke("episode", "export", "teleop/0", *arguments, store=made, expect=expect)
    return done.stderr if expect else done.stdout


def test_the_ending_says_the_format(made: Path, tmp_path: Path) -> None:
    assert export(made, tmp_path / "a.csv", "--rate", "20") == f"Wrote 20 rows to {tmp_path / 'a.csv'}.\n"
    assert export(made, tmp_path / "a.parquet") == f"Wrote 370 rows to {tmp_path / 'a.parquet'}.\n"
    assert export(made, tmp_path / "a.npz") == f"Wrote 5 signals to {tmp_path / 'a.npz'}.\n"
    assert export(made, tmp_path / "all.npz", "--video") == f"Wrote 6 signals to {tmp_path / 'all.npz'}.\n"
    shown = export(made, tmp_path / "pictures", "--format", "frames", "--rate", "10")
    assert shown == f"Wrote 10 frames of cam to {tmp_path / 'pictures'}.\n"


def test_it_answers_in_json(made: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    found = answer(
        "episode", "export", "teleop/0", target, "--rate", "10", "--rules", "force=linear", "--signals", "force, joint",
        store=made,
    )  # fmt: skip
    assert found == {"path": str(target), "format": "csv", "rows": 10}
    assert target.read_text().splitlines()[0].split(",")[:3] == ["ts_ns", "force", "joint.0"]


def test_what_is_there_is_replaced_only_by_force(made: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("precious")
    assert "exists; choose another name" in export(made, target, expect=1)
    assert target.read_text() == "precious"
    export(made, target, "--force")
    assert target.read_text().startswith("signal,ts_ns,value\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a",), "does not say what to write"),
        (("a.csv", "--rules", "force=linear"), "Add --rate"),
        (("a.csv", "--rate", "5", "--rules", "force"), "SIGNAL=RULE"),
        (("a.csv", "--rate", "0"), "--rate"),
        (("a.npz", "--rate", "5"), "raw"),
        (("a.npz", "--rules", "force=hold"), "not for npz"),
        (("a.csv", "--video"), "--video is for npz"),
    ],
)
def test_wrong_usage(made: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in export(made, tmp_path / arguments[0], *arguments[1:], expect=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.csv", "--signals", "nothing"), "no signal 'nothing'; there is: closed, count"),
        (("a.csv", "--rate", "5", "--rules", "force=wild"), "no rule 'wild'"),
        (("a.csv", "--rate", "5", "--rules", "nothing=hold"), "no signal 'nothing'"),
        (("a.csv", "--signals", "cam"), "'cam' is images"),
        (("a", "--format", "frames", "--signals", "force"), "'force' is not images"),
        (("a.csv", "--rate", "5", "--rules", "label=linear"), "label"),
    ],
)
def test_what_cannot_be_exported(made: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    failed = export(made, tmp_path / arguments[0], *arguments[1:], expect=1)
    assert message in failed
    assert failed.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["sheet", "plot"])
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_pictures_are_written(made: Path, tmp_path: Path, command: str, ending: str) -> None:
    target = tmp_path / f"picture.{ending}"
    shown = invoke("episode", command, "teleop/0", "-o", target, "--signals", "force,cam,joint", store=made)
    assert shown.stdout == f"Wrote {target}.\n"
    assert target.read_bytes().startswith({"png": b"\x89PNG", "svg": b"<?xml"}[ending])


def test_a_picture_of_an_unknown_kind(made: Path, tmp_path: Path) -> None:
    failed = invoke("episode", "sheet", "teleop/0", "-o", tmp_path / "a.doc", store=made, expect=1).stderr
    assert "let it end with .png, .svg, .pdf" in failed

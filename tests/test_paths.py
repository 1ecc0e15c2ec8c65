"""Every path that a person gives: `~` is the home folder, a URL is refused, and nothing is called `~`."""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import playhead
from playhead import export, plots
from playhead.artifacts import drafted
from playhead.care import verify
from playhead.check import verify_dataset, verify_episode
from playhead.errors import BadName, NoSuchFile, NotAStore, NotFound, WrongType
from playhead.export import chosen, film
from playhead.integrations import mosaic, runicorn
from playhead.layout import layout_at, locate
from playhead.paths import as_path, as_text
from playhead.plots import saving
from playhead.table import building, games, merging, verifying
from playhead.table.sources import tables
from playhead.trace import formats, writing
from tests.cli.invoking import BARE, invoke
from tests.integrations.mosaic_database import MosaicDatabase
from tests.table.games.files import game
from tests.trace.made import record

SOURCE = Path(playhead.__file__).parent
EPISODE = "store/episodes/ds/000000000000/000000000000"
# Rooms below what a person reaches; they are given paths that were taken already.
INSIDE = {"disk", "journal", "lanes", "facts.py", "owner.py", "errors.py", "signal", "tape.py", "copies.py"}


class Call(NamedTuple):
    """One way in: `make` is given the path as a person writes it; `name` is what is there afterwards, at home."""

    make: Callable[[Any], Any]
    name: str


def episode() -> playhead.DiskEpisode:
    return playhead.DiskEpisode(Path.home() / EPISODE)


def table() -> playhead.Table:
    return playhead.Table.open(Path.home() / "table")


def of_game() -> playhead.Table:
    """Build a table of one game."""
    folder = HOME() / "of_game"
    if not folder.exists():
        games.write_a2run2(HOME() / "of_game.a2run2", game(1).rows, 0, **STEPS)
        playhead.Table.build(HOME() / "of_game.a2run2", folder)
    return playhead.Table.open(folder)


def trace() -> playhead.Trace:
    return playhead.Trace.open(Path.home() / "fit.trace")


def store(mode: str = "a") -> playhead.Store:
    return playhead.open(Path.home() / "store", mode)


def saved(**options: Any) -> Any:
    with store() as opened:
        return opened.artifacts.save("other", **options)


def logged(how: Callable[[playhead.RunWriter], Any]) -> None:
    with store() as opened, opened.run("p", "r", environment=False) as run:
        how(run)


def video(video_path: Any, index_path: Any) -> None:
    with playhead.VideoSignalWriter(video_path, index_path) as writer:
        writer.append(np.zeros((16, 16, 3), np.uint8), 1)


def vector(path: Any) -> None:
    with playhead.SimpleSignalWriter(path) as writer:
        writer.append(1.0, 1)


def new_episode(writer: Any) -> None:
    with writer as opened:
        opened.append("x", 1.0, 1)


def replayed(path: Any) -> None:
    with playhead.ReplayWriter("other", path) as writer:
        writer.record_step(np.zeros((4, 4, 3), np.uint8), np.zeros(2, np.float32), 0, 0.0, False)


def traced(path: Any) -> None:
    with playhead.TraceWriter(path) as writer:
        writer.append({"w": 1.0}, error=1.0)


def migrated(path: Any, **options: Any) -> None:
    with playhead.open(Path.home() / "taken") as opened:
        mosaic.migrate(path, opened, **options)


def handed(path: Any) -> None:
    store("r").artifacts["notes:latest"].download(path)


def saved_draft() -> playhead.Artifact:
    draft = playhead.Artifact("draft")
    draft.add_file(Path.home() / "note.txt")
    with store() as opened:
        opened.artifacts.save(draft)
    return draft


def located(path: Any) -> None:
    os.environ["PLAYHEAD_STORE"] = os.fspath(path)
    try:
        os.listdir(locate())
    finally:
        del os.environ["PLAYHEAD_STORE"]


HOME = Path.home
STEPS: dict[str, Any] = {"max_score": 0, "highest_tile": 2}
CALLS: dict[str, Call] = {
    "artifact/draft.py Artifact.add path": Call(lambda p: playhead.Artifact("a").add(p), "note.txt"),
    "artifact/draft.py Artifact.add_dir path": Call(lambda p: playhead.Artifact("a").add_dir(p), "folder"),
    "artifact/draft.py Artifact.add_file path": Call(lambda p: playhead.Artifact("a").add_file(p), "note.txt"),
    "artifact/draft.py Artifact.download target": Call(
        lambda p: saved_draft().download(p), "handed_out"),
    "artifact/version.py ArtifactVersion.download target": Call(handed, "handed"),
    "artifacts.py Artifacts.save paths": Call(lambda p: saved(paths=[p]), "note.txt"),
    "artifacts.py drafted paths": Call(lambda p: drafted("a", p), "note.txt"),
    "care/verifying.py verify path": Call(lambda p: list(verify(p)), "store"),
    "check/episodes.py verify_dataset path": Call(verify_dataset, "store/episodes/ds"),
    "check/episodes.py verify_episode path": Call(verify_episode, EPISODE),
    "dataset/edits.py EditedDataset.__init__ folder": Call(
        lambda p: playhead.EditedDataset(playhead.LocalDataset(HOME() / "store/episodes/ds"), p).set_static(
            episode().uid, {"a": 1}), "edits"),
    "dataset/local.py LocalDataset.__init__ root": Call(
        lambda p: playhead.LocalDataset(p)[0]["x"], "store/episodes/ds"),
    "dataset/local.py LocalDatasetWriter.__init__ root": Call(
        lambda p: new_episode(playhead.LocalDatasetWriter(p).new_episode()), "recorded"),
    "episode/reader.py DiskEpisode.__init__ directory": Call(playhead.DiskEpisode, EPISODE),
    "episode/unfinished.py Unfinished.__init__ path": Call(lambda p: playhead.Unfinished(p).meta, EPISODE),
    "episode/writer.py DiskEpisodeWriter.__init__ directory": Call(
        lambda p: new_episode(playhead.DiskEpisodeWriter(p)), "alone"),
    "export/archive.py to_npz target": Call(lambda p: export.to_npz(episode(), p), "x.npz"),
    "export/chosen.py check_target target": Call(
        lambda p: chosen.check_target(p, force=False).write_text(""), "new.csv"),
    "export/film/__init__.py check_ending target": Call(film.check_ending, "film.mp4"),
    "export/film/__init__.py to_film target": Call(lambda p: film.to_film(episode(), p), "film.mp4"),
    "export/images.py to_frames target": Call(lambda p: export.to_frames(episode(), p), "frames/cam"),
    "export/tables.py to_csv target": Call(lambda p: export.to_csv(episode(), p), "x.csv"),
    "export/tables.py to_parquet target": Call(lambda p: export.to_parquet(episode(), p), "x.parquet"),
    "integrations/mosaic/migration.py migrate path": Call(migrated, "mosaic/telemetry.sqlite"),
    "integrations/mosaic/migration.py migrate replay_dir": Call(
        lambda p: migrated(HOME() / "mosaic/telemetry.sqlite", replay_dir=p), "folder"),
    "integrations/mosaic/migration.py survey path": Call(mosaic.survey, "mosaic/telemetry.sqlite"),
    "integrations/mosaic/migration.py survey replay_dir": Call(
        lambda p: mosaic.survey(HOME() / "mosaic/telemetry.sqlite", replay_dir=p), "folder"),
    "integrations/runicorn/migration.py migrate folder": Call(
        lambda p: runicorn.migrate(p, playhead.open(HOME() / "taken")), "folder"),
    "lanes/vectors/signal.py SimpleSignal.__init__ filepath": Call(
        lambda p: playhead.SimpleSignal(p)[0], f"{EPISODE}/x.parquet"),
    "lanes/vectors/writer.py SimpleSignalWriter.__init__ filepath": Call(vector, "v.parquet"),
    "lanes/vectors/writer.py SimpleSignalWriter.recover filepath": Call(
        playhead.SimpleSignalWriter.recover, "vector.parquet"),
    "lanes/video/reader.py VideoSignal.__init__ frames_index_path": Call(
        lambda p: playhead.VideoSignal(HOME() / EPISODE / "cam.mp4", p)[0], f"{EPISODE}/cam.frames.parquet"),
    "lanes/video/reader.py VideoSignal.__init__ video_path": Call(
        lambda p: playhead.VideoSignal(p, HOME() / EPISODE / "cam.frames.parquet")[0], f"{EPISODE}/cam.mp4"),
    "lanes/video/writer.py VideoSignalWriter.__init__ frames_index_path": Call(
        lambda p: video(HOME() / "c.mp4", p), "indices/c.frames.parquet"),
    "lanes/video/writer.py VideoSignalWriter.__init__ video_path": Call(
        lambda p: video(p, HOME() / "d.frames.parquet"), "d.mp4"),
    "lanes/video/writer.py VideoSignalWriter.recover frames_index_path": Call(
        lambda p: playhead.VideoSignalWriter.recover(HOME() / "cam.mp4", p), "indices"),
    "lanes/video/writer.py VideoSignalWriter.recover video_path": Call(
        lambda p: playhead.VideoSignalWriter.recover(p, HOME() / "d.frames.parquet"), "folder"),
    "layout/store.py locate given": Call(lambda p: os.listdir(locate(p)), "store"),
    "layout/store.py layout_at path": Call(lambda p: os.listdir(layout_at(p).root), "store"),
    "opening.py open path": Call(lambda p: playhead.open(p).close(), "made/playhead.json"),
    "opening.py rebuild path": Call(playhead.rebuild, "store"),
    "plots/pages.py contact_sheet path": Call(lambda p: plots.contact_sheet(episode(), p), "sheet.png"),
    "plots/pages.py plot_signals path": Call(lambda p: plots.plot_signals(episode(), p), "plot.png"),
    "plots/saving.py check_ending path": Call(saving.check_ending, "one.png"),
    "plots/saving.py save path": Call(lambda p: saving.save(plots.plot_signals(episode()), p), "two.png"),
    "plots/traces.py plot_trace path": Call(lambda p: plots.plot_trace(trace(), p), "trace.svg"),
    "recording/run_writer.py RunWriter.log_artifact path": Call(
        lambda p: logged(lambda run: run.log_artifact("a", p)), "note.txt"),
    "replay/reader.py ReplayReader.__init__ path": Call(
        lambda p: playhead.ReplayReader(p).open().close(), "reels/alone.h5"),
    "replay/resolver.py FrameResolver.__init__ replay_dir": Call(
        lambda p: playhead.FrameResolver(p).resolve("h5://alone/frames/0"), "reels"),
    "replay/writer.py ReplayWriter.__init__ replay_dir": Call(replayed, "replays/other.h5"),
    "table/building.py append path": Call(lambda p: building.append(p, HOME() / "rows.npy"), "table"),
    "table/building.py build out": Call(lambda p: building.build(HOME() / "rows.npy", p), "built"),
    "table/games/__init__.py find path": Call(games.find, "runs"),
    "table/games/__init__.py read path": Call(lambda p: list(games.read(p, dtype=games.STEP)), "runs/a.a2run2"),
    "table/games/a2run2.py write_a2run2 path": Call(
        lambda p: games.write_a2run2(p, game(1).rows, 0, **STEPS), "one.a2run2"),
    "table/games/restoring.py restore path": Call(lambda p: games.restore(of_game(), 0, p), "again.a2run2"),
    "table/merging.py merge out": Call(lambda p: merging.merge([table()], p), "merged"),
    "table/merging.py merge tables": Call(lambda p: merging.merge([p], HOME() / "merged_2"), "table"),
    "table/sources/tables.py opened table": Call(tables.opened, "table"),
    "table/table.py Table.build out": Call(lambda p: playhead.Table.build(HOME() / "rows.npy", p), "built"),
    "table/table.py Table.merge out": Call(lambda p: playhead.Table.merge([table()], p), "merged"),
    "table/table.py Table.merge tables": Call(lambda p: playhead.Table.merge([p], HOME() / "merged_2"), "table"),
    "table/table.py Table.open path": Call(playhead.Table.open, "table"),
    "table/verifying.py verify path": Call(verifying.verify, "table"),
    "trace/formats/converting.py convert source": Call(
        lambda p: formats.convert(p, HOME() / "converted.json"), "fit.trace"),
    "trace/formats/converting.py convert target": Call(
        lambda p: formats.convert(HOME() / "fit.trace", p), "fit.json"),
    "trace/formats/reading.py read path": Call(formats.read, "old.json"),
    "trace/formats/writing.py write path": Call(
        lambda p: formats.write(p, formats.read(HOME() / "old.json")), "again.json"),
    "trace/trace.py Trace.open path": Call(playhead.Trace.open, "fit.trace"),
    "trace/trace.py Trace.resume target": Call(
        lambda p: trace().resume(p, at=0, step=lambda state, _: state).close(), "resumed.trace"),
    "trace/writing.py TraceWriter.__init__ target": Call(traced, "new.trace"),
    "trace/writing.py recover target": Call(writing.recover, "fit.trace"),
    # Where a path is one of several things that can be given:
    "Table.build source": Call(lambda p: playhead.Table.build(p, HOME() / "built_2"), "rows.npy"),
    "Table.build several": Call(lambda p: playhead.Table.build([p], HOME() / "built_2"), "rows.npy"),
    "Table.build column": Call(lambda p: playhead.Table.build({"a": p}, HOME() / "built_2"), "rows.npy"),
    "Table.append source": Call(lambda p: table().append(p), "rows.npy"),
    "log_image image": Call(lambda p: logged(lambda run: run.log_image("i", p)), "one.png"),
    "PLAYHEAD_STORE": Call(located, "store"),
}  # fmt: skip


COMMANDS: dict[str, tuple[list[str], str]] = {
    "artifact get FOLDER": (["artifact", "get", "notes:latest", "PATH", "--store", "STORE"], "handed"),
    "artifact save PATH": (["artifact", "save", "more", "PATH", "--store", "STORE"], "note.txt"),
    "episode export TARGET": (["episode", "export", "ds/0", "PATH", "--store", "STORE"], "x.csv"),
    "episode show PATH": (["episode", "show", "PATH"], EPISODE),
    "episode ls PATH": (["episode", "ls", "PATH"], "store/episodes/ds"),
    "episode sheet --output": (["episode", "sheet", "ds/0", "-o", "PATH", "--store", "STORE"], "sheet.png"),
    "ls --store": (["ls", "--store", "PATH"], "store"),
    "ls --store=": (["ls", "--store=PATH"], "store"),
    "migrate mosaic DATABASE": (
        ["migrate", "mosaic", "PATH", "--dry-run", "--store", "STORE"],
        "mosaic/telemetry.sqlite",
    ),
    "migrate mosaic --replay-dir": (
        ["migrate", "mosaic", "HOME/mosaic/telemetry.sqlite", "--replay-dir", "PATH", "--dry-run", "--store", "STORE"],
        "folder",
    ),
    "migrate runicorn SRC": (["migrate", "runicorn", "PATH", "--store", "HOME/taken"], "folder"),
    "rebuild --store": (["rebuild", "--store", "PATH"], "store"),
    "table build --out": (["table", "build", "HOME/rows.npy", "--out", "PATH"], "built"),
    "table build SOURCE": (["table", "build", "PATH", "--out", "HOME/built"], "rows.npy"),
    "table stats TABLE": (["table", "stats", "PATH"], "table"),
    "trace convert TARGET": (["trace", "convert", "HOME/fit.trace", "PATH"], "fit.json"),
    "trace seek --output": (["trace", "seek", "HOME/fit.trace", "0", "-o", "PATH"], "state.json"),
    "trace info PATH": (["trace", "info", "PATH"], "fit.trace"),
    "verify --store": (["verify", "--store", "PATH"], "store"),
}


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Something of each kind, to be read."""
    home = tmp_path_factory.mktemp("material")
    with playhead.open(home / "store") as opened:
        with opened.run("p", "r", run_id="r1", environment=False) as run:
            run.log({"x": 1.0})
            with run.new_episode("ds") as writer:
                for number in range(3):
                    writer.append("x", float(number), number + 1)
                    writer.append("cam", np.full((16, 16, 3), number * 50, np.uint8), number + 1)
        (home / "note.txt").write_text("note")
        opened.artifacts.save("notes", home / "note.txt")
    (home / "folder").mkdir()
    (home / "indices").mkdir()
    (home / "mosaic").mkdir()
    (home / "edits").mkdir()
    (home / "runs").mkdir()
    (home / "folder" / "file.txt").write_text("file")
    np.save(home / "rows.npy", np.arange(10))
    playhead.Table.build(home / "rows.npy", home / "table")
    record(home / "fit.trace", 20)
    formats.convert(home / "fit.trace", home / "old.json")
    with playhead.ReplayWriter("alone", home / "reels") as writer:
        writer.record_step(np.zeros((4, 4, 3), np.uint8), np.zeros(2, np.float32), 0, 0.0, False)
    games.write_a2run2(home / "runs/a.a2run2", game(1).rows, 0, **STEPS)
    MosaicDatabase(home / "mosaic/telemetry.sqlite").connection.close()
    for name in ("vector.parquet",):
        (home / name).touch()
    plots.plot_signals(playhead.DiskEpisode(home / EPISODE), home / "one.png")
    return home


@pytest.fixture
def home(material: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder with the material, and an empty folder beside it in which the test stands."""
    place = Path(shutil.copytree(material, tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", os.fspath(place))
    for name in BARE:
        monkeypatch.delenv(name, raising=False)
    yield place
    assert [name for name in os.listdir(work) if name.startswith("~") or ":" in name] == []


@cache
def annotated() -> list[tuple[str, str, str, str]]:
    """Walk over all parameters of public functions: the file, the function, the parameter and its annotation."""

    def walk(node: ast.AST, place: str, names: list[str]) -> Iterator[tuple[str, str, str, str]]:
        for child in ast.iter_child_nodes(node):
            name = getattr(child, "name", "")
            if name.startswith("_") and name != "__init__":
                continue
            if isinstance(child, ast.ClassDef):
                yield from walk(child, place, [*names, name])
            elif isinstance(child, ast.FunctionDef):
                for one in (*child.args.args, *child.args.kwonlyargs):
                    said = "" if one.annotation is None else ast.unparse(one.annotation)
                    yield place, ".".join([*names, name]), one.arg, said

    texts = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    return [one for place, text in texts.items() if "Path" in text for one in walk(ast.parse(text), place, [])]


def test_every_parameter_for_a_path_is_tried() -> None:
    """A new one fails here, until a call of it stands above."""
    own = {f"paths.py {name} path" for name in ("as_path", "as_text", "as_folder")}
    found = {f"{place} {name} {one}" for place, name, one, said in annotated() if "Path" in said and "Given" in said}
    found |= {f"{place} {name} {one}" for place, name, one, said in annotated() if said in ("Paths", "Paths | None")}
    assert found - own == {name for name in CALLS if ".py " in name}


def test_no_other_parameter_takes_a_text_for_a_path() -> None:
    found = [
        f"{place} {name} {one}"
        for place, name, one, said in annotated()
        if ("os.PathLike" in said or "StrPath" in said) and place.split("/")[0] not in INSIDE
    ]
    assert found == ["integrations/incoming.py sync_tree folder"], "say GivenPath, and take the path with as_path"


@pytest.mark.parametrize("name", CALLS)
def test_tilde_is_the_home_folder(home: Path, name: str) -> None:
    call = CALLS[name]
    call.make(f"~/{call.name}")
    if not call.name.endswith("film.mp4"):
        assert (home / call.name).exists()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("home")
def test_a_url_is_refused(name: str) -> None:
    call = CALLS[name]
    with pytest.raises(BadName, match=r"'s3://bucket/.*' is a URL"):
        call.make(f"s3://bucket/{call.name}")


@pytest.mark.parametrize("name", CALLS)
def test_a_path_below_a_file_is_refused(home: Path, name: str) -> None:
    with pytest.raises((NoSuchFile, NotAStore), match=r"nothing can be at .*: .*note\.txt is a file, not a folder"):
        CALLS[name].make(home / "note.txt" / CALLS[name].name)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("home")
def test_a_name_that_is_too_long_is_refused(name: str) -> None:
    long = f"{'a' * 300}{Path(CALLS[name].name).suffix}"
    for path in (long, f"new/{long}"):
        with pytest.raises(BadName, match=r"bytes; a file or folder has at most 255"):
            CALLS[name].make(path)
    assert not Path("new").exists()


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"PLAYHEAD_STORE"}))  # the environment holds no such text
@pytest.mark.usefixtures("home")
def test_half_a_character_is_refused(name: str) -> None:
    with pytest.raises(BadName, match="half a character"):
        CALLS[name].make(f"\ud800{CALLS[name].name}")


OUTPUTS = [
    "export/archive.py to_npz target",
    "export/film/__init__.py to_film target",
    "export/images.py to_frames target",
    "export/tables.py to_csv target",
    "export/tables.py to_parquet target",
    "dataset/edits.py EditedDataset.__init__ folder",
    "plots/pages.py contact_sheet path",
    "plots/pages.py plot_signals path",
    "plots/saving.py save path",
    "plots/traces.py plot_trace path",
    "table/building.py build out",
    "table/games/a2run2.py write_a2run2 path",
    "table/games/restoring.py restore path",
    "trace/formats/converting.py convert target",
    "trace/formats/writing.py write path",
    "trace/writing.py TraceWriter.__init__ target",
]


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.usefixtures("home")
def test_what_is_written_makes_its_folder(name: str) -> None:
    path = Path("new", "deep", Path(CALLS[name].name).name)
    CALLS[name].make(path)
    assert path.exists()


@pytest.mark.parametrize("command", ["plot", "sheet"])
def test_what_a_command_draws_makes_its_folder(home: Path, command: str) -> None:
    invoke("episode", command, "ds/0", "-o", "new/deep/a.png", "--store", f"{home}/store")
    assert Path("new/deep/a.png").exists()
    invoke("trace", "seek", f"{home}/fit.trace", "0", "-o", "other/state.json")
    assert Path("other/state.json").exists()


@pytest.mark.parametrize("make", [
    playhead.LocalDataset, playhead.LocalDatasetWriter, playhead.DiskEpisode, playhead.Unfinished, replayed,
    playhead.FrameResolver, lambda p: playhead.EditedDataset(playhead.LocalDataset("none"), p),
    lambda p: export.to_frames(episode(), p)])  # fmt: skip
def test_a_file_is_not_taken_for_a_folder(home: Path, make: Callable[[Any], Any]) -> None:
    with pytest.raises(WrongType, match=r"note\.txt is a file; .* is a folder"):
        make(home / "note.txt")


@pytest.mark.usefixtures("home")
def test_a_signal_whose_file_is_missing_names_it() -> None:
    with pytest.raises(NoSuchFile, match=r"no signal at none\.parquet"):
        len(playhead.SimpleSignal("none.parquet"))
    with pytest.raises(NoSuchFile, match=r"no video at none\.mp4, and no index of it at none\.frames\.parquet"):
        len(playhead.VideoSignal("none.mp4", "none.frames.parquet"))
    with pytest.raises(NotFound, match="no episode at none"):
        playhead.Unfinished("none").signals  # noqa: B018


@pytest.mark.parametrize("name", COMMANDS)
def test_tilde_is_the_home_folder_on_the_command_line(home: Path, name: str) -> None:
    arguments, path = COMMANDS[name]
    invoke(*_filled(arguments, home, f"~/{path}"))
    assert (home / path).exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_url_is_refused_on_the_command_line(home: Path, name: str) -> None:
    arguments, path = COMMANDS[name]
    said = invoke(*_filled(arguments, home, f"https://example.org/{path}"), expect=1).output
    assert f"'https://example.org/{path}' is a URL" in said


@pytest.mark.parametrize("command", [("info",), ("seek", "0"), ("diff", "fit.trace"), ("verify",)])
def test_a_url_without_the_ending_of_a_trace_is_refused(home: Path, command: tuple[str, ...]) -> None:
    name, *more = command
    said = invoke("trace", name, "s3://bucket/fit", *more, "--store", home / "store", expect=1).output
    assert "'s3://bucket/fit' is a URL" in said


def _filled(arguments: list[str], home: Path, path: str) -> list[str]:
    filled = (one.replace("PATH", path).replace("STORE", f"{home}/store") for one in arguments)
    return [one.replace("HOME", os.fspath(home)) for one in filled]


# -- what is a path ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["s3://b/x", "gs://b", "http://h/x", "HTTPS://h/x", "hf://a/b", "file:///x", "a+b://c"])
def test_what_a_url_is(url: str) -> None:
    with pytest.raises(BadName, match="is a URL, and a path is needed here"):
        as_path(url)
    with pytest.raises(BadName, match="is a URL, and a path is needed here"):
        as_path(Path(url))  # it has one slash then


def test_a_file_url_says_its_path() -> None:
    with pytest.raises(BadName, match="write '/data/a b'"):
        as_path("file:///data/a%20b")


@pytest.mark.parametrize(
    "path", ["C:\\data", "C:/data", "C://data", "a/s3://b", "a:b", "/s3://b", "./s3://b", "x~", "é/ü"]
)
def test_what_a_url_is_not(path: str) -> None:
    assert as_path(path) == Path(path)


def test_a_folder_with_a_colon_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data:").mkdir()
    assert as_path(Path("data:/x")) == Path("data:/x")


def test_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert as_path("~") == as_path(Path("~")) == Path("/home/somebody")
    assert as_path("~/x") == as_path(Path("~/x")) == Path("/home/somebody/x")
    assert as_path("~root/x") == Path("/root/x")
    with pytest.raises(BadName, match=r"no home folder '~nobody-of-this-name' .* write \./~nobody-of-this-name"):
        as_path("~nobody-of-this-name/x")
    (tmp_path / "~not-a-user").touch()
    assert as_path("~not-a-user") == tmp_path / "~not-a-user"


def test_a_folder_that_is_called_so_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    once = as_path("./~/x")
    assert once == as_path(once) == as_path(as_text("./~/x")) == tmp_path / "~" / "x"


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_what_no_path_is(path: str) -> None:
    with pytest.raises(BadName, match="is not a path"):
        playhead.open(path)


@pytest.mark.parametrize("path", [5, None, b"x", ["x"]])
def test_what_no_text_is(path: Any) -> None:
    with pytest.raises(WrongType, match=r"a path is a str or an os\.PathLike, found"):
        playhead.open(path)


def test_a_dataset_that_is_not_there_is_still_empty(tmp_path: Path) -> None:
    assert len(playhead.LocalDataset(tmp_path / "none")) == 0
    with pytest.raises(NotFound):
        playhead.Table.open(tmp_path / "none")

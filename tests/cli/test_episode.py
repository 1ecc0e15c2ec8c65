"""`playhead episode ls`, `show`, `verify` and `recover`, and how episodes are named."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

import playhead
from playhead.cli import program
from playhead.cli.episode import COMMANDS
from playhead.dataset import LocalDataset, LocalDatasetWriter
from tests.check.making import append, curve, flip, leave_unfinished, numbers, record
from tests.cli.episodes import make_store
from tests.cli.invoking import answer, in_terminal, invoke, start
from tests.cli.test_completion import completed
from tests.cli.test_program import contents, modules_after


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("episodes") / "store")


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A store that may be changed."""
    return Path(shutil.copytree(made, tmp_path / "store"))


# The group.


def test_each_command_has_its_summary_an_example_and_help_for_its_options() -> None:
    group = program.get_command(click.Context(program), "episode")
    assert isinstance(group, click.Group)
    shown = invoke("episode", "--help").stdout
    for name, summary in COMMANDS.items():
        command = group.get_command(click.Context(group), name)
        assert command is not None
        assert summary in shown
        assert summary.rstrip(".") in invoke("episode", name, "--help").stdout
        assert "playhead episode " in (command.epilog or "")
        assert all(parameter.help for parameter in command.params if isinstance(parameter, click.Option))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_loads_nothing_large(made: Path, name: str) -> None:
    loaded = modules_after("episode", name, "--help", store=made)
    assert loaded & {"sqlalchemy", "rich", "pyarrow", "numpy", "matplotlib", "av", "playhead.opening"} == set()


def test_ls_loads_neither_video_nor_tables(made: Path) -> None:
    large = {"pyarrow", "av", "rich", "matplotlib"}
    assert modules_after("episode", "ls", store=made) & large == set()
    assert modules_after("episode", "ls", "lab/left arm", store=made) & (large | {"numpy", "sqlalchemy"}) == set()


# Names.


@pytest.mark.parametrize(
    ("text", "uid"),
    [
        ("teleop/0", "aaaa1111"),
        ("teleop/1", "abab3333"),
        ("teleop/-1", "abab3333"),
        ("teleop/-2", "aaaa1111"),
        ("teleop/aaa", "aaaa1111"),
        ("teleop/bbbb2222", "bbbb2222"),
        ("lab/left arm/0", "dddd5555"),
    ],
)
def test_an_episode_is_named_by_dataset_and_index_or_uid(made: Path, text: str, uid: str) -> None:
    assert answer("episode", "show", text, store=made)["uid"] == uid


def test_an_index_means_what_it_means_in_python(made: Path) -> None:
    with playhead.open(made, mode="r") as store:
        dataset = store.dataset("teleop")
        for index in (0, 1, -1):
            assert answer("episode", "show", f"teleop/{index}", store=made)["uid"] == dataset[index].uid


def test_an_episode_and_a_dataset_are_named_by_path(made: Path, tmp_path: Path) -> None:
    folder = made / "episodes" / "teleop"
    assert answer("episode", "show", folder / "000000000000" / "000000000002", store=made)["index"] == 1
    assert answer("episode", "show", f"{folder}/-1", store=tmp_path)["uid"] == "abab3333"
    alone = Path(shutil.copytree(folder / "000000000000" / "000000000000", tmp_path / "alone"))
    found = answer("episode", "show", alone, store=tmp_path)
    assert (found["uid"], found["dataset"], found["index"]) == ("aaaa1111", None, None)
    assert len(answer("episode", "ls", folder, store=tmp_path)) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("teleop/2", "no episode '2' in teleop; there is: 2, from 0 to 1"),
        ("teleop/-3", "no episode '-3'"),
        ("teleop/zzzz", "no episode 'zzzz' in teleop"),
        ("teleop/a", "'a' is the beginning of more than one uid: teleop/0, teleop/1"),
        ("teleop", "teleop is a dataset; name an episode of it: teleop/0"),
        ("nothing/0", "no dataset 'nothing'; there is: lab/left arm, teleop"),
        ("nothing", "no episode 'nothing': write DATASET/INDEX"),
        ("teleop/cccc", "is unfinished. Run: playhead episode recover"),
    ],
)
def test_a_name_that_means_nothing_says_what_there_is(made: Path, text: str, message: str) -> None:
    failed = invoke("episode", "show", text, store=made, expect=1)
    assert message in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert failed.stdout == ""


def test_a_dataset_that_is_not_there(made: Path, tmp_path: Path) -> None:
    assert "there is: lab/left arm, teleop" in invoke("episode", "ls", "nothing", store=made, expect=1).stderr
    assert "holds no episodes" in invoke("episode", "ls", f"{tmp_path}/", store=made, expect=1).stderr
    one = made / "episodes" / "teleop" / "000000000000" / "000000000000"
    assert "is one episode, not a dataset" in invoke("episode", "ls", one, store=made, expect=1).stderr
    assert "there is no store at" in invoke("episode", "ls", store=tmp_path / "none", expect=1).stderr
    assert "there is no store at" in invoke("episode", "ls", "teleop", store=tmp_path / "none", expect=1).stderr


def test_the_shell_completes_datasets_and_episodes(made: Path) -> None:
    assert completed("playhead episode ls te", made) == ["teleop"]
    assert completed("playhead episode show te", made) == ["teleop/"]
    assert completed("playhead episode show teleop/", made) == ["teleop/2", "teleop/1", "teleop/0"]
    assert completed("playhead episode re", made) == ["recover"]


@pytest.mark.parametrize(
    "arguments", [("ls",), ("ls", "teleop"), ("show", "teleop/0"), ("verify", "--deep"), ("recover", "--dry-run")]
)
def test_reading_changes_nothing(path: Path, arguments: tuple[str, ...]) -> None:
    before = contents(path)
    invoke("episode", *arguments, store=path)
    assert contents(path) == before


# ls.


def test_ls_sums_up_datasets(made: Path) -> None:
    left, teleop = answer("episode", "ls", store=made)
    assert (left["name"], left["episodes"], left["unfinished"]) == ("lab/left arm", 1, 0)
    assert {key: teleop[key] for key in ("name", "episodes", "unfinished", "dropped")} == {
        "name": "teleop", "episodes": 2, "unfinished": 1, "dropped": 1,
    }  # fmt: skip
    assert teleop["duration"] == pytest.approx(1.98, abs=0.03)
    shown = invoke("episode", "ls", store=made).stdout
    assert "teleop" in shown
    assert "2.0s" in shown


def test_ls_lists_episodes_with_their_state_and_edits(made: Path) -> None:
    listed = answer("episode", "ls", "teleop", store=made)
    assert [(one["index"], one["uid"], one["state"]) for one in listed] == [
        (0, "aaaa1111", ""),
        (None, "bbbb2222", "dropped"),
        (1, "abab3333", ""),
        (None, "cccc4444", "unfinished"),
    ]
    assert listed[0]["signals"] == ["closed", "count", "force", "joint", "label", "cam"]
    assert listed[0]["static"] == {"task": "pick up the cube", "success": True}
    assert listed[2]["static"] == {"task": "push", "grade": "B"}
    assert listed[3]["signals"] == ["force"]
    assert listed[0]["bytes"] > 1000
    shown = invoke("episode", "ls", "teleop", store=made)
    assert "task=pick up the cube, success=true" in shown.stdout
    assert "1 unfinished episode. Run: playhead episode recover teleop --all" in shown.stderr


def test_ls_shows_the_last_ones(made: Path) -> None:
    assert [one["uid"] for one in answer("episode", "ls", "teleop", "--limit", "2", store=made)] == [
        "abab3333",
        "cccc4444",
    ]
    assert "and 2 episodes before them" in invoke("episode", "ls", "teleop", "--limit", "2", store=made).stderr


@pytest.mark.parametrize("created", ["yesterday", 10**30, 10**23, None])
def test_a_beginning_that_no_clock_shows_is_left_out(tmp_path: Path, created: object) -> None:
    """Was a bug: a traceback."""
    with LocalDatasetWriter(tmp_path).new_episode() as episode:
        episode.append("x", 1.0, 0)
    meta = LocalDataset(tmp_path)[0].meta | {"created_ts_ns": created}
    (Path(meta["path"]) / "meta.json").write_text(json.dumps(meta))
    assert answer("episode", "ls", str(tmp_path))[0]["created_ts_ns"] is None
    for command in (["ls", str(tmp_path)], ["show", f"{tmp_path}/0"]):
        assert meta["uid"][:8] in invoke("episode", *command).stdout


def test_ls_lists_what_is_damaged_or_being_recorded(path: Path) -> None:
    first = path / "episodes" / "teleop" / "000000000000" / "000000000000"
    (first / "meta.json").write_text("{")
    assert answer("episode", "ls", "teleop", store=path)[0]["state"] == "damaged"
    with playhead.open(path) as store, store.dataset("teleop").new_episode() as episode:
        append(episode, "force", curve())
        assert answer("episode", "ls", "teleop", store=path)[-1]["state"] == "recording"


def test_ls_leaves_out_edits_that_cannot_be_read_and_says_so(path: Path) -> None:
    (path / "episodes" / "teleop" / "edits.jsonl").write_text("nonsense\n")
    listed = invoke("episode", "ls", "teleop", "--json", store=path)
    assert "the edits are left out" in listed.stderr
    assert [one["index"] for one in json.loads(listed.stdout)] == [0, 1, 2, None]


def test_ls_of_an_empty_store_says_how_to_record(empty: Path) -> None:
    shown = invoke("episode", "ls", store=empty)
    assert shown.stdout == ""
    assert "new_episode()" in shown.stderr


def test_ls_in_a_terminal_fits(made: Path) -> None:
    code, shown = in_terminal("episode", "ls", "teleop", store=made, columns=60)
    assert code == 0
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines()[:5]
    assert all(len(line) <= 60 for line in lines), lines


def test_ls_of_thousands_is_quick_and_short_in_a_terminal(tmp_path: Path) -> None:
    first = record(tmp_path / "data", numbers)
    for number in range(1, 300):
        shutil.copytree(first, first.with_name(f"{number:012}"))
    assert len(invoke("episode", "ls", tmp_path / "data").stdout.splitlines()) == 301
    code, shown = in_terminal("episode", "ls", tmp_path / "data", store=tmp_path)
    assert code == 0
    assert "and 200 episodes before them; --limit 0 shows all" in shown


# show.


def test_show_tells_kind_and_rate_of_each_signal(made: Path) -> None:
    found = answer("episode", "show", "teleop/0", store=made)
    signals = {one["name"]: one for one in found["signals"]}
    assert (found["dataset"], found["index"], found["static"]["success"]) == ("teleop", 0, True)
    cam, force, joint, label = (signals[name] for name in ("cam", "force", "joint", "label"))
    assert (cam["lane"], cam["shape"], cam["codec"], cam["samples"]) == ("video", [48, 64, 3], "h264", 30)
    assert cam["loss"]["psnr_db"] > 20
    assert (force["lane"], force["dtype"], force["shape"], force["samples"]) == ("vectors", "float64", [], 100)
    assert (force["start"], force["last"]) == (0.0, 0.99)
    assert force["rate_hz"] == pytest.approx(100)
    assert (force["jitter"], force["longest_interval"], force["gaps"]) == (0.0, 0.01, 0)
    assert len(force["curve"]) == 40
    assert (joint["dtype"], joint["shape"], joint["curve"], label["dtype"]) == ("float32", [7], [], "text")


def test_show_prints_it_for_people(made: Path) -> None:
    shown = invoke("episode", "show", "teleop/0", store=made).stdout
    for text in ("teleop/0", "aaaa1111", "pick up the cube", "64×48 h264", "float32 [7]", "100 Hz", "▁"):
        assert text in shown


def test_show_goes_on_where_a_signal_is_damaged(path: Path) -> None:
    file = path / "episodes" / "teleop" / "000000000000" / "000000000000" / "force.parquet"
    file.write_bytes(file.read_bytes()[:100])
    failed = invoke("episode", "show", "teleop/0", store=path, expect=1)
    assert "damaged" in failed.stdout
    assert "64×48 h264" in failed.stdout
    assert str(file) in failed.stderr


# verify.


def test_verify_checks_the_store_a_dataset_or_an_episode(made: Path) -> None:
    everything = answer("episode", "verify", store=made)
    assert (everything["episodes"], everything["deep"]) == (5, False)
    assert [finding["severity"] for finding in everything["findings"]] == ["warning", "note"]
    assert answer("episode", "verify", "teleop/0", "--deep", store=made) == {
        "episodes": 1,
        "deep": True,
        "findings": [],
    }
    shown = invoke("episode", "verify", "lab/left arm", store=made).stdout
    assert shown == "1 episode checked: all is well. Frames were not decoded; --deep does that too.\n"


def test_verify_ends_with_1_where_something_is_damaged(path: Path) -> None:
    file = path / "episodes" / "teleop" / "000000000000" / "000000000000" / "cam.mp4"
    flip(file, file.stat().st_size // 2)
    failed = invoke("episode", "verify", "teleop", store=path, expect=1)
    assert "000000000000/000000000000/cam.mp4" in failed.stdout
    assert "4 episodes checked: 1 damaged, 1 warning, 1 note." in failed.stdout
    assert answer("episode", "verify", "teleop/0", store=path, expect=1)["findings"][0]["signal"] == "cam"


def test_verify_shows_a_bar_in_a_terminal(made: Path) -> None:
    code, shown = in_terminal("episode", "verify", "teleop", store=made)
    assert code == 0
    assert "Checking teleop" in shown


# recover.


def test_recover_makes_a_normal_episode(path: Path) -> None:
    assert answer("episode", "recover", "teleop", "--dry-run", store=path)[0]["outcome"] == "unfinished"
    (done,) = answer("episode", "recover", "teleop", "--all", store=path)
    assert (done["uid"], done["outcome"], done["signals"]) == ("cccc4444", "recovered", {"force": 70})
    assert done["duration"] == pytest.approx(0.69)
    with playhead.open(path, mode="r") as store:
        assert [episode.uid for episode in store.dataset("teleop")] == ["aaaa1111", "abab3333", "cccc4444"]
    assert invoke("episode", "recover", "--all", store=path).stdout == "Nothing to recover.\n"


def test_recover_one_by_uid_says_what_came_back(path: Path) -> None:
    shown = invoke("episode", "recover", "teleop/cc", store=path).stdout
    assert shown.startswith("Recovered ")
    assert "70 samples of force (70), 0.7s." in shown
    assert "is whole" in invoke("episode", "recover", "teleop/cc", store=path, expect=1).stderr


def test_recover_a_folder_outside_of_a_store(tmp_path: Path) -> None:
    record(tmp_path / "data", numbers)
    leave_unfinished(tmp_path / "data", numbers)
    invoke("episode", "recover", tmp_path / "data", "--all", store=tmp_path / "none")
    assert len(LocalDataset(tmp_path / "data")) == 2


def test_recover_leaves_alone_what_is_being_recorded(tmp_path: Path) -> None:
    with LocalDatasetWriter(tmp_path / "data").new_episode() as episode:
        append(episode, "force", curve())
        episode.flush()
        shown = invoke("episode", "recover", tmp_path / "data", "--all").stdout
        assert shown == f"Skipped {episode.path}: it is still being recorded.\n"
        (done,) = answer("episode", "recover", tmp_path / "data", "--all", "--discard", "--yes")
        assert done["outcome"] == "recording"
    assert len(LocalDataset(tmp_path / "data")) == 1


def test_recover_needs_to_be_told_which(path: Path) -> None:
    assert "say --all" in invoke("episode", "recover", store=path, expect=2).stderr
    assert "say --all" in invoke("episode", "recover", "teleop", store=path, expect=2).stderr


def test_discarding_asks_first(path: Path) -> None:
    refused = start("episode", "recover", "teleop", "--all", "--discard", store=path)
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    code, shown = in_terminal("episode", "recover", "teleop", "--all", "--discard", store=path, keys=b"n\n")
    assert code == 1
    assert "Remove 1 unfinished episode for good? [y/N]" in shown
    assert len(answer("episode", "ls", "teleop", store=path)) == 4
    assert "Removed" in invoke("episode", "recover", "teleop", "--all", "--discard", "--yes", store=path).stdout
    assert len(answer("episode", "ls", "teleop", store=path)) == 3


def test_recover_after_the_process_was_killed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from playhead.dataset import LocalDatasetWriter\n"
        "from tests.check.making import usual\n"
        "episode = LocalDatasetWriter(sys.argv[1]).new_episode()\n"
        "usual(episode)\n"
        "episode.flush()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "data"], cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -signal.SIGKILL
    (recovered,) = answer("episode", "recover", tmp_path / "data", "--all")
    assert recovered["signals"] == {"closed": 100, "count": 50, "force": 100, "joint": 100, "label": 20, "cam": 30}
    assert answer("episode", "verify", tmp_path / "data", "--deep")["findings"] == []


def test_what_cannot_be_recovered_ends_with_1(tmp_path: Path) -> None:
    path = leave_unfinished(tmp_path, numbers)
    (path / "meta.json").write_text("[1]")
    failed = invoke("episode", "recover", tmp_path, "--all", expect=1)
    assert "meta.json is damaged" in failed.stderr
    assert (path / ".unfinished").exists()

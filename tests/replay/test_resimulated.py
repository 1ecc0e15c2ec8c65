"""Frames that were never stored: at any step, in any order, bit for bit, or not at all."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import playhead
from playhead.check import verify_replay
from playhead.errors import Damaged, Diverged, NotFound, PlayheadError, WrongType
from playhead.integrations.gymnasium import Recorder, resimulate
from playhead.lanes.arrays.kind import KEYFRAMES
from playhead.replay import ReplayReader, Resimulation, takes
from tests.simulators.playing import GAMES, Maze, assert_same, assert_seeks, game, play, record, stacked

Store = playhead.Store


@pytest.mark.parametrize("name", GAMES)
def test_random_seeks_in_a_game_with_sticky_actions(store: Store, name: str) -> None:
    with store.run("atari", name, environment=False) as run:
        seen = record(run, game(name), 260)
    assert_seeks(run.episodes, seen, 40)
    for episode, truth in zip(run.episodes, seen, strict=True):
        assert_same(episode.final["observation"], truth.observations[-1])
        assert_same(episode.final["frame"], truth.observations[-1])


def test_random_seeks_frame_by_frame(store: Store) -> None:
    """With a frameskip of 1, the action in force at a state is often not the last one."""
    with store.run("atari", "breakout", environment=False) as run:
        seen = record(run, game("Breakout", frameskip=1), 600, keyframe_every=16)
    assert_seeks(run.episodes, seen, 150)
    assert all(verify_replay(episode) == [] for episode in run.episodes)


def test_stacks_of_small_frames_and_what_is_rendered_besides(store: Store) -> None:
    with store.run("atari", "stacks", environment=False) as run:
        seen = record(run, stacked("Breakout", terminal_on_life_loss=True), 250, keyframe_every=32)
    assert len(seen) > 1
    assert_seeks(run.episodes, seen, 60, frames=True)
    for episode, truth in zip(run.episodes, seen, strict=True):
        assert_same(episode.final["observation"], truth.observations[-1])
        assert_same(episode.final["frame"], truth.frames[-1])
        assert verify_replay(episode) == []


@pytest.fixture
def maze(store: Store) -> Any:
    """An episode of 150 steps and one of 50, and what was seen in them."""
    with store.run("maze", "m", environment=False) as run:
        seen = record(run, Maze(), 200, keyframe_every=32)
    return run, seen


def test_an_environment_of_nobodys_needs_to_be_given(maze: Any) -> None:
    run, seen = maze
    episode = run.episodes[0]
    assert_same(episode["frame"][0][0], seen[0].frames[0])  # the first is kept
    with pytest.raises(WrongType, match="resimulate"):
        episode["frame"][3]
    assert np.array_equal(episode["observation"].values, seen[0].observations[:-1])  # small: stored
    again = resimulate(episode, Maze)
    assert again is episode
    for step in (149, 3, 60, 32, 64, 31, 33):
        assert_same(episode["frame"][step][0], seen[0].frames[step])
    assert_same(episode.final["frame"], seen[0].frames[-1])


def test_all_at_once_and_by_batches(maze: Any) -> None:
    run, seen = maze
    episode = resimulate(run.episodes[0], Maze)
    assert_same(episode["frame"].values, np.stack(seen[0].frames[:-1]))
    assert_same(episode["frame"][10:90:7].values, np.stack(seen[0].frames[10:90:7]))
    assert_same(episode["frame"][[5, 140, 7]].values, np.stack([seen[0].frames[at] for at in (5, 140, 7)]))
    transition = episode.transition(149)
    assert transition.terminated


def test_scrubbing_backwards_costs_about_as_much_as_forwards(maze: Any) -> None:
    run, _ = maze
    episode = run.episodes[0]
    resimulate(episode, Maze)
    for step in range(150):
        episode["frame"][step]
    forwards = Resimulation.of(episode.reel).steps
    assert forwards == 149
    resimulate(episode, Maze)
    for step in reversed(range(150)):
        episode["frame"][step]
    backwards = Resimulation.of(episode.reel).steps
    assert backwards <= 2.5 * forwards, backwards


def test_a_seek_takes_no_more_steps_than_lie_between_two_states(maze: Any) -> None:
    run, _ = maze
    episode = run.episodes[0]
    for step in (149, 64, 65, 31):
        resimulate(episode, Maze)
        episode["frame"][step]
        assert Resimulation.of(episode.reel).steps <= 32


def test_refs_and_readers_give_the_same(store: Store) -> None:
    with store.run("atari", "pong", environment=False) as run:
        seen = record(run, game("Pong"), 100)
    ref = run.episodes[0].ref("frame", 70)
    assert ref == f"h5://{run.id}/frames/70"
    assert_same(store.resolve(ref), seen[0].observations[70])
    assert store.step_of(ref)["frame_ref"] == ref
    assert store.step_of(ref)["obs_ref"] == f"h5://{run.id}/observations/70"
    with ReplayReader(run.episodes[0].reel.files.file) as reader:
        assert reader.has_frames
        assert_same(reader.get_frame(99), seen[0].observations[99])
        assert_same(reader.get_step(42)["observation"], seen[0].observations[42])


def test_while_it_is_recorded(store: Store) -> None:
    with store.run("atari", "pong", environment=False) as run:
        env = Recorder(game("Pong"), run, frames="resimulate", keyframe_every=16)
        seen = play(env, 50)
        run.flush()
        reader = ReplayReader(env.reel.files.file).open()
        assert_same(reader.get_frame(49), seen[0].observations[49])
        for _ in range(20):
            last, *_ = env.step(0)
        run.flush()
        env.step(0)
        run.flush()
        assert_same(reader.get_frame(70), last)
        reader.close()
        env.close()
    assert_same(run.episodes[0]["frame"][70][0], last)


def test_several_threads_and_a_copy(store: Store) -> None:
    with store.run("atari", "pong", environment=False) as run:
        seen = record(run, game("Pong"), 120)
    episode = run.episodes[0]
    copy = pickle.loads(pickle.dumps(episode["frame"]))
    assert_same(copy[77][0], seen[0].observations[77])
    maker = Resimulation.of(episode.reel)
    wrong: list[Any] = []

    def look(seed: int) -> None:
        for step in np.random.default_rng(seed).integers(0, 120, 12):
            value = maker.sample(episode.span, int(step), "frames")
            if value.tobytes() != seen[0].observations[int(step)].tobytes():
                wrong.append(step)

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("at", [1, 40, 64, 100, 150])
def test_verify_names_the_first_step_that_was_not_deterministic(store: Store, at: int) -> None:
    with store.run("maze", "m", environment=False) as run:
        record(run, Maze(wrong_at=at), 150, keyframe_every=32)
    episode = resimulate(run.episodes[0], Maze)
    found = verify_replay(episode)
    assert [one.severity for one in found] == ["damage"]
    assert f"frames at step {at} of episode 0" in found[0].text
    assert f"state at step {(at - 1) // 32 * 32} on" in found[0].text
    if at < 150:
        with pytest.raises(Diverged, match=f"step {at} "):
            episode["frame"][at]
    assert episode["frame"][at - 1] is not None


def test_an_environment_with_other_wrappers_is_refused(maze: Any) -> None:
    run, _ = maze
    import gymnasium

    episode = resimulate(run.episodes[0], lambda: gymnasium.wrappers.FlattenObservation(Maze()))
    with pytest.raises(Diverged, match="FlattenObservation"):
        episode["frame"][5]


def test_another_version_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playhead.simulators.rig._version", lambda package: "0.0.1")
    with store.run("atari", "pong", environment=False) as run:
        seen = record(run, game("Pong"), 20)
    monkeypatch.undo()
    with pytest.warns(RuntimeWarning, match=r"ale-py 0\.0\.1 then"):
        assert_same(run.episodes[0]["frame"][9][0], seen[0].observations[9])


def test_a_damaged_state_is_never_a_wrong_frame(store: Store) -> None:
    with store.run("atari", "pong", environment=False) as run:
        seen = record(run, game("Pong"), 200)
    reel = run.episodes[0].reel
    path = Path(reel.files.file)
    pieces = reel.parts[0]._file.datasets[reel.kind("states", KEYFRAMES).path].table
    whole = path.read_bytes()
    for place in range(0, int(pieces["size"][0]), int(pieces["size"][0]) // 7):
        data = bytearray(whole)
        data[int(pieces["offset"][0]) + place] ^= 0x40
        path.write_bytes(data)
        episode = playhead.replay.open_episode(reel.files.folder, reel.files.id, 0)
        with pytest.raises(Damaged):
            episode["frame"][100]
    path.write_bytes(whole)
    assert_same(
        playhead.replay.open_episode(reel.files.folder, reel.files.id, 0)["frame"][100][0], seen[0].observations[100]
    )


def test_facts_that_are_nonsense_are_an_error_of_ours(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.run("atari", "pong", environment=False) as run:
        record(run, game("Pong"), 20)
    sound = run.episodes[0].reel.facts["resimulated"]
    for change in ({"id": "os:system"}, {"kwargs": {"game": "../../rom"}}, {"wrappers": [["eval", {}]]}, {"kwargs": 3}):
        episode = playhead.replay.open_episode(run.episodes[0].reel.files.folder, run.id, 0)
        monkeypatch.setitem(episode.reel.facts, "resimulated", sound | change)
        with pytest.raises(PlayheadError):
            episode["frame"][5]


NESTED: dict[str, Any] = {"type": "Discrete", "n": 6, "start": 0, "dtype": "int64", "array": "actions"}
for _ in range(400):
    NESTED = {"type": "Tuple", "spaces": [NESTED]}

NONSENSE = [
    None,
    5,
    [],
    {},
    {"type": "Box"},
    {"type": "Dict", "spaces": 5},
    {"type": "Tuple", "spaces": ["x"]},
    {"type": "Discrete", "array": None, "dtype": "int64"},
    {"type": "Discrete", "array": "actions", "dtype": "O"},
    {"type": "Box", "array": None, "dtype": "uint8", "shape": [1 << 40]},
    {"type": "Box", "array": [], "dtype": "uint8", "shape": [1]},
    {"type": "Dict", "spaces": {"x": {"type": "Box", "array": "observations", "dtype": "uint8", "shape": [1]}}},
    NESTED,
]


@pytest.mark.parametrize("fact", ["action_space", "observation_space"])
def test_a_reel_without_sound_spaces_is_damaged_and_named(
    store: Store, monkeypatch: pytest.MonkeyPatch, fact: str
) -> None:
    """Was a bug: a KeyError, or whatever came of reading on."""
    with store.run("atari", "pong", environment=False) as run:
        record(run, game("Pong"), 20)
    files = run.episodes[0].reel.files

    def asked(change: Any) -> Any:
        episode = playhead.replay.open_episode(files.folder, run.id, 0)
        facts = episode.reel.facts
        monkeypatch.setitem(facts, fact, change)
        if change is None:
            monkeypatch.delitem(facts, fact)
        return episode["frame"][5]

    for change in NONSENSE:
        if fact == "action_space" and change == NONSENSE[-2]:
            continue  # actions that the environment itself refuses
        with pytest.raises(Damaged) as caught:
            asked(change)
        assert str(files.file) in str(caught.value), change


@pytest.mark.parametrize("wrappers", [None, 5, "ab", [5], [[]], [["a", {}, 1]], {"a": 1}])
def test_a_reel_without_sound_wrappers_is_damaged_and_named(
    maze: Any, monkeypatch: pytest.MonkeyPatch, wrappers: Any
) -> None:
    """Was a bug: a KeyError where the reader gives the environment, so that nothing else looks at them."""
    run, _ = maze
    episode = resimulate(run.episodes[0], Maze)
    sound = {name: value for name, value in episode.reel.facts["resimulated"].items() if name != "wrappers"}
    change = sound if wrappers is None else sound | {"wrappers": wrappers}
    monkeypatch.setitem(episode.reel.facts, "resimulated", change)
    with pytest.raises(Damaged, match=r"how the environment is made"):
        episode["frame"][5]


@pytest.mark.parametrize(
    ("array", "change"),
    [
        ("states", 5),
        ("states", {}),
        ("states", {"back": 1, "short": {}}),
        ("states", {"back": "x", "short": {}}),
        ("states", {"simulator": 5, "layers": 5}),
        ("starts", 5),
        ("starts", {}),
        ("starts", {"samples": 5, "held": []}),
        ("starts", {"samples": {"frames": 5}, "held": []}),
        ("starts", {"samples": {"other": np.zeros(3)}, "held": []}),
        ("starts", {"samples": {}, "held": 5}),
    ],
)
def test_a_state_that_is_none_is_damaged_and_named(
    maze: Any, monkeypatch: pytest.MonkeyPatch, array: str, change: Any
) -> None:
    run, _ = maze
    episode = resimulate(run.episodes[0], Maze)
    read = type(episode.reel).read

    def hostile(reel: Any, name: str, *arguments: Any, **more: Any) -> Any:
        return [takes.packed(change, None)] if name == array else read(reel, name, *arguments, **more)

    monkeypatch.setattr(type(episode.reel), "read", hostile)
    with pytest.raises(Damaged) as caught:
        episode["frame"][0 if array == "starts" and change != {"samples": {}, "held": 5} else 5]
    assert str(episode.reel.files.file) in str(caught.value)


def test_a_state_that_outgrows_its_room_is_left_out_and_told(store: Store) -> None:
    with store.run("maze", "m", environment=False) as run:
        with pytest.warns(RuntimeWarning, match="outgrown"):
            seen = record(run, Maze(growing=True), 100, keyframe_every=10)
    episode = resimulate(run.episodes[0], lambda: Maze(growing=True))
    for step in (99, 50, 10):
        assert_same(episode["frame"][step][0], seen[0].frames[step])


def test_a_step_that_is_not_there(maze: Any) -> None:
    run, _ = maze
    episode = resimulate(run.episodes[1], Maze)
    with pytest.raises(IndexError):
        episode["frame"][50]
    with pytest.raises(NotFound, match="nobody saw"):
        Resimulation.of(episode.reel).sample(episode.span, 51, "frames")

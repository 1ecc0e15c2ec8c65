"""Environments of several agents, recorded: PettingZoo's own, and small ones whose every value is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from gymnasium import spaces

import playhead
from playhead.errors import WrongType
from playhead.export.film.steps import Steps
from playhead.integrations.gymnasium.spaces import restore

pytest.importorskip("pettingzoo")

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import conversions

from playhead.integrations.pettingzoo import AECRecorder, ParallelRecorder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[playhead.Store]:
    with playhead.open(tmp_path / "store") as opened:
        yield opened


class Meeting(ParallelEnv):
    """Agents that come and go: `plan` says for each step who is there, and who ends how."""

    metadata: ClassVar = {"name": "meeting_v0"}
    render_mode = "rgb_array"
    possible_agents: ClassVar = ["ann", "bob", "cid"]

    def __init__(self, plan: list[dict[str, str]]) -> None:
        self.plan = plan
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> spaces.Space:
        return spaces.Box(-1000, 1000, (2 if agent != "cid" else 3,), np.float32)

    def action_space(self, agent: str) -> spaces.Space:
        return spaces.Discrete(10)

    def seen(self, agent: str) -> np.ndarray:
        size = self.observation_space(agent).shape
        return np.full(size, 10 * self.now + self.possible_agents.index(agent), np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict, dict]:
        self.now = 0
        self.agents = list(self.plan[0])
        return {agent: self.seen(agent) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
        before = self.agents
        if actions.get("ann") == 9:
            raise ValueError("no such move")
        ends = {agent: self.plan[self.now][agent] for agent in before}
        self.now += 1
        staying = [agent for agent in before if not ends[agent]]
        self.agents = (
            [*staying, *(agent for agent in self.plan[self.now] if agent not in before)]
            if self.now < len(self.plan)
            else []
        )
        everybody = {*before, *self.agents}
        return (
            {agent: self.seen(agent) for agent in everybody},
            {agent: self.now + self.possible_agents.index(agent) / 10 if agent in before else 0 for agent in everybody},
            {agent: ends.get(agent) == "dead" for agent in everybody},
            {agent: ends.get(agent) == "cut" for agent in everybody},
            {agent: {"now": self.now} for agent in everybody},
        )

    def render(self) -> np.ndarray:
        return np.full((4, 4, 3), self.now, np.uint8)


def play(env: ParallelEnv, seed: int | None = None) -> None:
    env.reset(seed=seed)
    while env.agents:
        env.step(dict.fromkeys(env.agents, env.now % 9))


GOING = [{"ann": "", "bob": ""}, {"ann": "", "bob": "dead", "cid": ""}, {"ann": "", "cid": "cut"}, {"ann": "dead"}]


def test_agents_that_come_late_and_end_early_share_an_episode(store: playhead.Store) -> None:
    with store.run("meeting", "parallel") as run:
        env = ParallelRecorder(Meeting(GOING), run)
        play(env, seed=5)
        env.close()
    (episode,) = run.episodes
    assert (episode.length, episode.how, episode.static["seed"]) == (8, "truncated", 5)
    assert episode["ann.observation"].values.tolist() == [[0, 0], [10, 10], [20, 20], [30, 30]]
    assert episode["bob.observation"].values.tolist() == [[1, 1], [11, 11]]
    assert episode["cid.observations_2"].values.tolist() == [[12, 12, 12], [22, 22, 22]]  # another space
    assert episode["ann.action"].values.tolist() == [0, 1, 2, 3]
    assert episode["bob.reward"].values.tolist() == pytest.approx([1.1, 2.1])
    assert episode["bob.terminated"].values.tolist() == [False, True]
    assert episode["cid.truncated"].values.tolist() == [False, True]
    assert episode.steps["step"].tolist() == [0, 0, 1, 1, 1, 2, 2, 3]
    assert [info["now"] for info in episode.infos] == [1, 1, 2, 2, 2, 3, 3, 4]
    frames = episode["ann.frame"].values
    assert frames[:, 0, 0, 0].tolist() == [0, 1, 2, 3]  # one a step, with its first agent
    assert episode.final["observation.ann"].tolist() == [40, 40]
    assert episode.final["observation.bob"].tolist() == [21, 21]
    assert episode.final["observation.cid"].tolist() == [32, 32, 32]
    space = episode.static["agents"]["cid"]["observation_space"]
    assert restore(space, {"observations_2": np.zeros(3, np.float32)}).shape == (3,)


def test_agents_that_all_end_at_once_end_the_episode(store: playhead.Store) -> None:
    with store.run("meeting", "parallel") as run:
        env = ParallelRecorder(Meeting([{"ann": "", "bob": ""}, {"ann": "dead", "bob": "dead"}]), run, frames=None)
        play(env)
        play(env)
        env.close()
    assert [(episode.length, episode.how) for episode in run.episodes] == [(4, "terminated")] * 2
    assert set(run.episodes[0].final) == {"observation.ann", "observation.bob"}
    assert "ann.frame" not in run.episodes[0]


class Named(Meeting):
    """All but cid, who has another number of actions, know what they do."""

    def action_space(self, agent: str) -> spaces.Space:
        return spaces.Discrete(10 if agent != "cid" else 11)

    def get_action_meanings(self) -> list[str]:
        return [f"move {number}" for number in range(10)]


def test_actions_have_the_names_that_the_environment_knows(store: playhead.Store) -> None:
    with store.run("meeting", "parallel") as run:
        env = ParallelRecorder(Named(GOING), run)
        play(env)
        env.close()
    (episode,) = run.episodes
    agents = episode.static["agents"]
    assert ["action_meanings" in agents[name] for name in ("ann", "bob", "cid")] == [True, True, False]
    steps = Steps(episode)
    named = {(steps[number].agent, steps[number].action_name) for number in range(len(steps))}
    assert {("ann", "move 0"), ("ann", "move 3"), ("bob", "move 1"), ("cid", None)} <= named


def test_a_reset_or_an_error_in_the_midst_ends_the_episode(store: playhead.Store) -> None:
    with store.run("meeting", "parallel") as run:
        env = ParallelRecorder(Meeting(GOING), run)
        env.reset()
        env.step({"ann": 1, "bob": 1})
        env.reset()
        env.step({"ann": 1, "bob": 1})
        with pytest.raises(ValueError, match="no such move"):
            env.step({"ann": 9, "bob": 1})
        env.close()
        env.close()
    first, second = run.episodes
    assert (first.how, second.how) == ("reset", "error")
    assert second.static["error"] == {"type": "ValueError", "message": "no such move"}
    assert first.final["observation.cid"].tolist() == [12, 12, 12]


class Blackboard(Meeting):
    """Writes what agents see into the same memory at every step."""

    def __init__(self, plan: list[dict[str, str]]) -> None:
        super().__init__(plan)
        self.boards = {
            agent: np.zeros(self.observation_space(agent).shape, np.float32) for agent in self.possible_agents
        }

    def seen(self, agent: str) -> np.ndarray:
        for name, board in self.boards.items():
            board[:] = super().seen(name)
        return self.boards[agent]


@pytest.mark.parametrize("ends", [True, False])
def test_what_agents_saw_is_kept_as_they_saw_it(store: playhead.Store, ends: bool) -> None:
    with store.run("meeting", "blackboard") as run:
        env = ParallelRecorder(Blackboard(GOING), run)
        seen, _ = env.reset()
        for _ in range(4 if ends else 3):
            for array in seen.values():
                np.negative(array, out=array)  # as who normalises in place
            seen, *_ = env.step(dict.fromkeys(env.agents, 0))
        env.reset()
        env.close()
    (episode,) = run.episodes
    assert episode["ann.observation"].values[:, 0].tolist() == [0, 10, 20, 30][: 4 if ends else 3]
    last = {name: value[0] for name, value in episode.final.items()}
    assert last == {"observation.ann": 40 if ends else 30, "observation.bob": 21, "observation.cid": 32}


def test_the_environment_does_what_it_did_without_the_recorder(store: playhead.Store) -> None:
    from mpe2 import simple_tag_v3

    def played(env: ParallelEnv) -> list[Any]:
        found = [env.reset(seed=3)]
        for agent in env.agents:
            env.action_space(agent).seed(7)
        while env.agents:
            found.append(env.step({agent: env.action_space(agent).sample() for agent in env.agents}))
        env.close()
        return found

    alone = played(simple_tag_v3.parallel_env(max_cycles=20))
    with store.run("tag", "random") as run:
        recorded = played(ParallelRecorder(simple_tag_v3.parallel_env(max_cycles=20), run))
    for one, other in zip(alone, recorded, strict=True):
        for these, those in zip(one, other, strict=True):
            assert these.keys() == those.keys()
            assert all(np.array_equal(these[agent], those[agent]) for agent in these)
    (episode,) = run.episodes
    for agent in recorded[0][0]:
        name = "observation" if agent.startswith("adversary") else "observations_2"
        wanted = np.stack([step[0][agent] for step in recorded[:-1]])
        assert np.array_equal(episode[f"{agent}.{name}"].values, wanted)
        assert episode[f"{agent}.reward"].values.tolist() == [step[1][agent] for step in recorded[1:]]
        assert np.array_equal(episode.final[f"observation.{agent}"], recorded[-1][0][agent])
    assert episode.how == "truncated"


def aec_rows(env: AECEnv, choose: Any, seed: int) -> dict[str, list[tuple[Any, ...]]]:
    """Play, and note for each agent what it saw and did, and what `last` says came of it."""
    env.reset(seed=seed)
    found: dict[str, list[tuple[Any, ...]]] = {agent: [] for agent in env.agents}
    waiting: dict[str, tuple[Any, Any]] = {}
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        if agent in waiting:
            found[agent].append((*waiting.pop(agent), reward, terminated, truncated))
        action = None if terminated or truncated else choose(observation)
        if action is not None:
            waiting[agent] = observation, action
        env.step(action)
    assert not waiting
    return found


def check_rows(episode: Any, expected: dict[str, list[tuple[Any, ...]]], parts: tuple[str, ...] = ()) -> None:
    for agent, rows in expected.items():
        assert episode[f"{agent}.action"].values.tolist() == [row[1] for row in rows]
        assert episode[f"{agent}.reward"].values.tolist() == pytest.approx([row[2] for row in rows])
        assert episode[f"{agent}.terminated"].values.tolist() == [row[3] for row in rows]
        for part in parts:
            values = episode[f"{agent}.observation.{part}"].values
            assert np.array_equal(values, np.stack([row[0][part] for row in rows]))
    assert episode.length == sum(map(len, expected.values()))


def test_a_board_game_is_recorded_with_what_each_turn_came_to(store: playhead.Store) -> None:
    from pettingzoo.classic.connect_four import connect_four

    rng = np.random.default_rng(4)
    with store.run("connect four", "random") as run:
        env = AECRecorder(connect_four.env(), run)
        for seed in range(3):
            expected = aec_rows(env, lambda seen: int(rng.choice(np.flatnonzero(seen["action_mask"]))), seed)
            check_rows(run.episodes[seed], expected, ("observation", "action_mask"))
            assert run.episodes[seed].how == "terminated"
        env.close()
    assert len(run.episodes) == 3
    assert sorted(run.episodes[0]["player_0.reward"].values)[-1] in (0, 1)


def test_turns_of_a_parallel_environment_in_turn_are_recorded_with_dead_steps(store: playhead.Store) -> None:
    with store.run("meeting", "aec") as run:
        env = AECRecorder(conversions.parallel_to_aec(Meeting(GOING)), run, every=2)
        env.reset()
        rows = 0
        for _ in env.agent_iter():
            *_, terminated, truncated, _ = env.last()
            rows += not (terminated or truncated)
            env.step(None if terminated or truncated else 1)
        env.close()
    (episode,) = run.episodes
    assert (episode.length, episode.how) == (rows, "truncated")
    assert episode["bob.terminated"].values.tolist()[-1]
    assert episode["bob.observation"].values.tolist() == [[1, 1], [11, 11]]
    assert episode["ann.reward"].values.tolist() == [1, 2, 3, 4]


def test_an_episode_left_in_the_midst_keeps_the_turns_that_were_taken(store: playhead.Store) -> None:
    from pettingzoo.classic.tictactoe import tictactoe

    with store.run("tictactoe", "some") as run:
        env = AECRecorder(tictactoe.env(), run)
        env.reset()
        for action in (0, 3, 1):
            env.step(action)  # without looking at it first
        env.reset()
        for action in (0, 3, 1, 4, 2):
            env.last()
            env.step(action)
        env.close()  # before the dead steps
    first, second = run.episodes
    assert (first.length, first.how, second.length, second.how) == (3, "reset", 5, "closed")
    assert second["player_1.reward"].values.tolist() == [0, 0, 1]
    assert second["player_2.reward"].values.tolist() == [0, -1]
    assert second["player_1.terminated"].values.tolist() == [False, False, True]
    assert second["player_1.observation.observation"].values[1][0, 0].tolist() == [1, 0]


def test_an_illegal_move_ends_the_game_and_is_recorded(store: playhead.Store) -> None:
    from pettingzoo.classic.tictactoe import tictactoe

    with store.run("tictactoe", "bad") as run:
        env = AECRecorder(tictactoe.env(), run)
        env.reset()
        for _ in env.agent_iter():
            *_, terminated, truncated, _ = env.last()
            env.step(None if terminated or truncated else 0)
        env.close()
    (episode,) = run.episodes
    assert episode["player_2.reward"].values.tolist() == [-1]
    assert episode.how == "terminated"


class Table(AECEnv):
    """Turns in an order that the caller chooses; what is seen is the number of the turn."""

    metadata: ClassVar = {"name": "table_v0"}
    render_mode = "rgb_array"
    possible_agents: ClassVar = ["dealer", "ann", "bob"]

    def __init__(self, order: list[str], fails_at: int | None = None) -> None:
        super().__init__()
        self.order, self.fails_at = order, fails_at

    def observation_space(self, agent: str) -> spaces.Space:
        return spaces.Discrete(10_000)

    def action_space(self, agent: str) -> spaces.Space:
        return spaces.Discrete(10_000)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.now = 0
        self.agents = list(self.possible_agents)
        self.rewards, self._cumulative_rewards = (dict.fromkeys(self.agents, 0.0) for _ in range(2))
        self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in range(2))
        self.infos = {agent: {} for agent in self.agents}
        self.agent_selection = self.order[0]

    def observe(self, agent: str) -> int:
        return self.now

    def step(self, action: int) -> None:
        if self.now == self.fails_at:
            raise RuntimeError("the table broke")
        self._cumulative_rewards[self.agent_selection] = 0
        for agent in self.agents:
            self._cumulative_rewards[agent] += 1
        self.now += 1
        self.agent_selection = self.order[self.now % len(self.order)]

    def render(self) -> np.ndarray:
        return np.full((4, 4, 3), self.now % 256, np.uint8)


def test_turns_that_wait_are_recorded_when_the_environment_raises(store: playhead.Store) -> None:
    with store.run("table", "broken") as run:
        env = AECRecorder(Table(["ann", "bob", "dealer"], fails_at=5), run)
        env.reset()
        with pytest.raises(RuntimeError, match="broke"):
            for number in range(10):
                env.step(100 + number)
        env.reset()
        env.step(7)
        env.close()
    broken, after = run.episodes
    assert (broken.length, broken.how, after.length, after.how) == (5, "error", 1, "closed")
    assert broken["ann.action"].values.tolist() == [100, 103]
    assert broken["bob.action"].values.tolist() == [101, 104]
    assert broken["dealer.action"].values.tolist() == [102]
    assert broken["bob.reward"].values.tolist() == [3, 1]  # of the last, what it got so far
    assert broken.static["error"]["message"] == "the table broke"


class Ledger(Table):
    """Tells what is seen, and the number of the turn, in the same memory at every turn."""

    def __init__(self, order: list[str]) -> None:
        super().__init__(order)
        self.page = np.zeros(2, np.float32)
        self.note = {"turn": 0}

    def observation_space(self, agent: str) -> spaces.Space:
        return spaces.Box(-1000, 1000, (2,), np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self.infos = dict.fromkeys(self.agents, self.note)

    def observe(self, agent: str) -> np.ndarray:
        self.page[:] = self.now
        return self.page

    def step(self, action: int) -> None:
        super().step(action)
        self.note["turn"] = self.now
        self.terminations["ann"] = self.now > 2


def test_what_was_seen_and_told_in_turn_is_kept_as_it_was(store: playhead.Store) -> None:
    with store.run("table", "ledger") as run:
        env = AECRecorder(Ledger(["dealer", "ann", "bob", "ann", "bob", "bob"]), run)
        env.reset()
        for number in range(5):
            seen, *_ = env.last()
            seen *= -1
            env.step(number)
        env.close()
    (episode,) = run.episodes
    assert episode["bob.observation"].values[:, 0].tolist() == [2, 4]
    assert episode.final["observation.ann"][0] == 3
    told = dict(zip(episode.steps["step"].tolist(), (info["turn"] for info in episode.infos), strict=True))
    assert (told[1], told[2]) == (3, 4)


def test_an_agent_that_waits_for_ever_holds_nobody_back(store: playhead.Store) -> None:
    order = ["dealer", *["ann", "bob"] * 400, "dealer", "ann", "ann"]
    with store.run("table", "long") as run:
        env = AECRecorder(Table(order), run)
        env.reset()
        most = 0
        for number in range(len(order) - 1):
            env.step(number)
            most = max(most, len(env._turns) + len(env._late))
        env.close()
    assert most < 300
    (episode,) = run.episodes
    assert episode.length == len(order) - 1
    assert episode["dealer.action"].values.tolist() == [0, 801]
    assert episode["dealer.reward"].values.tolist() == [801, 2]  # all that it got until its next turn
    assert episode["ann.action"].values.tolist() == [n for n, agent in enumerate(order[:-1]) if agent == "ann"]
    assert episode["dealer.frame"].values[:, 0, 0, 0].tolist() == [0, 801 % 256]
    assert np.all(np.diff(episode.steps["ts_ns"].astype(np.int64)) > 0)


def test_many_agents_in_turn_are_recorded_in_their_order(store: playhead.Store) -> None:
    names = [f"agent_{number}" for number in range(300)]

    class Crowd(Table):
        possible_agents: ClassVar = names

    with store.run("table", "crowd") as run:
        env = AECRecorder(Crowd(names), run)
        env.reset()
        for number in range(700):
            env.step(number)
        env.close()
    (episode,) = run.episodes
    assert episode.steps["step"].tolist() == list(range(700))


@pytest.mark.parametrize(
    "names", [("red/1", "red/2"), ("a.b", "a"), ("ü", "日本"), ("a b", "%"), ("observations", "final"), (0, 1)]
)
def test_what_agents_saw_last_is_found_by_their_names(names: tuple[Any, Any], store: playhead.Store) -> None:
    class Pair(Meeting):
        possible_agents: ClassVar = list(names)

        def observation_space(self, agent: Any) -> spaces.Space:
            return spaces.Box(-1000, 1000, (2,), np.float32)

    with store.run("pair", "named") as run:
        env = ParallelRecorder(Pair([{names[0]: "", names[1]: ""}, {names[0]: "dead", names[1]: "cut"}]), run)
        env.reset()
        while env.agents:
            env.step(dict.fromkeys(env.agents, 0))
        env.close()
    (episode,) = run.episodes
    for place, name in enumerate(names):
        assert episode.final[f"observation.{name}"].tolist() == [20 + place] * 2
        assert episode.transition(2 + place).next_observation.tolist() == [20 + place] * 2


def test_an_episode_ends_also_where_one_agent_saw_nothing_of_its_space(store: playhead.Store) -> None:
    class Blinded(Meeting):
        def seen(self, agent: str) -> np.ndarray:
            return np.zeros(7, np.float32) if agent == "bob" and self.now == 2 else super().seen(agent)

    with store.run("meeting", "blinded") as run:
        env = ParallelRecorder(Blinded(GOING), run)
        with pytest.raises(playhead.WrongShape, match=r"observations\.bob has the shape \[7\]"):
            play(env)
        env.close()
    (episode,) = run.episodes
    assert (episode.how, episode.length) == ("truncated", 8)
    assert sorted(episode.final) == ["observation.ann", "observation.cid"]


def test_what_an_agent_saw_that_never_acted_is_found_by_its_name(store: playhead.Store) -> None:
    class Late(Meeting):
        possible_agents: ClassVar = ["ann", "späte.r"]

    with store.run("late", "named") as run:
        env = ParallelRecorder(Late([{"ann": ""}, {"ann": "", "späte.r": ""}]), run)
        env.reset()
        env.step({"ann": 0})
        env.close()
    (episode,) = run.episodes
    assert episode.final["observation.späte.r"].tolist() == [11, 11]


@pytest.mark.parametrize("names", [("", "z"), (0, "0")])
def test_agents_without_a_name_of_their_own_are_refused_at_the_reset(names: Any, store: playhead.Store) -> None:
    class Pair(Meeting):
        possible_agents: ClassVar = list(names)

    with store.run("pair", "unnamed") as run, pytest.raises(WrongType, match="name of its own"):
        ParallelRecorder(Pair([dict.fromkeys(names, "")]), run).reset()


def test_frames_are_rendered_where_the_environment_can(store: playhead.Store) -> None:
    from pettingzoo.classic.rps import rps

    with store.run("rps", "frames") as run:
        env = AECRecorder(rps.env(render_mode="rgb_array", max_cycles=2), run, every=2)
        aec_rows(env, lambda seen: 1, 0)
        env.close()
    (episode,) = run.episodes
    assert episode["player_0.frame"].values.shape[1:] == (800, 285, 3)
    assert len(episode["player_0.frame"]) == 2


@pytest.mark.parametrize("options", [{"frames": "observation"}, {"every": 0}, {"every": True}])
def test_what_cannot_be_done_is_said_at_once(options: dict[str, Any], store: playhead.Store) -> None:
    with store.run("meeting", "wrong") as run, pytest.raises(WrongType):
        ParallelRecorder(Meeting(GOING), run, **options)


def test_frames_that_cannot_be_rendered_are_refused(store: playhead.Store) -> None:
    env = Meeting(GOING)
    env.render_mode = None
    with store.run("meeting", "wrong") as run, pytest.raises(WrongType, match="rgb_array"):
        ParallelRecorder(env, run, frames="render")


UNPAID = [None, "three", 10**400, [1.0, 2.0]]


@pytest.mark.parametrize("unpaid", UNPAID, ids=["none", "text", "too large", "list"])
def test_a_step_without_a_reward_was_taken_all_the_same(store: playhead.Store, unpaid: Any) -> None:
    """Was a bug: that agent's step, and those of the agents behind it, were lost."""

    class SometimesUnpaid(Meeting):
        def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
            seen, rewards, *rest = super().step(actions)
            return seen, rewards | ({"ann": unpaid} if self.now == 2 else {}), *rest

    with store.run("meeting", "unpaid", environment=False) as run:
        env = ParallelRecorder(SometimesUnpaid(GOING), run)
        env.reset()
        env.step({"ann": 0, "bob": 0})
        with pytest.raises(WrongType, match="recorded as NaN"):
            env.step({"ann": 1, "bob": 1, "cid": 1})
        env.step({"ann": 2, "cid": 2})
        env.step({"ann": 3})
        env.close()
    (episode,) = run.episodes
    assert (episode.length, episode.how) == (8, "truncated")
    assert np.array_equal(episode["ann.reward"].values, [1, np.nan, 3, 4], equal_nan=True)
    assert episode["bob.reward"].values.tolist() == pytest.approx([1.1, 2.1])
    assert episode["bob.terminated"].values.tolist() == [False, True]
    assert episode["ann.observation"].values.tolist() == [[0, 0], [10, 10], [20, 20], [30, 30]]


@pytest.mark.parametrize("unpaid", UNPAID, ids=["none", "text", "too large", "list"])
def test_a_turn_without_a_reward_was_taken_all_the_same(store: playhead.Store, unpaid: Any) -> None:
    class SometimesUnpaid(Table):
        def last(self, observe: bool = True) -> Any:
            seen, reward, *rest = super().last(observe)
            return seen, unpaid if self.now == 3 else reward, *rest

    with store.run("table", "unpaid", environment=False) as run:
        env = AECRecorder(SometimesUnpaid(["ann", "bob", "dealer"]), run)
        env.reset()
        told = []
        for number in range(7):
            try:
                env.step(number)
            except WrongType as error:
                told.append((number, str(error)))
        env.close()
    assert [number for number, _ in told] == [2]
    assert "recorded as NaN" in told[0][1]
    (episode,) = run.episodes
    assert episode.steps["step"].tolist() == list(range(7))
    assert np.array_equal(episode["ann.reward"].values, [np.nan, 3, 1], equal_nan=True)
    assert episode["bob.reward"].values.tolist() == [3, 3]


def test_a_reward_of_nan_is_a_reward(store: playhead.Store) -> None:
    class Lost(Meeting):
        def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
            seen, rewards, *rest = super().step(actions)
            return seen, dict.fromkeys(rewards, np.nan), *rest

    with store.run("meeting", "nan", environment=False) as run:
        env = ParallelRecorder(Lost(GOING), run)
        play(env)
        env.close()
    assert np.isnan(run.episodes[0]["ann.reward"].values).all()

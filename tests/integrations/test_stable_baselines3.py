"""Trainings of Stable-Baselines3, recorded into a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import playhead
from playhead.errors import WrongType

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecEnv,
    VecEnvWrapper,
    VecExtractDictObs,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
    VecTransposeImage,
)

from playhead.integrations.stable_baselines3 import PlayheadCallback

SMALL = {"n_steps": 64, "batch_size": 32, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}, "device": "cpu", "seed": 1}


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the trainer's logger keep its folders here; it never removes them."""
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path / "logs"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[playhead.Store]:
    with playhead.open(tmp_path / "store") as opened:
        yield opened


def cartpole(**options: Any) -> gymnasium.Env:
    return gymnasium.make("CartPole-v1", **options)


def test_metrics_evaluations_and_checkpoints_are_recorded(store: playhead.Store) -> None:
    with store.run("cartpole", "ppo") as run:
        callback = PlayheadCallback(run, eval_env=cartpole(), eval_freq=128, n_eval_episodes=2)
        model = PPO("MlpPolicy", cartpole(), **SMALL).learn(256, callback=callback)
    assert run["train/loss"].values.size >= 2
    assert run["time/total_timesteps"].values.tolist()[-1] == 256
    assert run.metrics(["eval/mean_reward"])["step"].to_pylist() == [128, 256]
    episodes = run.episodes
    assert len(episodes) == 4
    means = [np.mean([episode.total_reward for episode in episodes[at : at + 2]]) for at in (0, 2)]
    assert run["eval/mean_reward"].values.tolist() == means
    assert episodes[0].how in ("terminated", "truncated")
    assert (run.summary()["algorithm"], run.summary()["total_timesteps"]) == ("PPO", 256)
    versions = store.artifacts.versions("model")
    assert [version.metadata["step"] for version in versions] == [128, 256, 256]
    assert store.artifacts["model:best"].metadata["mean_reward"] == max(means)
    kept = PPO.load(store.artifacts["model:latest"].file("model.zip"), device="cpu").policy.state_dict()
    assert all(np.array_equal(value, kept[name]) for name, value in model.policy.state_dict().items())


def test_a_second_training_goes_on_and_logs_each_value_once(store: playhead.Store) -> None:
    with store.run("cartpole", "ppo") as run:
        callback = PlayheadCallback(run, artifact=None)
        model = PPO("MlpPolicy", cartpole(), **SMALL)
        model.learn(64, callback=callback)
        model.learn(128, callback=callback, reset_num_timesteps=False)
    assert run["time/total_timesteps"].values.tolist() == [64, 128, 192]


def test_normalised_observations_are_normalised_for_evaluations_too(store: playhead.Store) -> None:
    envs = VecNormalize(DummyVecEnv([cartpole]))
    with store.run("cartpole", "normalised") as run:
        callback = PlayheadCallback(run, eval_env=cartpole(), eval_freq=64, n_eval_episodes=1)
        PPO("MlpPolicy", envs, **SMALL).learn(64, callback=callback)
        evaluation = callback._evaluation_envs()
        assert isinstance(evaluation, VecNormalize)
        assert np.array_equal(evaluation.obs_rms.mean, envs.obs_rms.mean)
    (episode,) = run.episodes
    assert np.abs(episode["observation"].values[:, 0]).max() < 2.4  # as the environment gave it: metres


def test_pictures_reach_the_policy_as_it_wants_them(store: playhead.Store) -> None:
    class Pictures(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 255, (40, 40, 3), np.uint8)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
            super().reset(seed=seed)
            self.now = 0
            return np.zeros((40, 40, 3), np.uint8), {}

        def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
            self.now += 1
            return np.full((40, 40, 3), self.now, np.uint8), 1.0, self.now == 5, False, {}

    with store.run("pictures", "dqn") as run:
        callback = PlayheadCallback(run, eval_env=Pictures(), eval_freq=8, n_eval_episodes=1, artifact=None)
        DQN("CnnPolicy", Pictures(), buffer_size=64, learning_starts=4, device="cpu", seed=0).learn(
            8, callback=callback
        )
    (episode,) = run.episodes
    assert episode["frame"].values[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4]


class Counting(gymnasium.Env):
    """Shows the number of its step, large as a number and as a small picture of it."""

    observation_space = gymnasium.spaces.Dict(
        {
            "number": gymnasium.spaces.Box(0, 1000, (2,), np.float32),
            "picture": gymnasium.spaces.Box(0, 255, (36, 36, 3), np.uint8),
        }
    )
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.now = 0
        return self.look(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        self.now += 1
        return self.look(), 1.0, self.now == 5, False, {}

    def look(self) -> Any:
        numbers = np.array([100 * self.now, 900], np.float32)
        return {"number": numbers, "picture": np.full((36, 36, 3), self.now, np.uint8)}


class Numbers(gymnasium.ObservationWrapper):
    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = env.observation_space["number"]

    def observation(self, observation: Any) -> Any:
        return observation["number"]


class Pictures(Numbers):
    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = env.observation_space["picture"]

    def observation(self, observation: Any) -> Any:
        return observation["picture"]


def numbers() -> gymnasium.Env:
    return Numbers(Counting())


def pictures() -> gymnasium.Env:
    return Pictures(Counting())


def seen_by_the_policy(store: playhead.Store, envs: VecEnv, make: Any) -> tuple[list[Any], list[Any]]:
    """Give what a policy sees of an episode in the training's environment, and in an evaluation."""
    space = envs.observation_space
    policy = "MultiInputPolicy" if isinstance(space, gymnasium.spaces.Dict) else "MlpPolicy"
    model = PPO(policy, envs, **SMALL)
    envs = model.get_env()
    still = np.zeros(1, np.int64)
    envs.reset()
    for _ in range(4):
        envs.step(still)
    for normalizing in wrappers(envs, VecNormalize):
        normalizing.training = False
    trained = [envs.reset(), *(envs.step(still)[0] for _ in range(4))]  # with the statistics as they are now
    evaluated: list[Any] = []
    predict = model.predict

    def noting(observation: Any, *given: Any, **named: Any) -> Any:
        evaluated.append(observation)
        return predict(observation, *given, **named)

    model.predict = noting
    with store.run("evaluated", "as trained") as run:
        callback = PlayheadCallback(run, eval_env=make(), n_eval_episodes=1, artifact=None)
        callback.init_callback(model)
        callback.evaluate()
    return trained, evaluated


def wrappers(envs: VecEnv, kind: type) -> Iterator[Any]:
    while isinstance(envs, VecEnvWrapper):
        if isinstance(envs, kind):
            yield envs
        envs = envs.venv


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)
    return bool(np.array_equal(one, other))


@pytest.mark.parametrize(
    ("wrap", "make"),
    [
        (lambda envs: VecNormalize(envs, norm_obs=False), numbers),
        (lambda envs: VecNormalize(envs, clip_obs=0.5, epsilon=0.1), numbers),
        (lambda envs: VecNormalize(VecMonitor(envs)), numbers),
        (lambda envs: VecMonitor(VecNormalize(envs)), numbers),
        (lambda envs: VecNormalize(VecFrameStack(envs, 3)), numbers),
        (lambda envs: VecFrameStack(VecNormalize(envs), 3), numbers),
        (lambda envs: VecFrameStack(VecNormalize(VecNormalize(envs), clip_obs=1.5), 2), numbers),
        (lambda envs: VecNormalize(envs, norm_obs_keys=["number"]), Counting),
        (lambda envs: VecTransposeImage(VecFrameStack(envs, 2, {"number": "last", "picture": "last"})), Counting),
        (lambda envs: VecNormalize(VecExtractDictObs(envs, "number")), Counting),
        (lambda envs: VecTransposeImage(VecNormalize(envs, norm_obs=False)), pictures),
        (lambda envs: VecTransposeImage(VecFrameStack(envs, 4)), pictures),
        (lambda envs: VecFrameStack(VecTransposeImage(VecMonitor(envs)), 4, "first"), pictures),
    ],
)
def test_evaluations_show_what_the_training_does(wrap: Any, make: Any, store: playhead.Store) -> None:
    trained, evaluated = seen_by_the_policy(store, wrap(DummyVecEnv([make])), make)
    assert len(trained) == len(evaluated) == 5
    assert all(map(same, trained, evaluated))


def test_pictures_among_normalised_observations_are_recorded_as_they_are(store: playhead.Store) -> None:
    class Own(Counting):
        def __init__(self) -> None:
            self.observation_space = gymnasium.spaces.Dict(Counting.observation_space.spaces)

    seen_by_the_policy(store, VecNormalize(DummyVecEnv([Own])), Own)
    (episode,) = store.runs[-1].episodes
    assert episode["observation.picture"].values[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4]
    assert episode["observation.picture"].values.dtype == np.uint8


def test_what_the_environment_of_evaluations_does_by_itself_is_not_done_twice(store: playhead.Store) -> None:
    def stacked() -> gymnasium.Env:
        return gymnasium.wrappers.TransformObservation(
            numbers(), lambda seen: np.tile(seen, 3), gymnasium.spaces.Box(0, 1000, (6,), np.float32)
        )

    _, evaluated = seen_by_the_policy(store, VecFrameStack(DummyVecEnv([numbers]), 3), stacked)
    assert evaluated[1].tolist() == [[100, 900] * 3]


def test_an_environment_that_cannot_show_what_is_trained_on_is_refused_before_the_training(
    store: playhead.Store,
) -> None:
    with store.run("evaluated", "otherwise") as run:
        callback = PlayheadCallback(run, eval_env=pictures(), artifact=None)
        model = PPO("MlpPolicy", VecNormalize(DummyVecEnv([cartpole])), **SMALL)
        with pytest.raises(WrongType, match="eval_env"):
            model.learn(64, callback=callback)
        assert model.num_timesteps == 0


def test_a_wrapper_that_nobody_knows_is_left_out_with_a_warning(store: playhead.Store) -> None:
    class Doubling(VecEnvWrapper):
        def reset(self) -> Any:
            return self.venv.reset() * 2

        def step_wait(self) -> Any:
            seen, *others = self.venv.step_wait()
            return seen * 2, *others

    with pytest.warns(RuntimeWarning, match="Doubling"):
        seen_by_the_policy(store, Doubling(DummyVecEnv([numbers])), numbers)


def test_checkpoints_come_as_often_as_asked_and_at_the_end(store: playhead.Store) -> None:
    with store.run("cartpole", "ppo") as run:
        callback = PlayheadCallback(run, checkpoint_freq=100, artifact="policy")
        PPO("MlpPolicy", cartpole(), **SMALL).learn(256, callback=callback)
    assert [version.metadata["step"] for version in store.artifacts.versions("policy")] == [100, 200, 256]


@pytest.mark.parametrize("options", [{"eval_freq": 0}, {"n_eval_episodes": True}, {"eval_env": "CartPole-v1"}])
def test_what_cannot_be_done_is_said_at_once(options: dict[str, Any], store: playhead.Store) -> None:
    with store.run("cartpole", "wrong") as run, pytest.raises(WrongType):
        PlayheadCallback(run, **options)


def test_without_an_environment_there_is_nothing_to_evaluate(store: playhead.Store) -> None:
    with store.run("cartpole", "wrong") as run, pytest.raises(WrongType, match="eval_env"):
        PlayheadCallback(run).evaluate()

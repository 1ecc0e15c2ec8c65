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
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from playhead.integrations.stable_baselines3 import PlayheadCallback

SMALL = {"n_steps": 64, "batch_size": 32, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}, "device": "cpu", "seed": 1}


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

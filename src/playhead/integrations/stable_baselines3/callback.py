"""PlayheadCallback: what a training of Stable-Baselines3 records into a run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import KVWriter
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from playhead.errors import WrongType
from playhead.integrations.gymnasium import Recorder
from playhead.integrations.stable_baselines3.wrapping import Wrapped
from playhead.lanes.arrays.config import ReplayConfig
from playhead.recording import RunWriter


class PlayheadCallback(BaseCallback):
    """Records a training into a run: all that its logger logs, and every so often an evaluation and a checkpoint.

    Each step of an evaluation is recorded as `Recorder` does it. Its episodes count no step of the training. A
    checkpoint is a version of an artifact of the run: `model.zip`, and `vecnormalize.pkl` where observations are
    normalised; the one with the best mean return so far is called `best`.

    Args:
        run: What is recorded into, as `store.run(...)` gives it.
        eval_env: The environment of evaluations, not the one of the training; without it there are none. What the
            vector wrappers of the training do to observations is done to it too, in their order: transposing, stacking,
            normalising with the training's settings and statistics. What it does by itself is not done twice.
        eval_freq: Steps of training between two evaluations.
        n_eval_episodes: Episodes of one.
        deterministic: Evaluate the best action of the policy, instead of a drawn one.
        checkpoint_freq: Steps of training between two checkpoints; by default one after each evaluation. The end of the
            training always has one.
        artifact: The name of the artifact; None for no checkpoints.
        frames: As `Recorder` has it.
        every: As `Recorder` has it.
        config: How evaluations are compressed and flushed.
        verbose: As every callback has it.

    Raises:
        WrongType: One of these is something else.
    """

    def __init__(
        self,
        run: RunWriter,
        *,
        eval_env: gymnasium.Env[Any, Any] | None = None,
        eval_freq: int = 10_000,
        n_eval_episodes: int = 5,
        deterministic: bool = True,
        checkpoint_freq: int | None = None,
        artifact: str | None = "model",
        frames: str | None = "auto",
        every: int = 1,
        config: ReplayConfig | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        for name, value in (("eval_freq", eval_freq), ("n_eval_episodes", n_eval_episodes)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise WrongType(f"{name} is a whole number from 1, not {value!r}")
        if eval_env is not None and not isinstance(eval_env, gymnasium.Env):
            raise WrongType(f"eval_env is one environment of Gymnasium, not a {type(eval_env).__name__}")
        self.run = run
        self.best_mean_reward = -np.inf
        self._recorder = (
            None if eval_env is None else Recorder(eval_env, run, frames=frames, every=every, config=config)
        )
        self._eval_freq, self._episodes, self._deterministic = eval_freq, n_eval_episodes, deterministic
        self._checkpoint_freq, self._artifact = checkpoint_freq, artifact
        self._wrapped: Wrapped | None = None
        self._writer = _Writer(run)
        self._evaluated_at = self._saved_at = 0

    # -- what the training tells ------------------------------------------------------------------------------------

    def _on_training_start(self) -> None:
        if self._recorder is not None:
            self._wrapped = self._wrap(self._recorder)  # now, so that what cannot be wrapped is refused at once
        if self._writer not in self.logger.output_formats:
            self.logger.output_formats.append(self._writer)
        self._evaluated_at = self._saved_at = self.num_timesteps
        self.run.summary(algorithm=type(self.model).__name__, policy=type(self.model.policy).__name__)

    def _on_step(self) -> bool:
        if self._recorder is not None and self.num_timesteps - self._evaluated_at >= self._eval_freq:
            self.evaluate()
        elif self._checkpoint_freq is not None and self.num_timesteps - self._saved_at >= self._checkpoint_freq:
            self.save_checkpoint()
        return True

    def _on_training_end(self) -> None:
        self.save_checkpoint()  # the model has learned since it was last evaluated, and be it at the same step
        self.run.summary(total_timesteps=int(self.num_timesteps))
        self.logger.output_formats.remove(self._writer)

    # -- what is done about it --------------------------------------------------------------------------------------

    def evaluate(self) -> float:
        """Play and record some episodes, log what they came to, and keep the model; give the mean return.

        Raises:
            WrongType: There is no `eval_env`.
        """
        envs = self._evaluation_envs()
        returns, lengths = evaluate_policy(
            self.model,
            envs,
            n_eval_episodes=self._episodes,
            deterministic=self._deterministic,
            return_episode_rewards=True,
            warn=False,
        )
        mean = float(np.mean(returns))
        values = {
            "eval/mean_reward": mean,
            "eval/std_reward": float(np.std(returns)),
            "eval/mean_ep_length": float(np.mean(lengths)),
        }
        self.run.log(values, step=int(self.num_timesteps))
        self._evaluated_at = self.num_timesteps
        is_best = mean > self.best_mean_reward
        self.best_mean_reward = max(mean, self.best_mean_reward)
        if is_best or self._checkpoint_freq is None:
            self.save_checkpoint(aliases=["best"] if is_best else [], mean_reward=mean)
        return mean

    def _evaluation_envs(self) -> VecEnv:
        """Give the environment of evaluations with what the training's own does to observations."""
        if self._recorder is None:
            raise WrongType("there is nothing to evaluate on: pass eval_env to the callback")
        if self._wrapped is None:
            self._wrapped = self._wrap(self._recorder)
        self._wrapped.follow()
        return self._wrapped.envs

    def _wrap(self, recorder: Recorder) -> Wrapped:
        return Wrapped(DummyVecEnv([lambda: Monitor(recorder)]), self.training_env)

    def save_checkpoint(self, aliases: list[str] | None = None, **metadata: Any) -> None:
        """Keep the model as it is now.

        Args:
            aliases: Words that name this version from now on.
            metadata: What is known of it; the step always is.
        """
        self._saved_at = self.num_timesteps
        if self._artifact is None:
            return
        normalizing = self.model.get_vec_normalize_env()
        with tempfile.TemporaryDirectory(prefix="playhead-") as folder:
            self.model.save(Path(folder) / "model.zip")
            if normalizing is not None:
                normalizing.save(str(Path(folder) / "vecnormalize.pkl"))
            about = {"step": int(self.num_timesteps), "algorithm": type(self.model).__name__, **metadata}
            self.run.log_artifact(self._artifact, folder, aliases=aliases or [], metadata=about, progress=False)

    def close(self) -> None:
        """Complete the recording of evaluations and close their environment; the end of the run does the former."""
        if self._recorder is not None:
            self._recorder.close()


class _Writer(KVWriter):
    """Takes what a logger of Stable-Baselines3 writes."""

    def __init__(self, run: RunWriter) -> None:
        self._run = run

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:  # noqa: ARG002
        values = {
            name: value
            for name, value in key_values.items()
            if isinstance(value, (int, float, np.number)) and not isinstance(value, np.complexfloating)
        }
        if values:
            self._run.log(values, step=int(step))

    def close(self) -> None:
        """Do nothing: the run belongs to whoever made it."""

"""The environment of evaluations, with what the vector wrappers of the training do to observations, in their order."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from gymnasium import spaces
from stable_baselines3.common.vec_env import (
    StackedObservations,
    VecCheckNan,
    VecEnv,
    VecEnvWrapper,
    VecExtractDictObs,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
    VecTransposeImage,
    VecVideoRecorder,
)

from playhead.errors import WrongType

_PASSIVE = (VecMonitor, VecCheckNan, VecVideoRecorder)  # a policy sees the same without them


class Wrapped:
    """Wraps an environment as that of a training is.

    What changes nothing that is seen is left out, and so is what the environment does by itself already.

    Args:
        envs: The environment of evaluations.
        training: That of the training, with all that is wrapped around it.

    Attributes:
        envs: What a policy is evaluated on.

    Raises:
        WrongType: It cannot be made to show what the policy was trained on.
    """

    def __init__(self, envs: VecEnv, training: VecEnv) -> None:
        self.envs = envs
        envs.observation_space = copy.deepcopy(envs.observation_space)  # VecNormalize writes into that of pictures
        self._normalizing: list[tuple[VecNormalize, VecNormalize]] = []  # of the training, and of evaluations
        for wrapper in _wrappers_of(training):
            if not isinstance(wrapper, _PASSIVE) and not self._is_done(wrapper):
                self.envs = self._wrap(wrapper)
        found, expected = self.envs.observation_space, training.observation_space
        if not _is_alike(found, expected):
            raise WrongType(f"eval_env shows {found} where the policy is trained on {expected}: wrap it alike")

    def _is_done(self, wrapper: VecEnvWrapper) -> bool:
        """Tell whether what a wrapper does was done by the environment itself: it shows what comes of that."""
        now = self.envs.observation_space
        return not _is_alike(now, wrapper.venv.observation_space) and _is_alike(now, wrapper.observation_space)

    def _wrap(self, wrapper: VecEnvWrapper) -> VecEnv:
        try:
            match wrapper:
                case VecNormalize():
                    return self._normalized(wrapper)
                case VecTransposeImage():
                    return VecTransposeImage(self.envs, skip=wrapper.skip)
                case VecFrameStack():
                    stacked = wrapper.stacked_obs
                    return VecFrameStack(self.envs, stacked.n_stack, _order_of(stacked))
                case VecExtractDictObs():
                    return VecExtractDictObs(self.envs, wrapper.key)
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            raise WrongType(
                f"{type(wrapper).__name__} of the training cannot be put around eval_env, which shows "
                f"{self.envs.observation_space}: {error}"
            ) from error
        warnings.warn(
            f"{type(wrapper).__name__} around the training's environment is left out of evaluations: nobody knows how "
            "it is made again. If it changes observations, wrap eval_env so that it does the same",
            RuntimeWarning,
            stacklevel=2,
        )
        return self.envs

    def _normalized(self, theirs: VecNormalize) -> VecNormalize:
        ours = VecNormalize(
            self.envs,
            training=False,
            norm_obs=theirs.norm_obs,
            norm_reward=False,
            clip_obs=theirs.clip_obs,
            epsilon=theirs.epsilon,
            norm_obs_keys=theirs.norm_obs_keys,
        )
        self._normalizing.append((theirs, ours))
        return ours

    def follow(self) -> None:
        """Normalise from now on by what the training has seen so far."""
        for theirs, ours in self._normalizing:
            if theirs.norm_obs:
                ours.obs_rms = copy.deepcopy(theirs.obs_rms)


def _wrappers_of(envs: VecEnv) -> list[VecEnvWrapper]:
    """Give the wrappers around an environment, from the inside."""
    found = []
    while isinstance(envs, VecEnvWrapper):
        found.append(envs)
        envs = envs.venv
    return found[::-1]


def _is_alike(one: spaces.Space[Any], other: spaces.Space[Any]) -> bool:
    """Tell whether values of two spaces have the same parts and shapes; bounds may differ."""
    if isinstance(one, spaces.Dict) and isinstance(other, spaces.Dict):
        return one.keys() == other.keys() and all(_is_alike(one[key], other[key]) for key in one)
    return one.shape == other.shape if isinstance(one, spaces.Box) and isinstance(other, spaces.Box) else one == other


def _order_of(stacked: StackedObservations[Any]) -> str | dict[str, str]:
    """Say along which axes frames are stacked, as `VecFrameStack` takes it."""
    if isinstance(stacked.observation_space, spaces.Dict):
        return {key: str(_order_of(part)) for key, part in stacked.sub_stacked_observations.items()}
    return "first" if stacked.channels_first else "last"

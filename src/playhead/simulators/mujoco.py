"""MuJoCo: the full state of integration, which everything that follows is computed from.

Observations of Gymnasium's environments also show what was derived within the last step, such as forces and the place
of bodies; these are right after one step. Rewards that compare with such a place are right after two. Pictures depend
on the camera too, which Gymnasium aims at where bodies are when it first renders.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from playhead.simulators.contract import Simulator, restore_generator, save_generator

_CAMERA, _AIM = "camera", ("lookat", "distance", "azimuth", "elevation")


class MujocoWorld(Simulator):
    """An environment with a model and data of MuJoCo."""

    packages = ("mujoco", "gymnasium")
    warmup = 1

    def __init__(self, env: Any) -> None:
        import mujoco

        super().__init__(env)
        self._mujoco = mujoco
        self._what = mujoco.mjtState.mjSTATE_INTEGRATION
        self._size = mujoco.mj_stateSize(env.model, self._what)

    def save(self) -> Any:
        """Give the state of integration: positions, velocities, activations, controls, what the solver starts from."""
        state = np.empty(self._size, np.float64)
        self._mujoco.mj_getState(self.env.model, self.env.data, state, self._what)
        return {"world": state, "random": save_generator(self.env), **self._camera()}

    def _camera(self) -> dict[str, Any]:
        viewer = self.env.mujoco_renderer.viewer  # None where nobody has looked yet
        if viewer is None:
            return {}
        return {_CAMERA: {name: np.array(getattr(viewer.cam, name), np.float64) for name in _AIM}}

    def restore(self, state: Any) -> None:
        """Set the state of integration, and derive from it what can be."""
        self._mujoco.mj_setState(self.env.model, self.env.data, state["world"], self._what)
        self._mujoco.mj_forward(self.env.model, self.env.data)
        # Deriving moves what the solver starts from.
        self._mujoco.mj_setState(self.env.model, self.env.data, state["world"], self._what)
        restore_generator(self.env, state["random"])
        if _CAMERA in state:
            self._aim(state[_CAMERA])

    def _aim(self, camera: Any) -> None:
        if self.env.mujoco_renderer.viewer is None:
            self.env.render()  # which makes it
        viewer = self.env.mujoco_renderer.viewer
        for name in _AIM:
            setattr(viewer.cam, name, camera[name] if camera[name].shape else float(camera[name]))

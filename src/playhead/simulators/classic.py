"""Classic control: environments whose state is a few attributes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from playhead.simulators.contract import Simulator, restore_generator, save_generator

_ATTRIBUTES = ("state", "steps_beyond_terminated", "last_u")


class ClassicControl(Simulator):
    """CartPole, Acrobot, MountainCar, Pendulum."""

    def save(self) -> Any:
        """Give the attributes, and the state of the random numbers."""
        held = vars(self.env)
        found = {name: deepcopy(held[name]) for name in _ATTRIBUTES if name in held}
        return {"attributes": found, "random": save_generator(self.env)}

    def restore(self, state: Any) -> None:
        """Set the attributes."""
        for name in _ATTRIBUTES:
            if name in state["attributes"]:
                setattr(self.env, name, deepcopy(state["attributes"][name]))
        restore_generator(self.env, state["random"])

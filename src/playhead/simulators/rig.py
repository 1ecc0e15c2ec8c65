"""Rig: an environment with all that is wrapped around it, to be saved, restored and stepped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any

from playhead.simulators.contract import Simulator
from playhead.simulators.wrappers import Layer

# What says how an environment is made again, among the facts of a reel.
ID, ARGUMENTS, WRAPPERS, PACKAGES, RENDER_MODE = "id", "kwargs", "wrappers", "packages", "render_mode"


class Rig:
    """Saves and restores an environment.

    Args:
        env: All of it.
        simulator: Its innermost part.
        layers: The wrappers that what is seen depends on, from the inside.

    Attributes:
        warmup: Steps after `restore` until what is seen is right.
        warmup_of_all: The same after `restore_all`.
    """

    def __init__(self, env: Any, simulator: Simulator, layers: Sequence[Layer]) -> None:
        self.env = env
        self.simulator = simulator
        self._layers = list(layers)
        # At least one: what is seen comes of a step.
        self.warmup_of_all = self.warmup = max(1, simulator.warmup)
        for layer in self._layers:
            self.warmup = layer.warmup(self.warmup)
        self.memories: Callable[[Iterable[Any]], Iterator[Any]] = simulator.memories
        self.settle = simulator.settle

    def save(self) -> Any:
        """Give the state, without what is replaced within `warmup` steps."""
        return {"simulator": self.simulator.save(), "layers": [layer.save() for layer in self._layers]}

    def save_all(self) -> Any:
        """Give what `save` leaves out."""
        return [layer.save_all() for layer in self._layers]

    def restore(self, state: Any) -> None:
        """Go back to a state that `save` gave."""
        self.simulator.restore(state["simulator"])
        for layer, held in zip(self._layers, state["layers"], strict=True):
            layer.restore(held)

    def restore_all(self, state: Any, held: Any) -> None:
        """Go back to a state, with what `save_all` gave."""
        self.restore(state)
        for layer, content in zip(self._layers, held, strict=True):
            layer.restore_all(content)

    def shortened(self, state: Any, base: Any) -> Any:
        """Tell a state by an earlier one; None where that is not shorter."""
        short = self.simulator.shortened(state["simulator"], base["simulator"])
        return None if short is None else {**state, "simulator": short}

    def whole(self, short: Any, base: Any) -> Any:
        """Give the state that `shortened` told."""
        return {**short, "simulator": self.simulator.whole(short["simulator"], base["simulator"])}

    def skip(self, action: Any) -> None:
        """Take an action, where nobody looks at what comes of it."""
        if self._layers:
            self.env.step(action)
        else:
            self.simulator.skip(action)

    def step(self, action: Any) -> Any:
        """Take an action; give what is seen then."""
        return self.env.step(action)[0]

    def render(self) -> Any:
        """Give the picture of what there is."""
        return self.env.render()

    def close(self) -> None:
        """Give the environment back."""
        self.env.close()

    # -- what a reel says of it -------------------------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        """How it can be made again."""
        spec = self.simulator.env.spec
        return {
            ID: None if spec is None else spec.id,
            ARGUMENTS: {} if spec is None else {**spec.kwargs, RENDER_MODE: self.simulator.env.render_mode},
            WRAPPERS: self.wrapped,
            PACKAGES: {name: _version(name) for name in self.simulator.packages},
        }

    @property
    def wrapped(self) -> list[list[Any]]:
        """The name and the arguments of each wrapper, from the inside."""
        return [[layer.name, layer.arguments] for layer in self._layers]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def changed_packages(facts: dict[str, Any]) -> list[str]:
    """Say which packages have another version here than where something was recorded."""
    found = facts.get(PACKAGES, {})
    pairs = [(name, str(was), _version(name)) for name, was in found.items()] if isinstance(found, dict) else []
    return [f"{name} {was} then, {now or 'none'} now" for name, was, now in pairs if was != now]

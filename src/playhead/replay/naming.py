"""What discrete actions are called, as the environment said when the recording began."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

MEANINGS = "action_meanings"


class ActionNames:
    """The names of the actions of an episode.

        names = ActionNames(episode.static)
        names.of(2)             # "RIGHT"; None if nobody knows
        names.of(0, "red")      # if agents have actions of their own

    Args:
        static: The static items of the episode, which may be of any program.
    """

    def __init__(self, static: Mapping[str, Any]) -> None:
        agents = static.get("agents")
        self._all = _Names.among(static)
        self._own = (
            {name: _Names.among(facts) for name, facts in agents.items() if isinstance(facts, Mapping)}
            if isinstance(agents, Mapping)
            else {}
        )

    def __bool__(self) -> bool:
        return bool(self._all or any(self._own.values()))

    def of(self, action: Any, agent: str | None = None) -> str | None:
        """Return the name of an action; None if it has none."""
        names = self._own.get(agent) if agent is not None else None
        return (names or self._all).name(action)

    def listed(self, agent: str | None = None) -> list[str]:
        """Return all names in the order of the actions; empty if nobody knows them."""
        return list(((self._own.get(agent) if agent is not None else None) or self._all).names)


class _Names:
    def __init__(self, names: list[str], start: int) -> None:
        self.names, self._start = names, start

    def __bool__(self) -> bool:
        return bool(self.names)

    @classmethod
    def among(cls, facts: Mapping[str, Any]) -> _Names:
        names, space = facts.get(MEANINGS), facts.get("action_space")
        start = space.get("start", 0) if isinstance(space, Mapping) else 0
        is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
        return cls(list(names) if is_list and names else [], start if type(start) is int else 0)

    def name(self, action: Any) -> str | None:
        try:
            place = operator.index(action) - self._start
        except TypeError:
            return None
        return self.names[place] if 0 <= place < len(self.names) and not isinstance(action, bool) else None

"""What a table says it was built without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playhead.wording import counted

SIGNALS, EPISODES = "left_out", "left_out_episodes"  # in `built`
LEFT_OUT = (SIGNALS, EPISODES)


def told(built: Mapping[str, Any]) -> dict[str, str]:
    """Return why each signal, column or kind of episodes was left out, by what people call it.

    Args:
        built: What a table says about how it was built; anything may have written it.
    """
    signals, others = (found if isinstance(found := built.get(name), Mapping) else {} for name in LEFT_OUT)
    said = {str(name): str(why) for name, why in signals.items()}
    for kind, count in others.items():
        number = count if isinstance(count, int) else 0
        said[counted(number, f"{kind} episode")] = f"episodes={kind!r} builds a table of them"
    return said

"""For tests of what is built on Playhead: faults and crashes on purpose, and the contract of signals.

    from playhead.testing import SignalContract, failing_at, killed_at
    from playhead.testing.strategies import signals, time_keys

Faults need nothing. `SignalContract` needs pytest; `strategies`, alone, needs hypothesis.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from playhead.testing.faults import Crash, Operation, count_operations, failing_at, killed_at, operations_of
from playhead.testing.model import ListModel

if TYPE_CHECKING:
    from playhead.testing.signals import SignalContract

__all__ = [
    "Crash",
    "ListModel",
    "Operation",
    "SignalContract",
    "count_operations",
    "failing_at",
    "killed_at",
    "operations_of",
]

if "pytest" in sys.modules:
    import pytest

    # So that a contract that is not kept says what was found, as the asserts in a test file do.
    pytest.register_assert_rewrite("playhead.testing.signals")


def __getattr__(name: str) -> Any:
    if name != "SignalContract":
        raise AttributeError(f"module 'playhead.testing' has no attribute {name!r}")
    from playhead.testing.signals import SignalContract

    return SignalContract

"""The contract of everything that is recorded: a signal is one named value over time, a stepwise function.

f(t) is the value of the newest sample at or before t. Implementations say what their stamps are and how values at given
positions are read; every way of asking, by index or by time, is written once, here, and is final.
"""

from playhead.signal.arrays import Positions, frozen, take
from playhead.signal.contract import Signal, SignalWriter
from playhead.signal.memory import ArraySignal
from playhead.signal.view import SignalView

__all__ = ["ArraySignal", "Positions", "Signal", "SignalView", "SignalWriter", "frozen", "take"]

"""Signals at any times: each by a rule of its own, with a mask and a staleness instead of exceptions.

    found = sample(episode.signals, times, {"force": "linear", "camera": "hold"}, tolerance=50_000_000)
    found["force"]              # a row a time
    found.mask["camera"]        # False where the row is padding
    found.staleness["camera"]   # nanoseconds between the time and the sample

| rule | value at a time | is real |
|---|---|---|
| hold | the newest sample at or before it | from the first sample on |
| nearest | the nearer one of the samples around it; the earlier, if both are as near | from the first sample on |
| next | the oldest sample at or after it | up to the last sample |
| linear | on the straight line between the samples around it | from the first sample to the last |

Where a rule has no value the row is padding: the nearest sample there is, or zeros if there is none at all. Windows
around moments are times too: see `window_times`.
"""

from playhead.sampling.rules import NOTHING, RULES
from playhead.sampling.sample import Sample, Sampled, check_rule, sample, sample_one
from playhead.sampling.times import offsets_ns, window_times

__all__ = ["NOTHING", "RULES", "Sample", "Sampled", "check_rule", "offsets_ns", "sample", "sample_one", "window_times"]

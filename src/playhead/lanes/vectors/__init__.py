"""Numbers, texts, vectors and small arrays at their own times: one Parquet file a signal."""

from playhead.lanes.vectors.kind import Kind
from playhead.lanes.vectors.parquet import VectorSealer
from playhead.lanes.vectors.recorder import LANE, VectorRecorder
from playhead.lanes.vectors.signal import SimpleSignal
from playhead.lanes.vectors.writer import SimpleSignalWriter

__all__ = ["LANE", "Kind", "SimpleSignal", "SimpleSignalWriter", "VectorRecorder", "VectorSealer"]

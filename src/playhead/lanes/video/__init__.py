"""The video lane: frames as an MP4 that any player opens, and an index with the time of each."""

from playhead.lanes.video.encoding import Encoding
from playhead.lanes.video.reader import Loss, VideoSignal
from playhead.lanes.video.recorder import VideoRecorder
from playhead.lanes.video.sealer import VideoSealer
from playhead.lanes.video.writer import LANE, VideoSignalWriter

__all__ = ["LANE", "Encoding", "Loss", "VideoRecorder", "VideoSealer", "VideoSignal", "VideoSignalWriter"]

"""The flight recorder for learning: record everything, move the playhead to any moment, train on all of it.

    import playhead

    store = playhead.open("store")
    with store.run("pong", "dqn", config={"lr": 1e-4}) as run:
        env = playhead.integrations.gymnasium.Recorder(env, run)
        run.log({"loss": 0.3})
        with run.new_episode("teleop") as episode:
            episode.append("joint", joints, ts_ns)
    store.runs[-1]["loss"].values
    store.dataset("teleop")[0].time[t]

Names are loaded when they are first used, so that importing Playhead costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playhead import integrations as integrations
    from playhead import live as live
    from playhead.artifact import Artifact, ArtifactVersion
    from playhead.dataset import (
        CachedDataset,
        ConcatDataset,
        Dataset,
        DatasetWriter,
        EditedDataset,
        FilterDataset,
        LocalDataset,
        LocalDatasetWriter,
        TransformedDataset,
    )
    from playhead.episode import DiskEpisode, DiskEpisodeWriter, Episode, EpisodeView, EpisodeWriter, Unfinished
    from playhead.errors import (
        BadKey,
        BadName,
        BadQuery,
        BadRef,
        BadSlice,
        Closed,
        Damaged,
        Empty,
        Exists,
        Forked,
        MissingExtra,
        NoSuchFile,
        NotAStore,
        NotFound,
        OutOfOrder,
        OutOfRange,
        PlayheadError,
        QueryStopped,
        ReadOnly,
        StoreLocked,
        StoreTooNew,
        WrongShape,
        WrongType,
    )
    from playhead.lanes.arrays.config import ReplayConfig
    from playhead.lanes.keyframes import retention, tiers
    from playhead.lanes.vectors import SimpleSignal, SimpleSignalWriter
    from playhead.lanes.video import VideoSignal, VideoSignalWriter
    from playhead.opening import open, rebuild
    from playhead.recording import RunWriter
    from playhead.ref import EpisodeRef, FrameRef, TraceRef, make_frame_ref
    from playhead.replay import FrameResolver, ReplayEpisode, ReplayReader, ReplayWriter, Transition
    from playhead.run import Run
    from playhead.sampling import Sample, sample
    from playhead.signal import ArraySignal, Signal, SignalView, SignalWriter
    from playhead.signal.derived import joined as join
    from playhead.store import Store
    from playhead.table import Table
    from playhead.trace import Trace, TraceWriter
    from playhead.train import (
        EpisodeDataset,
        EpisodeLoader,
        PrioritizedSampler,
        SequenceSampler,
        TableBatchSampler,
        TableDataset,
        TableLoader,
        n_step,
    )
    from playhead.web.notebook import show

__version__ = "0.12.0"

_HOME = {
    "open": "opening",
    "rebuild": "opening",
    "Store": "store",
    "Run": "run",
    "RunWriter": "recording",
    "Artifact": "artifact",
    "ArtifactVersion": "artifact",
    "join": "signal.derived:joined",
    "Signal": "signal",
    "SignalWriter": "signal",
    "ArraySignal": "signal",
    "SignalView": "signal",
    "Episode": "episode",
    "EpisodeView": "episode",
    "EpisodeWriter": "episode",
    "DiskEpisode": "episode",
    "DiskEpisodeWriter": "episode",
    "Unfinished": "episode",
    "Dataset": "dataset",
    "DatasetWriter": "dataset",
    "LocalDataset": "dataset",
    "LocalDatasetWriter": "dataset",
    "EditedDataset": "dataset",
    "CachedDataset": "dataset",
    "ConcatDataset": "dataset",
    "FilterDataset": "dataset",
    "TransformedDataset": "dataset",
    "SimpleSignal": "lanes.vectors",
    "SimpleSignalWriter": "lanes.vectors",
    "VideoSignal": "lanes.video",
    "VideoSignalWriter": "lanes.video",
    "EpisodeDataset": "train",
    "EpisodeLoader": "train",
    "PrioritizedSampler": "train",
    "SequenceSampler": "train",
    "TableBatchSampler": "train",
    "TableDataset": "train",
    "TableLoader": "train",
    "n_step": "train",
    "Table": "table",
    "Sample": "sampling",
    "sample": "sampling",
    "EpisodeRef": "ref",
    "FrameRef": "ref",
    "TraceRef": "ref",
    "Trace": "trace",
    "TraceWriter": "trace",
    "retention": "trace",
    "tiers": "trace",
    "make_frame_ref": "ref",
    "FrameResolver": "replay",
    "ReplayEpisode": "replay",
    "ReplayReader": "replay",
    "ReplayWriter": "replay",
    "Transition": "replay",
    "ReplayConfig": "lanes.arrays.config",
    "show": "web.notebook",
}

_MODULES = {"integrations", "live"}  # public as they are

__all__ = [
    "ArraySignal",
    "Artifact",
    "ArtifactVersion",
    "BadKey",
    "BadName",
    "BadQuery",
    "BadRef",
    "BadSlice",
    "CachedDataset",
    "Closed",
    "ConcatDataset",
    "Damaged",
    "Dataset",
    "DatasetWriter",
    "DiskEpisode",
    "DiskEpisodeWriter",
    "EditedDataset",
    "Empty",
    "Episode",
    "EpisodeDataset",
    "EpisodeLoader",
    "EpisodeRef",
    "EpisodeView",
    "EpisodeWriter",
    "Exists",
    "FilterDataset",
    "Forked",
    "FrameRef",
    "FrameResolver",
    "LocalDataset",
    "LocalDatasetWriter",
    "MissingExtra",
    "NoSuchFile",
    "NotAStore",
    "NotFound",
    "OutOfOrder",
    "OutOfRange",
    "PlayheadError",
    "PrioritizedSampler",
    "QueryStopped",
    "ReadOnly",
    "ReplayConfig",
    "ReplayEpisode",
    "ReplayReader",
    "ReplayWriter",
    "Run",
    "RunWriter",
    "Sample",
    "SequenceSampler",
    "Signal",
    "SignalView",
    "SignalWriter",
    "SimpleSignal",
    "SimpleSignalWriter",
    "Store",
    "StoreLocked",
    "StoreTooNew",
    "Table",
    "TableBatchSampler",
    "TableDataset",
    "TableLoader",
    "Trace",
    "TraceRef",
    "TraceWriter",
    "TransformedDataset",
    "Transition",
    "Unfinished",
    "VideoSignal",
    "VideoSignalWriter",
    "WrongShape",
    "WrongType",
    "integrations",
    "join",
    "live",
    "make_frame_ref",
    "n_step",
    "open",
    "rebuild",
    "retention",
    "sample",
    "show",
    "tiers",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'playhead' has no attribute {name!r}")
    if name in _MODULES:
        return import_module(f"playhead.{name}")
    home, _, known_as = _HOME.get(name, "errors").partition(":")
    value = getattr(import_module(f"playhead.{home}"), known_as or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

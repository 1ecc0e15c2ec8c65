"""Episodes as files of other programs: CSV and Parquet tables, NumPy archives, images."""

from playhead.export.archive import to_npz
from playhead.export.images import to_frames
from playhead.export.tables import to_csv, to_parquet

__all__ = ["to_csv", "to_frames", "to_npz", "to_parquet"]

"""The tables. Names and columns follow `docs/format.md`; integer keys keep a metric point at about 32 bytes."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import BLOB, REAL

APPLICATION_ID = 0x504C4159  # "PLAY": tells our database from any other

STATUSES = ("running", "finished", "failed", "interrupted")

metadata = MetaData()

runs = Table(
    "runs",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("project", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", REAL, nullable=False),
    Column("updated_at", REAL, nullable=False),
    Column("status", Text, nullable=False),
    Column("started_at", REAL),
    Column("ended_at", REAL),
    Column("exit_reason", Text),
    Column("pid", Integer),
    Column("python_version", Text),
    Column("platform", Text),
    Column("hostname", Text),
    Column("best_metric_name", Text),
    Column("best_metric_value", REAL),
    Column("best_metric_step", Integer),
    Column("best_metric_mode", Text),
    Column("deleted_at", REAL),
    Column("delete_reason", Text),
    Column("run_dir", Text, nullable=False),
    Column("duration_seconds", REAL),
    Column("metric_count", Integer, nullable=False, server_default="0"),
    Column("notes", Text, nullable=False, server_default=""),
    Column("tags", Text, nullable=False, server_default="[]"),  # JSON, to show; to find by, see run_tags
    Column("config", Text, nullable=False, server_default="{}"),  # JSON, to show; to find by, see run_values
    CheckConstraint(f"status IN {STATUSES}", name="runs_status"),
    Index("idx_runs_project", "project", "created_at"),
    Index("idx_runs_status", "status", "created_at"),
    Index("idx_runs_created", "created_at", "id"),
    # Only what is in the bin: nearly all rows have no value, and SQLite would rather scan them here than in order.
    Index("idx_runs_deleted", "deleted_at", sqlite_where=text("deleted_at IS NOT NULL")),
    Index("idx_runs_best", "best_metric_value"),
    Index("idx_runs_best_name", "best_metric_name", "best_metric_value"),
    Index("idx_runs_name", "name"),
)

run_tags = Table(
    "run_tags",
    metadata,
    Column("run", ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True),
    Index("idx_run_tags_tag", "tag"),
    sqlite_with_rowid=False,
)

# Config and summary, flattened to dotted keys and typed, so that a filter uses an index. A value is a number or a text;
# a key with neither is null.
run_values = Table(
    "run_values",
    metadata,
    Column("run", ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("number", REAL),
    Column("text", Text),
    Index("idx_run_values_number", "key", "number"),
    Index("idx_run_values_text", "key", "text"),
    sqlite_with_rowid=False,
)

# One metric of one recording process of one run, in one stage, with what a list of runs shows of it.
series = Table(
    "series",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("run", ForeignKey("runs.key", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("stage", Text, nullable=False, server_default=""),
    Column("part", Integer, nullable=False, server_default="1"),
    Column("points", Integer, nullable=False, server_default="0"),
    Column("last_ns", Integer),
    Column("last_step", Integer),
    Column("last_value", REAL),
    Column("min_value", REAL),
    Column("min_step", Integer),
    Column("max_value", REAL),
    Column("max_step", Integer),
    UniqueConstraint("run", "name", "stage", "part"),
    Index("idx_series_name", "name", "last_value"),
)

# Clustered by series and time: one metric of one run is one stretch of the file. A NULL value is NaN, which SQLite
# cannot store; the infinities are stored as they are.
points = Table(
    "points",
    metadata,
    Column("series", ForeignKey("series.key", ondelete="CASCADE"), primary_key=True),
    Column("ts_ns", Integer, primary_key=True),
    Column("step", Integer, nullable=False),
    Column("value", REAL),
    sqlite_with_rowid=False,
)

media = Table(
    "media",
    metadata,
    Column("run", ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("ts_ns", Integer, primary_key=True),
    Column("step", Integer),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("caption", Text),
    sqlite_with_rowid=False,
)

# What lies in the datasets of the store; signals (name to lane) and static items as JSON.
episode_folders = Table(
    "episode_folders",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("uid", Text),
    Column("run_id", Text),
    Column("folder", Text, nullable=False),
    Column("created_ns", Integer),
    Column("duration_ns", Integer),
    Column("finished", Boolean, nullable=False),
    Column("signals", Text, nullable=False, server_default="{}"),
    Column("static", Text, nullable=False, server_default="{}"),
    Index("idx_episode_folders_uid", "uid"),
    Index("idx_episode_folders_run", "run_id", "created_ns"),
    Index("idx_episode_folders_unfinished", "dataset", sqlite_where=text("NOT finished")),
    sqlite_with_rowid=False,
)

# What one environment records in a run, and how many of its steps are in the tables below.
reels = Table(
    "reels",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("run", ForeignKey("runs.key", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("steps", Integer, nullable=False, server_default="0"),
    Column("facts", Text, nullable=False, server_default="{}"),
    UniqueConstraint("run", "number"),
)

reel_agents = Table(
    "reel_agents",
    metadata,
    Column("reel", ForeignKey("reels.key", ondelete="CASCADE"), primary_key=True),
    Column("agent", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    sqlite_with_rowid=False,
)

replay_episodes = Table(
    "replay_episodes",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("reel", ForeignKey("reels.key", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("id", Text, nullable=False, unique=True),
    Column("first", Integer, nullable=False),
    Column("steps", Integer, nullable=False, server_default="0"),
    Column("total_reward", REAL, server_default="0"),
    Column("terminated", Boolean, nullable=False, server_default="0"),
    Column("truncated", Boolean, nullable=False, server_default="0"),
    Column("how", Text),
    Column("began_ns", Integer, nullable=False, server_default="0"),
    Column("ended_ns", Integer),
    Column("facts", Text, nullable=False, server_default="{}"),
    UniqueConstraint("reel", "number"),
    Index("idx_replay_episodes_first", "reel", "first"),
    Index("idx_replay_episodes_began", "began_ns"),
)

# The names of the values of an info, as a JSON list: thousands of steps share one, and keep only the values.
info_shapes = Table(
    "info_shapes",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("names", Text, nullable=False, unique=True),
)

# A step is an integer here and there: `place` counts from the first step of its episode, `ts` from its begin. `flags`
# holds terminated (1), truncated (2), has a frame (4), has an observation (8). The view `steps` spells all of it out.
replay_steps = Table(
    "replay_steps",
    metadata,
    Column("episode", ForeignKey("replay_episodes.key", ondelete="CASCADE"), primary_key=True),
    Column("agent", Integer, primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("place", Integer, nullable=False),
    Column("action", BLOB),  # no conversion: an integer, a number or JSON
    Column("reward", REAL),
    Column("flags", Integer, nullable=False),
    Column("ts", Integer, nullable=False),
    Column("shape", ForeignKey("info_shapes.key")),
    Column("info", Text),
    sqlite_with_rowid=False,
)

# What lies under artifacts/, as `versions.json` of each said when it had this stamp (its time, size and inode).
artifacts = Table(
    "artifacts",
    metadata,
    Column("type", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("latest", Integer),
    Column("created_at", REAL, nullable=False),
    Column("updated_at", REAL, nullable=False),
    Column("stamp", Text, nullable=False),
    Column("problem", Text),
    Index("idx_artifacts_name", "name"),
    sqlite_with_rowid=False,
)

artifact_versions = Table(
    "artifact_versions",
    metadata,
    Column("type", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("created_at", REAL, nullable=False),
    Column("created_by_run", Text),
    Column("size_bytes", Integer, nullable=False),
    Column("num_files", Integer, nullable=False),
    Column("num_references", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("aliases", Text, nullable=False),  # JSON
    Column("tags", Text, nullable=False),  # JSON
    Column("description", Text, nullable=False),
    Index("idx_artifact_versions_run", "created_by_run"),
    sqlite_with_rowid=False,
)

artifact_uses = Table(
    "artifact_uses",
    metadata,
    Column("run", ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("type", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("used_at", REAL, nullable=False),
    Index("idx_artifact_uses_version", "type", "name", "version"),
    sqlite_with_rowid=False,
)

# Files that were hashed before, by what a file system says of them: one that is as it was is not read again.
known_files = Table(
    "known_files",
    metadata,
    Column("device", Integer, primary_key=True),
    Column("inode", Integer, primary_key=True),
    Column("size", Integer, nullable=False),
    Column("mtime_ns", Integer, nullable=False),
    Column("ctime_ns", Integer, nullable=False),
    Column("sha256", BLOB, nullable=False),
    sqlite_with_rowid=False,
)

# How folders of artifacts looked when a version was saved of which they are; as above, only time is lost with it.
known_folders = Table(
    "known_folders",
    metadata,
    Column("type", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("folder", Text, primary_key=True),
    Column("look", BLOB, nullable=False),
    Column("version", Integer, nullable=False),
    Column("manifest", BLOB, nullable=False),
    sqlite_with_rowid=False,
)

# How far each event file has been indexed, committed together with what was indexed: nothing twice, nothing missed.
sources = Table(
    "sources",
    metadata,
    Column("run", ForeignKey("runs.key", ondelete="CASCADE"), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("offset", Integer, nullable=False),
    Column("last_ns", Integer, nullable=False, server_default="0"),
    Column("last_step", Integer, nullable=False, server_default="0"),
    Column("bad_lines", Integer, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

migrations = Table(
    "migrations",
    metadata,
    Column("name", Text, primary_key=True),
    Column("applied_at", REAL, nullable=False),
)

# SQLite writes a number that is no small integer with 15 digits, which is another number. Where several values are
# taken out of a JSON text at once, they stay as they are written there: so in `steps` a number is taken out together
# with one that is not there, `[0.30000000000000004,null]`, and what is not of the number is cut off.
VIEWS = {
    # The name and columns under which other programs know runs.
    "experiments": """
        SELECT id, project, name, created_at, updated_at, status, started_at, ended_at, exit_reason, pid,
               python_version, platform, hostname,
               best_metric_name, best_metric_value, best_metric_step, best_metric_mode, deleted_at,
               delete_reason, run_dir, duration_seconds, metric_count
        FROM runs""",
    "metrics": """
        SELECT runs.id AS experiment_id, points.ts_ns / 1e9 AS timestamp, series.name AS metric_name,
               points.value AS metric_value, points.step AS step, nullif(series.stage, '') AS stage,
               points.ts_ns / 1e9 AS recorded_at, points.ts_ns AS ts_ns, series.part AS part
        FROM runs JOIN series ON series.run = runs.key JOIN points ON points.series = series.key""",
    "episodes": """
        SELECT e.id AS episode_id, runs.id AS run_id, e.total_reward, e.steps, e.terminated, e.truncated, e.how,
               strftime('%Y-%m-%dT%H:%M:%f', e.began_ns / 1e9, 'unixepoch') AS timestamp,
               e.began_ns, e.ended_ns, e.number AS ep_index, reels.id AS reel, e.first AS first_row, e.facts
        FROM replay_episodes AS e JOIN reels ON reels.key = e.reel JOIN runs ON runs.key = reels.run""",
    "steps": """
        SELECT e.id AS episode_id, s.step AS step_index, s.action, s.reward,
               s.flags & 1 AS terminated, s.flags >> 1 & 1 AS truncated,
               CASE WHEN s.flags & 4 THEN 'h5://' || reels.id || '/frames/' || (e.first + s.place) END AS frame_ref,
               CASE WHEN s.flags & 8 THEN 'h5://' || reels.id || '/observations/' || (e.first + s.place) END AS obs_ref,
               CASE WHEN s.shape IS NULL THEN s.info ELSE (
                   SELECT json_group_object(name.value, CASE
                       WHEN typeof(value.value) = 'real'
                       THEN json(trim(json_extract(s.info, value.fullkey, '$.none'), '[,nul]'))
                       WHEN value.type IN ('object', 'array') THEN json(value.value)
                       WHEN value.type IN ('true', 'false') THEN json(value.type) ELSE value.value END)
                   FROM json_each((SELECT names FROM info_shapes WHERE key = s.shape)) AS name
                   JOIN json_each(s.info) AS value ON value.key = name.key) END AS info,
               strftime('%Y-%m-%dT%H:%M:%f', (e.began_ns + s.ts) / 1e9, 'unixepoch') AS timestamp,
               (SELECT name FROM reel_agents AS a WHERE a.reel = e.reel AND a.agent = s.agent) AS agent_id,
               runs.id AS run_id, e.began_ns + s.ts AS ts_ns, reels.id AS reel, e.first + s.place AS row
        FROM replay_steps AS s JOIN replay_episodes AS e ON e.key = s.episode
        JOIN reels ON reels.key = e.reel JOIN runs ON runs.key = reels.run""",
}

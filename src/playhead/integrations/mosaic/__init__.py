"""MOSAIC: take over the runs of its telemetry database and of its replay files.

    from playhead.integrations import mosaic

    with playhead.open("store") as store:
        print(mosaic.migrate("var/telemetry/telemetry.sqlite", store, replay_dir="var/replay"))

MOSAIC itself is not needed. `docs/migrate-mosaic.md` says what becomes of what.
"""

from playhead.integrations.findings import Finding
from playhead.integrations.mosaic.migration import migrate, survey
from playhead.integrations.mosaic.report import Report

__all__ = ["Finding", "Report", "migrate", "survey"]

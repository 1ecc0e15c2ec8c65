"""Runicorn: take over the runs of a folder that any of its versions wrote.

    from playhead.integrations import runicorn

    with playhead.open("store") as store:
        print(runicorn.migrate("~/runicorn", store))

Runicorn itself is not needed. `docs/migrate-runicorn.md` says what becomes of each file.
"""

from playhead.integrations.findings import Finding
from playhead.integrations.runicorn.migration import migrate
from playhead.integrations.runicorn.report import Report

__all__ = ["Finding", "Report", "migrate"]

"""Home: the files and the catalogue of one store, as everything that lives in it knows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from playhead import checksums, disk, facts, signs
from playhead.backlog import Backlog
from playhead.catalog import runs as catalog_runs
from playhead.catalog.database import Database
from playhead.catalog.runs import RunFacts, RunRow
from playhead.claims import Claim
from playhead.errors import ReadOnly
from playhead.layout import Layout, RunFolder


@dataclass(frozen=True, slots=True)
class Home:
    """Where runs live: the files and the catalogue of one store.

    Attributes:
        layout: The files.
        database: The catalogue.
        backlog: What the catalogue has yet to learn.
    """

    layout: Layout
    database: Database
    backlog: Backlog = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "backlog", Backlog(self.database))
        self.database.last_sign = partial(signs.last_ns, self.layout)

    def check_writable(self, to: str = "change it") -> None:
        """Refuse what would change a store that is open for reading, before anything is changed.

        Args:
            to: What is about to be done.

        Raises:
            ReadOnly: It is.
        """
        if self.database.mode != "a":
            raise ReadOnly.of_store(self.layout.root, to)

    def release(self, claim: Claim) -> None:
        """Give a claim up, once a power cut takes no row away that it stood for.

        If the catalogue was rebuilt in the meantime, the new one learns of it at the next open.
        """
        if self.database.is_other():
            claim.leave()
            return
        self.database.sync()
        claim.release()

    def index(self, folder: RunFolder, *, values: bool = True) -> RunRow:
        """Bring the catalogue up to date with the JSON files of a run, and give the run's row.

        Args:
            folder: The run's folder.
            values: False where tags, config and summary cannot have changed.

        Raises:
            Misplaced: `meta.json` is that of another run.
        """
        known = facts.read(self.layout, folder)
        checksums.check_id(folder, known.id)
        return self.put(known, values=values)

    def put(self, known: RunFacts, *, values: bool = True) -> RunRow:
        """Bring the catalogue up to date with what the JSON files of a run say."""
        with self.database.write() as connection:
            return catalog_runs.put(connection, known, values=values)

    def best_of(self, key: int) -> dict[str, Any]:
        """Give the best value of a run's primary metric, as `summary.json` holds it; empty where there is none."""
        with self.database.read() as connection:
            row = catalog_runs.by_key(connection, key)
        if row.best_metric_name is None or row.best_metric_value is None:
            return {}
        return {"best_metric_value": row.best_metric_value, "best_metric_step": row.best_metric_step}

    def write_summary(self, folder: RunFolder, changes: dict[str, Any], *, named: bool = True) -> None:
        """Set keys of `summary.json`; one that says so already is not written again.

        Without `named`, a power cut may leave what it said before.
        """
        with disk.locked(folder.path):
            content = facts.load(folder.summary)
            if any(name not in content or content[name] != value for name, value in changes.items()):
                facts.write(folder.summary, content | changes, named=named)

"""Where the rows of a table come from: game files, episodes, arrays, tables."""

from playhead.table.sources.contract import Block, Item, Plan, as_mapping, differences, spelled
from playhead.table.sources.planning import Options, plan

__all__ = ["Block", "Item", "Options", "Plan", "as_mapping", "differences", "plan", "spelled"]

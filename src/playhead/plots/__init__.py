"""Pictures: of an episode a contact sheet of cameras and signals, or its signals alone; of a trace its errors."""

from playhead.plots.pages import contact_sheet, plot_signals
from playhead.plots.traces import plot_trace

__all__ = ["contact_sheet", "plot_signals", "plot_trace"]

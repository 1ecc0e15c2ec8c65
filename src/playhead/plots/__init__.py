"""Pictures of episodes: a contact sheet of cameras and signals, and plots of the signals alone."""

from playhead.plots.pages import contact_sheet, plot_signals

__all__ = ["contact_sheet", "plot_signals"]

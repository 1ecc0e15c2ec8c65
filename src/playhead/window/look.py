"""Colours and sizes of the window, in one place."""

from __future__ import annotations

from playhead.export.film.figures import BAD, FAINT, GOOD, PLAIN

GROUND, PANEL, LINE = "#0f1115", "#171a21", "#2a2f3a"
TEXT, MUTED = "#e6e9ef", "#8b93a3"
ACCENT, LIVE = "#5b9dff", "#ff5a52"
TONES = {PLAIN: TEXT, FAINT: MUTED, GOOD: "#5fd38d", BAD: "#ff7b72"}

STYLE = f"""
QWidget {{ background: {GROUND}; color: {TEXT}; font-size: 13px; }}
#bar, #head {{ background: {PANEL}; }}
#bar {{ border-top: 1px solid {LINE}; }}
#head {{ border-bottom: 1px solid {LINE}; }}
#bar QLabel, #head QLabel {{ background: transparent; }}
#title {{ font-weight: 600; }}
#remark {{ color: {MUTED}; }}
QPushButton {{ background: transparent; border: 1px solid {LINE}; border-radius: 6px; padding: 5px 12px; }}
QPushButton:hover {{ border-color: {MUTED}; }}
QPushButton:focus {{ border-color: {ACCENT}; }}
QPushButton:disabled {{ color: {MUTED}; border-color: {LINE}; }}
#live[now="true"] {{ background: {LIVE}; border-color: {LIVE}; color: #1a0504; font-weight: 600; }}
#place {{ color: {MUTED}; }}
"""

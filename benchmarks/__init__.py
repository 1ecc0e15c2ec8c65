"""Programs that measure Playhead."""

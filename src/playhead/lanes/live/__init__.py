"""The newest frame, in a ring of shared memory: lossy, and never a source of truth.

The bytes are those of the MOSAIC program's fast lane: its viewer shows our rings, and ours shows its.
"""

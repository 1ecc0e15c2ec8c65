"""Artifacts: named sets of files in versions that never change, checked whenever they are handed out."""

from playhead.artifact.draft import TYPES, Artifact
from playhead.artifact.version import ArtifactVersion

__all__ = ["TYPES", "Artifact", "ArtifactVersion"]

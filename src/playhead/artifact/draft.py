"""Artifact: a named set of files and references, until it is saved as a version."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playhead import layout, strictjson
from playhead.artifact import references
from playhead.errors import Closed, NotFound, WrongType
from playhead.lanes.files import sources
from playhead.lanes.files.manifest import Reference
from playhead.lanes.files.tree import Tree
from playhead.paths import GivenPath, as_path

if TYPE_CHECKING:
    from playhead.artifact.version import ArtifactVersion

TYPES = ("model", "dataset", "config", "code", "custom")


def check_type(type: str) -> str:
    """Check the type of an artifact.

    Raises:
        WrongType: There is none of this name.
    """
    word = str(getattr(type, "value", type))
    if word not in TYPES:
        raise WrongType(f"the type of an artifact is one of {', '.join(TYPES)}, not {word!r}")
    return word


class Artifact:
    """A named set of files and references, to be saved as a version by `run.log_artifact`.

        artifact = playhead.Artifact("policy", type="model")
        artifact.add_file("model.pt")
        artifact.add_dir("tokenizer/", "tokenizer", exclude=["*.tmp"])
        artifact.add_metadata(accuracy=0.93)
        run.log_artifact(artifact)

    Files are read when it is saved. After that it is the version: `version`, `path`, `download` and `verify` work.

    Args:
        name: What it is called; its versions share the name.
        type: `model`, `dataset`, `config`, `code` or `custom`.
        description: A text for people.
        metadata: Values of your own, as JSON.
    """

    def __init__(
        self, name: str, type: str = "model", *, description: str = "", metadata: Mapping[str, Any] | None = None
    ) -> None:
        self.name = layout.check_artifact_name(name)
        self.type = check_type(type)
        self.description = strictjson.plain(str(description))
        self.metadata: dict[str, Any] = {}
        self.tags: list[str] = []
        self.references: list[Reference] = []
        self.saved: ArtifactVersion | None = None
        self._files: list[tuple[GivenPath, str | None]] = []
        self._folders: list[tuple[GivenPath, str, Sequence[str]]] = []
        self.add_metadata(metadata)

    def add_file(self, path: GivenPath, name: str | None = None) -> None:
        """Add a file.

        Args:
            path: The file.
            name: Its place in the artifact, such as `weights/last.pt`; without it, its name.

        Raises:
            NotFound: There is none.
            WrongType: It is something else.
        """
        self._check_open()
        file = os.path.abspath(as_path(path))
        sources.file(file, name)
        self._files.append((file, name))

    def add_dir(self, path: GivenPath, name: str = "", *, exclude: Iterable[str] = ()) -> None:
        """Add all files of a folder.

        Args:
            path: The folder.
            name: Where its files go in the artifact; without it, to the top.
            exclude: Patterns of what is left out, such as `*.tmp`, `__pycache__` or `logs/*`.

        Raises:
            NotFound: There is none.
        """
        self._check_open()
        folder = os.path.abspath(as_path(path))
        if not os.path.isdir(folder):
            raise NotFound(f"there is no folder {folder} to save")
        if name:
            layout.check_member(name)
        self._folders.append((folder, name, layout.several(exclude, "patterns of what is left out")))

    def add(self, path: GivenPath, *, exclude: Iterable[str] = ()) -> None:
        """Add a file, or all files of a folder."""
        if os.path.isdir(as_path(path)):
            self.add_dir(path, exclude=exclude)
        else:
            self.add_file(path)

    def add_reference(
        self,
        uri: str,
        checksum: str | None = None,
        size: int | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Add what lies elsewhere, without a copy.

        Args:
            uri: `file:///data/x`, `playhead://tables/pong`, `playhead://datasets/teleop`, `playhead://traces/run/name`
                in the same store, or anything else, such as `s3://bucket/key`.
            checksum: `sha256:` and 64 digits; without it, that of what is there now, where it can be looked at.
            size: Bytes, where they are known.
            metadata: Values of your own.

        Raises:
            BadRef: The text says no place.
        """
        self._check_open()
        found = Reference(
            references.check_uri(uri), checksum, size, strictjson.plain(strictjson.items(metadata, "metadata"))
        )
        self.references.append(found)

    def add_metadata(self, values: Mapping[str, Any] | None = None, **more: Any) -> None:
        """Add values of your own; they are kept as JSON."""
        self._check_open()
        self.metadata |= strictjson.plain(strictjson.items(values, "metadata") | more)

    def add_tags(self, *tags: str) -> None:
        """Add words to find it by."""
        self._check_open()
        self.tags = sorted({*self.tags, *(layout.check_label(tag, "tag") for tag in tags)})

    @property
    def files(self) -> list[str]:
        """The paths of its files within it."""
        return self.saved.files if self.saved is not None else sorted(self.gather())

    def gather(self) -> Tree:
        """Look at the files as they are now.

        Raises:
            WrongType: One of them cannot be saved.
            BadName: Two of them have one place.
        """
        files = (sources.file(path, name).listed() for path, name in self._files)
        folders = (each for path, name, exclude in self._folders for each in sources.walk(path, name, exclude))
        return Tree(chain(files, folders))

    @property
    def version(self) -> int | None:
        """The number of the version as which it was saved; None before."""
        return None if self.saved is None else self.saved.version

    @property
    def path(self) -> Path:
        """The folder of its files in the store, once it is saved."""
        return self._saved().path

    def download(self, target: GivenPath | None = None, *, link: bool = False, overwrite: bool = False) -> Path:
        """Write its files into a folder, once it is saved; see `ArtifactVersion.download`."""
        return self._saved().download(target, link=link, overwrite=overwrite)

    def verify(self) -> list[Exception]:
        """Check every byte, once it is saved; see `ArtifactVersion.verify`."""
        return list(self._saved().verify())

    def _saved(self) -> ArtifactVersion:
        if self.saved is None:
            raise NotFound(f"the artifact {self.name!r} is not saved yet; save it by run.log_artifact(artifact)")
        return self.saved

    def _check_open(self) -> None:
        if getattr(self, "saved", None) is not None:
            raise Closed(f"the artifact {self.name!r} is saved, and a version never changes; make a new Artifact")

    def __repr__(self) -> str:
        if self.saved is not None:
            return f"<Artifact {self.saved.ref}, saved>"
        return f"<Artifact {self.type}/{self.name}, not saved yet>"

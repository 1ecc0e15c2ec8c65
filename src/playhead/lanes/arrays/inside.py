"""What lies within an HDF5 file: the library would follow a file of a stranger to any other file on the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playhead.errors import Damaged

_MOST_LINKS = 16  # followed one after another


def find(file: Any, name: str) -> Any:
    """Give a dataset or group of an open file by its path; None where there is none.

    Raises:
        Damaged: A link leads to another file, or the bytes of a dataset lie in one.
    """
    return _walked(file, file, name, _MOST_LINKS)


def datasets(file: Any) -> dict[str, Any]:
    """Give the datasets of an open file that lie in no group, by name.

    Raises:
        Damaged: A link leads to another file, or the bytes of a dataset lie in one.
    """
    import h5py

    found = {name: find(file, name) for name in file}
    return {name: item for name, item in found.items() if isinstance(item, h5py.Dataset)}


def _walked(file: Any, group: Any, path: str, most: int) -> Any:
    """Go along a path, looking at each link before it is followed."""
    import h5py

    here = file if path.startswith("/") else group
    for part in filter(None, path.split("/")):
        # Not `part in here` nor `here.get`: they follow a link in order to say that it is there.
        name, links = part.encode(errors="surrogateescape"), here.id.links if isinstance(here, h5py.Group) else None
        if links is None or not links.exists(name):
            return None
        kind = links.get_info(name).type
        if kind == h5py.h5l.TYPE_SOFT:
            target = links.get_val(name).decode(errors="surrogateescape")
            here = _walked(file, here, target, most - 1) if most else None
        elif kind == h5py.h5l.TYPE_HARD:
            here = here[part]
        else:
            raise _outside(
                file, part, f"a link to {b' in '.join(reversed(links.get_val(name))).decode(errors='replace')}"
            )
    _check(file, here)
    return here


def _check(file: Any, item: Any) -> None:
    import h5py

    if isinstance(item, h5py.Dataset) and item.external:
        raise _outside(file, item.name, f"bytes of {item.external[0][0]}")
    if isinstance(item, h5py.Dataset) and item.is_virtual:
        raise _outside(file, item.name, "a virtual dataset, put together from others")


def _outside(file: Any, name: str, found: str) -> Damaged:
    return Damaged(
        Path(file.filename),
        f"{name.removeprefix('/')} in the file itself",
        found,
        "Nothing outside of a file is read in its name: copy the data into it, if you know where it is from",
    )

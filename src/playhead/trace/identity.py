"""Which function makes a state of the one before: what a trace notes of it, and what is compared when it is read.

Nothing here imports what a file names: the function always comes from the caller.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

from playhead import strictjson

Step = Callable[[Any, Any], Any]

_ALWAYS = ("numpy",)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object in memory, which is another in each process


def describe(step: Step | None) -> dict[str, Any] | None:
    """Say which function this is: where it is defined, a hash of its source, and versions of the packages it is of."""
    if step is None:
        return None
    bound: dict[str, Any] = {}
    inner: Any = step
    while isinstance(inner, functools.partial):
        bound = {**{str(place): value for place, value in enumerate(inner.args)}, **inner.keywords, **bound}
        inner = inner.func
    inner = inspect.unwrap(inner)
    if not hasattr(inner, "__qualname__"):
        inner = type(inner)
    module = str(getattr(inner, "__module__", ""))
    said: dict[str, Any] = {"module": module, "name": inner.__qualname__, "source": _source_hash(inner)}
    versions = {name: _version(name) for name in dict.fromkeys((*_ALWAYS, module.partition(".")[0]))}
    said["versions"] = {name: version for name, version in versions.items() if version is not None}
    if bound:
        said["bound"] = {name: _plain(value) for name, value in bound.items()}
    return said


def _source_hash(function: Any) -> str | None:
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):  # of a prompt, or written in C
        code = getattr(function, "__code__", None)
        if code is None:
            return None
        text = repr((code.co_code, code.co_names, [const for const in code.co_consts if not inspect.iscode(const)]))
    return hashlib.sha256(inspect.cleandoc(text).encode()).hexdigest()[:16]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return strictjson.plain(value)
    return _ADDRESS.sub("", repr(value))[:200]


def differences(recorded: Mapping[str, Any] | None, found: Mapping[str, Any] | None) -> list[str]:
    """List in what two functions differ, for people; an empty list where nothing is known to differ."""
    if recorded is None or found is None:
        return []
    told = []
    for name, what in (
        ("module", "its module"),
        ("name", "its name"),
        ("source", "its source"),
        ("bound", "what is bound"),
    ):
        old, new = (_without_addresses(said.get(name)) for said in (recorded, found))
        if (
            old != new
            and not (name == "source" and None in (old, new))
            and not (name == "module" and _are_main(old, new))
        ):
            told.append(f"{what} ({old} then, {new} now)")
    old_versions, new_versions = recorded.get("versions") or {}, found.get("versions") or {}
    for package in old_versions.keys() & new_versions.keys():
        if old_versions[package] != new_versions[package]:
            told.append(f"{package} ({old_versions[package]} then, {new_versions[package]} now)")
    return told


def _without_addresses(said: Any) -> Any:
    """Give what was noted without the addresses that earlier versions noted of bound objects."""
    if not isinstance(said, Mapping):
        return said
    return {name: _ADDRESS.sub("", value) if isinstance(value, str) else value for name, value in said.items()}


def _are_main(old: Any, new: Any) -> bool:
    """Tell whether one of two modules is a program that was started: it has no other name then."""
    return "__main__" in (old, new)


def warn_of_differences(recorded: Mapping[str, Any] | None, step: Step | None, stacklevel: int) -> None:
    """Warn where the function is not the one that a trace was recorded with."""
    told = differences(recorded, describe(step))
    if told:
        warnings.warn(
            f"the step function is not the one that the trace was recorded with: {'; '.join(told)}. "
            "States may come out different; trace.verify() says whether they do",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )

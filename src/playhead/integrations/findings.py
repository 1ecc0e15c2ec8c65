"""What a migration found that a person should know, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from playhead.wording import counted

_SHOWN = 20  # of each kind of finding; `--json` gives all


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about one run, or one version of an artifact, that a person should know.

    Attributes:
        run: Its folder, relative to the source, or its id.
        reason: What is the matter.
    """

    run: str
    reason: str


def listed(findings: list[Finding], text: str, noun: str = "run") -> Iterator[str]:
    """Say how many runs, or other things, something is true of, and of which."""
    if findings:
        yield f"{counted(len(findings), noun)} {text}"
        yield from _shortened(f"{finding.run}: {finding.reason}" for finding in findings)


def named(names: list[str], text: str) -> Iterator[str]:
    """Say how many files something is true of, and of which."""
    if names:
        yield f"{counted(len(names), 'file')} {text}"
        yield from _shortened(names)


def _shortened(texts: Iterable[str]) -> Iterator[str]:
    everything = list(texts)
    for text in everything[:_SHOWN]:
        yield f"  {text}"
    if len(everything) > _SHOWN:
        yield f"  … and {len(everything) - _SHOWN:,} more"

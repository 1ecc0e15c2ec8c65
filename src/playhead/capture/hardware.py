"""The processors, the memory and the GPUs of this machine."""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path
from typing import Any

from playhead.capture.programs import output_of, reason_of

_CPU_FACTS = Path("/proc/cpuinfo")
_CPU_FACTS_LIMIT = 4096
_GPU_QUERY = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits")
_GPU_SECONDS = 20.0
_MIB = 1 << 20


def cpu(notes: list[str]) -> dict[str, Any]:
    """Give the model of the processor, how many there are, and which of them this process may use."""
    return {"model": _cpu_model(notes), "count": os.cpu_count(), "affinity": sorted(os.sched_getaffinity(0))}


def memory_bytes(notes: list[str]) -> int | None:
    """Give the size of the machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError) as error:
        notes.append(f"memory_bytes: {error}")
        return None


def gpus(notes: list[str]) -> list[dict[str, Any]] | None:
    """Give name, memory and driver of each NVIDIA GPU, in the order of `nvidia-smi`."""
    try:
        answer = output_of(_GPU_QUERY, seconds=_GPU_SECONDS, limit=_MIB)
    except (OSError, subprocess.SubprocessError) as error:
        notes.append(f"gpus: {reason_of(error)}")
        return None
    rows = csv.reader(answer.text.splitlines(), skipinitialspace=True)
    return [_gpu(*row) for row in rows if len(row) == 3]


def _gpu(name: str, memory_mib: str, driver: str) -> dict[str, Any]:
    # Where CPU and GPU share their memory the program answers "[N/A]".
    memory = int(memory_mib) * _MIB if memory_mib.isdecimal() else None
    return {"name": name, "memory_bytes": memory, "driver": driver}


def _cpu_model(notes: list[str]) -> str | None:
    try:
        with _CPU_FACTS.open("rb") as file:
            facts = file.read(_CPU_FACTS_LIMIT).decode("utf-8", errors="replace")  # the first processor's are enough
    except OSError as error:
        notes.append(f"cpu.model: {error}")
        return None
    for line in facts.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    notes.append(f"cpu.model: {_CPU_FACTS} names no model")
    return None

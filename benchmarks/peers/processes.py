"""What /proc says of processes: who started whom, and how much memory they took."""

from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Find the processes that ``pid`` started, directly or not; those whose own parent has died are not found."""
    found = []
    for child in _children(pid):
        found += [child, *descendants(child)]
    return found


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in task.read_text().split()]
        except OSError:
            continue  # the thread ended between the listing and the reading
    return found


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that ended but was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def peak_memory(pid: int) -> int:
    """Give the most bytes that were ever resident for a process; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)

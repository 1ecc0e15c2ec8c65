"""The state of the repository that a folder lies in, as the `git` program tells it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playhead.capture import secrets
from playhead.capture.programs import Output, output_of, reason_of

DIFF_LIMIT = 1 << 20
UNTRACKED_LIMIT = 1000

_SECONDS = 10.0
_ANSWER_LIMIT = 8 << 20
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal")
# Each flag undoes a setting of the user's that would change the form of the diff or run a program of theirs.
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/")
_REMOTES = ("config", "--null", "--get-regexp", r"^remote\..*\.url$")
_NO_SUCH_SETTING = 1
# Inside a hook these point at the hook's repository, whatever folder is asked for.
_REDIRECTIONS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX")
# No lock that could disturb a git command of the user's, no prompt, no fetching, messages in English.
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "LC_ALL": "C",
}


@dataclass
class _Status:
    commit: str | None = None
    branch: str | None = None
    changed: bool = False
    untracked: list[str] = field(default_factory=list)


def state(folder: Path, notes: list[str]) -> dict[str, Any] | None:
    """Describe the commit that is checked out and what differs from it.

    Args:
        folder: Any folder of the work tree.
        notes: Takes the reason for whatever is missing or was cut.

    Returns:
        None outside a repository, else `commit`, `branch` (None when detached), `remote` (without credentials), `dirty`
        (whether tracked files differ from the commit), `diff` (the text of that difference, at most `DIFF_LIMIT` bytes)
        and `untracked` (names, at most `UNTRACKED_LIMIT`; their contents are not looked at).
    """
    try:
        answer = _git(folder, *_STATUS)
    except subprocess.TimeoutExpired as error:
        notes.append(f"git: {reason_of(error)} to compare the work tree")
        return _commit_alone(folder, notes)
    except (OSError, subprocess.SubprocessError) as error:
        notes.append(f"git: {reason_of(error)}")
        return None
    status = _parse_status(answer, notes)
    return {
        "commit": status.commit,
        "branch": status.branch,
        "remote": _remote(folder, notes),
        "dirty": status.changed,
        "diff": _diff(folder, status, notes),
        "untracked": _limited(status.untracked, notes),
    }


def _git(folder: Path, *arguments: str, limit: int = _ANSWER_LIMIT) -> Output:
    variables = {name: value for name, value in os.environ.items() if name not in _REDIRECTIONS} | _QUIET
    settings = ("-c", "core.fsmonitor=false", "-c", "core.safecrlf=false")
    command = ("git", "-C", str(folder), *settings, *arguments)
    return output_of(command, seconds=_SECONDS, limit=limit, variables=variables)


def _parse_status(answer: Output, notes: list[str]) -> _Status:
    entries = answer.text.split("\0")[:-1]
    if answer.cut:
        notes.append("git: the list of changed and untracked files was too long and is cut")
    status = _Status()
    fields = iter(entries)
    for entry in fields:
        kind, _, rest = entry.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            if name == "branch.oid" and value != "(initial)":
                status.commit = value
            elif name == "branch.head" and value != "(detached)":
                status.branch = value
        elif kind == "?":
            status.untracked.append(rest)
        else:
            status.changed = True
            if kind == "2":
                next(fields, None)  # a renamed file is followed by its old name
    return status


def _diff(folder: Path, status: _Status, notes: list[str]) -> str | None:
    if not status.changed:
        return ""
    if status.commit is None:
        notes.append("git: no diff, because there is no commit yet")
        return None
    try:
        answer = _git(folder, *_DIFF, "HEAD", "--", limit=DIFF_LIMIT)
    except (OSError, subprocess.SubprocessError) as error:
        notes.append(f"git: no diff: {reason_of(error)}")
        return None
    if not answer.cut:
        return answer.text
    notes.append(f"git: the diff is cut after {DIFF_LIMIT} bytes")
    return answer.text[: answer.text.rfind("\n") + 1]


def _remote(folder: Path, notes: list[str]) -> str | None:
    try:
        answer = _git(folder, *_REMOTES)
    except (OSError, subprocess.SubprocessError) as error:
        if not (isinstance(error, subprocess.CalledProcessError) and error.returncode == _NO_SUCH_SETTING):
            notes.append(f"git: no remote: {reason_of(error)}")
        return None
    settings = dict(line.split("\n", 1) for line in answer.text.split("\0") if "\n" in line)
    addresses = [settings.get("remote.origin.url"), *settings.values()]
    return next((secrets.public_address(address) for address in addresses if address), None)


def _commit_alone(folder: Path, notes: list[str]) -> dict[str, Any] | None:
    try:
        commit = _git(folder, "rev-parse", "--verify", "HEAD").text.strip()
    except (OSError, subprocess.SubprocessError) as error:
        notes.append(f"git: no commit: {reason_of(error)}")
        return None
    remote = _remote(folder, notes)
    return {"commit": commit, "branch": None, "remote": remote, "dirty": None, "diff": None, "untracked": None}


def _limited(names: list[str], notes: list[str]) -> list[str]:
    if len(names) > UNTRACKED_LIMIT:
        notes.append(f"git: {UNTRACKED_LIMIT} of {len(names)} untracked names are kept")
    return names[:UNTRACKED_LIMIT]

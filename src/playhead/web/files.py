"""Files over HTTP: opened while the request is answered, never through a link, and exactly as long as was announced."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from playhead.errors import NotFound

_BLOCK = 1 << 18
# ELOOP stands for a link, ENXIO for a socket.
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG)
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading; a link in the store of a stranger may lead anywhere, so it counts as not there.

    Raises:
        NotFound: It is not there, or no plain file.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise
        raise NotFound(f"the file {path.name} is not there") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise NotFound(f"the file {path.name} is not there")
    return os.fdopen(number, "rb")


def plain_size(path: Path) -> int:
    """Give the bytes of a file; 0 where there is none, or no plain one."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


class OpenFile(Response):
    """A file that is open already, or the range of it that is asked for. It is closed after it was sent.

    It is sent as long as it was when it was opened, however much is added meanwhile, and also where its name has gone
    since. Where the client takes nothing for too long it is cut off.

    Args:
        file: The file.
        media_type: Its content type.
        headers: Further headers.
        stalled_s: How many seconds a client may take nothing.
        longest_s: How many seconds it may take in all; None for any time.
    """

    def __init__(
        self,
        file: BinaryIO,
        media_type: str,
        headers: Mapping[str, str],
        *,
        stalled_s: float = 60.0,
        longest_s: float | None = None,
    ) -> None:
        super().__init__(headers=dict(headers), media_type=media_type)
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        self._stalled_s = stalled_s
        self._longest_s = longest_s
        self.headers["Accept-Ranges"] = "bytes"
        self.headers["Content-Length"] = str(self.size)

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Send the file."""
        with self._file, anyio.move_on_after(self._longest_s):
            start, stop = self._chosen(Headers(scope=scope))
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            left = 0 if scope["method"] == "HEAD" else stop - start
            while left > 0:
                block = await anyio.to_thread.run_sync(self._read, start, min(_BLOCK, left))
                if not block:  # it was cut: the client sees that less came than was announced
                    return
                start, left = start + len(block), left - len(block)
                with anyio.move_on_after(self._stalled_s) as waiting:
                    await send({"type": "http.response.body", "body": block, "more_body": True})
                if waiting.cancelled_caught:
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _read(self, start: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, start)

    def _chosen(self, asked: Headers) -> tuple[int, int]:
        """Give the bytes that are asked for, and say so in the headers; several ranges are answered with all of it."""
        found = _RANGE.fullmatch(asked.get("range", "").replace(" ", ""))
        is_same = asked.get("if-range") in (None, self.headers.get("etag"))
        if found is None or not is_same or not (found[1] or found[2]):
            return 0, self.size
        if found[1]:
            start, stop = int(found[1]), min(self.size, int(found[2]) + 1 if found[2] else self.size)
            if found[2] and int(found[2]) < int(found[1]):  # no range at all
                return 0, self.size
        else:
            start, stop = max(0, self.size - int(found[2])), self.size
        if start >= stop:
            self.status_code = 416
            self.headers["Content-Range"] = f"bytes */{self.size}"
            start = stop = 0
        else:
            self.status_code = 206
            self.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{self.size}"
        self.headers["Content-Length"] = str(stop - start)
        return start, stop

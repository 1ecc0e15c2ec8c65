"""The built page: its files, and `index.html` for every address of its own."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from playhead.web import answers, errors

FOLDER = Path(__file__).parent / "page"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
}
_PACKED = (".html", ".js", ".css", ".json", ".map", ".svg", ".txt", ".wasm")
_MISSING = """\
The page has not been built, so there is only the API, under /api.

In a checkout of Playhead, build it with:

    make page

A wheel of Playhead contains it.
"""


class _File(NamedTuple):
    changed_ns: int
    tag: str
    content: bytes
    packed: bytes | None


class Page:
    """The files of the built page.

    Only names that are found in the folder are served: no text of a request is ever made into a path.

    Args:
        folder: Where it was built.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = FOLDER if folder is None else folder
        self._lock = threading.Lock()
        self._files: dict[str, _File] = {}
        self._names: dict[str, Path] = {}

    def answer(self, request: Request) -> Response:
        """Give a file of the page, or `index.html` where the path names none."""
        wanted = request.url.path.lstrip("/")
        path = self._find(wanted)
        if path is None and wanted.startswith("assets/"):
            return errors.answer(404, "NotFound", "the page has no such file; load it anew")
        if path is None:
            wanted, path = "index.html", self._find("index.html")
        if path is None:
            return PlainTextResponse(_MISSING, 503, {"Cache-Control": "no-store"})
        file = self._load(wanted, path)
        # Vite puts a hash of the content into the names of assets.
        cache = "public, max-age=31536000, immutable" if wanted.startswith("assets/") else "no-cache"
        if answers.is_known(request.headers, file.tag):
            return answers.not_modified(file.tag, cache)
        response = self._response(file, path.suffix, request.headers.get("accept-encoding", ""))
        return answers.tagged(response, file.tag, cache)

    def _find(self, name: str) -> Path | None:
        path = self._names.get(name)
        if path is None or not path.is_file():
            self._names = {
                one.relative_to(self._folder).as_posix(): one
                for one in self._folder.rglob("*")
                if one.suffix in _TYPES and one.is_file()
            }
            path = self._names.get(name)
        return path

    def _load(self, name: str, path: Path) -> _File:
        changed = path.stat().st_mtime_ns
        with self._lock:
            file = self._files.get(name)
            if file is None or file.changed_ns != changed:
                content = path.read_bytes()
                packed = answers.gzipped(content, 9) if path.suffix in _PACKED else None
                file = self._files[name] = _File(changed, answers.etag(content.hex()), content, packed)
            return file

    @staticmethod
    def _response(file: _File, suffix: str, accepted: str) -> Response:
        if file.packed is None:
            return Response(file.content, media_type=_TYPES[suffix])
        headers = {"Vary": "Accept-Encoding"}
        if answers.accepts_gzip(accepted):
            return Response(file.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=_TYPES[suffix])
        return Response(file.content, headers=headers, media_type=_TYPES[suffix])

"""Media of a run: what was logged, and the files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

from starlette.responses import Response

from playhead import clock
from playhead.errors import NotFound
from playhead.run import Media
from playhead.web import answers
from playhead.web.files import OpenFile, open_plain
from playhead.web.routes import Answer, Ask, Route, in_path
from playhead.web.runs import rows
from playhead.web.schema import INTEGER, SECONDS, TEXT, maybe, record, several

# What a browser shows in place; everything else is saved, so that nothing that was logged runs as script.
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
}


def list_media(ask: Ask) -> Any:
    """List the media of a run."""
    run = rows.find_run(ask.site, ask["id"])
    origin = rows.origin_ns(run._row)
    return {"items": [item_of(run.id, index, item, origin) for index, item in enumerate(run.media)]}


def item_of(run_id: str, index: int, item: Media, origin: int) -> dict[str, Any]:
    """Describe one thing that was logged."""
    return {
        "index": index,
        "key": item.key,
        "step": item.step,
        "time_s": (item.ts_ns - origin) / clock.SECOND,
        "caption": item.caption,
        "type": TYPES.get(item.path.suffix.lower(), answers.BYTES),
        "url": f"/api/runs/{run_id}/media/{index}",
    }


def read_media(ask: Ask) -> Response:
    """Give one file."""
    run = rows.find_run(ask.site, ask["id"])
    index = ask["index"]
    media = run.media
    if not index.isascii() or not index.isdigit() or len(index) > 9 or int(index) >= len(media):
        raise NotFound(f"no media {index!r} in the run {run.id}: there are {len(media)}")
    item = media[int(index)]
    file = _opened(item.path, run.path)
    status = os.fstat(file.fileno())
    tag = answers.etag(run.id, item.ts_ns, item.path.name, status.st_size, status.st_mtime_ns)
    if answers.is_known(ask.headers, tag):
        file.close()
        return answers.not_modified(tag)
    kind = TYPES.get(item.path.suffix.lower())
    headers = {} if kind else {"Content-Disposition": answers.attachment(item.path.name)}
    return answers.tagged(OpenFile(file, kind or answers.BYTES, headers), tag)


def _opened(path: Path, folder: Path) -> BinaryIO:
    """Open a file of a run; a link in a store of a stranger may lead anywhere.

    Raises:
        NotFound: It is not there, or no plain file in the run's folder.
    """
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise NotFound(f"the file {path.name} is not there")
    return open_plain(path)


ITEM = record(
    {
        "index": INTEGER,
        "key": TEXT,
        "step": maybe(INTEGER),
        "time_s": SECONDS,
        "caption": maybe(TEXT),
        "type": TEXT,
        "url": TEXT,
    }
)

ROUTES = (
    Route(
        "GET",
        "/api/runs/{id}/media",
        list_media,
        "List the media of a run, in the order they were logged.",
        parameters=(rows.RUN_ID,),
        answer=Answer("The media.", record({"items": several(ITEM)})),
    ),
    Route(
        "GET",
        "/api/runs/{id}/media/{index}",
        read_media,
        "Give one file of a run's media.",
        parameters=(rows.RUN_ID, in_path("index", "Its place in the list.", longest=20)),
        answer=Answer("The file.", types=(*sorted(set(TYPES.values())), answers.BYTES)),
        may_be_unchanged=True,
    ),
)

"""What is sent back: JSON by the rules of the API, Arrow, bytes, files; and what need not be sent again."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson
from starlette.responses import Response

from playhead import strictjson

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

ARROW = "application/vnd.apache.arrow.stream"
BYTES = "application/octet-stream"
JSON = "application/json"
FOR_EVER = "private, max-age=31536000, immutable"
CHECK_FIRST = "private, no-cache"

_EXACT = 2**53  # past this, JavaScript's numbers skip some
_SMALL = 1_000  # bytes that are not worth compressing
_LEVEL = 4
_COMPRESSIBLE = (JSON, ARROW, BYTES, "text/", "image/svg")


def number(value: float | None) -> float | str | None:
    """Give a float as the API writes it: NaN as null, the infinities as text."""
    if value is None or math.isfinite(value):
        return value
    return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def numbers(values: np.ndarray[Any, Any]) -> Any:
    """Give an array of floats as the API writes them; `json` takes it as it is."""
    import numpy as np

    infinite = np.isinf(values)
    if not infinite.any():
        return np.ascontiguousarray(values)
    return [number(value) for value in values.tolist()]


def plain(value: Any) -> Any:
    """Give anything that was recorded as the API writes it, at any depth.

    Integers past 2^53 become text: JavaScript would round them.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return value if -_EXACT <= value <= _EXACT else str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return plain(strictjson.restore(strictjson.plain(value)))


def json(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON; NumPy arrays are lists."""
    body = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(body, status, dict(headers or {}), JSON)


def arrow(table: pa.Table) -> Response:
    """Answer with a table as an Arrow IPC stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Response(sink.getvalue().to_pybytes(), media_type=ARROW)


def download(content: bytes, media_type: str, name: str) -> Response:
    """Answer with bytes that a browser saves under a name."""
    return Response(content, headers={"Content-Disposition": attachment(name)}, media_type=media_type)


def attachment(name: str) -> str:
    """Spell the header that makes a browser save an answer under a name."""
    safe = "".join(char if char.isascii() and (char.isalnum() or char in "._- ") else "_" for char in name)
    return f'attachment; filename="{safe}"'


def etag(*parts: object) -> str:
    """Make the tag of an answer from all that it depends on."""
    text = "\x00".join(map(str, parts))
    return f'"{hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()}"'


def is_known(headers: Mapping[str, str], tag: str) -> bool:
    """Tell whether the asker has the answer with this tag already."""
    given = headers.get("if-none-match", "")
    return given == "*" or tag in (one.strip().removeprefix("W/") for one in given.split(","))


def not_modified(tag: str, cache: str = CHECK_FIRST) -> Response:
    """Answer that the asker has it already."""
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": cache})


def tagged(response: Response, tag: str, cache: str = CHECK_FIRST) -> Response:
    """Put a tag on an answer."""
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = cache
    return response


def packed(response: Response, accepted: str) -> Response:
    """Compress an answer that is worth it, if the asker understands.

    Args:
        response: The answer; one that is streamed or a file stays as it is.
        accepted: The header Accept-Encoding.
    """
    if type(response) is not Response or len(response.body) < _SMALL or "content-encoding" in response.headers:
        return response
    if not response.headers.get("content-type", "").startswith(_COMPRESSIBLE):
        return response
    response.headers["Vary"] = "Accept-Encoding"
    if accepts_gzip(accepted):
        response.body = gzipped(bytes(response.body))
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
    return response


def accepts_gzip(accepted: str) -> bool:
    """Tell whether a header Accept-Encoding allows gzip."""
    offers = (offer.strip().lower().partition(";") for offer in accepted.split(","))
    return any(
        name.strip() in ("gzip", "*") and rest.replace(" ", "") not in ("q=0", "q=0.0") for name, _, rest in offers
    )


def gzipped(content: bytes, level: int = _LEVEL) -> bytes:
    """Compress bytes, the same each time."""
    return zlib.compress(content, level, wbits=31)

"""Images of a run, as files in its `media/` folder."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

from playhead import clock, disk
from playhead.errors import NotFound, WrongShape, WrongType
from playhead.paths import as_path

_KEY = re.compile(r"[^\w.-]+")


def save_image(folder: Path, key: str, image: Any) -> Path:
    """Save an image under a name of its own: milliseconds, six hex digits, the key.

    Args:
        folder: The run's media folder; made if missing.
        key: The image's name.
        image: An array, a PIL image or the path of a file.
    """
    disk.make_folders(folder)  # on the medium, as the image will be: bytes before the line that names them
    stem = f"{clock.now_ns() // 1_000_000}_{os.urandom(3).hex()}_{_KEY.sub('_', key)[:100]}"
    if isinstance(image, (str, os.PathLike)):
        source = as_path(image)
        if not source.is_file():
            what = "is a folder" if source.is_dir() else "is not there"
            raise NotFound(f"no image {str(source)!r} to log: it {what}; give the path of a file, or the image itself")
        target = folder / f"{stem}{source.suffix.lower()}"
        disk.copy(source, target)
        return target
    target = folder / f"{stem}.png"
    disk.replace(target, _png(image))
    return target


def _png(image: Any) -> bytes:
    from PIL import Image

    if not isinstance(image, Image.Image):
        image = Image.fromarray(_pixels(image))
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def _pixels(image: Any) -> Any:
    import numpy as np

    if hasattr(image, "detach"):  # a torch tensor, perhaps on a GPU
        image = image.detach().cpu().numpy()
    try:
        array = np.asarray(image)
    except ValueError:
        raise WrongShape("an image is an array of pixels, and the rows of this list differ in length") from None
    if array.dtype == object or array.dtype.kind in "USV":
        raise WrongType(f"an image is an array, a PIL image or a path, not {type(image).__name__}")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))) or 0 in array.shape:
        hint = (
            "; move the channels back: image.transpose(1, 2, 0)" if array.ndim == 3 and len(array) in (1, 3, 4) else ""
        )
        raise WrongShape(f"an image has shape (height, width) or (height, width, 1, 3 or 4), not {array.shape}{hint}")
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * 255
    if array.dtype.kind == "f":
        if not np.isfinite(array).all() or array.min() < 0 or array.max() > 1:
            raise WrongType("a float image has values from 0 to 1; scale it, or convert it to uint8")
        return (array * 255 + 0.5).astype(np.uint8)
    if array.dtype != np.uint8:
        raise WrongType(f"an image is uint8 or float, not {array.dtype}; convert it first")
    return np.ascontiguousarray(array)

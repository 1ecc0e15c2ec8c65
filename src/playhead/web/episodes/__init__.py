"""Episodes and frames over HTTP."""

from __future__ import annotations

import contextlib

from playhead import forks
from playhead.errors import MissingExtra
from playhead.web.episodes import datasets, exports, frames, manifest, steps, strips, values
from playhead.web.routes import Route

ROUTES: tuple[Route, ...] = (
    *manifest.ROUTES,
    *values.ROUTES,
    *steps.ROUTES,
    *frames.ROUTES,
    *strips.ROUTES,
    *exports.ROUTES,
    *datasets.ROUTES,
)


def prepare() -> None:
    """Load what the first episode would wait for: decoders and encoders, half a second once in a process."""
    with forks.Working():  # a child would wait for ever for a module that is half loaded when it is forked
        import PIL.Image
        import simplejpeg  # type: ignore[import-untyped]  # noqa: F401
        import tsdownsample  # noqa: F401

        import playhead.lanes.vectors

        with contextlib.suppress(MissingExtra):  # a camera will say so
            import playhead.lanes.video  # noqa: F401
        PIL.Image.preinit()

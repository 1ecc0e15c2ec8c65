"""Runs over HTTP: lists, one run, its metrics, its log, its media, and what changes."""

from __future__ import annotations

from playhead.web.routes import Route
from playhead.web.runs import compare, editing, events, export, listing, log, media, metrics, moment, one, store

ROUTES: tuple[Route, ...] = (
    *store.ROUTES,
    *listing.ROUTES,
    *export.ROUTES,
    *editing.ROUTES,
    *one.ROUTES,
    *metrics.ROUTES,
    *log.ROUTES,
    *media.ROUTES,
    *moment.ROUTES,
    *compare.ROUTES,
    *events.ROUTES,
)

"""`playhead serve`: one store as a page and as an API over HTTP.

`app.make_app` makes the application, `server.Server` runs it. Every route is declared once, in the `ROUTES` of the
modules under `runs/` and `episodes/`; see `routes`. Needs the extra `web`.
"""

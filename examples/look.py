"""Open the page on a store; where the environment says CI=true, look at it once and end.

python examples/look.py --store demo-store
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from urllib.request import urlopen

import orjson

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background


def look_once(place: str) -> None:
    """Serve the store for a moment, and say what the page would show."""
    with playhead.open(place) as store, Background(make_app(store)) as server:
        with urlopen(server.address) as answer:
            page = answer.read()
        with urlopen(f"{server.address}api/runs?limit=3") as answer:
            runs = orjson.loads(answer.read())
    assert b"<title>Playhead</title>" in page
    names = ", ".join(f"{run['project']}/{run['name']}" for run in runs["runs"])
    print(f"The page is there ({len(page)} bytes) and shows {runs['total']} runs: {names}, …")


def main() -> None:
    """Open the page until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="store")
    place = parser.parse_args().store
    if os.environ.get("CI") == "true":
        look_once(place)
    else:
        subprocess.run([sys.executable, "-m", "playhead", "serve", place], check=True)


if __name__ == "__main__":
    main()

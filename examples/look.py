"""Say what to type next, and open the page on a store; where the environment says CI=true, look at it once and end.

python examples/look.py --store demo-store
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import orjson

import playhead
from playhead.web.app import make_app
from playhead.web.server import Background

NEXT = {
    "playhead show last": "what the newest run holds",
    "playhead replay {game} --out game.gif": "the newest episode of the game, as a film",
    "playhead trace info last/search": "a history that was never stored whole",
    "playhead artifact show policy:best": "the policy, and what each file of it was when it was saved",
    "playhead episode sheet pendulum/-1 -o sheet.png": "a camera and its sensors on one sheet",
}


def tell_next(place: str) -> None:
    """Say which commands to try, and what each shows."""
    with playhead.open(place, mode="r") as store:
        game = store.runs("atari")[-1].id
    folder = Path(sys.executable).parent
    print("\nTry next, in another terminal:\n")
    print(f"  source {folder}/activate; export PLAYHEAD_STORE={Path(place).absolute()}")
    for command, shown in NEXT.items():
        print(f"  {command.format(game=game):54}  # {shown}")
    print(flush=True)


def look_once(place: str) -> None:
    """Serve the store for a moment, and say what the page would show."""
    with playhead.open(place) as store, Background(make_app(store)) as server:
        with urlopen(server.address) as answer:
            page = answer.read()
        with urlopen(f"{server.address}api/runs?limit=3") as answer:
            runs = orjson.loads(answer.read())
    assert b"<title>Playhead</title>" in page
    names = ", ".join(f"{run['project']}/{run['name']}" for run in runs["runs"])
    print(f"The page is there ({len(page)} bytes) and shows {runs['total']} runs, the newest: {names}.")


def main() -> None:
    """Open the page until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default="store")
    place = parser.parse_args().store
    tell_next(place)
    if os.environ.get("CI") == "true":
        look_once(place)
    else:
        subprocess.run([sys.executable, "-m", "playhead", "serve", place], check=True)


if __name__ == "__main__":
    main()

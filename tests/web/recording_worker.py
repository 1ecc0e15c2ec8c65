"""A process that records an episode: `python -m … STORE RUN`. It records ten steps for each line that it is sent."""

from __future__ import annotations

import sys

import playhead
from tests.web.material import picture


def main() -> None:
    path, run_id = sys.argv[1:]
    with playhead.open(path) as store, store.run("live", "elsewhere", run_id=run_id, environment=False) as run:
        reel = run.new_reel()
        reel.begin({"seed": 1})
        step = 0
        for line in sys.stdin:
            if line.strip() == "end":
                break
            for _ in range(10):
                reel.step({"frames": picture(step)}, 1.0, False, False, b'{"lives": 3}')
                step += 1
            reel.flush()
            run.flush()
            print(step, flush=True)
        reel.end("terminated")
        reel.close()


if __name__ == "__main__":
    main()

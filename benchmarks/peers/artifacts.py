"""Saving 10,000 small files beside `dvc add` and MLflow's `log_artifact` of each and `log_artifacts` of the folder.

Run: python -m benchmarks.peers.artifacts [--files 10000] [--rounds 3] [--folder PATH] [--only dvc]

Each saves the same folder in a process of its own, in turns, on the same disk; importing is not counted. Neither of the
others syncs what it writes, and MLflow computes no checksum. Where many files were deleted in the minutes before, ext4
takes several times as long to make new ones.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.artifacts import make_small
from benchmarks.measure import report
from benchmarks.peers.drive import REPOSITORY
from benchmarks.peers.environments import InstallError, python_for
from benchmarks.peers.registry import Peer
from benchmarks.replay_measure import at_least

FILES, BAR, HELD_TO = 10_000, 3.0, ("dvc", "mlflow")
MLFLOW_QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
PEERS = {
    "dvc": Peer("dvc", "DVC 3.67.1, dvc add", ("dvc==3.67.1",), {"DVC_NO_ANALYTICS": "true"}),
    "mlflow": Peer("mlflow", "MLflow 3.17.2, log_artifact", ("mlflow==3.17.2",), MLFLOW_QUIET),
    "mlflow-folder": Peer("mlflow", "MLflow 3.17.2, log_artifacts", ("mlflow==3.17.2",), MLFLOW_QUIET),
}
MLFLOW = """
import os, sys, time, mlflow
mlflow.set_tracking_uri("sqlite:///" + sys.argv[2] + "/mlflow.db")
mlflow.create_experiment("e", artifact_location="file://" + sys.argv[2] + "/artifacts")
with mlflow.start_run(experiment_id=mlflow.get_experiment_by_name("e").experiment_id):
    start = time.perf_counter()
    SAVE
    print(time.perf_counter() - start)
"""
# Each takes the folder to save and an empty one to save into, and prints how many seconds it took.
SCRIPTS = {
    "ours": """
import sys, time, playhead
store = playhead.open(sys.argv[2] + "/store")
with store.run("p", "n", environment=False) as run:
    start = time.perf_counter()
    run.log_artifact("small", sys.argv[1], type="dataset", progress=False)
    print(time.perf_counter() - start)
""",
    "dvc": """
import os, shutil, sys, time
from dvc.repo import Repo
os.chdir(sys.argv[2])
shutil.copytree(sys.argv[1], "small")
repo = Repo.init(no_scm=True)
start = time.perf_counter()
repo.add(["small"])
print(time.perf_counter() - start)
""",
    "mlflow": MLFLOW.replace(
        "SAVE",
        """
    for folder in sorted(os.listdir(sys.argv[1])):
        for name in sorted(os.listdir(sys.argv[1] + "/" + folder)):
            mlflow.log_artifact(sys.argv[1] + "/" + folder + "/" + name, folder)
""",
    ),
    "mlflow-folder": MLFLOW.replace("SAVE", "mlflow.log_artifacts(sys.argv[1])"),
}


def main() -> None:
    """Print how many times faster than each saving is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--rounds", type=int, default=1, help="of which the best counts")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=tuple(PEERS), default=tuple(PEERS))
    parser.add_argument("--environments", type=Path, default=REPOSITORY / ".peers")
    given = parser.parse_args()
    print(f"Saving {given.files:,} files of 4 kB; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        folder = Path(scratch)
        make_small(folder / "small", given.files)
        pythons = {"ours": Path(sys.executable)} | installed(given.only, given.environments)
        found: dict[str, list[float]] = {name: [] for name in pythons}
        for number in range(given.rounds):
            for name, python in pythons.items():
                found[name].append(measure(python, name, folder, number))
    best = {name: min(seconds) for name, seconds in found.items()}
    report("Playhead, run.log_artifact", best.pop("ours"), "s")
    for name, theirs in best.items():
        report(PEERS[name].title, theirs, "s")
        times, what = theirs / min(found["ours"]), f"times faster than {PEERS[name].title}"
        if name in HELD_TO:
            at_least(what, times, "×", BAR)
        else:
            report(what, times, "×")


def installed(names: Sequence[str], environments: Path) -> dict[str, Path]:
    """Give the Python of each peer that can be installed."""
    pythons = {}
    for name in names:
        try:
            pythons[name] = python_for(PEERS[name], environments)
        except InstallError as error:
            print(f"  {PEERS[name].title}: not installed: {error}")
    return pythons


def measure(python: Path, name: str, folder: Path, number: int) -> float:
    """Let one save the files, after all that was written before is on the medium."""
    target = folder / f"{number}-{name}"
    target.mkdir()
    os.sync()
    environment = {**os.environ, **(PEERS[name].environment(str(target)) if name in PEERS else {})}
    if name in PEERS:
        environment.pop("PYTHONPATH", None)
    command = [str(python), "-c", SCRIPTS[name], str(folder / "small"), str(target)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{name} failed:\n{result.stderr[-2000:]}")
    return float(result.stdout.split()[-1])


if __name__ == "__main__":
    main()

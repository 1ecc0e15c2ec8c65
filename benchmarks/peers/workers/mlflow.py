"""MLflow over its default store, SQLite, in the same process."""

from pathlib import Path

import mlflow

from benchmarks.peers.adapter import PARAMETERS, PROJECT, Listing, Session
from benchmarks.peers.cloning import RunTable, clone_runs, connected, template_count

PAGE = 1000


def _database(folder: Path) -> Path:
    return folder / "mlflow.db"


def _use(folder: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{_database(folder)}")
    mlflow.set_experiment(PROJECT)


def start(folder: Path) -> Session:
    _use(folder)
    mlflow.start_run()
    mlflow.log_params(PARAMETERS)
    return Session(mlflow.log_metrics, mlflow.end_run)


def surviving_steps(folder: Path) -> list[int]:
    with connected(_database(folder)) as connection:
        return [step for (step,) in connection.execute("SELECT step FROM metrics WHERE key = 'loss'")]


def fill(folder: Path, runs: int) -> None:
    _use(folder)
    for number in range(template_count(runs)):
        with mlflow.start_run():
            mlflow.log_params(PARAMETERS)
            mlflow.log_metrics({f"metric_{k}": number + 0.1 * k for k in range(10)}, step=0)
    tables = [
        RunTable("runs", "run_uuid", jittered=("start_time",)),
        RunTable("params", "run_uuid"),
        RunTable("tags", "run_uuid"),
        RunTable("metrics", "run_uuid", jittered=("value",)),
        RunTable("latest_metrics", "run_uuid", jittered=("value",)),
    ]
    clone_runs(_database(folder), tables, runs)


def listing(folder: Path) -> Listing:
    _use(folder)
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name(PROJECT).experiment_id

    def everything() -> int:
        count, token = 0, None
        while True:
            page = client.search_runs([experiment], max_results=PAGE, page_token=token)
            count, token = count + len(page), page.token
            if not token:
                return count

    # A run of MLflow always comes with its parameters and latest metrics, so both ways to list all are one.
    return Listing(
        first=lambda count: len(client.search_runs([experiment], max_results=count)),
        everything=everything,
        with_parameters=everything,
    )

"""MLflow over its default store, SQLite, in the same process; there is no safer setting."""

# ruff: noqa: ARG001

from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers import contract
from benchmarks.peers.keepers.contract import Answer, key


def _database(folder: Path) -> Path:
    return folder / "mlflow.db"


def start(folder: Path, name: str, *, safest: bool) -> Session:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{_database(folder)}")
    mlflow.set_experiment("trial")
    mlflow.start_run(run_name=name)
    mlflow.log_params(contract.config(name))
    return Session(mlflow.log_metrics, mlflow.end_run)


def read(folder: Path) -> Answer:
    import mlflow

    if not _database(folder).exists():
        raise FileNotFoundError("there is no database")
    mlflow.set_tracking_uri(f"sqlite:///{_database(folder)}")
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("trial")
    found: Answer = {}
    for run in client.search_runs([experiment.experiment_id]):
        name = run.info.run_name
        for what in run.data.metrics:
            history = client.get_metric_history(run.info.run_id, what)
            found |= {key(name, what, metric.step): metric.value for metric in history}
        found |= {key(name, "config", what): float(given) for what, given in run.data.params.items()}
    return found


def data(folder: Path) -> list[Path]:
    return [_database(folder)]


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    return {}

"""The peers: what to install, and how to keep each of them quiet and offline."""

from collections.abc import Mapping
from dataclasses import dataclass, field

BASELINE = "playhead"

#: Stands for the folder a peer may write to; replaced when a worker is started.
FOLDER = "{folder}"


@dataclass(frozen=True)
class Peer:
    """One tracker under measurement; ``name`` is also its adapter's module and its environment's folder."""

    name: str
    title: str
    requirements: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def environment(self, folder: str) -> dict[str, str]:
        """Give the environment variables for a worker that writes to ``folder``."""
        return {key: value.replace(FOLDER, folder) for key, value in self.variables.items()}


PEERS: tuple[Peer, ...] = (
    Peer(BASELINE, "Playhead"),
    Peer("trackio", "Trackio", ("trackio==0.43.0",), {"TRACKIO_DIR": FOLDER, "HF_HUB_OFFLINE": "1"}),
    Peer(
        "wandb",
        "W&B offline",
        ("wandb==0.31.0",),
        {
            "WANDB_MODE": "offline",
            "WANDB_SILENT": "true",
            "WANDB_CONSOLE": "off",
            "WANDB_ERROR_REPORTING": "false",
        },
    ),
    Peer("tensorboard", "TensorBoard", ("tensorboardX==2.6.5", "tensorboard==2.21.0")),
    Peer("runicorn", "Runicorn", ("runicorn==0.7.2",)),
    Peer("mlflow", "MLflow SQLite", ("mlflow==3.17.2",), {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}),
)

"""The environment variables that a run may note: those named here, and no others."""

from __future__ import annotations

from collections.abc import Mapping

from playhead.capture import secrets

NAMES = (
    # Which devices, and how the numeric libraries behave on them
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_TF32_OVERRIDE",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TF_DETERMINISTIC_OPS",
    "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "JAX_PLATFORMS",
    "JAX_ENABLE_X64",
    "MUJOCO_GL",
    "PYOPENGL_PLATFORM",
    "SDL_VIDEODRIVER",
    # Threads
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TOKENIZERS_PARALLELISM",
    # The place of this process in a job
    "RANK",
    "LOCAL_RANK",
    "GROUP_RANK",
    "NODE_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_NODELIST",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_NTASKS",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
    "SLURM_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_SUBMIT_DIR",
    "SLURM_CLUSTER_NAME",
    "PBS_JOBID",
    "LSB_JOBID",
    # Python and its surroundings
    "CONDA_DEFAULT_ENV",
    "CONDA_PREFIX",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "PYTHONOPTIMIZE",
    "PYTHONUNBUFFERED",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TZ",
)
"""Names that are noted as they are."""

PREFIXES = ("OMP_", "MKL_", "NCCL_", "TORCH_NCCL_", "GLOO_")
"""Beginnings of names that belong to libraries which keep no secrets in them."""


def allowed(variables: Mapping[str, str]) -> dict[str, str]:
    """Pick the variables that may be written down, sorted by name.

    A name that begins as allowed but reads like a secret is left out all the same, and an address in a value loses
    its password.
    """
    return {name: secrets.mask_text(variables[name]) for name in sorted(variables) if _is_allowed(name)}


def _is_allowed(name: str) -> bool:
    return name in NAMES or (name.startswith(PREFIXES) and not secrets.is_secret_name(name))

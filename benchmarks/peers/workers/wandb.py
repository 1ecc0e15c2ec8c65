"""Weights & Biases in offline mode; its runs can be listed only after they were sent to a server."""

import struct
from collections.abc import Iterator
from pathlib import Path

import wandb

from benchmarks.peers.adapter import PARAMETERS, PROJECT, Session

# A `.wandb` file is a LevelDB log: a header of its own, then blocks of records that may span blocks in fragments.
FILE_HEADER = 7
BLOCK = 32 * 1024
FRAGMENT_HEADER = struct.Struct("<IHB")
FULL, LAST = 1, 4


def start(folder: Path) -> Session:
    settings = wandb.Settings(
        x_disable_stats=True, x_disable_meta=True, x_disable_machine_info=True, disable_git=True, disable_code=True
    )
    run = wandb.init(project=PROJECT, dir=str(folder), config=dict(PARAMETERS), settings=settings)

    def finish() -> None:
        run.finish()
        wandb.teardown()  # waits for the service process, which holds part of the cost

    return Session(run.log, finish)


def surviving_steps(folder: Path) -> list[int]:
    from wandb.proto.wandb_internal_pb2 import Record

    steps = []
    for path in folder.glob("**/*.wandb"):
        for payload in _records(path.read_bytes()):
            record = Record.FromString(payload)
            if record.WhichOneof("record_type") == "history":
                steps.append(record.history.step.num)
    return steps


def _records(data: bytes) -> Iterator[bytes]:
    position, parts = FILE_HEADER, []
    while position + FRAGMENT_HEADER.size <= len(data):
        left_in_block = BLOCK - position % BLOCK
        if left_in_block < FRAGMENT_HEADER.size:
            position += left_in_block
            continue
        _checksum, length, kind = FRAGMENT_HEADER.unpack_from(data, position)
        position += FRAGMENT_HEADER.size
        if kind == 0 or position + length > len(data):
            return
        parts.append(data[position : position + length])
        position += length
        if kind in (FULL, LAST):
            yield b"".join(parts)
            parts.clear()

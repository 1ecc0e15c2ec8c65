"""Weights & Biases, offline; the safest way lets it write every hundredth of a second instead of every 15 s.

Its own reader is the service that sends a file to a server. The one here checks the same checksums, and refuses what
does not fit them; whose a file is it takes from the file.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.peers.adapter import Session
from benchmarks.peers.keepers import contract
from benchmarks.peers.keepers.contract import Answer, key
from benchmarks.peers.workers.wandb import BLOCK, FILE_HEADER, FRAGMENT_HEADER, FULL, LAST


def start(folder: Path, name: str, *, safest: bool) -> Session:
    import wandb

    settings = wandb.Settings(x_disable_stats=True, x_disable_machine_info=True, disable_git=True, disable_code=True)
    if safest:
        settings.x_transaction_log_flush_interval = 0.01
    run = wandb.init(project="trial", name=name, dir=str(folder), config=contract.config(name), settings=settings)

    def finish() -> None:
        run.finish()
        wandb.teardown()  # waits for the service process

    return Session(run.log, finish)


def read(folder: Path) -> Answer:
    from wandb.proto.wandb_internal_pb2 import Record

    found: Answer = {}
    files = data(folder)
    if not files:
        raise FileNotFoundError("there is no run")
    for path in files:
        name = "?"
        for payload in _records(path.read_bytes()):
            record = Record.FromString(payload)
            match record.WhichOneof("record_type"):
                case "run":
                    name = record.run.display_name
                    for item in record.run.config.update:
                        if item.key in contract.config(name):
                            found[key(name, "config", item.key)] = json.loads(item.value_json)
                case "history":
                    for item in record.history.item:
                        what = item.key or "/".join(item.nested_key)
                        if not what.startswith("_"):
                            found[key(name, what, record.history.step.num)] = json.loads(item.value_json)
    return found


def data(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("**/*.wandb") if not path.is_symlink() and not path.parent.is_symlink())


def kinds(folder: Path) -> Mapping[str, list[Path]]:
    return {".wandb": data(folder)}


def _records(data: bytes) -> Iterator[bytes]:
    """Yield the records of a LevelDB log, whose checksum covers a fragment's kind and bytes; a torn tail ends it.

    Raises:
        ValueError: A checksum does not fit.
    """
    position, parts = FILE_HEADER, []
    while position + FRAGMENT_HEADER.size <= len(data):
        left_in_block = BLOCK - position % BLOCK
        if left_in_block < FRAGMENT_HEADER.size:
            position += left_in_block
            continue
        checksum, length, kind = FRAGMENT_HEADER.unpack_from(data, position)
        position += FRAGMENT_HEADER.size
        if (kind == 0 and length == 0) or position + length > len(data):
            return
        fragment = data[position : position + length]
        if zlib.crc32(fragment, zlib.crc32(bytes([kind]))) != checksum:
            raise ValueError(f"checksum of the record at {position}")
        parts.append(fragment)
        position += length
        if kind in (FULL, LAST):
            yield b"".join(parts)
            parts.clear()

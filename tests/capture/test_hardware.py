"""The machine, read from the system itself; GPUs through a program that answers as `nvidia-smi` does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playhead.capture import hardware


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def install(script: str) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return install


def test_processors_and_memory_are_those_of_this_machine():
    notes: list[str] = []
    cpu = hardware.cpu(notes)
    assert cpu["count"] == os.cpu_count()
    assert cpu["affinity"] == sorted(os.sched_getaffinity(0))
    assert cpu["model"] or notes
    memory = hardware.memory_bytes(notes)
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert memory == pytest.approx(total_kib * 1024, rel=0.05)


def test_a_processor_without_a_model_name_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    facts = tmp_path / "cpuinfo"
    facts.write_text("processor\t: 0\nBogoMIPS\t: 50.00\n")
    monkeypatch.setattr(hardware, "_CPU_FACTS", facts)
    notes: list[str] = []
    assert hardware.cpu(notes)["model"] is None
    assert len(notes) == 1


def test_gpus_are_listed_with_their_memory_in_bytes(nvidia_smi):
    nvidia_smi('echo "NVIDIA H200, 143771, 570.86.15"; echo "NVIDIA GB10, [N/A], 580.1"')
    notes: list[str] = []
    assert hardware.gpus(notes) == [
        {"name": "NVIDIA H200", "memory_bytes": 143771 << 20, "driver": "570.86.15"},
        {"name": "NVIDIA GB10", "memory_bytes": None, "driver": "580.1"},
    ]
    assert notes == []


def test_a_machine_with_a_driver_but_no_gpu_has_an_empty_list(nvidia_smi):
    nvidia_smi('echo "No devices were found"')
    assert hardware.gpus([]) == []


def test_a_driver_that_does_not_answer_is_noted(nvidia_smi):
    nvidia_smi('echo "NVIDIA-SMI has failed because it could not reach the driver."; exit 9')
    notes: list[str] = []
    assert hardware.gpus(notes) is None
    assert notes == ["gpus: NVIDIA-SMI has failed because it could not reach the driver."]


def test_a_program_that_hangs_is_given_up(nvidia_smi, monkeypatch: pytest.MonkeyPatch):
    nvidia_smi("sleep 60")
    monkeypatch.setattr(hardware, "_GPU_SECONDS", 0.3)
    notes: list[str] = []
    assert hardware.gpus(notes) is None
    assert notes == ["gpus: nvidia-smi took longer than 0.3 s"]


def test_without_the_program_the_reason_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    notes: list[str] = []
    assert hardware.gpus(notes) is None
    assert notes == ["gpus: there is no program nvidia-smi"]

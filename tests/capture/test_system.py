"""Samples of the load of this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from playhead.capture.system import SystemSampler
from playhead.errors import Closed

# Answers as the module of nvidia-ml-py does on a machine with one GPU that has no thermometer.
NVML = """
NVML_TEMPERATURE_GPU = 0
shutdowns = []
class NVMLError(Exception): pass
class Load: gpu = 37
class Memory: used, total = 20, 80
def nvmlInit(): pass
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetUtilizationRates(handle): return Load
def nvmlDeviceGetMemoryInfo(handle): return Memory
def nvmlDeviceGetTemperature(handle, sensor): raise NVMLError("not supported")
def nvmlShutdown(): shutdowns.append(1)
"""


def use_nvml(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pynvml.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)


def test_a_sample_holds_processors_memory_and_this_process():
    sampler = SystemSampler()
    sample = sampler.sample()
    sampler.close()
    assert 0 <= sample["system/cpu_percent"] <= 100
    assert 0 < sample["system/memory_percent"] <= 100
    resident_kib = int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
    assert sample["system/process_memory_mb"] == pytest.approx(resident_kib * 1024 / 1e6, rel=0.2)
    assert all(type(value) is float for value in sample.values())


def test_a_busy_process_shows_in_the_next_sample():
    sampler = SystemSampler()
    sampler.sample()
    sum(range(20_000_000))
    assert sampler.sample()["system/cpu_percent"] > 5
    sampler.close()


def test_gpus_are_numbered_and_a_missing_sensor_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    use_nvml(NVML, tmp_path, monkeypatch)
    sampler = SystemSampler()
    sample = sampler.sample()
    assert {key: value for key, value in sample.items() if "gpu" in key} == {
        "system/gpu0_percent": 37.0,
        "system/gpu0_memory_percent": 25.0,
    }
    sampler.close()
    sampler.close()
    assert sys.modules["pynvml"].shutdowns == [1]


def test_a_machine_without_a_driver_has_no_gpu_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    no_driver = NVML.replace("def nvmlInit(): pass", "def nvmlInit(): raise NVMLError('driver not loaded')")
    use_nvml(no_driver, tmp_path, monkeypatch)
    sampler = SystemSampler()
    assert not [key for key in sampler.sample() if "gpu" in key]
    sampler.close()


def test_a_closed_sampler_says_so():
    sampler = SystemSampler()
    sampler.close()
    sampler.close()
    with pytest.raises(Closed):
        sampler.sample()


def test_without_psutil_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['psutil'] = None\nfrom playhead.capture.system import SystemSampler\nSystemSampler()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "MissingExtra" in done.stderr
    assert "playhead[system]" in done.stderr

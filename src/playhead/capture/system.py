"""Samples of the load of the machine: processors, memory, this process, and NVIDIA GPUs where there are any."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

from playhead.errors import Closed, MissingExtra

_MB = 1_000_000


class SystemSampler:
    """Reads the load now; the load of the processors is that since the sample before.

    Keys are `system/cpu_percent`, `system/memory_percent`, `system/process_memory_mb` (resident, in units of a million
    bytes), and for each GPU `system/gpu0_percent`, `system/gpu0_memory_percent`, `system/gpu0_temperature` (in degrees
    Celsius). GPUs are numbered as the driver counts them, whatever CUDA_VISIBLE_DEVICES says; a reading that the driver
    does not give is left out.

    Raises:
        MissingExtra: psutil is not installed.

    Example:
        >>> sampler = SystemSampler()
        >>> 0 <= sampler.sample()["system/memory_percent"] <= 100
        True
        >>> sampler.close()
    """

    def __init__(self) -> None:
        try:
            import psutil
        except ModuleNotFoundError as error:
            raise MissingExtra("psutil", "system") from error
        self._psutil: ModuleType | None = psutil
        self._process = psutil.Process()
        self._gpus = _Gpus.open()
        psutil.cpu_percent()  # the first reading has nothing to compare with and is always 0

    def sample(self) -> dict[str, float]:
        """Read everything once.

        Raises:
            Closed: The sampler was closed.
        """
        if self._psutil is None:
            raise Closed("this sampler of system metrics is closed; make a new one")
        values: dict[str, float] = {
            "system/cpu_percent": self._psutil.cpu_percent(),
            "system/memory_percent": self._psutil.virtual_memory().percent,
            "system/process_memory_mb": self._process.memory_info().rss / _MB,
        }
        if self._gpus is not None:
            values |= self._gpus.sample()
        return values

    def close(self) -> None:
        """Let go of the GPU driver; without effect the second time."""
        if self._gpus is not None:
            self._gpus.close()
        self._gpus = self._psutil = None


class _Gpus:
    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]

    @classmethod
    def open(cls) -> _Gpus | None:
        """Reach the driver; None on a machine that has no driver, or no module to speak to it."""
        try:
            import pynvml
        except ModuleNotFoundError:
            return None
        try:
            pynvml.nvmlInit()
            return cls(pynvml)
        except pynvml.NVMLError:
            return None

    def sample(self) -> dict[str, float]:
        values: dict[str, float] = {}
        for index, handle in enumerate(self._handles):
            for name, read in (("percent", self._load), ("memory_percent", self._memory), ("temperature", self._heat)):
                try:
                    values[f"system/gpu{index}_{name}"] = float(read(handle))
                except self._nvml.NVMLError:
                    continue  # not every GPU has every sensor, and a partition of a GPU has no load of its own
        return values

    def close(self) -> None:
        with contextlib.suppress(self._nvml.NVMLError):  # a driver that has gone away cannot be let go of
            self._nvml.nvmlShutdown()

    def _load(self, handle: Any) -> float:
        return float(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu)

    def _memory(self, handle: Any) -> float:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
        return 100.0 * float(memory.used) / float(memory.total)

    def _heat(self, handle: Any) -> float:
        return float(self._nvml.nvmlDeviceGetTemperature(handle, self._nvml.NVML_TEMPERATURE_GPU))

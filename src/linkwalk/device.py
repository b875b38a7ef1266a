"""Which device to compute on, and in which precision.

On a CPU what is kept is computed in float32. Trainings take products in bfloat16 where the processor has instructions
of its own for them (four times as fast), except by AMX, whose use ends some virtual machines with an illegal
instruction. On a GPU, fixed encoders run in float16, which has the digits the half-precision tables keep.
"""

import platform
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from linkwalk.errors import InputError

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda", "mps")
INSTALL = "run `pip install 'linkwalk[train]'`"


def choose_device(name: str = "auto") -> "torch.device":
    """The device of that name (``cuda:1`` counts GPUs); ``auto`` takes a GPU where there is one."""
    kind, _, number = name.partition(":")
    if kind not in DEVICES or (number and not (kind == "cuda" and number.isdecimal())):
        raise InputError(f"no such device: {name!r} (one of {', '.join(DEVICES)}, or cuda:N)")
    try:
        import torch
    except ImportError:
        raise InputError(f"torch is not installed: {INSTALL}") from None

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if kind == "auto":
        kind = next(name for name in there if there[name])
    elif not there[kind]:
        raise InputError(f"this machine has no {kind.upper()} device that torch can use: choose cpu or auto")
    if number and int(number) >= torch.cuda.device_count():
        raise InputError(
            f"no such device: {name} (this machine has {torch.cuda.device_count()} CUDA devices)"
        )
    return torch.device(kind, int(number)) if number else torch.device(kind)


def on_cpu(name: str = "auto") -> bool:
    """Whether a device is the CPU; torch is asked only where there may be another, since asking takes seconds."""
    if name == "cpu" or (name == "auto" and not (_may_have_gpu() and find_spec("torch"))):
        return True
    return choose_device(name).type == "cpu"


def _may_have_gpu() -> bool:
    """Whether there are signs of a GPU: the files of a driver, or a Mac that has one built in."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    drivers = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd", r"C:\Windows\System32\nvcuda.dll")
    return any(Path(driver).exists() for driver in drivers)


def compute_dtype(device: "torch.device") -> "torch.dtype":
    """Precision for computing without gradients: float32 on a CPU, float16 on a GPU."""
    import torch

    return torch.float32 if device.type == "cpu" else torch.float16


def half_products(device: "torch.device") -> "torch.autocast":
    """Within it products are taken in bfloat16, where that pays: what is trained stays in float32."""
    import torch

    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda" or _cpu_halves(device))


def _cpu_halves(device: "torch.device") -> bool:
    return device.type == "cpu" and (flags := _cpu_flags()) >= {"avx512_bf16"} and "amx_bf16" not in flags


@cache
def _cpu_flags() -> frozenset[str]:
    """What the processor can do, as Linux says it; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    lines = (line.partition(":")[2] for line in text.splitlines() if line.startswith("flags"))
    return frozenset(next(lines, "").split())

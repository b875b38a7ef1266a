"""Which device a name stands for."""

import sys

import pytest
import torch

from linkwalk import device
from linkwalk.device import choose_device, compute_dtype, half_products
from linkwalk.errors import InputError


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_a_cpu_computes_in_single_precision() -> None:
    assert choose_device() == choose_device("cpu") == torch.device("cpu")
    assert compute_dtype(torch.device("cpu")) == torch.float32


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("name", ["cuda", "cuda:0", "mps"])
def test_a_gpu_that_is_not_there(name: str) -> None:
    with pytest.raises(InputError, match=r"no (CUDA|MPS) device that torch can use: choose cpu or auto"):
        choose_device(name)


def test_a_gpu_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device() == torch.device("cuda")
    assert choose_device("cuda:1") == torch.device("cuda", 1)
    assert compute_dtype(torch.device("cuda")) == torch.float16
    with pytest.raises(InputError, match="2 CUDA devices"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x", "cpu:1", "cuda:-1"])
def test_names_that_mean_nothing(name: str) -> None:
    with pytest.raises(InputError, match="no such device"):
        choose_device(name)


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'linkwalk\[train\]'"):
        choose_device()


@pytest.mark.parametrize(
    ("flags", "half"),
    [({"avx512_bf16"}, True), ({"avx512_bf16", "amx_bf16"}, False), ({"avx2"}, False), (set(), False)],
)
def test_products_are_halved_where_the_processor_can(
    flags: set[str], half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "_cpu_flags", lambda: frozenset(flags))
    with half_products(torch.device("cpu")):
        assert torch.is_autocast_enabled("cpu") == half

"""Where and how torch runs: the device, the precision and the threads of each process.

This module and :mod:`pasta.processes`, which knows the machine's settings and its processes, are
the only ones that know about them. With one thread a process, sums of floats do not depend on the
number of cores.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

import distributed
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from pasta import processes
from pasta.errors import PastaError
from pasta.processes import Processes, Result, Unit, cores, machine
from pasta.resume import KeptUnits

Placed = TypeVar("Placed", bound=Tensor | nn.Module)

# Device and precision

VOLUME_AXES = 5  # of the weights of convolutions of volumes
_CHOSEN: ContextVar[torch.device | None] = ContextVar("device", default=None)


def device() -> torch.device:
    """The device that this process computes on.

    >>> device().type in ("cpu", "cuda", "mps")
    True
    """
    chosen = _CHOSEN.get()
    if chosen is not None:
        return chosen
    wanted = machine().device
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
        if wanted == "cpu" and torch.backends.mps.is_available():
            wanted = "mps"
    kind = wanted.partition(":")[0]
    missing = (kind == "cuda" and not torch.cuda.is_available()) or (
        kind == "mps" and not torch.backends.mps.is_available()
    )
    if missing:
        raise PastaError(f"the device is set to {wanted!r}, but torch finds no {kind} device here")
    return torch.device(wanted)


@contextmanager
def using(where: torch.device) -> Iterator[None]:
    """Compute on another device than the machine's settings say, for as long as this is open."""
    before = _CHOSEN.set(where)
    try:
        yield
    finally:
        _CHOSEN.reset(before)


def place(thing: Placed, where: torch.device | None = None) -> Placed:
    """A model or a batch on the device of this process, or on a given one.

    Weights of convolutions of images are laid out channels last, which is faster on CUDA and on
    most CPUs.
    """
    target = where or device()
    how: dict[str, Any] = {"non_blocking": True}
    if isinstance(thing, nn.Module) and target.type in ("cpu", "cuda"):
        volumes = any(one.ndim == VOLUME_AXES for one in thing.parameters())  # torch refuses both
        how = {} if volumes else {"memory_format": torch.channels_last}
    moved: Any = thing.to(target, **how)
    return moved  # type: ignore[no-any-return]


def device_of(module: nn.Module) -> torch.device:
    """Where a model is; results follow the model they are given."""
    for tensor in (*module.parameters(), *module.buffers()):
        return tensor.device
    return torch.device("cpu")


def autocast(where: torch.device) -> AbstractContextManager[Any]:
    """bfloat16 for training and encoders where CUDA computes with it, or is asked for it.

    A V100 has no bfloat16 of its own: it works in float32 unless it is told otherwise.
    """
    wanted = machine().precision
    native = where.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    if wanted == "bfloat16" or (wanted == "auto" and native):
        return torch.autocast(where.type, dtype=torch.bfloat16)
    return nullcontext()


def to_numpy(tensor: Tensor) -> NDArray[Any]:
    """A tensor as an array in main memory: the boundary between computing and storing."""
    found = tensor.detach()
    if found.dtype == torch.bfloat16:
        found = found.float()
    array: NDArray[Any] = found.cpu().numpy()
    return array


# Processes


def workers() -> int:
    """How many processes work at once on this machine."""
    own = machine()
    if own.workers is not None:
        return own.workers
    if own.device.startswith("cuda:"):
        return 1
    if device().type == "cuda":
        return torch.cuda.device_count()
    return 1 if device().type == "mps" else cores()


def threads() -> int:
    """How many threads each of these processes has."""
    own = machine().threads
    if own is not None:
        return own
    return 1 if device().type == "cpu" else max(1, cores() // workers())


def set_threads(default: int) -> None:
    """Give this process its threads, in torch and in linear algebra.

    The machine's setting goes first.
    """
    number = machine().threads or (default if device().type == "cpu" else threads())
    torch.set_num_threads(number)
    threadpool_limits(number)


def limit_threads() -> None:
    """Give this process as many threads as each of many has."""
    set_threads(threads())


def use_all_cores() -> None:
    """Give this process all cores: for work that is not cut into units, such as one training."""
    set_threads(cores())


def map_units(
    function: Callable[[Unit], Result],
    units: Sequence[Unit],
    kept: KeptUnits | None = None,
    little: bool = False,
) -> Iterator[tuple[int, Result]]:
    """Map a function over units on the devices of this machine.

    It does what :func:`pasta.processes.map_units` does, with one process a GPU or one a core.
    """
    return processes.map_units(function, units, kept, little, _PROCESSES)


def run_with_workers(command: Sequence[str]) -> int:
    """Run a command whose stages share the workers of this machine; returns its exit code.

    Each stage would start processes of its own, which load torch for seconds. A scheduler that is
    already named stays the one.
    """
    environment = dict(os.environ)
    if not machine().scheduler and workers() > 1:
        client = processes.open_client("", workers())
        environment["PASTA_SCHEDULER"] = client.scheduler.address
    try:
        return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603
    finally:
        processes.close_workers()


@lru_cache(maxsize=1)
def _prepare_worker() -> None:
    """Worker i of this machine has GPU i for itself."""
    name = str(distributed.get_worker().name)
    if device() == torch.device("cuda") and name.isdigit():
        os.environ["PASTA_DEVICE"] = f"cuda:{int(name) % torch.cuda.device_count()}"
    limit_threads()


_PROCESSES = Processes(workers, limit_threads, _prepare_worker)

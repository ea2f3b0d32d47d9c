"""Where and how work runs: the device, the precision, the processes and the cluster.

This is the only module that knows about them. Settings of the machine are not parameters of the
experiment: they come from the environment, or from a file ``machine.yaml`` beside ``dvc.yaml`` that
git ignores, and ``pasta doctor`` prints them.

=================  =================  ==========================================================
environment        ``machine.yaml``   meaning
=================  =================  ==========================================================
PASTA_DEVICE       device             auto (default), cpu, cuda, cuda:1, mps
PASTA_PRECISION    precision          auto (bfloat16 autocast on CUDA), float32, bfloat16
PASTA_WORKERS      workers            processes; default: one a GPU, or one a core
PASTA_THREADS      threads            threads of each process; default: 1, shared cores on a GPU
PASTA_SCHEDULER    scheduler          empty: this machine; tcp://host:port; slurm
=                  slurm              arguments of dask_jobqueue.SLURMCluster
=================  =================  ==========================================================

With one thread a process, sums of floats do not depend on the number of cores.
"""

from __future__ import annotations

import atexit
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import dask
import distributed
import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from pasta.errors import InputError, PastaError
from pasta.paths import project_root
from pasta.resume import Arrays, KeptUnits, code_key

Unit = TypeVar("Unit")
Result = TypeVar("Result")
Remembered = TypeVar("Remembered", bound=Callable[..., Any])
Placed = TypeVar("Placed", bound=Tensor | nn.Module)

MACHINE = Path("machine.yaml")
DASK = {
    "distributed.scheduler.worker-saturation": 1.0,  # no unit waits behind another
    # Dask would have workers give memory back at once, which makes torch on a CPU half as fast.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
}


class Machine(BaseModel):
    """The settings of this machine, see the table above."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    workers: int | None = Field(default=None, ge=1)
    threads: int | None = Field(default=None, ge=1)
    scheduler: str = ""
    slurm: dict[str, Any] = {}

    @field_validator("device")
    @classmethod
    def _known(cls, name: str) -> str:
        if name != "auto" and name.partition(":")[0] not in ("cpu", "cuda", "mps", "meta"):
            raise ValueError("expected auto, cpu, cuda, cuda:n or mps")
        return name


def machine() -> Machine:
    """Settings of this machine: the environment over ``machine.yaml`` over the defaults."""
    file = project_root() / MACHINE
    values = _settings_in(file) if file.is_file() else {}
    for name in ("device", "precision", "workers", "threads", "scheduler"):
        if value := os.environ.get(f"PASTA_{name.upper()}"):
            values[name] = value
    try:
        return Machine.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise PastaError(
            f"{name} of this machine ({MACHINE} or PASTA_{name.upper()}) is "
            f"{first['input']!r}: {first['msg']}"
        ) from None


def _settings_in(file: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        values = YAML(typ="safe").load(file.read_text()) or {}
    except (YAMLError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="YAML") from error
    if not isinstance(values, dict):
        raise InputError("holds no settings", file=file, expected="lines such as `device: cuda`")
    return values


# Device and precision


def device() -> torch.device:
    """The device that this process computes on.

    >>> device().type in ("cpu", "cuda", "mps")
    True
    """
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


def place(thing: Placed, where: torch.device | None = None) -> Placed:
    """A model or a batch on the device of this process, or on a given one.

    Weights of convolutions are laid out channels last, which is faster on CUDA and on most CPUs.
    """
    target = where or device()
    how: dict[str, Any] = {"non_blocking": True}
    if isinstance(thing, nn.Module) and target.type in ("cpu", "cuda"):
        how = {"memory_format": torch.channels_last}
    moved: Any = thing.to(target, **how)
    return moved  # type: ignore[no-any-return]


def device_of(module: nn.Module) -> torch.device:
    """Where a model is; results follow the model they are given."""
    for tensor in (*module.parameters(), *module.buffers()):
        return tensor.device
    return torch.device("cpu")


def autocast(where: torch.device) -> AbstractContextManager[Any]:
    """bfloat16 for training and encoders on CUDA, or wherever it is asked for."""
    wanted = machine().precision
    if wanted == "bfloat16" or (wanted == "auto" and where.type == "cuda"):
        return torch.autocast(where.type, dtype=torch.bfloat16)
    return nullcontext()


def to_numpy(tensor: Tensor) -> NDArray[Any]:
    """A tensor as an array in main memory: the boundary between computing and storing."""
    found = tensor.detach()
    if found.dtype == torch.bfloat16:
        found = found.float()
    array: NDArray[Any] = found.cpu().numpy()
    return array


# Processes and clusters


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


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
    """Apply a function to units of work; yield the place and result of each as it is done.

    Parameters
    ----------
    function
        Defined at the top level of a module. It opens its inputs itself: a unit says *what* to
        compute (dataset, backbone, method, rows) and travels in a few bytes.
    units
        Small, picklable, and independent of each other. They are begun in order, so the longest
        should come first. Each has the same number of threads, wherever it runs.
    kept
        Finished units of an earlier attempt that was killed; results are added to it. Requires
        that results are dictionaries of arrays.
    little
        The work takes seconds, less than other processes need to start: do it here.

    Returns
    -------
    Iterator of (place in ``units``, result), in the order in which units finish. A unit whose
    worker was killed is done again by another; an error in a unit is raised and ends the rest.
    """
    missing = list(range(len(units)))
    if kept is not None:
        for number in list(missing):
            found = kept.read(units[number])
            if found is not None:
                missing.remove(number)
                yield number, found  # type: ignore[misc]
    if machine().scheduler or not (little or len(units) == 1 or workers() == 1):
        results = _distribute(function, [units[number] for number in missing])
    else:
        limit_threads()
        results = enumerate(function(units[number]) for number in missing)
    for place, result in results:
        number = missing[place]
        if kept is not None:
            kept.write(units[number], _arrays(result))
        yield number, result


def map_all(
    function: Callable[[Unit], Result], units: Sequence[Unit], little: bool = False
) -> list[Result]:
    """The results of all units, in their order."""
    found = dict(map_units(function, units, little=little))
    return [found[number] for number in range(len(units))]


def _distribute(
    function: Callable[[Unit], Result], units: Sequence[Unit]
) -> Iterator[tuple[int, Result]]:
    """On processes of this machine, or wherever the scheduler has its workers."""
    if not units:
        return
    client = _client(machine().scheduler, workers())
    futures = {
        client.submit(_run, function, unit, _RUN, code_key(), pure=False, priority=-number): number
        for number, unit in enumerate(units)
    }
    try:
        for future in distributed.as_completed(list(futures), loop=client.loop):
            yield futures[future], future.result()
            future.release()
    finally:
        client.cancel(list(futures))


@lru_cache
def _client(scheduler: str, number: int) -> Any:
    """The connection to workers; those of this machine stay until this process ends."""
    cluster = _cluster(scheduler, number)
    client = distributed.Client(cluster, set_as_default=False)
    _opened.extend([client] if isinstance(cluster, str) else [client, cluster])
    return client


_opened: list[Any] = []  # connections and clusters


@atexit.register
def close_workers() -> None:
    """End the processes that :func:`map_units` has started; the next call starts new ones."""
    _client.cache_clear()
    while _opened:
        _opened.pop(0).close(timeout=5)


def run_with_workers(command: Sequence[str]) -> int:
    """Run a command whose stages share the workers of this machine; returns its exit code.

    Each stage would start processes of its own, which load torch for seconds. A scheduler that is
    already named stays the one.
    """
    environment = dict(os.environ)
    if not machine().scheduler and workers() > 1:
        client = _client("", workers())
        environment["PASTA_SCHEDULER"] = client.scheduler.address
    try:
        return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603
    finally:
        close_workers()


def _cluster(scheduler: str, number: int) -> Any:
    """The address of a running scheduler, SLURM jobs, or processes of this machine."""
    if scheduler == "slurm":
        return _slurm(machine())
    if scheduler:
        return scheduler
    dask.config.set(DASK)
    return distributed.LocalCluster(
        n_workers=number,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs="ERROR",
    )


def _slurm(own: Machine) -> Any:
    """Jobs on a SLURM cluster that leave before their time is over and come again as needed."""
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise PastaError(
            "the scheduler 'slurm' needs dask-jobqueue: `pip install pasta-xai[cluster]`"
        ) from None
    settings = {"cores": 1, "processes": 1, "memory": "16GB", "walltime": "01:00:00", **own.slurm}
    settings.setdefault("worker_extra_args", ["--lifetime", "50m", "--lifetime-stagger", "5m"])
    cluster = SLURMCluster(**settings)
    cluster.adapt(minimum=0, maximum=own.workers or 16)
    return cluster


def remember(function: Remembered) -> Remembered:
    """Cache what units of one stage share, such as an opened dataset, for as long as it runs.

    A worker of a cluster outlives the stage, and the same path may hold other data for the next.
    """
    cached: Any = lru_cache(maxsize=4)(function)
    _remembered.append(cached)
    return cast(Remembered, cached)


_RUN = secrets.token_hex(8)  # of this process
_remembered: list[Any] = []
_last_run: list[str] = []  # that a worker has worked for


def _run(function: Callable[[Unit], Result], unit: Unit, run: str, code: str) -> Result:
    """On a worker: the same code as the driver's, nothing of an earlier stage, then the work."""
    _prepare_worker()
    if code != code_key():
        raise PastaError(
            "a worker of the scheduler has loaded other code than this process: restart the workers"
        )
    if _last_run != [run]:
        _last_run[:] = [run]
        for cached in _remembered:
            cached.cache_clear()
    return function(unit)


@lru_cache(maxsize=1)
def _prepare_worker() -> None:
    """Worker i of this machine has GPU i for itself."""
    name = str(distributed.get_worker().name)
    if device() == torch.device("cuda") and name.isdigit():
        os.environ["PASTA_DEVICE"] = f"cuda:{int(name) % torch.cuda.device_count()}"
    limit_threads()


def _arrays(result: Any) -> Arrays:
    if not isinstance(result, dict):
        raise TypeError("only dictionaries of arrays can be kept")
    return {name: np.asarray(value) for name, value in result.items()}

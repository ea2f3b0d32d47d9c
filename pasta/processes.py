"""Processes of this machine or of a cluster, and the settings of the machine. Needs no torch.

Settings of the machine are not parameters of the experiment: they come from the environment, or
from a file ``machine.yaml`` beside ``dvc.yaml`` that git ignores, and ``pasta doctor`` prints them.

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

Work on tables and stored arrays is mapped here; :mod:`pasta.compute` does the same for work that
torch does on the devices of the machine.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

import dask
import distributed
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from threadpoolctl import threadpool_limits

from pasta.errors import InputError, PastaError
from pasta.paths import find_root
from pasta.resume import Arrays, KeptUnits, code_key

Unit = TypeVar("Unit")
Result = TypeVar("Result")
Remembered = TypeVar("Remembered", bound=Callable[..., Any])

MACHINE = Path("machine.yaml")
DASK = {
    "distributed.scheduler.worker-saturation": 1.0,  # no unit waits behind another
    # Dask would have workers give memory back at once, which makes torch on a CPU half as fast.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    # A machine that many share may leave a process without a turn for longer than Dask's 30 s.
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
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
    root = find_root()
    values = {} if root is None or not (root / MACHINE).is_file() else _settings_in(root / MACHINE)
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


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _count_processes() -> int:
    return machine().workers or cores()


def _limit_threads() -> None:
    threadpool_limits(machine().threads or 1)


class Processes(NamedTuple):
    """How units are worked on: by how many processes, and what each does before the first one."""

    number: Callable[[], int] = _count_processes
    prepare: Callable[[], None] = _limit_threads  # in this process
    prepare_worker: Callable[[], None] = _limit_threads  # in another one


PLAIN = Processes()


def map_units(
    function: Callable[[Unit], Result],
    units: Sequence[Unit],
    kept: KeptUnits | None = None,
    little: bool = False,
    processes: Processes = PLAIN,
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
    processes
        How many there are and how they begin; by default one a core, each with one thread.

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
    if machine().scheduler or not (little or len(units) == 1 or processes.number() == 1):
        results = _distribute(function, [units[number] for number in missing], processes)
    else:
        processes.prepare()
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
    function: Callable[[Unit], Result], units: Sequence[Unit], processes: Processes
) -> Iterator[tuple[int, Result]]:
    """On processes of this machine, or wherever the scheduler has its workers."""
    if not units:
        return
    scheduler = machine().scheduler
    client = open_client(scheduler, 0 if scheduler else processes.number())
    prepare = processes.prepare_worker
    futures = {
        client.submit(
            _run, function, unit, _RUN, code_key(), prepare, pure=False, priority=-number
        ): number
        for number, unit in enumerate(units)
    }
    try:
        for future in distributed.as_completed(list(futures), loop=client.loop):
            yield futures[future], future.result()
            future.release()
    finally:
        # What is still waiting is dropped by the scheduler. `cancel` would tell every client of the
        # scheduler, and one that connects at this moment takes the message for its greeting.
        for future in futures:
            future.release()


@lru_cache
def open_client(scheduler: str, number: int) -> Any:
    """The connection to workers; the ``number`` of this machine's stay until this process ends."""
    dask.config.set(DASK)
    cluster = _cluster(scheduler, number)
    client = distributed.Client(cluster, set_as_default=False)
    _opened.extend([client] if isinstance(cluster, str) else [client, cluster])
    return client


_opened: list[Any] = []  # connections and clusters
_PATIENCE = 30  # seconds for workers to leave


@atexit.register
def close_workers() -> None:
    """End the processes that :func:`map_units` has started; the next call starts new ones."""
    open_client.cache_clear()
    while _opened:
        one = _opened.pop(0)
        try:
            one.close(timeout=_PATIENCE)
        except TimeoutError:  # of a starved machine: the work is done, and that is no failure
            print("workers are slow to leave; they end with this process", file=sys.stderr)


def _cluster(scheduler: str, number: int) -> Any:
    """The address of a running scheduler, SLURM jobs, or processes of this machine."""
    if scheduler == "slurm":
        return _slurm(machine())
    if scheduler:
        return scheduler
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
            "the scheduler 'slurm' needs dask-jobqueue: `pip install 'pasta-xai[cluster]'`"
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


def _run(
    function: Callable[[Unit], Result],
    unit: Unit,
    run: str,
    code: str,
    prepare: Callable[[], None],
) -> Result:
    """On a worker: the same code as the driver's, nothing of an earlier stage, then the work."""
    prepare()
    if code != code_key():
        raise PastaError(
            "a worker of the scheduler has loaded other code than this process: restart the workers"
        )
    if _last_run != [run]:
        _last_run[:] = [run]
        for cached in _remembered:
            cached.cache_clear()
    return function(unit)


def _arrays(result: Any) -> Arrays:
    if not isinstance(result, dict):
        raise TypeError("only dictionaries of arrays can be kept")
    return {name: np.asarray(value) for name, value in result.items()}

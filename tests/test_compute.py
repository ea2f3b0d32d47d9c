"""Where and how work runs: the device, settings of the machine, and units on processes."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import numpy as np
import pytest
import torch

from pasta import compute, processes
from pasta.compute import (
    autocast,
    device,
    device_of,
    limit_threads,
    map_units,
    place,
    to_numpy,
)
from pasta.errors import InputError, PastaError
from pasta.processes import machine, map_all
from pasta.resume import KeptUnits
from tests.processes import alive, assert_workers_leave, children

META = torch.device("meta")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, so that no settings of this machine play a part."""
    (tmp_path / "dvc.yaml").write_text("")
    (tmp_path / "params.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    for name in ("DEVICE", "PRECISION", "WORKERS", "THREADS", "SCHEDULER"):
        monkeypatch.delenv(f"PASTA_{name}", raising=False)
    return tmp_path


@pytest.fixture
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def have(monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_the_best_device_is_found(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, expected: str
) -> None:
    have(monkeypatch, cuda, mps)
    assert device() == torch.device(expected)
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    assert device() == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "mps"])
def test_a_device_that_is_not_there_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    have(monkeypatch, cuda=False, mps=False)
    monkeypatch.setenv("PASTA_DEVICE", name)
    with pytest.raises(
        PastaError, match=f"set to '{name}', but torch finds no {name[:4].strip(':')}"
    ):
        device()
    have(monkeypatch, cuda=True, mps=True)
    assert device() == torch.device(name)


def test_the_environment_goes_before_the_file_and_the_file_before_the_defaults(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine() == processes.Machine()
    (project / "machine.yaml").write_text("device: mps\nworkers: 3\nslurm: {memory: 4GB}\n")
    assert (machine().device, machine().workers, machine().threads) == ("mps", 3, None)
    assert machine().slurm == {"memory": "4GB"}
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    monkeypatch.setenv("PASTA_THREADS", "2")
    assert (machine().device, machine().workers, machine().threads) == ("cpu", 3, 2)
    monkeypatch.setenv("PASTA_WORKERS", "")  # nothing is said
    assert compute.workers() == 3


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("device", "tpu", "device .*machine.yaml or PASTA_DEVICE.* is 'tpu': .*cuda:n or mps"),
        ("precision", "half", "precision .*PASTA_PRECISION.* is 'half'.*'float32' or 'bfloat16'"),
        ("workers", "0", "workers .*PASTA_WORKERS.* is '?0'?.*greater than or equal to 1"),
        ("workers", "many", "workers .* is 'many': .*integer"),
        ("threads", "-1", "threads .*PASTA_THREADS"),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_expected(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(f"PASTA_{name.upper()}", value)
    with pytest.raises(PastaError, match=words):
        machine()
    monkeypatch.delenv(f"PASTA_{name.upper()}")
    (project / "machine.yaml").write_text(f"{name}: {value}\n")
    with pytest.raises(PastaError, match=words):
        machine()


def test_a_file_with_unknown_settings_or_none_is_refused(project: Path) -> None:
    file = project / "machine.yaml"
    file.write_text("wokers: 2\n")
    with pytest.raises(PastaError, match="wokers of this machine"):
        machine()
    for text, words in (("- cuda\n", "holds no settings"), ("a: [1\n", "cannot be read")):
        file.write_text(text)
        with pytest.raises(InputError, match=f"machine.yaml: {words}"):
            machine()
    file.write_text("")
    assert machine() == processes.Machine()


def test_one_process_a_core_or_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, cuda=False, mps=False)
    assert (compute.workers(), compute.threads()) == (processes.cores(), 1)
    have(monkeypatch, cuda=True, mps=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(compute, "cores", lambda: 32)
    assert (compute.workers(), compute.threads()) == (4, 8)
    monkeypatch.setenv("PASTA_DEVICE", "cuda:2")
    assert (compute.workers(), compute.threads()) == (1, 32)
    have(monkeypatch, cuda=False, mps=True)
    monkeypatch.setenv("PASTA_DEVICE", "mps")
    assert compute.workers() == 1


def test_things_are_placed_and_results_follow_their_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = torch.nn.Linear(2, 3)
    assert device_of(model) == torch.device("cpu")
    assert device_of(place(model, META)) == META
    assert device_of(torch.nn.Identity()) == torch.device("cpu")
    only_buffers = torch.nn.BatchNorm2d(2, affine=False).to(META)
    assert device_of(only_buffers) == META
    monkeypatch.setenv("PASTA_DEVICE", "meta")
    assert place(torch.ones(2)).device == META


def test_arrays_leave_any_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    half = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    found = to_numpy(half)
    assert found.dtype == np.float32 and found.tolist() == [1, 1]
    assert to_numpy(torch.tensor([1, 2])).dtype == np.int64


def test_half_precision_is_for_gpus_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def kind(where: str) -> torch.dtype:
        with autocast(torch.device(where)):
            return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype

    assert kind("cpu") == torch.float32
    monkeypatch.setenv("PASTA_PRECISION", "bfloat16")
    assert kind("cpu") == torch.bfloat16
    monkeypatch.setenv("PASTA_PRECISION", "float32")
    assert kind("cuda") == torch.float32


def test_threads_are_limited_in_this_process(
    monkeypatch: pytest.MonkeyPatch, threads_as_before: None
) -> None:
    monkeypatch.setenv("PASTA_THREADS", "2")
    limit_threads()
    assert torch.get_num_threads() == 2
    monkeypatch.setenv("PASTA_THREADS", "1")
    limit_threads()
    assert torch.get_num_threads() == 1


# Units. What they are given to has to be at the top of a module.


def squared(number: int) -> dict[str, Any]:
    return {"square": np.array(number**2), "process": np.array(os.getpid())}


def random_sum(seed: int) -> float:
    """Depends on the order of additions, and so on the number of threads."""
    values = torch.rand(300_000, generator=torch.Generator().manual_seed(seed))
    return float(values.sum() + (values.view(300, -1) @ values.view(-1, 300)).sum())


def said(number: int) -> tuple[int, int, str | None]:
    return torch.get_num_threads(), os.getpid(), os.environ.get("PASTA_DEVICE")


def broken(number: int) -> int:
    if number == 1:
        raise InputError("is broken", file="a.csv")
    return number


def broken_at_once(unit: tuple[Path, int]) -> int:
    folder, number = unit
    if number == 0:
        raise InputError("is broken", file="a.csv")
    (folder / f"begun-{number}").touch()
    time.sleep(0.1)
    return number


def slow_first(number: int) -> int:
    time.sleep(1.5 if number == 0 else 0)
    return number


def kills_itself_once(unit: tuple[str, int]) -> int:
    mark = Path(unit[0])
    with (mark.parent / "begun").open("a") as log:
        log.write(f"{unit[1]}\n")
    if unit[1] == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * unit[1]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A scheduler with two workers that outlives the calls of :func:`map_units`."""
    start: Any = distributed.LocalCluster
    with start(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as cluster:
        yield cluster.scheduler_address
        processes.close_workers()


@pytest.mark.parametrize(("workers", "number"), [("1", 3), ("8", 1), ("8", 3)])
def test_one_worker_one_unit_or_little_work_stay_in_this_process(
    monkeypatch: pytest.MonkeyPatch, workers: str, number: int, threads_as_before: None
) -> None:
    monkeypatch.setenv("PASTA_WORKERS", workers)
    units = [4, 3, 2][:number]
    found = list(map_units(squared, units, little=workers == "8"))
    assert [place for place, _ in found] == list(range(len(units)))  # in order
    assert {int(one["process"]) for _, one in found} == {os.getpid()}
    assert list(map_units(squared, [])) == []


def test_units_are_begun_when_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, threads_as_before: None
) -> None:
    monkeypatch.setenv("PASTA_WORKERS", "1")
    begun: list[int] = []
    results = map_units(begun.append, [1, 2, 3])
    next(results)
    assert begun == [1]


def test_an_error_of_a_unit_is_raised_here(
    monkeypatch: pytest.MonkeyPatch, address: str, threads_as_before: None
) -> None:
    monkeypatch.setenv("PASTA_WORKERS", "1")
    for scheduler in ("", address):
        monkeypatch.setenv("PASTA_SCHEDULER", scheduler)
        with pytest.raises(InputError, match=r"a\.csv: is broken"):
            list(map_units(broken, [0, 1, 2, 3]))
    # and the scheduler is there for the next
    assert map_all(slow_first, [1, 2]) == [1, 2]


def test_units_that_nobody_waits_for_are_dropped_without_a_word_to_other_clients(
    project: Path, monkeypatch: pytest.MonkeyPatch, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """distributed 2026: a client that connects just then reads a cancellation as its greeting."""
    monkeypatch.setenv("PASTA_SCHEDULER", address)
    with caplog.at_level(logging.INFO, logger="distributed.scheduler"):
        with pytest.raises(InputError, match=r"a\.csv: is broken"):
            list(map_units(broken_at_once, [(project, number) for number in range(400)]))
        assert map_all(slow_first, [1, 2]) == [1, 2]
    assert "cancel" not in caplog.text
    assert len(list(project.glob("begun-*"))) < 399


def test_every_result_comes_with_its_place_and_all_can_be_had_in_order(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("PASTA_SCHEDULER", address)
    found = list(map_units(slow_first, [2, 1, 0]))
    assert sorted(found) == [(0, 2), (1, 1), (2, 0)]
    assert map_all(slow_first, [2, 1, 0]) == [2, 1, 0]


def test_results_do_not_depend_on_the_number_of_workers(
    monkeypatch: pytest.MonkeyPatch, address: str, threads_as_before: None
) -> None:
    monkeypatch.setenv("PASTA_WORKERS", "1")
    alone = map_all(random_sum, range(6))
    monkeypatch.setenv("PASTA_SCHEDULER", address)
    assert map_all(random_sum, range(6)) == alone


def test_workers_are_other_processes_with_one_thread(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("PASTA_SCHEDULER", address)
    found = map_all(said, range(8))
    assert {threads for threads, *_ in found} == {1}
    assert os.getpid() not in {process for _, process, _ in found}


def test_a_scheduler_that_is_starved_for_minutes_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    processes.close_workers()
    with dask.config.set({"distributed.comm.timeouts.tcp": "30s"}):
        monkeypatch.setenv("PASTA_SCHEDULER", address)
        assert map_all(slow_first, [1]) == [1]
        assert dask.config.get("distributed.comm.timeouts.tcp") == "300s"


def test_finished_units_are_kept_and_not_computed_again(
    project: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("PASTA_SCHEDULER", address)
    kept = KeptUnits(project / "units")
    first = dict(map_units(squared, [3, 4], kept))
    again = dict(map_units(squared, [5, 4, 3], kept))
    assert [int(again[place]["square"]) for place in range(3)] == [25, 16, 9]
    assert int(again[1]["process"]) == int(first[1]["process"])  # as it was kept
    with pytest.raises(TypeError, match="only dictionaries of arrays can be kept"):
        list(map_units(slow_first, [1], kept))


def test_a_unit_whose_worker_is_killed_is_done_again_and_nobody_stays(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASTA_WORKERS", "2")
    before = set(children(os.getpid()))
    units = [(str(project / "killed"), number) for number in range(6)]
    assert map_all(kills_itself_once, units) == [0, 10, 20, 30, 40, 50]
    begun = sorted(map(int, (project / "begun").read_text().split()))
    assert begun.count(2) == 2 and set(begun) == set(range(6))
    processes.close_workers()
    left = [one for one in set(children(os.getpid())) - before if alive(one)]
    names = [Path(f"/proc/{one}/cmdline").read_text() for one in left]
    assert all("resource_tracker" in name for name in names)  # python's own, one a process


@processes.remember
def read_once(path: str) -> str:
    return Path(path).read_text()


def test_workers_forget_what_they_remembered_for_another_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("PASTA_SCHEDULER", address)
    file = project / "data.txt"
    file.write_text("old")
    assert map_all(read_once, [str(file)] * 2) == ["old", "old"]
    file.write_text("new")
    monkeypatch.setattr(processes, "_RUN", "the next stage")
    assert map_all(read_once, [str(file)] * 2) == ["new", "new"]


def test_workers_with_other_code_refuse_to_work(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("PASTA_SCHEDULER", address)
    monkeypatch.setattr(processes, "code_key", lambda: "edited since the workers were started")
    with pytest.raises(PastaError, match="restart the workers"):
        map_all(slow_first, [1, 2])


SCRIPT = """
import os, sys
os.environ["PASTA_WORKERS"] = "2"
from pasta import compute
from tests.test_compute import slow_first

if __name__ == "__main__":
    for place, _ in compute.map_units(slow_first, [1, 2, *[0] * 50]):
        if place == 1:
            print("going", flush=True)
"""


class Starved:
    """A connection that does not close in time."""

    def close(self, timeout: float) -> None:  # noqa: ARG002
        raise TimeoutError


def test_workers_that_are_slow_to_leave_do_not_make_finished_work_a_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    processes.close_workers()
    processes._opened.append(Starved())
    processes.close_workers()
    assert "slow to leave" in capsys.readouterr().err and not processes._opened


def test_workers_leave_with_a_killed_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(compute.__file__).parent.parent
    monkeypatch.setenv("PYTHONPATH", str(root))
    file = Path("script.py")
    file.write_text(SCRIPT)
    assert_workers_leave(f"import runpy; runpy.run_path({str(file)!r}, run_name='__main__')")


def test_a_cluster_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASTA_SCHEDULER", "slurm")
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(PastaError, match=r"pip install 'pasta-xai\[cluster\]'"):
        map_all(slow_first, [1])


def test_a_command_with_workers_has_their_address_and_leaves_none_behind() -> None:
    asked = "import os, distributed as d; c = d.Client(os.environ['PASTA_SCHEDULER']); "
    asked += "print(len(c.scheduler_info()['workers'])); c.close(); raise SystemExit(3)"
    environment = {**os.environ, "PASTA_WORKERS": "2", "PASTA_SCHEDULER": ""}
    command = [str(Path(sys.executable).parent / "pasta"), "workers", sys.executable, "-c", asked]
    before = set(children(os.getpid()))
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout.split()) == (3, ["2"]), done.stderr
    assert not [one for one in set(children(os.getpid())) - before if alive(one)]

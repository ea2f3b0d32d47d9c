"""The measure work of one group on a Dask scheduler, also when one of its workers is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import pandas as pd
import pytest

from pasta import processes
from pasta.layout import Group
from pasta.metrics.runner import TABLE
from pasta.resume import UNITS
from tests.metrics.small_stage import KEY, TECHNIQUES, measured, write_maps, write_project
from tests.processes import alive

MORE = (*TECHNIQUES, ("xgradcam", "resnet50"), ("gradcam", "vit_b_16"), ("eigencam", "resnet50"))
UNITS_OF_GROUP = 2 + 2 + len(MORE)  # again and same of two backbones, and each technique alone


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Group:
    written = write_project(tmp_path / "project")
    write_maps(written, MORE)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    monkeypatch.setenv("PASTA_WORKERS", "1")
    return written


@contextmanager
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Two worker processes of a scheduler that others started; gives their numbers."""
    start: Any = distributed.LocalCluster
    with start(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as cluster:
        assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
        monkeypatch.setenv("PASTA_SCHEDULER", cluster.scheduler_address)
        workers = [worker.pid for worker in cluster.workers.values()]
        yield workers
        processes.close_workers()
        workers += [worker.pid for worker in cluster.workers.values() if worker.pid]
        monkeypatch.delenv("PASTA_SCHEDULER")
    deadline = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, workers))


def kill_in_the_middle(worker: int, folder: Path, done: list[int]) -> threading.Thread:
    """As soon as a unit is finished."""

    def kill() -> None:
        while not (finished := list(folder.glob("*/*.npz"))):
            time.sleep(0.005)
        os.kill(worker, signal.SIGKILL)
        done.append(len(finished))

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_scheduler_gives_the_same_table_and_a_killed_worker_loses_nothing(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = measured(group)
    serial = (group.metrics / TABLE).read_bytes()
    (group.metrics / TABLE).unlink()
    with scheduler(monkeypatch) as workers:
        pd.testing.assert_frame_equal(measured(group), expected)
        assert (group.metrics / TABLE).read_bytes() == serial
        done: list[int] = []
        thread = kill_in_the_middle(workers[0], Path.cwd() / UNITS / f"measure.{KEY}", done)
        after = measured(group)
        thread.join(5)
        assert done and done[0] < UNITS_OF_GROUP  # there was work left
        assert not alive(workers[0])
    pd.testing.assert_frame_equal(after, expected)
    assert not after.duplicated(["sample_id", "metric", "variant"]).any()
    assert (group.metrics / TABLE).read_bytes() == serial
    assert not (Path.cwd() / UNITS / f"measure.{KEY}").exists()

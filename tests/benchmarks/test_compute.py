"""Two workers beside one on the measure work of one dataset.

Processes are started before the clock: a cluster is there already, and starting one takes the same
few seconds however long the work is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import pandas as pd
import pytest

from pasta.metrics.runner import TABLE, measure_group
from tests.benchmarks.conftest import Table
from tests.metrics.small_stage import PARAMS, write_maps, write_project

METHODS = ("gradcam", "hirescam", "xgradcam", "eigencam", "layercam", "gradcam++")


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """Worker processes that have imported what they need."""
    start: Any = distributed.LocalCluster
    with (
        start(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as found,
        distributed.Client(found, set_as_default=False) as client,  # type: ignore[no-untyped-call]
    ):
        client.run(_import_all)
        yield found.scheduler_address


def _import_all() -> None:
    import pasta.metrics.runner  # noqa: F401


def test_two_workers(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    group = write_project(project, number=32)
    write_maps(group, tuple((name, "resnet50") for name in METHODS), 32)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    monkeypatch.setenv("PASTA_THREADS", "1")

    def run() -> Any:
        measure_group(group, PARAMS.metrics, PARAMS, project)
        return pd.read_parquet(group.metrics / TABLE)["value"].fillna(0)

    with cluster(1) as one, cluster(2) as two:

        def on(address: str) -> Any:
            monkeypatch.setenv("PASTA_SCHEDULER", address)
            return run()

        table.compare(
            "measure of one group, two workers",
            "one worker",
            lambda: on(one),
            lambda: on(two),
            more_right="equal tables on any number of workers",
            clock=time.perf_counter,
        )

"""Two workers against one on the measure work of one dataset: prints ratios, asserts no time.

The work is that of the first group of a finished demo, or else of a made-up one. Processes are
started before the clock: a cluster is there already, and starting one takes the same few seconds
however long the work is.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import pytest

from pasta.config import Params, load_params
from pasta.errors import PastaError
from pasta.layout import Group, explained_groups
from pasta.metrics.runner import TABLE, measure_group
from tests.conftest import ROOT
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


def work(folder: Path) -> tuple[Group, Params]:
    """A finished demo's group, copied, or one that is made up."""
    try:
        [group, *_] = explained_groups(ROOT)
    except (PastaError, ValueError):
        group = write_project(folder, number=32)
        write_maps(group, tuple((name, "resnet50") for name in METHODS), 32)
        return group, PARAMS
    folder.mkdir()
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, folder)
    copy = Group(group.key, group.dataset, folder / "pipelines/data")
    copy.data.parent.mkdir()
    for ours, theirs in (
        (copy.images, group.images),
        (copy.models, group.models),
        (copy.explanations, group.explanations),
        (copy.data / "clip", group.data / "clip"),
    ):
        shutil.copytree(theirs, ours)
    return copy, load_params(ROOT / "params.yaml")


def test_two_workers_against_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group, params = work(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PASTA_DEVICE", "cpu")
    monkeypatch.setenv("PASTA_THREADS", "1")
    seconds: dict[int, float] = {}
    tables: dict[int, bytes] = {}
    for workers in (1, 2):
        with cluster(workers) as address:
            monkeypatch.setenv("PASTA_SCHEDULER", address)
            started = time.perf_counter()
            measure_group(group, params.metrics, params, tmp_path / "project")
            seconds[workers] = time.perf_counter() - started
            tables[workers] = (group.metrics / TABLE).read_bytes()
            monkeypatch.delenv("PASTA_SCHEDULER")
    print(
        f"\nmeasure of {group.key}: {seconds[1] / seconds[2]:.2f}x with two workers "
        f"({seconds[1]:.1f} s and {seconds[2]:.1f} s), load {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} cores"
    )
    assert tables[1] == tables[2]

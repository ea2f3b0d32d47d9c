"""Copies of this process do its work, give the results in order and leave nobody behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from pasta import workers
from tests.processes import alive, assert_workers_leave, children

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")


@pytest.fixture
def _two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "processors", lambda: 2)


@pytest.mark.usefixtures("_two")
def test_results_come_in_the_order_of_the_work() -> None:
    def late() -> str:
        time.sleep(0.2)
        return "late"

    assert workers.at_once([late, lambda: "soon", lambda: "sooner"]) == ["late", "soon", "sooner"]
    assert workers.at_once([]) == []


@linux
@pytest.mark.usefixtures("_two")
def test_the_work_is_done_elsewhere_and_the_rest_here() -> None:
    here: list[int] = []
    found = workers.at_once([os.getpid, os.getpid], meanwhile=lambda: here.append(os.getpid()))
    assert os.getpid() not in found and here == [os.getpid()]


def test_one_processor_does_everything_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "processors", lambda: 1)
    here: list[int] = []
    found = workers.at_once([os.getpid, os.getpid], meanwhile=lambda: here.append(1))
    assert found == [os.getpid()] * 2 and here == [1]


@linux
@pytest.mark.usefixtures("_two")
def test_an_error_reaches_the_caller_and_no_worker_is_left() -> None:
    before = set(children(os.getpid()))
    with pytest.raises(ZeroDivisionError):
        workers.at_once([lambda: 1 // 0, lambda: 1])
    with pytest.raises(ZeroDivisionError):
        workers.at_once([lambda: 1, lambda: 2], meanwhile=lambda: 1 // 0)
    assert not any(map(alive, set(children(os.getpid())) - before))


@linux
def test_workers_leave_when_their_parent_is_killed() -> None:
    script = (
        "import time; from pasta import workers\n"
        "workers.processors = lambda: 2\n"
        "go = lambda: print('going', flush=True)\n"
        "workers.at_once([lambda: time.sleep(60)] * 2, meanwhile=go)\n"
    )
    assert_workers_leave(script)


def test_one_thread_is_enough_for_linear_algebra() -> None:
    script = (
        "import numpy, threadpoolctl; from pasta.workers import one_thread\n"
        "one_thread()\n"
        "print({pool['num_threads'] for pool in threadpoolctl.threadpool_info()})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "{1}"

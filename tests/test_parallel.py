"""The pool keeps the order, passes errors on and leaves nobody behind."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from pasta.parallel import ordered_map


def test_results_come_in_the_order_of_the_items() -> None:
    numbers = list(range(100))
    assert list(ordered_map(abs, numbers, 2, chunk=7)) == numbers
    assert list(ordered_map(partial(divmod, 7), numbers[1:], 1)) == [
        divmod(7, n) for n in numbers[1:]
    ]


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(ordered_map(partial(divmod, 1), [1] * 30 + [0] + [1] * 30, 2, chunk=4))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
def test_workers_leave_when_their_parent_is_killed() -> None:
    script = (
        "import time, sys; from pasta.parallel import ordered_map\n"
        "if __name__ == '__main__':\n"
        "    for _ in ordered_map(time.sleep, [0.05] * 4000, 2, chunk=2):\n"
        "        print('going', flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "going\n"
    workers = _children(parent.pid)
    assert len(workers) >= 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while any(map(_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_alive, workers))


def _children(parent: int) -> list[int]:
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in found]


def _alive(process: int) -> bool:
    status = Path(f"/proc/{process}/status")
    return status.exists() and "Z (zombie)" not in status.read_text()

"""Processes that tests start, and whether any is left."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil


def children(parent: int) -> list[int]:
    """The processes that a process has started, in any of its threads."""
    return [child.pid for child in psutil.Process(parent).children()]


def alive(process: int) -> bool:
    """Whether it is there and not only waiting for somebody to ask how it ended."""
    status = Path(f"/proc/{process}/status")
    return status.exists() and "Z (zombie)" not in status.read_text()


def assert_workers_leave(script: str, at_least: int = 2) -> None:
    """Kill the process of a script as soon as it says ``going``: nobody it started may stay."""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "going\n"
    workers = children(parent.pid)
    assert len(workers) >= at_least
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, workers))

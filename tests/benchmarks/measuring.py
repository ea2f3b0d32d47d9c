"""Seconds and memory of a command, for the scripts that measure whole runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import environment

HEAD = "| step | aim | seconds | user s | system s | GiB |\n| --- | --- | --- | --- | --- | --- |"


@dataclass(frozen=True)
class Row:
    """What a command took."""

    what: str
    aim: str
    seconds: float  # of the clock
    user: float  # of all processors, in the program
    system: float  # of all processors, in the kernel
    memory: float  # GiB of the largest process

    def __str__(self) -> str:
        numbers = f"{self.seconds:.0f} | {self.user:.0f} | {self.system:.0f} | {self.memory:.2f}"
        return f"| {self.what} | {self.aim} | {numbers} |"


def measure(what: str, aim: str, command: Sequence[str], project: Path, log: Path) -> Row:
    """Run a command in a project; its output goes to the end of a file."""
    print(f"{what}: {' '.join(command)}", flush=True)
    started = time.perf_counter()
    with log.open("ab") as stream:
        process = subprocess.Popen(
            list(command), cwd=project, env=environment(project), stdout=stream, stderr=stream
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed: see {log}")
    spent = time.perf_counter() - started
    memory = used.ru_maxrss / 2**20
    row = Row(what, aim, spent, used.ru_utime, used.ru_stime, memory)
    print(row, flush=True)
    return row

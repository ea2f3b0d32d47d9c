"""How a pipeline stage or a command is run: one function, and errors people can read."""

from __future__ import annotations

import atexit
import functools
import gc
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pasta.errors import PastaError
from pasta.paths import TIMINGS, project_root


def run_stage(stage: Callable[..., Any]) -> None:
    """Run a stage's function as a command with its own ``--help``."""
    import typer

    started = time.perf_counter()
    # Libraries bring hundreds of thousands of objects that stay. The collector would look at them
    # again and again while they are imported, which takes a quarter of that time.
    gc.set_threshold(50_000, 20, 100)
    try:
        guarded(lambda: typer.run(_timed(stage, started)))
    except SystemExit as leaving:
        _leave(leaving.code if isinstance(leaving.code, int) else 0)


def _leave(code: int) -> None:
    """Exit after the usual farewells, but leave the freeing of memory to the system.

    With torch and MLflow loaded the interpreter takes a second and a half to tear itself down.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _timed(stage: Callable[..., Any], started: float) -> Callable[..., Any]:
    """Note how long a stage took and how large its largest process was, for the final table."""

    @functools.wraps(stage)
    def measured(*arguments: Any, **options: Any) -> None:
        from pasta import store

        stage(*arguments, **options)
        name = os.environ.get("DVC_STAGE", Path(sys.argv[0]).stem)
        everybody = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        peak = max(resource.getrusage(who).ru_maxrss for who in everybody)
        note = {
            "stage": name,
            "seconds": round(time.perf_counter() - started, 2),
            "peak_mebibytes": round(peak / (1024 if sys.platform == "linux" else 1024**2)),
        }
        store.write_json(note, project_root() / TIMINGS / f"{name.replace('@', '.')}.json")

    return measured


def guarded(call: Callable[[], Any]) -> None:
    """Print an error that is meant for the user without a traceback, and exit with 1."""
    try:
        call()
    except PastaError as error:
        from rich.console import Console

        console = Console(stderr=True)
        console.print("error:", style="bold red", end=" ")
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)

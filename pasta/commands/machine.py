"""`pasta doctor` and `pasta workers`: where work runs on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer


def doctor() -> None:
    """Say which device, precision and processes will be used, and what is missing.

    The settings come from the environment (PASTA_DEVICE, PASTA_PRECISION, PASTA_WORKERS,
    PASTA_THREADS, PASTA_SCHEDULER) or from machine.yaml beside dvc.yaml. Exits with 1 if something
    is wrong.
    """
    from rich.markup import escape

    from pasta import compute, processes
    from pasta.commands.show import STATES, print_table
    from pasta.errors import PastaError

    own = processes.machine()
    try:
        where = str(compute.device())
    except PastaError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        raise typer.Exit(1) from None
    casting = compute.autocast(compute.device())
    precision = "bfloat16 autocast" if hasattr(casting, "fast_dtype") else "float32"
    rows = [
        ("device", where, f"{own.device} was asked for"),
        ("precision", precision, "for training and encoders"),
        ("workers", compute.workers(), f"processes; {processes.cores()} cores"),
        ("threads", compute.threads(), "of each process"),
        ("scheduler", own.scheduler or "none", "Dask on this machine unless it is named"),
    ]
    print_table("Where work runs", ("setting", "value", "meaning"), rows)
    findings = list(_findings())
    shown = [(what, STATES[state], escape(detail)) for what, state, detail in findings]
    print_table("What there is", ("what", "state", "detail"), shown)
    if any(state == "problem" for _, state, _ in findings):
        raise typer.Exit(1)


def _findings() -> Iterator[tuple[str, str, str]]:
    import torch

    from pasta.extras import EXTRAS, how_to_get, missing_modules
    from pasta.name_clash import describe_clash
    from pasta.paths import find_root

    yield "torch", "ok", f"{torch.__version__}, CUDA {torch.version.cuda or 'not built in'}"
    there = torch.cuda.is_available()
    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    yield "GPU", "ok" if there else "missing", ", ".join(names) or "none is seen; the CPU will do"
    for name, extra in EXTRAS.items():
        absent = missing_modules(name)
        detail = f"; {how_to_get(name)} brings {', '.join(absent)}" if absent else ""
        yield f"extra {name}", "missing" if absent else "ok", f"{extra.serves}{detail}"
    clash = describe_clash()
    state = "ok" if clash is None else "problem"
    yield "import pasta", state, clash or "no other package of this name"
    root = find_root()
    if root is None:
        yield (
            "project",
            "missing",
            (
                "this folder is in no clone of the repository: the library, `pasta analyse` and "
                "`pasta score --scorer FOLDER` work, stages and reports do not"
            ),
        )
        return
    yield from _findings_of_project(root)


def _findings_of_project(root: Path) -> Iterator[tuple[str, str, str]]:
    import shutil

    from pasta.config import load_params
    from pasta.layout import groups
    from pasta.tracking import require_tracking

    yield "MLflow", "ok", require_tracking()
    free = shutil.disk_usage(root).free / 2**30
    yield "disk", "ok" if free > 5 else "problem", f"{free:.0f} GiB free below {root}"
    params = load_params()
    made = sum((one.explanations / "explanations.parquet").is_file() for one in groups(params))
    state = "ok" if made == len(params.rated) else "missing"
    detail = f"{made} of {len(params.rated)} groups are explained (profile {params.profile})"
    yield "data", state, f"{detail}; `dvc repro` makes what is missing"


def workers(context: typer.Context) -> None:
    """Run a command, such as `pasta workers dvc repro`, with workers that all its stages share.

    A stage starts its own worker processes otherwise, which load torch anew: seconds that count
    when a pipeline has many short stages. On a cluster name a scheduler with PASTA_SCHEDULER.
    """
    from pasta.compute import run_with_workers
    from pasta.errors import PastaError

    if not context.args:
        raise PastaError("which command? For example: pasta workers dvc repro")
    raise typer.Exit(run_with_workers(context.args))

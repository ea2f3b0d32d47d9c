"""`pasta workers`: run a command with worker processes that stay between stages."""

from __future__ import annotations

import typer


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

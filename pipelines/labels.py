"""DVC stage `labels`: the votes on each sample and question as one label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    votes: Annotated[Path, typer.Argument(help="the votes table")],
    out: Annotated[Path, typer.Option(help="the labels table to write")],
    metrics: Annotated[Path, typer.Option(help="the metrics file to write")],
) -> None:
    """Aggregate VOTES into mode, mean and median, with the counts behind them."""
    from pasta import store, tables
    from pasta.annotations.aggregate import aggregate
    from pasta.annotations.merging import summarise_labels
    from pasta.params import load_params

    params = load_params()
    labels = aggregate(store.read(votes, tables.VOTES), params.annotations.ties)
    store.write(labels, out, tables.LABELS)
    store.write_json(summarise_labels(labels), metrics)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)

"""DVC stage `votes`: all batches of annotations as one set of tables, and the labels they give."""

from __future__ import annotations

from pasta import store, tables
from pasta.config import load_params
from pasta.layout import groups
from pasta.paths import project_root
from pasta.stage import run_stage
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.ratings.batches import merged
from pasta.studies.ratings.rateable import explained
from pasta.studies.ratings.study import (
    BATCHES,
    SIMULATED,
    VOTES,
    batches_of,
    summarise,
    summarise_labels,
    write_tables,
)
from pasta.tracking import tracked_run


def main() -> None:
    """Merge the stored batches, later over earlier, and check every vote against its sample.

    The votes on each sample and question become one label: mode, mean and median, with the counts
    behind them.
    """
    params, root = load_params(), project_root()
    out, sources = root / VOTES, batches_of(root)
    with tracked_run(
        "annotations",
        "votes",
        params.annotations.source,
        inputs=[folder for folder in (root / SIMULATED, root / BATCHES) if folder.exists()],
        params={"ties": params.annotations.ties},
    ) as run:
        annotations = merged(sources)
        write_tables(annotations, explained(groups()), out)
        store.write_json(summarise(annotations, len(sources)), out / "annotations.json")
        labels = aggregate(annotations.votes, params.annotations.ties)
        store.write(labels, out / "labels.parquet", tables.LABELS)
        store.write_json(summarise_labels(labels), out / "labels.json")
        run.log_metrics({name: len(part) for name, part in annotations.parts().items()})


if __name__ == "__main__":
    run_stage(main)

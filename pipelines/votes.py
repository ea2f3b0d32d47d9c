"""DVC stage `votes`: all batches of a study as one set of tables, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import typer

from pasta import store
from pasta.config import load_params
from pasta.paths import project_root
from pasta.stage import run_stage
from pasta.studies.batches import (
    left_out,
    merged,
    project_batches,
    withdrawal,
    write_tables,
)
from pasta.studies.registry import load_study
from pasta.studies.source import describe_source, write_source
from pasta.tracking import tracked_run


def main(name: str) -> None:
    """Merge the stored batches, later over earlier, and check what every answer refers to.

    Batches that were withdrawn do not count, nor do simulated answers once a person has answered.
    The study makes its outcomes from all answers. In the rating study the votes on each sample and
    question become one label: mode, mean and median, with the counts behind them.
    """
    params, root = load_params(), project_root()
    study = load_study(name, params)
    out, sources = root / study.folder, project_batches(study, root)
    places = (root / study.simulated_folder, root / study.batch_folder)
    with tracked_run(
        "annotations",
        f"votes@{name}",
        f"{study.settings.get('source', '')} votes of {name}".strip(),
        about=f"All batches of the study {name!r} as one set of tables, and the labels they give.",
        tags={"study": name, "dataset": ", ".join(params.datasets)},
        inputs=[folder for folder in places if folder.exists()],
        params=study.settings,
    ) as run:
        answers = merged(study, sources)
        write_tables(study, answers, study.outside(root), out)
        outcomes = study.outcomes(answers, params) if study.outcomes is not None else []
        for table, frame in outcomes:
            store.write(frame, out / f"{table.name}.parquet", table)
        made = {table.name: frame for table, frame in outcomes}
        about = study.summarise(answers, made) if study.summarise is not None else {}
        gave_way = left_out(study, sources, answers)
        if gave_way:
            typer.echo(f"{gave_way:,} simulated answers give way to those of people")
        counting = sum(withdrawal(source) is None for source in sources)
        about |= {"batches": counting, "simulated_left_out": gave_way}
        store.write_json(about, out / "annotations.json")
        write_source(describe_source(out, _simulated_share(answers)), out)
        run.log_metrics({table: len(part) for table, part in answers.items()})


def _simulated_share(answers: Mapping[str, pd.DataFrame]) -> float:
    """The share of simulated ones among all answers of a study."""
    marks = [frame["simulated"] for frame in answers.values() if "simulated" in frame]
    return float(pd.concat(marks).astype(bool).mean()) if any(map(len, marks)) else 0.0


if __name__ == "__main__":
    run_stage(main)

"""DVC stage `agreement`: how far annotators agree, and whether it matters who they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    annotations: Annotated[Path, typer.Option(help="folder of the merged annotations")],
    out: Annotated[Path, typer.Option(help="folder for the tables")],
) -> None:
    """Analyse agreement and bias in ANNOTATIONS."""
    from analysis.suites.agreement import agreement_tables
    from pasta import store
    from pasta.annotations.box_maps import box_values, concept_sentences
    from pasta.annotations.studied import Study
    from pasta.params import load_params
    from pasta.workers import at_once, one_thread

    one_thread()
    params, study = load_params(), Study(annotations, folders)
    told = study.descriptions["sample_id"].unique().tolist()
    found = agreement_tables(
        study.votes,
        study.annotators,
        study.samples,
        study.descriptions,
        lambda: concept_sentences(folders, told, params.embedding.n_top),
        study.boxes,
        lambda: box_values(folders, study.boxes),
        resamples=params.analysis.resamples,
        permutations=params.analysis.permutations,
        seed=params.seed,
        run=at_once,
    )
    store.write_csvs(found, out)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)

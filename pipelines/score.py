"""DVC stage `score`: the papers' studies of the score, and the scorer that anybody can call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from pasta.params import Params
    from pasta.scoring.public import Public
    from pasta.scoring.studies import Setup


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    labels: Annotated[Path, typer.Option(help="the labels table")],
    votes: Annotated[Path, typer.Option(help="the votes table")],
    out: Annotated[Path, typer.Option(help="folder for the results")],
    figure: Annotated[Path, typer.Option(help="the SVG file to write")],
    scorer: Annotated[Path, typer.Option(help="folder of the public scorer")],
) -> None:
    """Train and test scorers on the rated explanations in FOLDERS, and train the public one."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    import pandas as pd
    import torch

    from pasta import store, tables
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import bar
    from pasta.scoring.material import collect
    from pasta.scoring.public import train_public
    from pasta.scoring.reporting import people, track
    from pasta.scoring.running import at_work
    from pasta.scoring.studies import setups
    from pasta.tracking import connect, locked_md5s, require_tracking

    require_tracking()
    torch.set_num_threads(1)  # with more, this process could not be copied
    params = load_params()
    material = collect(folders, store.read(labels, tables.LABELS))
    wanted = setups(params.embedding, params.scoring)
    with (
        at_work(material, wanted, params.scoring, processors()) as found,
        bar("studies of the score", len(wanted), "setups") as line,
    ):
        connect("scorers")  # only now: what is open cannot be copied
        public = train_public(material, params)
        locked_md5s(project_root())  # takes a while, and is remembered
        import reports.plots.score  # noqa: F401 (takes a while, and is wanted at the end)

        rated = store.read(votes, tables.VOTES)
        others = people(rated)
        results = found(lambda words: line.advance(words=words))
    results = pd.concat([results, others], ignore_index=True)
    note = "Votes are simulated." if rated["simulated"].any() else ""
    reached = _write(results, wanted, params, out, figure, note)
    track(wanted, results, [labels, votes], out)
    inputs = [labels, *(folder / "explanations.parquet" for folder in folders)]
    _publish(public, params, inputs, reached[params.scoring.public.scorer], scorer)


def _write(
    results: pd.DataFrame,
    wanted: Sequence[Setup],
    params: Params,
    out: Path,
    figure: Path,
    note: str,
) -> dict[str, Any]:
    """Write tables and the figure; returns what each scorer has reached."""
    from pasta import store, tables
    from pasta.scoring.reporting import headline, main_titles, summary
    from pasta.scoring.running import compare
    from reports.plots.score import score_figure
    from reports.plots.style import style

    store.write(results, out / "score_results.parquet", tables.SCORE_RESULTS)
    summarised = summary(results)
    summarised.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    rivals = [name for name in params.scoring.scorers if name not in ("ordinal", "constant")]
    differences = compare(results, "ordinal", rivals)
    differences.to_csv(out / "differences.csv", index=False, lineterminator="\n")
    reached = headline(summarised)
    store.write_json(reached, out / "score.json")
    drawn = score_figure(summarised[summarised["study"] == "main"], main_titles(wanted), note)
    with store.atomic(figure) as temporary, style():
        drawn.savefig(temporary, format="svg", metadata={"Date": None})
    return reached


def _publish(
    public: Public, params: Params, inputs: Sequence[Path], reached: Any, scorer: Path
) -> None:
    """Keep the public scorer, and register it."""
    from pasta.scoring.public import save_public
    from pasta.scoring.serving import log_served
    from pasta.tracking import file_md5, tracked_run

    md5s = {str(file): file_md5(file) for file in inputs}
    save_public(public, params, md5s, reached, scorer)
    with tracked_run(
        "scorers",
        "score",
        "public",
        inputs=inputs,
        params=params.scoring.public.model_dump(),
        record=scorer.with_name("scorer.run.json"),
    ):
        log_served(scorer)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)

"""DVC stage `score`: the papers' studies of the score, every setup with every seed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    labels: Annotated[Path, typer.Option(help="the labels table")],
    votes: Annotated[Path, typer.Option(help="the votes table")],
    out: Annotated[Path, typer.Option(help="folder for the results")],
    figure: Annotated[Path, typer.Option(help="the SVG file to write")],
) -> None:
    """Train and test scorers on the rated explanations in FOLDERS."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    import pandas as pd

    from pasta import store, tables
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import bar
    from pasta.scoring.material import collect
    from pasta.scoring.reporting import headline, main_titles, people, summary, track
    from pasta.scoring.running import at_work, compare
    from pasta.scoring.studies import setups
    from pasta.tracking import locked_md5s, prepare, require_tracking

    require_tracking()
    params = load_params()
    material = collect(folders, store.read(labels, tables.LABELS))
    wanted = setups(params.embedding, params.scoring)
    with (
        at_work(material, wanted, params.scoring, processors()) as found,
        bar("studies of the score", len(wanted), "setups") as line,
    ):
        connecting = prepare("scorers")  # a thread: only now, beside processes that are there
        from reports.plots.score import score_figure
        from reports.plots.style import style

        locked_md5s(project_root())  # takes a second, and is remembered
        rated = store.read(votes, tables.VOTES)
        others = people(rated)
        results = found(lambda words: line.advance(words=words))
    results = pd.concat([results, others], ignore_index=True)
    store.write(results, out / "score_results.parquet", tables.SCORE_RESULTS)
    summarised = summary(results)
    summarised.to_csv(out / "summary.csv", index=False, lineterminator="\n")
    rivals = [name for name in params.scoring.scorers if name not in ("ordinal", "constant")]
    differences = compare(results, "ordinal", rivals)
    differences.to_csv(out / "differences.csv", index=False, lineterminator="\n")
    store.write_json(headline(summarised), out / "score.json")
    note = "Votes are simulated." if rated["simulated"].any() else ""
    drawn = score_figure(summarised[summarised["study"] == "main"], main_titles(wanted), note)
    with store.atomic(figure) as temporary, style():
        drawn.savefig(temporary, format="svg", metadata={"Date": None})
    connecting.join()
    track(wanted, results, [labels, votes], out)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)

"""`pasta study attention`: what only the attention study has. The command line must be light."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="The study of human attention: people mark what shows the class, and rate maps.\n\n"
    "`plan` says who marks what, `check FILE` and `import FILE` take regions, words and ratings as "
    "CSV or COCO's JSON, `boxes` takes those of the rating study. Masks that are made already are "
    "for `pasta attention score`.",
)


@app.command()
def images() -> None:
    """List the images that can be marked, as answers must name them."""
    from pasta.errors import PastaError
    from pasta.layout import groups
    from pasta.studies.attention.material import image_table

    built = [one for one in groups() if (one.images / "images.parquet").is_file()]
    if not built:
        raise PastaError("there are no images yet: `dvc repro images` makes them")
    for row in image_table(built).itertuples(index=False):
        typer.echo(f"{row.image_id}\t{row.label}")


@app.command()
def boxes(out: Annotated[Path, typer.Argument(help="a new folder of CSV, to be imported")]) -> None:
    """Write the boxes of the rating study (Q0.2) as regions of attention."""
    import pandas as pd

    from pasta.config import load_params
    from pasta.errors import PastaError
    from pasta.paths import DATA, project_root
    from pasta.studies.attention.boxes import regions_of_boxes
    from pasta.studies.reading import write_tidy
    from pasta.studies.registry import load_study

    params, file = load_params(), project_root() / DATA / "votes" / "ratings" / "boxes.parquet"
    if not file.is_file():
        raise PastaError("there are no boxes yet: `dvc repro votes@ratings` collects them")
    frames = regions_of_boxes(pd.read_parquet(file), params.image_size)
    write_tidy(load_study("attention", params), frames, out)
    typer.echo(f"wrote {len(frames['regions']):,} regions to {out}")

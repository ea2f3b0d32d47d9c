"""`pasta attention`: scores of maps against masks of human attention, and the masks themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pasta.commands.options import AsJson, TableFile, require_file, require_table

if TYPE_CHECKING:
    import pandas as pd

    from pasta.studies.attention.mask_files import Masks, Trouble

Form = Literal["masks", "osie", "salicon", "clicks"]
Folder = Annotated[
    Path,
    typer.Option(
        "--masks",
        metavar="DIR",
        help="a folder of masks (pictures or .npy), one for each image, or a tree of the released "
        "benchmark; or what --form says",
    ),
]
FormOption = Annotated[
    Form, typer.Option("--form", help="what the masks are: fixations and clicks are smoothed")
]
Width = Annotated[
    float | None, typer.Option(help="of the Gaussian of fixations and clicks, in pixels")
]
Degrees = Annotated[float | None, typer.Option(help="the same in degrees of the eye")]
PerDegree = Annotated[float | None, typer.Option(help="pixels in a degree")]
Size = Annotated[
    str | None,
    typer.Option(metavar="HxW", help="pixels of the images, where the files do not say it"),
]

app = typer.Typer(
    help="Score maps against masks of human attention.\n\n"
    "`pasta attention score maps.npy --masks DIR` takes masks in the order of their names.",
    no_args_is_help=True,
)


@app.command()
def score(
    maps: Annotated[Path, typer.Argument(metavar="MAPS.npy", help="n x height x width")],
    masks: Folder,
    names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="the image of each map, one a line; else the masks in their order"
        ),
    ] = None,
    form: FormOption = "masks",
    width: Width = None,
    degrees: Degrees = None,
    per_degree: PerDegree = None,
    size: Size = None,
    out: TableFile = None,
    as_json: AsJson = False,
) -> None:
    """Score every map against the mask of its image; files that cannot be used are listed.

    The scores are 1 - MAE (agreement), false positives and negatives, IoU over all thresholds,
    pointing game, relevance mass, AUC-Judd, NSS, CC, SIM, KL and Spearman's correlation. Several
    maps may have the same mask: `--names` says which.
    """
    require_table(out)
    require_file(maps)
    import numpy as np

    from analysis.map_scores import score_maps
    from pasta.errors import PastaError
    from pasta.metrics.given import read_maps
    from pasta.studies.attention.mask_files import resized

    given = read_maps(maps)
    found = _read(masks, form, width, degrees, per_degree, _pixels(size))
    _tell(found.troubles)
    images = _names(names, list(found.masks), len(given))
    known = [one in found.masks for one in images]
    for one in dict.fromkeys(
        image for image, there in zip(images, known, strict=True) if not there
    ):
        typer.echo(f"{one}: no mask, its maps are left out", err=True)
    rows = [at for at, there in enumerate(known) if there]
    if not rows:
        raise PastaError("no map has a mask: check the names of the files against --names")
    order = list(dict.fromkeys(images[at] for at in rows))
    shape = (given.shape[1], given.shape[2])
    stack = np.stack([resized(found.masks[one], shape) for one in order])
    objects = None
    if all(one in found.objects for one in order):
        parts = [resized(found.objects[one].astype(np.float64), shape) >= 0.5 for one in order]
        objects = np.stack(parts)
    values = given if len(rows) == len(given) else given[rows]
    which = [order.index(images[at]) for at in rows]
    table = score_maps(values, stack, which=which, objects=objects)
    table.insert(0, "image", [images[at] for at in rows])
    table.insert(0, "row", rows)
    if out is not None:
        from pasta.commands.show import write_table

        write_table(table, out)
    if as_json:
        typer.echo(table.to_json(orient="records", indent=2))
        return
    _print(table)
    if out is not None:
        typer.echo(f"wrote {out}")


@app.command()
def masks(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="a folder or file of attention")],
    out: Annotated[Path, typer.Argument(help="a new folder of grey pictures")],
    form: FormOption = "masks",
    width: Width = None,
    degrees: Degrees = None,
    per_degree: PerDegree = None,
    size: Size = None,
) -> None:
    """Make masks of pictures, of the released benchmark, of fixations or clicks, all as PNG."""
    import numpy as np
    from PIL import Image

    from pasta.json_files import new_folder

    found = _read(source, form, width, degrees, per_degree, _pixels(size))
    _tell(found.troubles)
    with new_folder(out) as folder:
        for name, mask in found.masks.items():
            file = folder / f"{name}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.rint(255 * mask).astype(np.uint8)).save(file)
    typer.echo(f"wrote {len(found.masks)} masks to {out}; {len(found.troubles)} notes above")


def _read(
    source: Path,
    form: Form,
    width: float | None,
    degrees: float | None,
    per_degree: float | None,
    size: tuple[int, int] | None,
) -> Masks:
    from pasta.errors import PastaError
    from pasta.studies.attention import recorded
    from pasta.studies.attention.mask_files import read_masks

    if form == "masks":
        return read_masks(source, size)
    spread = recorded.width_in_pixels(width, degrees, per_degree)
    if form == "salicon":
        points, sizes, troubles = recorded.read_salicon(source)
        return recorded.masks_of(points, size or sizes, spread, troubles)
    if size is None:
        raise PastaError(f"{form} files do not say how large images are: --size HxW")
    points, troubles = (recorded.read_osie if form == "osie" else recorded.read_clicks)(source)
    return recorded.masks_of(points, size, spread, troubles)


def _pixels(size: str | None) -> tuple[int, int] | None:
    if size is None:
        return None
    height, _, width = size.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal() and int(height) and int(width)):
        raise typer.BadParameter(f"{size!r}: expected height x width, such as 480x640")
    return int(height), int(width)


def _names(file: Path | None, masks: list[str], number: int) -> list[str]:
    """The image of each map."""
    from pasta.errors import InputError, PastaError

    if file is None:
        if len(masks) != number:
            raise PastaError(
                f"there are {number} maps and {len(masks)} masks: say with --names which image "
                "each map is of"
            )
        return masks
    lines = [line.strip() for line in file.read_text().splitlines() if line.strip()]
    if len(lines) != number:
        expected = f"one name for each of the {number} maps"
        raise InputError(f"has {len(lines)} names", file=file, expected=expected)
    return lines


def _tell(troubles: tuple[Trouble, ...]) -> None:
    for one in troubles:
        typer.echo(f"{one.file}: {one.problem} ({one.done})", err=True)


def _print(table: pd.DataFrame) -> None:
    from analysis.map_scores import SCORES
    from pasta.commands.show import print_table

    fine = table[table["status"] == "ok"]
    rows = [
        (name, better, f"{fine[name].mean():.4g}" if fine[name].notna().any() else "-",
         int(fine[name].notna().sum()))
        for name, better in SCORES.items()
    ]  # fmt: skip
    print_table("Means", ("score", "better", "mean", "n"), rows, numbers=("mean", "n"))
    others = table.loc[table["status"] != "ok", "status"].value_counts()
    for status, number in others.items():
        typer.echo(f"without scores: {number} maps ({status})")

"""`pasta metrics` and `pasta measure`: what can be measured, and doing it on one's own maps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pasta.commands.options import AsJson, TableFile, require_file, require_metric, require_table

if TYPE_CHECKING:
    import pandas as pd

    from pasta.metrics.api import Inputs, Wanted
    from pasta.metrics.given import Estimate

_GROUPS = {
    ("maps",): "From the map alone",
    ("maps", "masks"): "From the map and a mask of the object",
    ("maps", "model", "images", "targets"): "From the map and the model",
    ("maps", "model", "images"): "From all maps of a method and the model",
    ("maps", "images", "targets", "explainer"): "By explaining again",
    ("maps", "model", "images", "targets", "explainer"): "By explaining again, with the model",
    ("maps", "model", "images", "targets", "explainer", "layers"): "The same, with its layers",
}


def metrics(
    name: Annotated[
        str | None, typer.Argument(metavar="[METRIC]", help="only this one, e.g. faithfulness")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the metrics of explanations, by what they need.

    *better* says whether higher or lower values are better, *signs* what becomes of negative
    relevance: it is kept (signed), made positive (absolute) or cut off (positive). Settings stand
    with their defaults; `pasta measure --option` and `pasta.metrics.evaluate` change them. Names
    that start with quantus/ are the metrics of Quantus.
    """
    if name is not None:
        require_metric(name)
    rows = _listed(name)
    if as_json:
        import json

        typer.echo(json.dumps(rows, indent=2))
        return
    from pasta.commands.show import console, print_table

    columns = ("metric", "category", "better", "range", "signs", "DOI", "settings")
    for needs in dict.fromkeys(tuple(row["needs"]) for row in rows):
        ours = [row for row in rows if tuple(row["needs"]) == needs]
        title = f"{_GROUPS.get(needs, 'Others')} ({', '.join(needs)})"
        print_table(title, columns, [_cells(row) for row in ours])
    if name is not None:
        console().print(f"{rows[0]['title']}: {rows[0]['about']}", highlight=False)


def measure(
    maps: Annotated[Path, typer.Argument(metavar="MAPS.npy", help="your maps, n x height x width")],
    metrics: Annotated[
        str,
        typer.Option(metavar="NAME,NAME", help="names with commas between; see `pasta metrics`"),
    ],
    out: TableFile = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=".npy, n x channels x height x width floats as the model wants them, or bytes "
            "n x height x width x 3, which become 0 to 1",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="a function that returns a torch model"),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="explained classes: .npy, or .csv with a column target; else predicted",
        ),
    ] = None,
    explainer: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="from images and targets to maps"),
    ] = None,
    masks: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="where the object is: .npy, n x height x width, 0 to 1"),
    ] = None,
    softmax: Annotated[
        bool | None,
        typer.Option(
            "--softmax/--no-softmax", help="whether the outputs are logits; else they are looked at"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="of noise and random subsets")] = 0,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="images in one forward pass")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="or metric.name=value; may be given several times"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only say how much work it would be")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure your own maps, made by any method for any torch model.

    With a file `mine.py` that has `def model(): ...`:

    `pasta measure maps.npy --images images.npy --model mine:model --softmax
    --metrics faithfulness,insertion,sparseness --option perturbation=black --out values.csv`

    prints the means and, with `--out`, writes one line for each map and metric (row, metric,
    variant, value, direction, status). A map that is all zero, constant or not a number gets a
    status and no value. `--dry-run` tells the number of forward passes and the time before you
    wait for it.
    """
    require_table(out)
    for name in filter(None, map(str.strip, metrics.split(","))):
        require_metric(name)
    for file in (maps, images, targets, masks):
        if file is not None:
            require_file(file)
    from pasta.metrics.given import parse_metrics

    wanted = parse_metrics(metrics, option or [])
    inputs = _inputs(maps, images, targets, masks, model, explainer)
    _check(inputs, wanted)
    if dry_run:
        from pasta.metrics.given import estimate

        _print_estimate(estimate(wanted, inputs, batch_size))
        return
    from pasta.commands.show import write_table

    table = _measured(wanted, inputs, seed, batch_size, softmax)
    if out is not None:
        write_table(table, out)
    if as_json:
        typer.echo(table.to_json(orient="records", indent=2))
        return
    _print_means(table)
    if out is not None:
        typer.echo(f"wrote {out}")


def _listed(name: str | None) -> list[dict[str, Any]]:
    import inspect
    import math

    from pasta.metrics.api import get_settings
    from pasta.metrics.catalog import METRICS

    if name is None:
        from pasta.metrics.quantus_metrics import list_metrics

        entries = [*METRICS.entries(), *list_metrics()]
    else:
        entries = [METRICS.entry(name)]
    order = [*_GROUPS]
    rows = []
    for entry in sorted(entries, key=lambda one: order.index(one.metadata["needs"])):
        about, settings = entry.metadata, get_settings(entry.key, {})
        rows.append(
            {
                "metric": entry.key,
                "title": about["title"],
                "category": about["category"],
                "direction": about["direction"],
                "range": [value if math.isfinite(value) else None for value in about["span"]],
                "sign": about["sign"],
                "needs": list(about["needs"]),
                "probabilities": about["probabilities"],
                "variant": list(about["variant"]),
                "no_value_for": list(about["refuses"]),
                "doi": about["doi"],
                "settings": _plain_settings(settings),
                "about": " ".join((inspect.getdoc(entry.value) or "").split()),
            }
        )
    return rows


def _plain_settings(settings: Any) -> dict[str, Any]:
    """Settings as numbers and words; functions by their names."""
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        plain: dict[str, Any] = settings.model_dump(mode="json")
        return plain
    return {key: getattr(value, "__name__", value) for key, value in settings.items()}


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    low, high = ("∞" if value is None else f"{value:g}" for value in row["range"])
    low = "-∞" if low == "∞" else low
    settings = ", ".join(f"{key}={_short(value)}" for key, value in row["settings"].items())
    plain = (row["metric"], row["category"], row["direction"])
    return (*plain, f"{low} to {high}", row["sign"], row["doi"], settings)


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 6:
        return f"[{value[0]}, {value[1]}, ... {value[-1]}]"
    return str(value)


def _inputs(
    maps: Path,
    images: Path | None,
    targets: Path | None,
    masks: Path | None,
    model: str | None,
    explainer: str | None,
) -> Inputs:
    from pasta.metrics import given
    from pasta.metrics.api import Inputs

    relevance = given.read_maps(maps)
    pictures = None if images is None else given.read_images(images, relevance)
    return Inputs(
        relevance,
        None if pictures is None else lambda part: given.as_floats(pictures[part]),
        None if targets is None else given.read_targets(targets, len(relevance)),
        None if masks is None else given.read_masks(masks, relevance),
        None if model is None else given.make_model(model),
        None if explainer is None else given.import_object(explainer, "explainer"),
    )


def _check(inputs: Inputs, wanted: list[Wanted]) -> None:
    """Say what is missing in the words of the command."""
    from pasta.errors import PastaError
    from pasta.metrics.catalog import METRICS

    for one in wanted:
        for need in METRICS.entry(one.name).metadata["needs"]:
            if need == "layers":
                continue  # which a model has or has not
            if getattr(inputs, need) is None and (need != "targets" or inputs.model is None):
                extra = " (or --model, for the predicted classes)" if need == "targets" else ""
                raise PastaError(f"{one.name} needs --{need}{extra}")


def _measured(
    wanted: list[Wanted], inputs: Inputs, seed: int, batch_size: int | None, softmax: bool | None
) -> pd.DataFrame:
    import pandas as pd

    from pasta.metrics.api import measure
    from pasta.metrics.given import SAMPLES
    from pasta.progress import bar

    parts = []
    with bar("measure", len(inputs), "maps") as line:
        for start in range(0, len(inputs), SAMPLES):
            rows = slice(start, min(start + SAMPLES, len(inputs)))
            found = measure(
                wanted, inputs.part(rows), seed=seed, batch_size=batch_size, softmax=softmax
            )
            parts += [
                pd.DataFrame(
                    {
                        "row": range(rows.start, rows.stop),
                        "metric": one.name,
                        "variant": one.variant,
                        "value": one.values,  # noqa: PD011 (an array)
                        "direction": one.direction,
                        "status": one.statuses,
                    }
                )
                for one in found
            ]
            line.advance(rows.stop - rows.start)
    place = {one.name: number for number, one in enumerate(wanted)}
    table = pd.concat(parts, ignore_index=True)
    return table.sort_values(
        ["metric", "row"],
        key=lambda column: column.map(place) if column.name == "metric" else column,
        kind="stable",
        ignore_index=True,
    )


def _print_means(table: pd.DataFrame) -> None:
    from pasta.commands.show import print_table

    rows = []
    for (metric, variant, direction), ours in table.groupby(
        ["metric", "variant", "direction"], sort=False
    ):
        fine = ours.loc[ours["status"] == "ok", "value"]
        others = ours.loc[ours["status"] != "ok", "status"].value_counts()
        mean = f"{fine.mean():.4g}" if len(fine) else "-"
        without = ", ".join(f"{number} {status}" for status, number in others.items())
        rows.append((metric, variant, direction, mean, len(fine), without))
    columns = ("metric", "variant", "better", "mean", "n", "without a value")
    print_table("Means", columns, rows, numbers=("mean", "n"))


def _print_estimate(found: Estimate) -> None:
    if found.without_value:
        typer.echo(f"{found.without_value} of {found.samples} maps show nothing: no work for them")
    typer.echo(f"forward passes: {found.forward_passes:,}")
    typer.echo(f"explanations: {found.explanations:,}")
    typer.echo(f"about {found.seconds / 60:.1f} minutes ({found.seconds:.1f} s) on this machine")

"""`pasta benchmark`: what LATEC costs, its ranks, and a method or a model of yours in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pasta.commands.options import AsJson, TableFile, require_file, require_table

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    help="LATEC: explanation methods ranked by metrics, rank first and then aggregate.\n\n"
    "17 methods explain the same images on three classifiers, 20 metrics measure every map, every "
    "metric ranks the methods in each cell (a dataset and a classifier), and ranks are averaged. "
    "`pasta benchmark cost` says what that would take, `dvc repro benchmark` does it, `pasta "
    "benchmark rank` shows the ranks, and `pasta benchmark run --method mine:explain` ranks a "
    "method of yours among the others.",
    no_args_is_help=True,
)
Methods = Annotated[
    str, typer.Option("--methods", metavar="NAME,NAME", help="only these, by key or code (GC)")
]
Metrics = Annotated[
    str, typer.Option("--metrics", metavar="NAME,NAME", help="only these, by key or code (FC)")
]
Draws = Annotated[int, typer.Option("--resamples", min=0, help="draws of each interval")]


@app.command()
def cost(
    profile: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROFILE]...", help="of `pasta profile list`; else params.yaml"),
    ] = None,
    probe: Annotated[
        bool, typer.Option(help="measure this machine for a few seconds; else GPUs only")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Passes, hours and disk of the benchmark before anything starts, classifier by classifier.

    `pasta benchmark cost paper_latec` is the study at the size of the paper. Passes are counted
    from the settings of methods and metrics, hours follow from pasta/rates.yaml and are good to a
    factor of two; `pasta profile cost` has the other stages.
    """
    import json

    from pasta.commands.show import note, print_table
    from pasta.config import checked_params, load_params, profile_text
    from pasta.cost import known_devices, list_benchmark, measure_here, tabulate
    from pasta.paths import PARAMS, project_root

    root = project_root()
    params = (
        checked_params(root / PARAMS, profile_text(profile, root)) if profile else load_params()
    )
    work = list(list_benchmark(params))
    if not work:
        typer.echo("nothing to benchmark: no dataset of benchmark.datasets has its classifiers")
        return
    if probe:
        note("measuring this machine for a few seconds (--no-probe leaves it out)")
    devices = [*known_devices(), *([measure_here()] if probe else [])]
    rows = []
    for one in work:
        table = tabulate([one], devices).iloc[-1].to_dict()
        rows.append({**table, "stage": one.item})
    rows.append({**tabulate(work, devices).iloc[-1].to_dict(), "stage": "all together"})
    if as_json:
        typer.echo(json.dumps(rows))
        return
    names = [one.name for one in devices]
    columns = ["cell", "passes", *(f"hours, {one}" for one in names), "GB disk", "GB memory"]
    cells = [
        [
            str(row["stage"]),
            f"{row['passes']:,.0f}",
            *(f"{row[one]:,.2f}" for one in names),
            f"{row['disk']:,.2f}",
            f"{row['memory']:,.1f}",
        ]
        for row in rows
    ]
    print_table(
        f"The benchmark of the profile {params.profile}", columns, cells, numbers=columns[1:]
    )


@app.command()
def run(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DATASET]...", help="of the project; else all of the benchmark"),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="a method of yours: function(model, images, targets) returns maps",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION", help="a function that returns a torch classifier of yours"
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=".npy for --model: n x channels x height x width floats, or bytes n x height x "
            "width x 3, which become 0 to 1",
        ),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=".npy or .csv: classes to explain; else predicted"),
    ] = None,
    methods: Methods = "",
    metrics: Metrics = "",
    out: TableFile = None,
    resamples: Draws = 1000,
    as_json: AsJson = False,
) -> None:
    """Rank a method of yours among the 17, or all methods on a model of yours.

    With a file `mine.py` that has `def explain(model, images, targets): ...`, which returns a map
    (n, height, width) for each image,

    `pasta benchmark run --method mine:explain`

    explains the images of the benchmark by it on each trained classifier, measures its maps by all
    metrics and ranks it among the methods that `dvc repro benchmark` has measured. With a model of
    yours nothing has to be there before:

    `pasta benchmark run --model mine:network --images images.npy --methods GC,IG,RA
    --metrics FC,INS,SP`

    Only the positive part of a map counts, divided by its maximum. `--out` writes every value.
    """
    from pasta.config import load_params

    require_table(out)
    params = load_params()
    if model is not None:
        values = _on_model(
            model, images, targets, params, _listed(methods), _listed(metrics), method or []
        )
    else:
        values = _on_datasets(datasets or [], method or [], params)
        values = _chosen(values, _listed(methods), _listed(metrics), method or [])
    if out is not None:
        from pasta.commands.show import write_table

        write_table(values, out)
    own = {name.rpartition(":")[2] for name in method or []}
    _print_ranks(_average(values, resamples, params.seeds.analysing), own, as_json)


@app.command()
def rank(
    dataset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="only these datasets")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="only these classifiers")
    ] = None,
    reading: Annotated[
        str | None, typer.Option(metavar="NAME", help="paper, released or corrected")
    ] = None,
    methods: Methods = "",
    metrics: Metrics = "",
    resamples: Draws = 1000,
    as_json: AsJson = False,
) -> None:
    """Show the average rank of each method with its interval, from what the stage has measured.

    A rank of 1 is the best. The interval is 95 % over other images of the same datasets. An
    asterisk marks a method that some metric has no value for; it is ranked by the others. With
    `--metrics` or `--methods` only those are ranked, among themselves.
    """
    from pasta.config import load_params

    params = load_params()
    values = _stored(dataset or list(params.benchmark.datasets))
    wanted = reading or params.benchmark.reading
    values = values[values["reading"] == wanted]
    if model:
        values = values[values["model"].isin(model)]
    values = _chosen(values, _listed(methods), _listed(metrics), [])
    if values.empty:
        from pasta.errors import PastaError

        raise PastaError(f"there are no values of the reading {wanted!r} for this choice")
    _print_ranks(_average(values, resamples, params.seeds.analysing), set(), as_json)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _stored(datasets: list[str]) -> pd.DataFrame:
    """The values that the stage has left."""
    import pandas as pd

    from pasta import store
    from pasta.benchmark.tables import BENCHMARK_VALUES, VALUES
    from pasta.errors import PastaError
    from pasta.paths import stage_folder

    if not datasets:
        raise PastaError("benchmark.datasets of the parameters names no dataset")
    folder = stage_folder("benchmark")
    parts = [store.read(folder / name / VALUES, BENCHMARK_VALUES) for name in datasets]
    return pd.concat(parts, ignore_index=True)


def _on_datasets(datasets: list[str], own: list[str], params: Any) -> pd.DataFrame:
    import pandas as pd

    from pasta.benchmark.given import rank_own
    from pasta.errors import PastaError
    from pasta.paths import DATA, project_root

    if not own:
        raise PastaError(
            "name a method of yours with --method, or a model with --model; the study of the "
            "project itself is `dvc repro benchmark`, its ranks are `pasta benchmark rank`"
        )
    root = project_root()
    chosen = datasets or list(params.benchmark.datasets)
    return pd.concat(
        [rank_own(name, own, params, root, root / DATA) for name in chosen], ignore_index=True
    )


def _on_model(
    model: str,
    images: Path | None,
    targets: Path | None,
    params: Any,
    methods: list[str],
    metrics: list[str],
    own: list[str],
) -> pd.DataFrame:
    import numpy as np
    import torch

    from pasta.benchmark.given import Choice, benchmark_model
    from pasta.errors import PastaError
    from pasta.metrics.given import as_floats, make_model, read_targets

    if images is None:
        raise PastaError("--model needs --images, an .npy file")
    require_file(images)
    pixels = torch.from_numpy(as_floats(np.load(images, allow_pickle=False)))
    wanted = None
    if targets is not None:
        require_file(targets)
        wanted = torch.from_numpy(np.asarray(read_targets(targets, len(pixels)))).long()
    choice = Choice(tuple(methods), tuple(metrics), tuple(own), params.seeds.measuring)
    return benchmark_model(make_model(model), pixels, params, targets=wanted, choice=choice)


def _chosen(
    values: pd.DataFrame, methods: list[str], metrics: list[str], own: list[str]
) -> pd.DataFrame:
    from pasta.benchmark.catalog import choose_methods, choose_metrics

    keys = {one.key for one in choose_methods(methods)}
    keys |= {name.rpartition(":")[2] for name in own}
    if not methods:
        keys |= set(values["method"])
    names = {one.key for one in choose_metrics(metrics)}
    return values[values["method"].isin(keys) & values["metric"].isin(names)]


def _average(values: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Average ranks over all cells of a modality, one modality below the other."""
    import pandas as pd

    from pasta.benchmark.ranks import average_table, modality_of

    parts = []
    for kind, own in values.groupby(values["dataset"].map(modality_of), sort=False):
        table = average_table(own, resamples=resamples, seed=seed)
        parts.append(table[table["scope"] == "all"].assign(modality=kind))
    return pd.concat(parts, ignore_index=True)


def _print_ranks(every: pd.DataFrame, own: set[str], as_json: bool) -> None:
    import json

    if as_json:
        columns = ["modality", "method", "criterion", "estimate", "low", "high", "place"]
        columns += ["n", "missing"]
        typer.echo(json.dumps(json.loads(every[columns].to_json(orient="records")), indent=2))
        return
    for kind, table in every.groupby("modality", sort=False):
        _print_table(table, own, str(kind))


def _print_table(table: pd.DataFrame, own: set[str], kind: str) -> None:
    from pasta.benchmark.tables import CRITERIA, EVERY
    from pasta.commands.show import print_table
    from pasta.explanations.catalog import METHODS

    criteria = [one for one in (*CRITERIA, EVERY) if one in set(table["criterion"])]
    order = table[table["criterion"] == EVERY].sort_values(["estimate", "method"])["method"]
    rows = []
    for name in order:
        title = METHODS.entry(name).metadata["title"] if name in METHODS else name
        row = [f"{title} (yours)" if name in own else str(title)]
        for criterion in criteria:
            found = table[(table["method"] == name) & (table["criterion"] == criterion)]
            row.append(_cell(found.iloc[0].to_dict()) if len(found) else "-")
        rows.append(row)
    print_table(f"Average ranks on {kind}s, 1 is the best, with 95 % intervals over inputs",
                ["method", *criteria], rows, numbers=criteria)  # fmt: skip


def _cell(row: dict[Any, Any]) -> str:
    if row["estimate"] != row["estimate"]:
        return "-"
    mark = "*" if row["missing"] else ""
    ends = f" [{row['low']:.1f}, {row['high']:.1f}]" if row["low"] == row["low"] else ""
    return f"{row['estimate']:.1f}{mark}{ends}"

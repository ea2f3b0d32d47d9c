"""`pasta profile`: whole sets of parameters."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="Print or install a profile: *demo* (drawn data, minutes), *ci* (tiny), *paper_p1* and "
    "*paper_p2* (the papers' experiments on real data, for a GPU). "
    "The demo is params.yaml itself; the others are small files that say what differs from it.",
    no_args_is_help=True,
)

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="demo, ci, paper_p1, paper_p2; `pasta profile show x` lists them"
    ),
]


@app.command()
def show(name: Name) -> None:
    """Print all parameters of a profile as YAML, also those that are left at their defaults."""
    from pasta.config import checked_params, dump_yaml
    from pasta.paths import PARAMS, project_root

    whole = checked_params(project_root() / PARAMS, _text(name))
    typer.echo(dump_yaml(whole.model_dump(mode="json")), nl=False)


@app.command()
def use(
    name: Name,
    force: Annotated[
        bool, typer.Option("--force", help="also over changes of yours that git does not have")
    ] = False,
) -> None:
    """Install a profile as params.yaml; what depends on a changed value runs at the next repro.

    A params.yaml that you have edited and not committed is left alone unless you say `--force`.
    """
    from pasta import store
    from pasta.commands.show import console
    from pasta.errors import PastaError
    from pasta.paths import PARAMS, project_root

    text = _text(name)
    target = project_root() / PARAMS
    if target.read_text() == text:
        changed = ", with changes that are not committed" if _is_edited(text) else ""
        console().print(f"params.yaml already is the profile {name!r}{changed}")
        return
    if not force and _is_edited(target.read_text()):
        raise PastaError(
            f"{target}: has changes that are neither committed nor of a profile; commit or save "
            f"them, or `pasta profile use {name} --force` writes over them"
        )
    with store.atomic(target) as temporary:
        temporary.write_text(text)
    console().print(f"params.yaml is now the profile {name!r}; run `dvc repro`")


@app.command()
def require(name: Name) -> None:
    """Fail unless params.yaml belongs to this profile."""
    from pasta.config import load_params
    from pasta.errors import PastaError

    found = load_params().profile
    if found != name:
        raise PastaError(
            f"params.yaml holds the profile {found!r}, not {name!r}: "
            f"`pasta profile use {name}` installs it"
        )


@app.command()
def cost(
    name: Name,
    probe: Annotated[
        bool, typer.Option(help="measure this machine for a few seconds; else GPUs only")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, also each part")] = False,
) -> None:
    """Estimate what a profile costs before anything starts: passes, hours, disk and memory.

    Passes are counted from the settings, as the stages plan them. Hours follow from the work of a
    pass and from how fast a device is (sources in pasta/rates.yaml), good to a factor of two; this
    machine is measured. With a GPU one process does what only CPUs do (superpixels, ROAD).
    Training counts all epochs: it may stop earlier. Stages that are not listed take minutes.
    """
    import json

    from pasta.commands.show import note, print_table
    from pasta.config import checked_params
    from pasta.cost import HERE, known_devices, list_parts, measure_here, tabulate
    from pasta.paths import PARAMS, project_root
    from pasta.progress import late_bar

    params = checked_params(project_root() / PARAMS, _text(name))
    parts, work = list_parts(params), []
    with late_bar("counting passes", len(parts)) as line:
        for part in parts:
            work += list(part())
            line.advance()
    if probe:
        note("measuring this machine for a few seconds (--no-probe leaves it out)")
    devices = [*known_devices(), *([measure_here()] if probe else [])]
    table = tabulate(work, devices)
    if as_json:
        typer.echo(json.dumps(table.to_dict("records")))
        return
    names = [one.name for one in devices]
    columns = ["stage", "passes", *(f"hours, {one}" for one in names), "GB disk", "GB memory"]
    rows = [
        [row["stage"], f"{row['passes']:,.0f}"]
        + [f"{row[one]:,.1f}" for one in names]
        + [f"{row['disk']:,.1f}", f"{row['memory']:,.1f}"]
        for row in table.to_dict("records")
    ]
    days = {one: float(table[one].iloc[-1]) / 24 for one in names}
    told = [f"{days[one]:.1f} days on {one if one == HERE else f'one {one}'}" for one in names]
    print_table(f"{name}: {', '.join(told)}", columns, rows, numbers=columns[1:])


def _is_edited(text: str) -> bool:
    """Whether a params.yaml is the text of no profile and of no commit."""
    from pasta.config import DEMO, profile_names, profile_text
    from pasta.git import committed
    from pasta.paths import PARAMS, project_root

    root = project_root()
    if text in committed(root, PARAMS, most=200):
        return False
    others = [name for name in profile_names(root) if name != DEMO]  # the demo is the file itself
    return text not in (profile_text(name, root) for name in others)


def _text(name: str) -> str:
    from pasta.config import checked_params, profile_text
    from pasta.paths import PARAMS, project_root

    text = profile_text(name, project_root())
    checked_params(project_root() / PARAMS, text)
    return text

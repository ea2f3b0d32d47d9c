"""`pasta profile`: whole sets of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Print or install a profile: *demo* (drawn data, minutes), *ci* (tiny), *released* (rated "
    "explanations from elsewhere), *paper_p1* and *paper_p2* (the papers' experiments on real "
    "data, for a GPU), *rehearsal* (their networks with random weights). The demo is params.yaml "
    "itself; the others are small files that say what differs from it, and several may be laid one "
    "over the other.",
    no_args_is_help=True,
)

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="demo, ci, released, paper_p1, ...; `pasta profile show x` lists them"
    ),
]
Names = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...",
        help="demo, ci, released, paper_p1, ... (`pasta profile show x` lists them); a later one "
        "is laid over the earlier: `released ci` is a release in tiny sizes",
    ),
]
Root = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="of a release: human_annotations.json with its images and maps"
    ),
]
Lenient = Annotated[
    bool,
    typer.Option("--lenient", help="leave entries of the release out that cannot be used"),
]


@app.command()
def show(names: Names) -> None:
    """Print all parameters of a profile as YAML, also those that are left at their defaults."""
    from pasta.config import checked_params, dump_yaml
    from pasta.paths import PARAMS, project_root

    whole = checked_params(project_root() / PARAMS, _text(names))
    typer.echo(dump_yaml(whole.model_dump(mode="json")), nl=False)


@app.command()
def use(
    names: Names,
    root: Root = None,
    lenient: Lenient = False,
    force: Annotated[
        bool, typer.Option("--force", help="also over changes of yours that git does not have")
    ] = False,
) -> None:
    """Install a profile as params.yaml; what depends on a changed value runs at the next repro.

    A params.yaml that you have edited and not committed is left alone unless you say `--force`.

    `pasta profile use released --root FOLDER` looks at the release first, and stores nothing if an
    entry of it cannot be used: `pasta data check pasta --root FOLDER` opens every file of it.
    Datasets that the release says nothing about are left out of the parameters.
    """
    from pasta import store
    from pasta.commands.show import console
    from pasta.config import JOINT
    from pasta.errors import PastaError
    from pasta.paths import PARAMS, project_root

    name = JOINT.join(names)
    text = _text(names, *_release(names, root, lenient))
    target = project_root() / PARAMS
    if target.read_text() == text:
        changed = ", with changes that are not committed" if _is_edited(text) else ""
        console().print(f"params.yaml already is the profile {name!r}{changed}")
        return
    if not force and _is_edited(target.read_text()):
        raise PastaError(
            f"{target}: has changes that are neither committed nor of a profile; commit or save "
            f"them, or `pasta profile use {' '.join(names)} --force` writes over them"
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
    names: Names,
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

    params = checked_params(project_root() / PARAMS, _text(names))
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
    known = [one.name for one in devices]
    columns = ["stage", "passes", *(f"hours, {one}" for one in known), "GB disk", "GB memory"]
    rows = [
        [row["stage"], f"{row['passes']:,.0f}"]
        + [f"{row[one]:,.1f}" for one in known]
        + [f"{row['disk']:,.1f}", f"{row['memory']:,.1f}"]
        for row in table.to_dict("records")
    ]
    days = {one: float(table[one].iloc[-1]) / 24 for one in known}
    told = [f"{days[one]:.1f} days on {one if one == HERE else f'one {one}'}" for one in known]
    print_table(f"{params.profile}: {', '.join(told)}", columns, rows, numbers=columns[1:])


def _release(
    names: list[str], root: Path | None, lenient: bool
) -> tuple[dict[str, Any] | None, list[str] | None]:
    """The section ``release`` of the parameters and the datasets that it has entries about."""
    from pasta.commands.show import console
    from pasta.config import checked_params
    from pasta.datasets.released import read_release
    from pasta.errors import PastaError
    from pasta.paths import PARAMS, project_root

    home = project_root()
    params = checked_params(home / PARAMS, _text(names))
    released = [name for name, own in params.datasets.items() if own.source == "released"]
    if not released and (root is not None or lenient):
        raise PastaError(
            f"the profile {' '.join(names)!r} takes nothing from a release; "
            "`pasta profile use released --root FOLDER` does"
        )
    if not released:
        return None, None
    folder = (home / params.release.root) if root is None else root.resolve()
    release = read_release(folder, lenient)
    for problem in release.left_out:
        console().print(f"left out: {problem}", markup=False, highlight=False, soft_wrap=True)
    counts = {name: len(release.of(name)) for name in released}
    missing = [name for name, number in counts.items() if not number]
    if len(missing) == len(params.datasets):
        raise PastaError(f"{release.file}: has no entry about {', '.join(missing)}")
    if missing:
        console().print(f"left out, because no entry is about them: {', '.join(missing)}")
    told = ", ".join(f"{name} {number:,}" for name, number in counts.items())
    console().print(f"{release.file}: {len(release.entries):,} explanations ({told})")
    inside = folder.is_relative_to(home)
    found: dict[str, Any] = {"root": str(folder.relative_to(home) if inside else folder)}
    kept = [name for name in params.datasets if name not in missing] if missing else None
    return {**found, "lenient": True} if lenient else found, kept


def _is_edited(text: str) -> bool:
    """Whether a params.yaml is the text of no profile and of no commit."""
    from pasta.config import DEMO, JOINT, parse_yaml, profile_names, profile_text
    from pasta.git import committed
    from pasta.paths import PARAMS, project_root

    root = project_root()
    if text in committed(root, PARAMS, most=200):
        return False
    found = parse_yaml(root / PARAMS, text)
    names = str(found.get("profile", "")).split(JOINT) if isinstance(found, dict) else []
    if names == [DEMO] or not set(names) <= set(profile_names(root)):
        return True  # the demo is the file itself
    release, datasets = found.get("release"), list(found.get("datasets", ()))
    known = ((), (release,), (release, datasets))
    return text not in (profile_text(names, root, *one) for one in known)


def _text(
    names: Sequence[str],
    release: Mapping[str, Any] | None = None,
    datasets: Sequence[str] | None = None,
) -> str:
    from pasta.config import checked_params, profile_text
    from pasta.paths import PARAMS, project_root

    text = profile_text(names, project_root(), release, datasets)
    checked_params(project_root() / PARAMS, text)
    return text

"""`pasta profile`: whole sets of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Print or install a profile: *demo* (drawn data, minutes), *ci* (tiny), *paper* (real).",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="demo, paper or ci")]


@app.command()
def show(name: Name) -> None:
    """Print a profile, checked, as it would be installed."""
    from rich.syntax import Syntax

    from pasta.commands.show import console

    text = _profile(name).read_text()
    console().print(Syntax(text, "yaml", theme="ansi_light", background_color="default"))


@app.command()
def use(name: Name) -> None:
    """Install a profile as params.yaml; what depends on a changed value runs at the next repro."""
    from pasta import store
    from pasta.commands.show import console
    from pasta.paths import PARAMS, project_root

    text = _profile(name).read_text()
    target = project_root() / PARAMS
    if target.read_text() == text:
        console().print(f"params.yaml already is the profile {name!r}")
        return
    with store.atomic(target) as temporary:
        temporary.write_text(text)
    console().print(f"params.yaml is now the profile {name!r}; run `dvc repro`")


@app.command()
def require(name: Name) -> None:
    """Fail unless params.yaml belongs to this profile."""
    from pasta.errors import PastaError
    from pasta.params import load_params

    found = load_params().profile
    if found != name:
        raise PastaError(
            f"params.yaml holds the profile {found!r}, not {name!r}: "
            f"`pasta profile use {name}` installs it"
        )


def _profile(name: str) -> Path:
    from pasta.errors import PastaError
    from pasta.params import load_params
    from pasta.paths import PROFILES, project_root
    from pasta.registry import did_you_mean

    folder = project_root() / PROFILES
    known = {path.stem: path for path in folder.glob("*.yaml")}
    if name not in known:
        raise PastaError(f"there is no profile called {name!r}. {did_you_mean(name, known)}")
    load_params(known[name])
    return known[name]

"""`pasta profile`: whole sets of parameters."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="Print or install a profile: *demo* (drawn data, minutes), *ci* (tiny), *paper* (real). "
    "The demo is params.yaml itself; the others are small files that say what differs from it.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="demo, ci, paper; `pasta profile show x` lists them")]


@app.command()
def show(name: Name) -> None:
    """Print all parameters of a profile as YAML, also those that are left at their defaults."""
    from pasta.config import checked_params, dump_yaml
    from pasta.paths import PARAMS, project_root

    whole = checked_params(project_root() / PARAMS, _text(name))
    typer.echo(dump_yaml(whole.model_dump(mode="json")), nl=False)


@app.command()
def use(name: Name) -> None:
    """Install a profile as params.yaml; what depends on a changed value runs at the next repro."""
    from pasta import store
    from pasta.commands.show import console
    from pasta.paths import PARAMS, project_root

    text = _text(name)
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
    from pasta.config import load_params
    from pasta.errors import PastaError

    found = load_params().profile
    if found != name:
        raise PastaError(
            f"params.yaml holds the profile {found!r}, not {name!r}: "
            f"`pasta profile use {name}` installs it"
        )


def _text(name: str) -> str:
    from pasta.config import checked_params, profile_text
    from pasta.paths import PARAMS, project_root

    text = profile_text(name, project_root())
    checked_params(project_root() / PARAMS, text)
    return text

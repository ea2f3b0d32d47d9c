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

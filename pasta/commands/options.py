"""Options that mean the same in every command, and names that are checked before torch is loaded.

A typo is answered at once: methods and metrics are looked up in the sources of their packages,
where each is registered under its name, because importing them takes seconds.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import typer

Image = Annotated[Path, typer.Argument(metavar="IMAGE", help="an image file of any common format")]
Dataset = Annotated[
    str, typer.Option("--dataset", metavar="NAME", help="whose classifiers, e.g. coco")
]
OneDataset = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="only this dataset")
]
Model = Annotated[
    str, typer.Option("--model", metavar="NAME", help="a classifier, as listed by `pasta models`")
]
Question = Annotated[
    str | None,
    typer.Option(
        "--question", metavar="NAME", help="one that is answered with stars; default: the main one"
    ),
]
Scorer = Annotated[
    Path | None,
    typer.Option(
        "--scorer", metavar="FOLDER", help="a trained scorer of yours; else the project's own"
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="the picture to write; its name says the format"),
]
TableFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="the table to write, .csv or .parquet"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print machine-readable output")]

TABLES = (".csv", ".parquet")


def require_table(out: Path | None) -> None:
    """A name under which a table can be written."""
    if out is not None and out.suffix not in TABLES:
        raise typer.BadParameter(f"{out}: expected a name that ends in {' or '.join(TABLES)}")


def require_picture(out: Path) -> None:
    """A name under which a picture can be written."""
    from PIL import Image as Pillow

    if out.suffix.lower() not in Pillow.registered_extensions():
        raise typer.BadParameter(f"{out}: no picture format ends in {out.suffix!r}")


def require_file(file: Path) -> None:
    """A file that is there."""
    from pasta.errors import PastaError

    if not file.is_file():
        raise PastaError(f"{file}: there is no such file")


def require_dataset(name: str) -> None:
    """A dataset that the project knows."""
    from pasta.datasets.vocabulary import vocabulary

    vocabulary(name)


def require_model(name: str) -> None:
    """A kind of classifier that the project knows."""
    from pasta.models.settings import ModelsParams

    _require("model", name, list(ModelsParams.model_fields))


def require_technique(key: str) -> None:
    """A technique whose method and classifier are known; whether they go together is seen later."""
    from pasta.errors import PastaError
    from pasta.explanations.techniques import METHOD_TITLES

    method, _, model = key.partition("/")
    if not model:
        raise PastaError(
            f"a technique is written method/backbone, for instance gradcam/resnet50, not {key!r}"
        )
    if method not in _words("explanations/methods"):
        _require("method", method, list(METHOD_TITLES))
    require_model(model)


def require_metric(name: str) -> None:
    """A metric of ours; those of Quantus are looked up in Quantus."""
    if not name.lower().startswith("quantus/") and name not in _words("metrics/own"):
        _require("metric", name, list(_registered("metrics/own", "metric")))


def _require(kind: str, name: str, known: list[str]) -> None:
    from pasta.errors import PastaError
    from pasta.registry import did_you_mean

    if name not in known:
        raise PastaError(f"there is no {kind} called {name!r}. {did_you_mean(name, known)}")


@lru_cache
def _words(package: str) -> frozenset[str]:
    """All texts in the modules of a package: every registered name is one of them."""
    return frozenset(
        node.value
        for tree in _trees(package)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _registered(package: str, decorator: str) -> frozenset[str]:
    """The first arguments of decorators whose names end so, in the modules of a package."""
    return frozenset(
        node.args[0].value
        for tree in _trees(package)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id.endswith(decorator)
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    )


@lru_cache
def _trees(package: str) -> tuple[ast.Module, ...]:
    folder = Path(__file__).parent.parent / package
    return tuple(ast.parse(file.read_text()) for file in sorted(folder.glob("*.py")))

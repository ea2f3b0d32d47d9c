"""Optional parts: what each needs beyond the ordinary installation, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

from pasta.errors import PastaError

NAME = "pasta-xai"  # of the distribution


class Extra(NamedTuple):
    """A group of optional dependencies in pyproject.toml."""

    modules: tuple[str, ...]  # that it brings, as they are imported
    serves: str


EXTRAS = {
    "study": Extra(
        (
            *("fastapi", "itsdangerous", "jinja2", "markdown_it", "psycopg", "python_multipart"),
            *("sqlalchemy", "uvicorn"),
        ),
        "the web application in which people take part",
    ),
    "vlm": Extra(("transformers",), "encoders beyond the CLIP family, and Grounding DINO"),
    "cluster": Extra(("dask_jobqueue", "dvc_s3", "dvc_ssh"), "SLURM, and shared remotes of DVC"),
    "volumes": Extra(("h5py",), "point clouds that are packed into HDF5 files"),
}


def missing_modules(extra: str) -> list[str]:
    """The modules of an optional part that cannot be imported here."""
    return [module for module in EXTRAS[extra].modules if find_spec(module) is None]


def how_to_get(extra: str) -> str:
    """The command that installs an optional part."""
    return f"`pip install '{NAME}[{extra}]'`"


def require_extra(extra: str, what: str) -> None:
    """Raise if an optional part is not installed; ``what`` needs it."""
    missing = missing_modules(extra)
    if missing:
        raise PastaError(
            f"{what} needs {', '.join(missing)}, which belong to an optional part of the "
            f"installation: {how_to_get(extra)} brings them"
        )

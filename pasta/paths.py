"""Where things are, relative to the project's root."""

from __future__ import annotations

from pathlib import Path

from pasta.errors import PastaError

DATA = Path("pipelines/data")
FIGURES = Path("reports/figures")
HEADLINES = Path("reports/headlines.json")
NUMBERS = Path("reports/numbers")  # a table for each topic, in git
SECONDS = Path("reports/seconds.csv")  # how long the score takes on some machine
BEFORE = Path("reports/before.csv")  # the numbers that overview.pdf compares with
LOCK = Path("dvc.lock")
TIMINGS = DATA / "timings"  # ignored by git, in no stage's outputs
VECTORS = Path("pipelines/vectors")  # that the user brings
PROFILES = Path("pipelines/profiles")
PARAMS = Path("params.yaml")


def project_root(start: Path | None = None) -> Path:
    """The nearest folder upwards that holds ``dvc.yaml`` and ``params.yaml``.

    Under ``dvc repro`` it is the working directory; from elsewhere the installed checkout.
    """
    found = find_root(start)
    if found is None:
        here = (start or Path.cwd()).resolve()
        raise PastaError(
            f"{here}: not inside a PASTA repository (no dvc.yaml and params.yaml above)"
        )
    return found


def find_root(start: Path | None = None) -> Path | None:
    """The same, or None where the package is used without a project."""
    here = (start or Path.cwd()).resolve()
    checkout = Path(__file__).resolve().parent.parent
    for folder in (here, *here.parents, checkout):
        if (folder / "dvc.yaml").is_file() and (folder / PARAMS).is_file():
            return folder
    return None


def stage_folder(stage: str, root: Path | None = None) -> Path:
    """Where a stage keeps what it makes."""
    return (root or project_root()) / DATA / stage

"""google-pasta, which TensorFlow installs, also has a top-level module ``pasta``."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ADVICE = (
    "Only one of them can be imported as `pasta`: `pip uninstall google-pasta` here, or keep "
    "TensorFlow in an environment of its own; then `pip install --force-reinstall --no-deps "
    "pasta-xai` brings files back that were overwritten."
)


def describe_clash() -> str | None:
    """Say where google-pasta is and what to do about it; None if it is not installed.

    >>> describe_clash() is None
    True
    """
    try:
        other = distribution("google-pasta")
    except PackageNotFoundError:
        return None
    theirs, ours = Path(str(other.locate_file("pasta"))).resolve(), Path(__file__).resolve().parent
    where = "in the same folder" if theirs == ours else f"in {theirs}"
    found = f"google-pasta {other.version} has its own module `pasta` {where}; PASTA is {ours}."
    return f"{found} {ADVICE}"

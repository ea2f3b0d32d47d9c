"""Units of work, and folders of arrays with a card that says what they are.

Without its card a folder is not finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from pasta import compute, store
from pasta.errors import PastaError
from pasta.progress import bar
from pasta.resume import KeptUnits

Arrays = dict[str, NDArray[Any]]
Unit = TypeVar("Unit")
CARD = "card.json"


def run_units(
    title: str,
    function: Callable[[Unit], Arrays],
    units: Sequence[Unit],
    kept: KeptUnits | None,
) -> list[Arrays]:
    """The results of all units in their order, with a line of progress."""
    found: dict[int, Arrays] = {}
    with bar(title, len(units), "units") as line:
        for place, result in compute.map_units(function, units, kept):
            found[place] = result
            line.advance()
    return [found[place] for place in range(len(units))]


def save(out: Path, card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays, and the card last."""
    (out / CARD).unlink(missing_ok=True)
    for name, array in arrays.items():
        store.write_array(array, out / f"{name}.npy")
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    store.write_json({**card, "arrays": shapes}, out / CARD)


def load(folder: Path, stage: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The card and the arrays, which are not read before they are used.

    ``stage`` is the one that makes them, for the error if they are not there.
    """
    if not (folder / CARD).is_file():
        raise PastaError(f"{folder}: nothing is prepared here; `dvc repro {stage}` does it")
    card = dict(store.read_json(folder / CARD))
    return card, {
        name: store.read_array(folder / f"{name}.npy", tuple(shape))
        for name, shape in card["arrays"].items()
    }

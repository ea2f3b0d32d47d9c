"""A folder of arrays with a card that says what they are; without its card it is not finished."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from pasta import store
from pasta.errors import PastaError

CARD = "card.json"


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

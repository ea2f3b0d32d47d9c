"""Which images people are shown: the model is right on half of them, each class named half of the
time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.studies.prediction.settings import PoolParams

Rows = NDArray[np.int64]
_RARE = 0.2  # share of a class among the predictions, below which that is what is wrong
CELLS = ((0, True), (0, False), (1, True), (1, False))  # class predicted, and whether it is right


def choose_shown(
    predicted: Rows, labels: Rows, pool: PoolParams, rng: np.random.Generator, name: str = ""
) -> dict[str, Rows]:
    """Choose images for training and test, equally from the four cells.

    Parameters
    ----------
    predicted, labels
        Class of each candidate, as predicted and in truth (0 or 1).
    pool
        How many images of each phase.
    rng
        Which of those that there are.
    name
        Of the experiment, for the error.

    Returns
    -------
    dict
        Rows of the candidates by phase.

    Raises
    ------
    PastaError
        The model is too good (or too bad): a cell has too few images.
    """
    for phase, number in (("training", pool.training), ("test", pool.test)):
        if number % len(CELLS):
            raise PastaError(
                f"prediction.pool.{phase} is {number}, expected a multiple of {len(CELLS)}: as "
                "many right as wrong predictions of each class"
            )
    each = (pool.training + pool.test) // len(CELLS)
    found: dict[str, list[int]] = {"training": [], "test": []}
    short = []
    for label, right in CELLS:
        rows = np.flatnonzero((predicted == label) & ((labels == label) == right))
        if len(rows) < each:
            short.append((label, right, len(rows)))
            continue
        drawn = rng.permutation(rows)[:each]
        cut = pool.training // len(CELLS)
        found["training"] += drawn[:cut].tolist()
        found["test"] += drawn[cut:].tolist()
    if short:
        raise PastaError(_too_few(short, each, predicted, labels, name))
    return {phase: np.sort(np.asarray(rows, np.int64)) for phase, rows in found.items()}


def _too_few(
    short: list[tuple[int, bool, int]], each: int, predicted: Rows, labels: Rows, name: str
) -> str:
    share = float((predicted == labels).mean()) if len(labels) else 0.0
    words = ", ".join(
        f"{number} {'right' if right else 'wrong'} predictions of class {label}"
        for label, right, number in short
    )
    few_wrong = any(not right for _, right, _ in short)
    rare = min(float((predicted == label).mean()) for label, _, _ in short)
    advice = (
        "the model hardly ever names one of the classes: train it longer or more slowly "
        "(training.epochs, training.learning_rate)"
        if rare < _RARE
        else "the model is too good: give it more candidates (candidates), a stronger shortcut "
        "(shortcut), classes that have more in common (overlap), or less training (training.epochs)"
        if few_wrong
        else "the model is hardly right: train it longer (training.epochs, train), or show more "
        "candidates (candidates)"
    )
    return (
        f"{name or 'the experiment'}: there are {words}, and {each} of each are to be shown, so "
        f"that whoever names the true class is right half of the time; the model is right on "
        f"{share:.1%} of {len(labels)} candidates; {advice}, or show fewer images (prediction.pool)"
    )

"""The texts of the project, as the attention study needs them; none where there are none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pasta.paths import DATA
from pasta.texts.documents import Document
from pasta.texts.stored import read_documents, read_weights
from pasta.texts.tables import DOCUMENTS

FOLDER = DATA / "texts"


def stored_texts(root: Path) -> Mapping[str, Document]:
    """The texts that were explained, by name, in the order of their names."""
    folder = root / FOLDER
    if not (folder / DOCUMENTS).is_file():
        return {}
    return dict(sorted(read_documents(folder).items()))


def stored_weights(root: Path) -> dict[tuple[str, str], NDArray[np.float64]]:
    """The weights of words by text and method; those that are not finite are left out."""
    folder = root / FOLDER
    if not (folder / DOCUMENTS).is_file():
        return {}
    return {pair: own for pair, own in read_weights(folder).items() if np.isfinite(own).all()}

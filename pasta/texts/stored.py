"""What the stage `texts` has left, as documents and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store
from pasta.texts.documents import Document, parse_indices
from pasta.texts.tables import (
    DOCUMENTS,
    EXPLANATIONS,
    METRICS,
    TEXT_DOCUMENTS,
    TEXT_EXPLANATIONS,
    TEXT_VALUES,
    WEIGHTS,
    WORD_WEIGHTS,
)

Pair = tuple[str, str]  # a text and a method


def read_documents_table(folder: Path) -> pd.DataFrame:
    """The table of texts."""
    return store.read(folder / DOCUMENTS, TEXT_DOCUMENTS)


def read_documents(folder: Path, *, explained: bool = True) -> dict[str, Document]:
    """The texts by name, in the order of the table; those without weights as well if asked for."""
    frame = read_documents_table(folder)
    chosen = frame[frame["explained"]] if explained else frame
    columns = (chosen[name].astype(str) for name in ("text", "text_id", "label", "cues"))
    rows = zip(*columns, strict=True)
    return {
        text_id: Document(text, text_id, label, parse_indices(cues))
        for text, text_id, label, cues in rows
    }


def read_explanations(folder: Path) -> pd.DataFrame:
    """The table of explanations with their statuses."""
    return store.read(folder / EXPLANATIONS, TEXT_EXPLANATIONS)


def read_metrics(folder: Path) -> pd.DataFrame:
    """The table of metric values."""
    return store.read(folder / METRICS, TEXT_VALUES)


def read_weights(folder: Path) -> Mapping[Pair, NDArray[np.float64]]:
    """The weights (words,) of each text and method; NaN where a weight is not finite."""
    frame = store.read(folder / WEIGHTS, WORD_WEIGHTS)
    return {
        (str(text), str(method)): own.sort_values("word")["weight"].to_numpy(np.float64)
        for (text, method), own in frame.groupby(["text_id", "method"], sort=False)
    }

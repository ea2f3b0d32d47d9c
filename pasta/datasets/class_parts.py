"""Which parts belong to a class."""

from __future__ import annotations

import pandas as pd


def class_parts(presence: pd.DataFrame, images: pd.DataFrame) -> pd.DataFrame:
    """Classes x concepts: is the concept at least as frequent in the class as in the dataset?

    No vocabulary says which parts a class has; the annotated images do. ``presence`` is images x
    concepts.
    """
    labels = images.set_index("image_id")["label"].reindex(presence.index)
    rates = presence.astype(float).groupby(labels).mean()
    return (rates >= presence.mean()) & (rates > 0)

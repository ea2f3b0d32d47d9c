"""The concepts table: every image x every concept of the vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.datasets.vocabulary import vocabulary
from pasta.tables import CONCEPTS


def concept_table(
    images: pd.DataFrame, regions: pd.DataFrame, parts: NDArray[np.uint8]
) -> pd.DataFrame:
    """Say for each image and concept whether it is seen, in which box and on how many pixels.

    The box spans all instances of the concept in the image.
    """
    dataset = str(images["dataset"].iloc[0])
    names = vocabulary(dataset).concepts
    keys = ["image_id", "concept"]
    every = pd.MultiIndex.from_product([images["image_id"], names], names=keys)
    seen = regions.groupby(keys, sort=False).agg(
        x0=("x0", "min"),
        y0=("y0", "min"),
        x1=("x1", "max"),
        y1=("y1", "max"),
        instances=("instance", "size"),
    )
    frame = seen.reindex(every).reset_index()
    frame["dataset"] = dataset
    frame["present"] = frame["x0"].notna()
    frame["instances"] = frame["instances"].fillna(0).astype("int64")
    frame["share"] = pixel_shares(parts, len(names))[images["row"].to_numpy()].ravel()
    frame["value"] = np.tile(np.arange(1, len(names) + 1, dtype=np.int64), len(images))
    return frame[list(CONCEPTS.columns)]


def pixel_shares(parts: NDArray[np.uint8], n_concepts: int) -> NDArray[np.float64]:
    """Share of the pixels that show each concept, images x concepts."""
    pixels = parts[0].size
    counts = [np.bincount(image.ravel(), minlength=n_concepts + 1)[1:] for image in parts]
    shares: NDArray[np.float64] = np.asarray(counts, dtype=np.float64) / pixels
    return shares


def summary(images: pd.DataFrame, concepts: pd.DataFrame) -> dict[str, Any]:
    """The few numbers worth comparing between two versions of a dataset."""
    present = concepts[concepts["present"]]
    per_image = present.groupby("image_id").size().reindex(images["image_id"], fill_value=0)
    return {
        "images": len(images),
        "splits": {str(k): int(v) for k, v in images["split"].value_counts().items()},
        "classes": int(images["label"].nunique()),
        "concepts_in_vocabulary": int(concepts["concept"].nunique()),
        "concepts_seen": int(present["concept"].nunique()),
        "concepts_per_image": round(float(per_image.mean()), 4),
        "images_without_concepts": int((per_image == 0).sum()),
        "annotated_pixels": round(float(concepts.groupby("image_id")["share"].sum().mean()), 4),
    }

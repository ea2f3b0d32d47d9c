"""What an annotator points at before any explanation is seen: a few visible parts of the image.

Descriptions (Q0.1) and boxes (Q0.2) of one annotator and sample speak of the same parts. Large ones
are mentioned first and more often: Plackett-Luce draws with weights proportional to the square root
of a part's area.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pasta.seeds import generator
from pasta.tables import BOX

MOST = 4  # parts that one annotator mentions


def choose(plan: pd.DataFrame, regions: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Some regions for each row of a plan.

    ``plan`` needs sample_id, annotator_id, dataset and image_id; ``regions`` is the table of that
    name, of all datasets. Returns sample_id, annotator_id, concept, the box and ``order`` from 0,
    sorted by key; nothing for an image without parts.
    """
    plan = plan.sort_values(["annotator_id", "sample_id"], ignore_index=True)
    number, scores = [], []
    regions = regions.sort_values(["dataset", "image_id", "concept", "instance"])
    counts = plan.merge(_counts(regions), on=["dataset", "image_id"], how="left")["n"].fillna(0)
    for name, mine in counts.groupby(plan["annotator_id"], sort=True):
        random = generator(seed, "simulation", "mentions", str(name))
        number.append(random.integers(1, MOST + 1, len(mine)))
        scores.append(random.gumbel(size=int(mine.sum())))
    if not number:
        return pd.DataFrame(columns=["sample_id", "annotator_id", "concept", *BOX, "order"])
    pairs = plan.assign(number=np.concatenate(number)).merge(
        regions, on=["dataset", "image_id"], how="inner"
    )
    area = (pairs["x1"] - pairs["x0"]) * (pairs["y1"] - pairs["y0"])
    pairs["score"] = 0.5 * np.log(area) + np.concatenate(scores)
    pairs = pairs.sort_values(
        ["sample_id", "annotator_id", "score"], ascending=[True, True, False], ignore_index=True
    )
    pairs["order"] = pairs.groupby(["sample_id", "annotator_id"]).cumcount()
    chosen = pairs[pairs["order"] < pairs["number"]]
    return chosen[["sample_id", "annotator_id", "concept", *BOX, "order"]].reset_index(drop=True)


def _counts(regions: pd.DataFrame) -> pd.DataFrame:
    return regions.groupby(["dataset", "image_id"]).size().rename("n").reset_index()

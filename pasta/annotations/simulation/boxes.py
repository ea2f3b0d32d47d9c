"""Q0.2: boxes drawn around what helps, by an unsteady hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pasta import tables
from pasta.seeds import generator
from pasta.tables import BOX

LEAST = 0.01  # side of the smallest box that can be drawn, as a share of the image


def draw_boxes(mentions: pd.DataFrame, jitter: float, seed: int) -> pd.DataFrame:
    """The ``boxes`` table: each mentioned part's box with its sides moved, inside the image.

    A side moves by a normal draw with the deviation ``jitter`` times the box's size in that
    direction; sides that change places or leave too little are put ``LEAST`` apart.
    """
    mentions = mentions.sort_values(["annotator_id", "sample_id", "order"], ignore_index=True)
    corners = mentions[list(BOX)].to_numpy(np.float64)
    moves = [
        generator(seed, "simulation", "boxes", str(name)).standard_normal((len(mine), 4))
        for name, mine in mentions.groupby("annotator_id", sort=True)
    ]
    size = np.tile(corners[:, 2:] - corners[:, :2], 2)
    moved = corners + jitter * size * np.concatenate([*moves, np.empty((0, 4))])
    low, high = np.minimum(moved[:, :2], moved[:, 2:]), np.maximum(moved[:, :2], moved[:, 2:])
    low = np.clip(low, 0, 1 - LEAST)
    high = np.clip(np.maximum(high, low + LEAST), 0, 1)
    frame = mentions[["sample_id", "annotator_id"]].assign(box=mentions["order"].astype("int64"))
    frame[list(BOX)] = np.round(np.concatenate([low, high], axis=1), 4)
    frame["simulated"] = True
    frame = frame.sort_values(list(tables.BOXES.key), ignore_index=True)
    return frame.astype({"sample_id": "str", "annotator_id": "str"})

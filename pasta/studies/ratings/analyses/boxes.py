"""How much of a saliency map lies inside the boxes that annotators drew (Q0.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

BOX = ("x0", "y0", "x1", "y1")
MEASURES = ("sum_all", "sum_pos", "sum_neg", "entropy", "share_pos")


def box_measures(
    maps: NDArray[np.floating], sample_ids: Sequence[str], boxes: pd.DataFrame
) -> pd.DataFrame:
    r"""How much of a saliency map lies inside and outside an annotator's boxes.

    With the pixels m of a map and the union B of the annotator's boxes,

    .. math:: SUM_{all} = \sum_p m_p, \quad SUM_{pos} = \sum_{p \in B} m_p, \quad
        SUM_{neg} = \sum_{p \notin B} m_p, \quad
        H = -\sum_p q_p \log_2 q_p, \; q_p = |m_p| / \sum |m|

    as in doi:10.48550/arXiv.2411.02470 (B.3), and ``share_pos``, the part of :math:`\sum |m|` that
    lies in B, which does not depend on the map's brightness. A pixel is inside if its centre is.
    Maps are taken as they are: give what was shown.

    Parameters
    ----------
    maps
        (samples, height, width); may be memory-mapped, rows are read one by one.
    sample_ids
        Of the maps, in order.
    boxes
        Columns sample_id, annotator_id, x0, y0, x1, y1 as fractions of the image.

    Returns
    -------
    DataFrame with sample_id, annotator_id and the measures. A map that is not finite has none, an
    empty map no entropy and no share.
    """
    place = pd.Index(sample_ids).get_indexer(pd.Index(boxes["sample_id"]))
    corners = boxes[list(BOX)].to_numpy(np.float64)
    usable = np.flatnonzero((place >= 0) & ~np.isnan(corners).any(axis=1))
    annotator, names = pd.factorize(boxes["annotator_id"].to_numpy(object))
    order = usable[np.lexsort((annotator[usable], place[usable]))]
    pair = place[order] * max(len(names), 1) + annotator[order]
    rows: list[dict[str, object]] = []
    shown, values, fixed = -1, np.zeros(maps.shape[1:]), _whole_map(np.zeros(maps.shape[1:]))
    for mine in np.split(order, np.flatnonzero(np.diff(pair)) + 1) if len(order) else []:
        if place[mine[0]] != shown:  # each map is read once
            shown = int(place[mine[0]])
            values = np.asarray(maps[shown], np.float64)
            fixed = _whole_map(values)
        head = {"sample_id": sample_ids[shown], "annotator_id": names[annotator[mine[0]]]}
        rows.append(head | fixed | _parts(values, _inside(corners[mine], values.shape), fixed))
    return pd.DataFrame(rows, columns=["sample_id", "annotator_id", *MEASURES])


def _whole_map(values: NDArray[np.float64]) -> dict[str, float]:
    total = float(values.sum())
    if not np.isfinite(total):
        return {"sum_all": np.nan, "mass": np.nan, "entropy": np.nan}
    size = np.abs(values)
    mass = float(size.sum())
    if mass == 0:
        return {"sum_all": total, "mass": 0.0, "entropy": np.nan}
    share = size[size > 0] / mass
    entropy = abs(float(-(share * np.log2(share)).sum()))  # no -0.0
    return {"sum_all": total, "mass": mass, "entropy": entropy}


def _inside(corners: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Pixels whose centre lies in one of the boxes: x0 <= (column + 1/2) / width < x1."""
    height, width = shape
    scaled = np.ceil(corners * [width, height, width, height] - 0.5).astype(int)
    inside = np.zeros(shape, bool)
    for left, top, right, bottom in np.maximum(scaled, 0):
        inside[top:bottom, left:right] = True
    return inside


def _parts(
    values: NDArray[np.float64], inside: NDArray[np.bool_], whole: dict[str, float]
) -> dict[str, float]:
    total = whole["sum_all"]
    if np.isnan(total):
        return dict.fromkeys(("sum_pos", "sum_neg", "share_pos"), np.nan)
    within = float(values[inside].sum())
    mass = whole["mass"]
    share = float(np.abs(values[inside]).sum()) / mass if mass else np.nan
    return {"sum_pos": within, "sum_neg": total - within, "share_pos": share}

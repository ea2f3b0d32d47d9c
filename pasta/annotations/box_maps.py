"""What a report on bias compares annotators' own words and boxes with: the shown explanations.

Everything is read without torch. One map at a time is in memory, and only those of samples that
somebody drew a box on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.box_bias import MEASURES, box_measures
from pasta import store, tables
from pasta.annotations.simulation.properties import seen_maps


def box_values(folders: Sequence[Path], boxes: pd.DataFrame) -> pd.DataFrame:
    """How much of each saliency map lies inside each annotator's boxes (P1, B.3).

    Parameters
    ----------
    folders
        Of the datasets, with their explanations.
    boxes
        The boxes table.

    Returns
    -------
    DataFrame with sample_id, annotator_id and the measures of
    :func:`analysis.box_bias.box_measures`, of the maps as people saw them. A map with nothing to
    see has no measures.
    """
    parts = []
    for folder in folders:
        table = store.read(folder / "explanations.parquet", tables.EXPLANATIONS)
        seen = table[(table["kind"] == "saliency") & (table["status"] == "ok")]
        seen = seen[seen["sample_id"].isin(set(boxes["sample_id"]))]
        for (method, backbone), rows in seen.groupby(["method", "backbone"], sort=True):
            file = folder / "explanations" / f"{method}.{backbone}.npy"
            size = store.read_array(file, (None, None, None)).shape[1:]
            maps = seen_maps(file)(rows["row"].to_numpy(np.int64)).reshape(-1, *size)
            mine = boxes[boxes["sample_id"].isin(set(rows["sample_id"]))]
            parts.append(box_measures(maps, rows["sample_id"].tolist(), mine))
    if not parts:
        return pd.DataFrame(columns=["sample_id", "annotator_id", *MEASURES])
    return pd.concat(parts, ignore_index=True)


def concept_sentences(
    folders: Sequence[Path], sample_ids: Sequence[str], number: int
) -> pd.DataFrame:
    """The strongest concepts of each concept explanation as one sentence (P1, Eq. 2 and B.3).

    Parameters
    ----------
    folders
        Of the datasets, with their explanations.
    sample_ids
        The samples to tell; those that are no concept explanations are left out.
    number
        How many concepts are named at most.

    Returns
    -------
    DataFrame with sample_id, sentence
    """
    from pasta.embedding.sentences import sentence, top_concepts

    wanted, rows = set(sample_ids), []
    for folder in folders:
        table = store.read(folder / "explanations.parquet", tables.EXPLANATIONS)
        told = table[(table["kind"] == "concept") & (table["status"] == "ok")]
        told = told[told["sample_id"].isin(wanted)]
        for (method, backbone), mine in told.groupby(["method", "backbone"], sort=True):
            file = folder / "explanations" / f"{method}.{backbone}.parquet"
            values = store.read(file, tables.ATTRIBUTIONS)
            values = values[values["row"].isin(set(mine["row"]))]
            names = dict(zip(mine["row"], mine["sample_id"], strict=True))
            for row, own in values.groupby("row", sort=True):
                named = top_concepts(own["concept"].tolist(), own["value"].to_numpy(), number)
                rows.append((names[row], sentence(named)))
    return pd.DataFrame(rows, columns=["sample_id", "sentence"])

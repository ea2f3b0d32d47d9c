"""Faithfulness correlations of stored maps, as far as they are not measured already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pasta.applications.prepared.falls import faithfulness, made_quick
from pasta.errors import PastaError
from pasta.params import Params
from pasta.progress import bar

METRIC = "faithfulness_correlation"


def measure_stored(
    scores: pd.DataFrame,
    folders: Sequence[Path],
    backbones: Sequence[str],
    params: Params,
    subsets: int,
    known: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Columns sample_id, faithfulness, why: of all stored saliency maps of these backbones.

    ``known`` may be a ``metric_values`` table; what it has of this metric is not measured again.
    """
    wanted = scores[(scores["kind"] == "saliency") & scores["backbone"].isin(list(backbones))]
    if wanted.empty:
        raise PastaError(
            f"there is no saliency map of {', '.join(backbones)}: faithfulness needs one; "
            f"stored are explanations of {', '.join(sorted(set(scores['backbone'])))}"
        )
    given = _known(known, wanted)
    rest = wanted[~wanted["sample_id"].isin(set(given["sample_id"]))]
    groups = [
        (folder, str(backbone), group)
        for folder in folders
        for backbone, group in rest[rest["dataset"] == folder.name].groupby("backbone", sort=False)
    ]
    parts = [given]
    with bar("faithfulness", sum(group["image_id"].nunique() for *_, group in groups)) as line:
        for folder, backbone, group in groups:
            parts.append(_measured(folder, backbone, group, params, subsets, line.advance))
    return pd.concat(parts, ignore_index=True)


def _measured(
    folder: Path, backbone: str, group: pd.DataFrame, params: Params, subsets: int, advance: Any
) -> pd.DataFrame:
    from pasta.datasets.stored import open_dataset
    from pasta.explanations.engine import view_of
    from pasta.explanations.stored import StoredExplanations
    from pasta.explanations.techniques import Technique
    from pasta.models.checkpoint import load
    from pasta.models.data import as_tensor
    from pasta.paths import project_root

    model, _ = load(folder / "models" / backbone, params, project_root())
    dataset, stored = open_dataset(folder), StoredExplanations(folder)
    view = made_quick(view_of(model), as_tensor(dataset.pixels[[0]]))
    techniques = [Technique(str(name), backbone) for name in group["method"].unique()]
    arrays = {one.method: stored.maps(one) for one in techniques}
    places = {
        str(sample): int(row)
        for one in techniques
        for sample, row in stored.rows(one).set_index("sample_id")["row"].items()
    }
    rows = dict(zip(dataset.images["image_id"], dataset.images["row"], strict=True))
    classes = dataset.vocabulary.classes
    found = []
    for (name, predicted), own in group.groupby(["image_id", "predicted"], sort=False):
        samples = zip(own["method"], own["sample_id"], strict=True)
        maps = np.stack([arrays[method][places[sample]] for method, sample in samples])
        [image] = as_tensor(dataset.pixels[[rows[str(name)]]])
        finite = np.nan_to_num(maps.astype(np.float32))
        key = f"{folder.name}/{name}"
        values, why = faithfulness(
            view, image, classes.index(str(predicted)), finite, subsets, params.seed, key
        )
        found.append(
            pd.DataFrame({"sample_id": own["sample_id"], "faithfulness": values, "why": why})
        )
        advance()
    return pd.concat(found, ignore_index=True)


def _known(table: pd.DataFrame | None, wanted: pd.DataFrame) -> pd.DataFrame:
    if table is None:
        return pd.DataFrame(
            {"sample_id": pd.Series(dtype="str"), "faithfulness": [], "why": pd.Series(dtype="str")}
        )
    own = table[(table["metric"] == METRIC) & table["sample_id"].isin(set(wanted["sample_id"]))]
    own = own.drop_duplicates("sample_id").rename(
        columns={"value": "faithfulness", "status": "why"}
    )
    return own[["sample_id", "faithfulness", "why"]]

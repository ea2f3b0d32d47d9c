"""Faithfulness correlations of many maps of one image, from one set of forward passes.

The metric (Bhatt, Weller and Moura 2020, doi:10.24963/ijcai.2020/417) asks the model about copies
of the image without random subsets of pixels and compares the falls of the target's probability
with the relevance of the subsets. What the model answers does not depend on the map: fifteen
methods, or six settings of one, cost as much as one, and are compared on the same subsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.params import Params
from pasta.progress import bar
from pasta.seeds import generator

if TYPE_CHECKING:
    from torch import Tensor

    from pasta.explanations.base import View

METRIC = "faithfulness_correlation"
SHARE = 0.02  # of the pixels that are in a subset, and become black, as the metric's default


def faithfulness(
    view: View, image: Tensor, target: int, maps: NDArray[Any], subsets: int, seed: int, name: str
) -> tuple[NDArray[np.float64], list[str]]:
    """Faithfulness correlations (maps,) of maps (maps, height, width) of one image.

    ``name`` of the image and ``seed`` decide the subsets. The status of a map says why there is
    no value: "constant relevance", or "constant output" if nothing moves the model.
    """
    import torch

    from pasta.metrics.correlation import pearson

    if maps.shape[1:] != tuple(image.shape[1:]):
        raise PastaError(f"the maps are {maps.shape[1:]} and the image {tuple(image.shape[1:])}")
    chosen = _subsets(maps[0].size, subsets, seed, name)
    falls = _falls(view, image, target, torch.from_numpy(chosen))
    flat = np.asarray(maps, np.float64).reshape(len(maps), -1)
    sums = torch.from_numpy(np.stack([one[chosen].sum(1) for one in flat]))
    values, statuses = pearson(sums, falls.expand(len(maps), -1))
    return values.numpy(), statuses


def made_quick(view: View, sample: Tensor) -> View:
    """The same classifier for forward passes alone; worth its time for hundreds of them."""
    from pasta.explanations.folding import forward_only

    return replace(view, network=forward_only(view.network, sample))


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


def _subsets(pixels: int, number: int, seed: int, name: str) -> NDArray[np.int64]:
    """Pixel numbers (subsets, size)."""
    random = generator(seed, "applications", "subsets", name)
    size = max(1, round(SHARE * pixels))
    return np.stack([random.choice(pixels, size, replace=False) for _ in range(number)])


def _falls(view: View, image: Tensor, target: int, chosen: Tensor) -> Tensor:
    """By how much the target's probability falls without each subset of pixels (subsets,)."""
    import torch

    from pasta.explanations.base import Given
    from pasta.explanations.masking import Masked, batch_rows, masked_scores

    given = Given(view, image[None], torch.tensor([target]))

    def build(rows: slice) -> Tensor:
        numbers = chosen[rows]
        seen = torch.ones(len(numbers), image[0].numel()).scatter_(1, numbers, 0.0)
        return image * seen.view(-1, 1, *image.shape[1:])

    def ask(images: Tensor, owners: Tensor) -> Tensor:
        del owners  # all copies are of one image
        return view.probabilities(images)[:, target]

    copies = [Masked(1, lambda _: image[None]), Masked(len(chosen), build)]
    clean, without = masked_scores(ask, copies, batch_rows(given))
    return (clean - without).double()

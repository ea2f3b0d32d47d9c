"""Maps of all methods side by side, for the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pasta import store
from pasta.benchmark.catalog import LatecMethod, choose_methods
from pasta.benchmark.tables import BENCHMARK_VALUES, MAPS, STAGE, VALUES
from pasta.config import Params
from pasta.datasets.stored import open_dataset
from pasta.datasets.vocabulary import vocabulary
from pasta.explanations import catalog  # noqa: F401 (registers the modalities)
from pasta.explanations.gallery import arrange, draw, gallery, save
from pasta.explanations.modality import MODALITIES
from pasta.explanations.techniques import backbone_title
from pasta.models.base import MODELS

_BRIGHT = 0.99  # share of the places
_CELL, _BLOCKS = 144, 3  # of pictures of volumes and clouds
Pixels = NDArray[np.uint8]


class Shown(NamedTuple):
    """The first input of a dataset, and where its maps are."""

    home: Path
    values: NDArray[Any]  # as they are stored
    label: str


def draw_examples(params: Params, data: Path, out: Path) -> None:
    """Draw the first input of each dataset with the maps of all methods, a picture a classifier.

    Of volumes and point clouds there is a picture of the transformer alone, which all methods
    explain.

    Parameters
    ----------
    params
        The parameters of the project.
    data
        The folder of all stages' data.
    out
        Where to write ``latec_<classifier>.jpg``.
    """
    study = params.benchmark
    for model in study.models:
        about = MODELS.entry(model).metadata
        kind = about.get("modality", "image")
        if kind != "image" and about["family"] != "transformer":
            continue
        there = [
            _first(home, data)
            for dataset in study.datasets
            if vocabulary(dataset).modality == kind
            and (home := data / STAGE / dataset / MAPS / study.reading / model).is_dir()
        ]
        methods = [
            one
            for one in choose_methods(study.methods)
            if there and all((shown.home / f"{one.key}.npy").is_file() for shown in there)
        ]
        if methods:
            title = f"All methods on {backbone_title(model)}: the part that speaks for the label"
            picture = _of_images if kind == "image" else _of_solids
            save(draw(picture(there, methods, title, kind)), out / f"latec_{model}.jpg")


def _first(home: Path, data: Path) -> Shown:
    folder = home.parents[2]
    dataset = open_dataset(data / "images" / folder.name)
    first = store.read(folder / VALUES, BENCHMARK_VALUES)["image_id"].iloc[0]
    own = dataset.images[dataset.images["image_id"] == first].iloc[0]
    return Shown(home, np.asarray(dataset.pixels[int(own["row"])]), str(own["label"]))


def _of_images(
    there: Sequence[Shown], methods: Sequence[LatecMethod], title: str, kind: str
) -> Figure:
    maps = {
        one.title: (np.stack([_flat(shown, one, kind) for shown in there]), False)
        for one in methods
    }
    pixels = np.stack([shown.values for shown in there])
    return gallery(pixels, maps, [shown.label for shown in there], title)


def _of_solids(
    there: Sequence[Shown], methods: Sequence[LatecMethod], title: str, kind: str
) -> Figure:
    nothing = [np.zeros(shown.values.shape[:-1], np.float32) for shown in there]
    every = {kind: nothing} | {
        one.title: [_flat(shown, one, kind) for shown in there] for one in methods
    }
    rows = [
        (name, [_render(shown.values, one, kind) for shown, one in zip(there, maps, strict=True)])
        for name, maps in every.items()
    ]
    return arrange(rows, [shown.label for shown in there], title, ["positive"], _BLOCKS)


def _render(values: NDArray[Any], shown: NDArray[np.float32], kind: str) -> Pixels:
    """A volume seen through and cut from the front, a cloud from both sides."""
    picture: Pixels = MODALITIES[kind].need("render")(values, shown, signed=False, size=_CELL)
    if kind != "volume":
        return picture
    front = picture[:, :_CELL]
    return np.concatenate([front[:_CELL], front[-_CELL:]], axis=1)


def _flat(shown: Shown, method: LatecMethod, kind: str) -> NDArray[np.float32]:
    """One value from 0 to 1 for each place, also of a map with channels.

    A hundredth of the places, the largest, are equally bright: else few places hide the others.
    """
    values = store.read_array(shown.home / f"{method.key}.npy")[0]
    axes = len(MODALITIES[kind].axes)
    places = np.asarray(values.sum(0) if values.ndim > axes else values)
    bright = float(np.quantile(places, _BRIGHT))
    return np.minimum(places, bright) / bright if bright > 0 else places

"""From a source, drawn or real, to the tables and arrays that all later stages read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from pasta import store, tables
from pasta.datasets.records import Record
from pasta.datasets.source import SPLITS, Item, Source
from pasta.datasets.stored import IMAGES, PARTS, PIXELS, REGIONS
from pasta.errors import PastaError
from pasta.parallel import ordered_map
from pasta.params import DatasetParams, Params
from pasta.progress import bar


def source_of(dataset: str, params: Params, root: Path) -> Source:
    """The source a profile names for a dataset; relative roots start at the project's."""
    section = params.datasets[dataset]
    if section.source == "files":
        from pasta.datasets.files import FILES

        return FILES[dataset](root / str(section.root), params.seed)
    from pasta.datasets.drawn.scene import Options
    from pasta.datasets.drawn.source import DrawnSource

    train, validation, test = (getattr(section, split) or 0 for split in SPLITS)
    options = Options(color_bias=section.color_bias)
    return DrawnSource(dataset, params.seed, (train, validation, test), options)


def chosen_items(source: Source, section: DatasetParams) -> list[Item]:
    """The first so many items of each split, as the profile asks; every split must have some."""
    chosen: list[Item] = []
    for split in SPLITS:
        there = [item for item in source.items() if item.split == split]
        wanted = getattr(section, split)
        if not there:
            raise PastaError(f"the dataset has no {split} image")
        chosen += there if wanted is None else there[:wanted]
    return chosen


def build_images(
    dataset: str, source: Source, items: Sequence[Item], size: int, out: Path, processes: int
) -> pd.DataFrame:
    """Load every item and write the image and part arrays, the images and the regions tables.

    The tables are written last: whoever finds them finds whole arrays, too.
    """
    n = len(items)
    image_rows: list[dict[str, object]] = []
    region_rows: list[dict[str, object]] = []
    load = partial(source.load, size=size)  # light to import in a new process
    with (
        store.new_array(out / PIXELS, (n, size, size, 3), np.uint8) as pixels,
        store.new_array(out / PARTS, (n, size, size), np.uint8) as parts,
        bar(f"images of {dataset}", n, "images") as progress,
    ):
        for row, record in enumerate(ordered_map(load, items, processes)):
            pixels[row], parts[row] = record.image, record.parts
            image_rows.append(_image_row(dataset, items[row], record, row))
            region_rows += _region_rows(dataset, items[row].image_id, record)
            progress.advance()
    images = tables.IMAGES.frame(image_rows)
    store.write(images, out / IMAGES, tables.IMAGES)
    regions = tables.REGIONS.frame(region_rows)
    store.write(regions, out / REGIONS, tables.REGIONS, {"images": images})
    return images


def _image_row(dataset: str, item: Item, record: Record, row: int) -> dict[str, object]:
    if record.label != item.label:
        raise PastaError(f"{dataset}/{item.image_id}: loaded as {record.label}, not {item.label}")
    return {
        "dataset": dataset,
        "image_id": item.image_id,
        "source": record.source,
        "split": item.split,
        "label": item.label,
        "width": record.width,
        "height": record.height,
        "row": row,
    }


def _region_rows(dataset: str, image_id: str, record: Record) -> list[dict[str, object]]:
    seen: dict[str, int] = {}
    rows: list[dict[str, object]] = []
    for region in record.regions:
        number = seen.get(region.concept, 0)
        seen[region.concept] = number + 1
        identity = {"dataset": dataset, "image_id": image_id, "concept": region.concept}
        rows.append({**identity, "instance": number, **region.box._asdict()})
    return rows

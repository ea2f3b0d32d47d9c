"""Build the tables and arrays that all later stages read, from a source, drawn or real."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pasta import store, tables
from pasta.config import Params
from pasta.datasets.drawn.source import DrawnSource
from pasta.datasets.files import file_source
from pasta.datasets.records import SPLITS, Item, Record, Source
from pasta.datasets.released import open_release, released_source
from pasta.datasets.settings import DatasetParams
from pasta.datasets.stored import (
    CONCEPTS,
    FORMS,
    IMAGES,
    PARTS,
    PIXELS,
    REGIONS,
    SUMMARY,
    open_dataset,
)
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import PastaError
from pasta.processes import map_units
from pasta.progress import bar

CHUNK = 32  # images in a unit of work
LITTLE = 2000  # images that are drawn in seconds
NOTHING = np.empty((0, 0), dtype=np.uint8)


def source_of(dataset: str, params: Params, root: Path) -> Source:
    """Make the source that a profile names; relative roots start at the project's."""
    section = params.datasets[dataset]
    if section.source == "released":
        release = open_release(params.release, root)
        return released_source(release, dataset, params.release.lenient)
    if section.source == "files":
        return file_source(dataset, root / str(section.root), params.seeds.splitting)
    train, validation, test = (getattr(section, split) or 0 for split in SPLITS)
    return DrawnSource(dataset, params.seeds.drawing, (train, validation, test), section.color_bias)


USUAL_SIZES = {"volume": 28, "point cloud": 1024}  # of LATEC


def input_size(dataset: str, params: Params) -> int:
    """Return pixels or voxels a side, or the number of points, of a dataset's inputs."""
    usual = USUAL_SIZES.get(vocabulary(dataset).modality, params.image_size)
    return params.datasets[dataset].size or usual


def chosen_items(source: Source, section: DatasetParams) -> list[Item]:
    """Choose as many items of each split as the profile asks for; each split must have some.

    A release has its images in one split, and all of them are taken.
    """
    chosen: list[Item] = []
    for split in SPLITS:
        there = [item for item in source.items() if item.split == split]
        wanted = None if section.source == "released" else getattr(section, split)
        if not there and section.source == "released":
            continue  # all its images are in one
        if not there:
            raise PastaError(f"the dataset has no {split} image")
        chosen += there if wanted is None else there[:wanted]
    return chosen


@dataclass(frozen=True)
class ImageUnit:
    """Some images of a dataset that are drawn or decoded at a time."""

    source: Source
    items: tuple[Item, ...]
    size: int


def load_images(unit: ImageUnit) -> list[Record]:
    """Draw or decode the images of a unit."""
    return [unit.source.load(item, unit.size) for item in unit.items]


def build_dataset(
    dataset: str, source: Source, items: Sequence[Item], size: int, out: Path
) -> pd.DataFrame:
    """Load every item; write the arrays of pixels and parts, the tables, and their summary.

    Parameters
    ----------
    items
        The images in the order of the rows.
    size
        Width and height of the stored images in pixels, the sides of volumes in voxels, or the
        number of points of each cloud.
    out
        The folder to write to. The tables come last: where they are, the arrays are complete.

    Returns
    -------
    DataFrame
        The table of images.
    """
    n, form = len(items), FORMS[vocabulary(dataset).modality]
    spatial = (size,) * form.axes
    records: dict[int, tuple[Record, ...]] = {}
    units = [ImageUnit(source, tuple(part), size) for part in _chunks(items)]
    with (
        store.new_array(out / PIXELS, (n, *spatial, form.channels), form.dtype) as pixels,
        store.new_array(out / PARTS, (n, *spatial), np.uint8) as parts,
        bar(f"images of {dataset}", n, "images") as progress,
    ):
        for place, found in map_units(load_images, units, little=n <= LITTLE):
            for row, record in enumerate(found, start=place * CHUNK):
                pixels[row], parts[row] = record.image, record.parts
            records[place] = tuple(
                replace(record, image=NOTHING, parts=NOTHING) for record in found
            )
            progress.advance(len(found))
        rows = [record for place in sorted(records) for record in records[place]]
        images = tables.IMAGES.frame(
            [_image_row(dataset, item, rows[row], row) for row, item in enumerate(items)]
        )
        seen = (_region_rows(dataset, item.image_id, rows[row]) for row, item in enumerate(items))
        regions = tables.REGIONS.frame(list(chain.from_iterable(seen)))
        concepts = concept_table(images, regions, parts)
    parents = {"images": images}
    store.write(images, out / IMAGES, tables.IMAGES)
    store.write(regions, out / REGIONS, tables.REGIONS, parents)
    store.write(concepts, out / CONCEPTS, tables.CONCEPTS, parents)
    store.write_json(summary(images, concepts), out / SUMMARY)
    return images


def _chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


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


def concept_table(
    images: pd.DataFrame, regions: pd.DataFrame, parts: NDArray[np.uint8]
) -> pd.DataFrame:
    """List for each image and concept whether it is seen, in which box and on how many pixels.

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
    return frame[list(tables.CONCEPTS.columns)]


def pixel_shares(parts: NDArray[np.uint8], n_concepts: int) -> NDArray[np.float64]:
    """Return the share of the pixels that show each concept, images x concepts."""
    pixels = parts[0].size
    counts = [np.bincount(image.ravel(), minlength=n_concepts + 1)[1:] for image in parts]
    shares: NDArray[np.float64] = np.asarray(counts, dtype=np.float64) / pixels
    return shares


def summary(images: pd.DataFrame, concepts: pd.DataFrame) -> dict[str, Any]:
    """Return the few numbers worth comparing between two versions of a dataset."""
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


COLUMNS = 10
GAP, TITLE = 6, 26
INK, PAPER = (40, 40, 48), (255, 255, 255)
Pixels = NDArray[np.uint8]


def contact_sheet(folders: Sequence[Path]) -> Image.Image:
    """Draw two rows for each dataset: test images of every class in turn, and their masks.

    Volumes are seen along their depth, clouds from the front; of each place the brightest voxel or
    the nearest point is seen.
    """
    strips = [_strip(folder) for folder in folders]
    width = max(strip.width for strip in strips)
    sheet = Image.new("RGB", (width, sum(strip.height for strip in strips)), PAPER)
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    return sheet


def _strip(folder: Path) -> Image.Image:
    data = open_dataset(folder)
    rows = _one_of_each_class(data.images)
    pictures = [flat_view(data.pixels[row], data.parts[row]) for row in rows]
    size, words = len(pictures[0][0]), data.vocabulary
    strip = Image.new("RGB", (COLUMNS * (size + GAP) + GAP, TITLE + 2 * (size + GAP) + GAP), PAPER)
    title = f"{words.title}: {len(words.classes)} classes, {len(words.concepts)} concepts"
    draw = ImageDraw.Draw(strip)
    draw.text((GAP, 6), title, INK, font=ImageFont.load_default(15))
    for column, (image, parts) in enumerate(pictures):
        left = GAP + column * (size + GAP)
        strip.paste(Image.fromarray(image), (left, TITLE))
        mask = colour_parts(parts, image, len(words.concepts))
        strip.paste(Image.fromarray(mask), (left, TITLE + size + GAP))
    return strip


FLAT = 96  # pixels a side of pictures of volumes and clouds


def flat_view(values: NDArray[Any], parts: Pixels) -> tuple[Pixels, Pixels]:
    """Return a picture (size, size, 3) of an image, volume or cloud, and the parts that are seen.

    An image is returned as it is.
    """
    if values.ndim == 3:
        return values, parts
    if values.ndim == 4:
        grey = values.mean(-1)
        # as a maximum intensity projection, but a part is seen before what surrounds it
        deepest = np.where(parts > 0, grey + 256, grey).argmax(0)[None]
        enlarged = np.arange(FLAT) * len(grey) // FLAT
        image = grey.max(0).astype(np.uint8)[np.ix_(enlarged, enlarged)]
        seen = np.take_along_axis(parts, deepest, 0)[0][np.ix_(enlarged, enlarged)]
        return image[..., None].repeat(3, -1), seen
    image, seen = np.full((FLAT, FLAT, 3), 255, np.uint8), np.zeros((FLAT, FLAT), np.uint8)
    x, y, z = values.T
    columns, rows = ((one + 1) / 2 * (FLAT - 3) for one in (x, -z))
    for point in np.argsort(y, kind="stable"):  # the nearest last: the front is at y = 1
        row, column = (int(np.clip(one[point], 0, FLAT - 3)) for one in (rows, columns))
        image[row : row + 2, column : column + 2] = int(170 - 110 * (y[point] + 1) / 2)
        seen[row : row + 2, column : column + 2] = parts[point]
    return image, seen


def _one_of_each_class(images: pd.DataFrame) -> list[int]:
    """Choose rows of test images; the classes alternate."""
    test = images[images["split"] == "test"].copy()
    test["turn"] = test.groupby("label").cumcount()
    order = test.sort_values(["turn", "row"])
    return [int(row) for row in order["row"].head(COLUMNS)]


def colour_parts(parts: Pixels, image: Pixels, n_concepts: int) -> Pixels:
    """Paint each concept in its own colour over a pale grey version of the image."""
    grey = image.astype(np.float32).mean(-1, keepdims=True).repeat(3, -1)
    colours = part_colours(n_concepts)[parts]
    painted = np.where(parts[..., None] > 0, 0.25 * grey + 0.75 * colours, 150 + 0.4 * grey)
    result: Pixels = painted.clip(0, 255).astype(np.uint8)
    return result


def part_colours(n_concepts: int) -> NDArray[np.float32]:
    """Return colours far apart for neighbouring indices (golden-angle hues, three lightnesses)."""
    colours = [(0.0, 0.0, 0.0)]
    for index in range(n_concepts):
        hue = (index * 0.61803398875) % 1
        colours.append(colorsys.hls_to_rgb(hue, (0.42, 0.58, 0.5)[index % 3], 0.75))
    return np.asarray(colours, dtype=np.float32) * 255

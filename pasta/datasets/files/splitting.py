"""Splits of a given size, such as a paper's: ``split.csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from sklearn.model_selection import train_test_split

from pasta import store
from pasta.datasets.files.base import SPLIT_FILE, UNUSED, FileSource, Found
from pasta.errors import PastaError
from pasta.seeds import entropy
from pasta.text_files import write_csv


def write_split(source: FileSource, sizes: Mapping[str, int], overwrite: bool) -> pd.DataFrame:
    """Draw a split of a dataset and write it where its importer reads it.

    Returns
    -------
    table of image_id, label and split; images beyond the sizes are unused
    """
    path = source.root / SPLIT_FILE
    if path.exists() and not overwrite:
        raise PastaError(f"{path} is already there; --overwrite replaces it. Nothing was changed")
    images = sorted(source.find_images())
    if any(image.given is not None for image in images):
        raise PastaError(f"{source.dataset} has test images of its own; a split is not drawn")
    table = draw_split(images, sizes, entropy(source.seed, "sizes", source.dataset) % 2**32)
    with store.atomic(path) as temporary:
        write_csv(table[["image_id", "split"]], temporary)
    return table


def draw_split(images: Sequence[Found], sizes: Mapping[str, int], seed: int) -> pd.DataFrame:
    """Draw splits of exactly these sizes, in each the classes in the same proportions."""
    wanted = sum(sizes.values())
    if wanted > len(images):
        raise PastaError(f"there are {len(images):,} images, fewer than {wanted:,}")
    table = pd.DataFrame(images, columns=["image_id", "label", "split"]).assign(split=UNUSED)
    rest = table.index
    for split, size in sizes.items():
        chosen = rest
        if size < len(rest):
            try:
                chosen, rest = train_test_split(
                    rest, train_size=size, random_state=seed, stratify=table.loc[rest, "label"]
                )
            except ValueError as error:  # fewer images than classes
                raise PastaError(f"{split} cannot have {size:,} images: {error}") from None
        table.loc[chosen, "split"] = split
    return table

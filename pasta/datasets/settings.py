"""Where images, volumes and point clouds come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pasta.sections import Count, Fraction, Section


class DatasetParams(Section):
    """Where a dataset comes from and how much of it is used."""

    source: Literal["drawn", "files", "released"] = "drawn"
    root: str | None = None  # of the original files; unused for drawn and released images
    train: Count | None  # number of images; null takes all (files); a release gives what it has
    validation: Count | None
    test: Count | None
    # pixels or voxels a side, or points; null: `image_size`, 28 voxels, 1,024 points
    size: Annotated[int, Field(ge=4, le=100_000)] | None = None
    color_bias: Fraction = 0.0  # drawn catsdogscars: how often colour gives the class away

    @model_validator(mode="after")
    def _possible(self) -> DatasetParams:
        if self.source == "files" and self.root is None:
            raise ValueError("source 'files' needs a root folder")
        if self.source == "drawn" and None in (self.train, self.validation, self.test):
            raise ValueError("source 'drawn' needs a number of images for each split, not null")
        return self


class ReleaseParams(Section):
    """Rated explanations that were made elsewhere, see pasta.datasets.released."""

    root: str  # the folder; what it holds is an input of the pipeline
    lenient: bool = False  # leave entries out that cannot be used, and say so

"""Settings of the benchmark: what holds unless params.yaml says otherwise.

The defaults are those of the LATEC paper; the settings of each method and metric stand in
``latec.yaml``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.readings import Reading
from pasta.sections import Count, Section

Names = Annotated[tuple[str, ...], Field(strict=False)]
Readings = Annotated[tuple[Reading, ...], Field(strict=False)]
Whole = Annotated[int, Field(ge=0)]


class ComparedParams(Section):
    """The same study once more as other readings have it, on some of the observations."""

    readings: Readings = ("paper", "released")
    datasets: Names = ()  # none: nothing is compared
    observations: Whole = 50


class BenchmarkParams(Section):
    """Which methods are ranked by which metrics, on what."""

    datasets: Names  # of those of the project
    # those that a dataset has: two CNNs and a transformer for each modality
    models: Names = (
        *("resnet50", "efficientnet_b0", "vit_b_16"),
        *("resnet18_3d", "efficientnet_b0_3d", "simple3dformer"),
        *("pointnet", "dgcnn", "pct"),
    )
    methods: Names = ()  # by their keys; all 17 if none is named
    metrics: Names = ()  # by their keys; all 20 if none is named
    observations: Count = 50  # test images of each dataset, rated ones first
    explained: Literal["label", "predicted"] = "label"  # the class
    reading: Reading = "corrected"
    compared: ComparedParams = ComparedParams()
    sizes: Literal["demo", "paper"] = "paper"  # of samples and steps, as latec.yaml has them
    # methods that explain no changed copies: metrics of robustness are "not measured" for them
    not_again: Names = ()
    references: Count = 16  # training images that Expected Gradients and DeepLIFT SHAP start from
    # images of each dataset whose rated explanations are measured, too; 0: none
    rated: Whole = 0
    batch_size: Count = 16  # images in one pass of a method that shares passes
    budget: Count = 256  # images in one pass of a method that makes copies of them

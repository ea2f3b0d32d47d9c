"""How explanations are computed and images perturbed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.params.base import Count, Fraction, Positive, Section


class FactorizationParams(Section):
    """Deep Feature Factorization."""

    components: Count  # into which the activations of one image are factorised


class LimeParams(Section):
    """LIME on superpixels."""

    samples: Count
    kernel_width: Positive  # of the exponential kernel on cosine distances
    segmenter: Literal["quickshift", "slic"]
    segments: Count  # about so many superpixels, for slic
    penalty: Positive  # of the ridge regression


class ShapParams(Section):
    """Kernel SHAP on superpixels."""

    samples: Count
    segments: Count


class RiseParams(Section):
    """RISE on images."""

    masks: Count
    cells: Count  # of the coarse grid, along each side
    keep: Fraction  # probability that a cell stays visible


class ConceptLimeParams(Section):
    """LIME on concept scores."""

    samples: Count
    kernel_width: Positive  # times the square root of the number of concepts
    penalty: Positive


class ConceptShapParams(Section):
    """Kernel SHAP on concept scores."""

    samples: Count


class ConceptRiseParams(Section):
    """RISE on concept scores."""

    masks: Count
    keep: Fraction


class MethodsParams(Section):
    """The methods that have something to set."""

    dff: FactorizationParams
    lime: LimeParams
    shap: ShapParams
    rise: RiseParams
    lime_cbm: ConceptLimeParams
    shap_cbm: ConceptShapParams
    rise_cbm: ConceptRiseParams


class PerturbationParams(Section):
    """The search for a light and a strong perturbation of each image."""

    steps: Count  # of the bisection
    tries: Count  # perturbations to look at before giving up
    light: Fraction  # the largest magnitude of a light perturbation


class ExplanationParams(Section):
    """Which images are explained, by what."""

    images: Count  # of each dataset's test images
    batch_size: Count
    budget: Annotated[int, Field(ge=1)]  # images in one forward pass of a perturbation method
    extras: bool  # also the techniques that are not among the papers' 46
    methods: MethodsParams
    perturbations: PerturbationParams

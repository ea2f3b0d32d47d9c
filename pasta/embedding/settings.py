"""How explanations are turned into vectors."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.sections import Count, Fraction, Positive, Section

Three = Annotated[tuple[Count, ...], Field(min_length=3, max_length=3, strict=False)]
Magnitudes = Annotated[
    tuple[Annotated[float, Field(gt=0, le=1)], ...], Field(min_length=1, strict=False)
]
Folds = Annotated[int, Field(ge=2)]


class HandcraftedParams(Section):
    """The criteria of P1's Appendix D, which leaves these numbers open."""

    # What an explanation's variance is taken over: its stored perturbed copies, or images with
    # Gaussian noise, other sharpness and other brightness, explained again (needs classifiers).
    augmentations: Literal["copies", "explained"] = "copies"
    magnitudes: Magnitudes = (0.25, 0.5)  # of each of the three sets that are explained again
    ranks: Three = (1, 10, 50)  # leading eigenvalues whose share of the variance is a criterion
    components: Count = 50  # principal components that the classifiers see
    folds: Folds = 5  # of the cross-validation that measures their accuracy
    shrinkage: Fraction = 0.5  # of the Gaussians' covariances, 0 none, 1 a sphere


# seen: the pictures that people saw, as they are; an overlay where they are drawn here
Shown = Literal["seen", "overlay", "masked", "blur"]


class VariantsParams(Section):
    """Further ways of embedding, one thing changed at a time (P1, Tables 16-20; P2, Table 1)."""

    # what stands for a saliency map
    images: tuple[Shown, ...] = Field(default=("overlay", "masked", "blur"), strict=False)
    # concepts in a sentence
    n_top: tuple[Count, ...] = Field(default=(5, 10, 15, 20, 25, 30), strict=False)
    # words in front of the concepts
    template: str = "The model's prediction is motivated by the concepts:"
    weighted: bool = True  # concept attributions as a weighted sum of the concepts' vectors
    encoders: dict[str, str] = Field(default_factory=dict)  # other encoders and their weights


class EmbeddingParams(Section):
    """The encoder of explanations, and what it is shown of them."""

    # a registered encoder, see pasta.embedding.encoders, or given: vectors of pipelines/vectors
    encoder: str = "tiny-clip"
    # trained (tiny-clip), an open_clip tag, a model of the hub, a file, a folder, or random;
    # the name of given vectors
    weights: str = "trained"
    image: Shown = "overlay"  # what stands for a saliency map
    blur: Positive = 0.05  # standard deviation of the blur, as a part of the image's side
    text: Literal["sentence", "weighted"] = "sentence"  # what stands for concept attributions
    n_top: Count = 15  # concepts named in the sentence of a concept explanation
    template: str = ""  # words in front of the concepts; may be empty
    batch_size: Count = 64  # pictures encoded at once
    handcrafted: HandcraftedParams = HandcraftedParams()
    variants: VariantsParams = VariantsParams()

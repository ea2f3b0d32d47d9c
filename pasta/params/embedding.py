"""How explanations are turned into vectors."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.params.base import Count, Fraction, Positive, Section

Three = Annotated[tuple[Count, ...], Field(min_length=3, max_length=3, strict=False)]
Folds = Annotated[int, Field(ge=2)]


class HandcraftedParams(Section):
    """The criteria of P1's Appendix D, which leaves these numbers open."""

    ranks: Three  # leading eigenvalues whose share of the variance is a criterion
    components: Count  # principal components that the classifiers see
    folds: Folds  # of the cross-validation that measures their accuracy
    shrinkage: Fraction  # of the Gaussians' covariances, 0 none, 1 a sphere


Shown = Literal["overlay", "masked", "blur"]


class VariantsParams(Section):
    """Further ways of embedding, one thing changed at a time (P1, Tables 16-20; P2, Table 1)."""

    images: tuple[Shown, ...] = Field(strict=False)  # what stands for a saliency map
    n_top: tuple[Count, ...] = Field(strict=False)  # concepts in a sentence
    template: str  # words in front of the concepts
    weighted: bool  # concept attributions as a weighted sum of the concepts' vectors
    encoders: dict[str, str]  # other encoders and their weights


class EmbeddingParams(Section):
    """The encoder of explanations, and what it is shown of them."""

    encoder: str  # a registered encoder, see pasta.embedding.encoders
    weights: str  # trained (tiny-clip), an open_clip tag, a model of the hub, a file or a folder
    image: Shown  # what stands for a saliency map
    blur: Positive  # standard deviation of the blur, as a part of the image's side
    text: Literal["sentence", "weighted"]  # what stands for concept attributions
    n_top: Count  # concepts named in the sentence of a concept explanation
    template: str  # words in front of the concepts; may be empty
    batch_size: Count  # pictures encoded at once
    handcrafted: HandcraftedParams
    variants: VariantsParams

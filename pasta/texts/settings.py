"""Settings of texts: what holds unless params.yaml says otherwise."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pasta.sections import Count, Fraction, NotNegative, Positive, Section

Removal = Literal["delete", "mask"]
Score = Literal["probability", "logit"]
Shares = Annotated[tuple[Fraction, ...], Field(min_length=1, strict=False)]
Whole = Annotated[int, Field(ge=0)]
Names = Annotated[tuple[str, ...], Field(strict=False)]


class NetworkParams(Section):
    """A small network of words: a convolution over neighbours, and attention over the text."""

    width: Count = 32  # of the embedding of a word, and of what the convolution finds
    neighbours: Count = 5  # words that it sees at a time; odd
    longest: Count = 512  # words that are read; what follows has no effect
    dropped: Fraction = 0.1  # of the words that training hides
    epochs: Count = 8
    learning_rate: Positive = 0.01  # the peak of the one-cycle schedule
    batch_size: Count = 32
    weight_decay: NotNegative = 0.01

    @model_validator(mode="after")
    def _odd(self) -> NetworkParams:
        if self.neighbours % 2 == 0:
            raise ValueError(f"neighbours is {self.neighbours}, expected an odd number of words")
        return self


class TextLimeParams(Section):
    """LIME on words."""

    samples: Count = 1000
    kernel_width: Positive = 0.25  # of the exponential kernel on cosine distances
    penalty: Positive = 1.0  # of the ridge regression


class TextShapParams(Section):
    """Kernel SHAP on words."""

    samples: Annotated[int, Field(ge=2)] = 1000


class TextGradientParams(Section):
    """Integrated Gradients on embeddings."""

    steps: Count = 50


class TextMethodsParams(Section):
    """How words are explained.

    ``removal``: a hidden word leaves no gap (delete) or a token that means nothing (mask).
    """

    score: Score = "probability"  # of the class, which is explained
    removal: Removal = "mask"
    lime: TextLimeParams = TextLimeParams()
    kernel_shap: TextShapParams = TextShapParams()
    integrated_gradients: TextGradientParams = TextGradientParams()


class TextsParams(Section):
    """Which texts are classified, by what, and how this is explained and measured."""

    source: Literal["generated", "imdb", "newsgroups"] = "generated"
    root: str | None = None  # of aclImdb, or of a folder of newsgroups; unused for generated texts
    classes: Names = ()  # newsgroups: which of them; none: all
    train: Whole | None  # number of texts; null takes all (files)
    validation: Whole | None
    test: Count | None
    explained: Count = 200  # test texts
    # network: trained here. Otherwise a sequence classifier of Hugging Face: a folder or a hub name
    classifier: str = "network"
    network: NetworkParams = NetworkParams()
    methods: Names = ("lime", "integrated_gradients", "feature_ablation", "kernel_shap")
    explanations: TextMethodsParams = TextMethodsParams()
    shares: Shares = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, as in ERASER
    budget: Count = 256  # texts in one pass of the classifier

    @model_validator(mode="after")
    def _possible(self) -> TextsParams:
        if self.source != "generated" and self.root is None:
            raise ValueError(f"source {self.source!r} needs a root folder")
        if self.source == "generated" and None in (self.train, self.validation, self.test):
            raise ValueError("source 'generated' needs a number of texts for each split, not null")
        if self.classifier == "network" and 0 in (self.train, self.validation):
            raise ValueError("a network that is trained here needs texts to train and to validate")
        return self

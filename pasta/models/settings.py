"""Settings of the classifiers: what holds unless params.yaml says otherwise.

The defaults are sizes for small drawn images; the papers' sizes are in their profile.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pasta.errors import PastaError
from pasta.sections import Count, Fraction, NotNegative, Positive, Section

# Wherever weights have a name: none are loaded, the architecture keeps those that it is drawn with.
RANDOM = "random"


def is_random(weights: str | None) -> bool:
    """Whether a name asks for random weights: ``random``, or ``random:7`` for a seed of its own."""
    return weights is not None and weights.partition(":")[0] == RANDOM


def with_seed(weights: str, seed: int) -> str:
    """``random`` with the seed that it is drawn from; other names as they are.

    >>> with_seed("random", 3), with_seed("random:1", 3), with_seed("openai", 3)
    ('random:3', 'random:1', 'openai')
    """
    return f"{RANDOM}:{seed}" if weights == RANDOM else weights


def seed_of(weights: str) -> int:
    """The seed of random weights, 0 unless their name has another."""
    number = weights.partition(":")[2] or "0"
    if not number.isdigit():
        raise PastaError(f"the weights are called {weights!r}, expected random or random:SEED")
    return int(number)


Blocks = Annotated[tuple[Count, Count, Count, Count], Field(strict=False)]
Start = Literal["scratch", "resnet50", "imagenet"]


def needed(start: str) -> tuple[str, ...]:
    """What must be trained before a model that starts there."""
    return ("resnet50",) if start == "resnet50" else ()


class GradientParams(Section):
    """Training by gradient descent: AdamW under a one-cycle schedule, early stopping."""

    epochs: Count
    learning_rate: Positive
    batch_size: Count = 32
    weight_decay: NotNegative = 0.01
    patience: Count = 4  # epochs without a better validation score before it stops
    small_share: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of the epochs, on small images first
    small_size: Count = 64  # pixels of those: cheaper, and enough to begin with


class ResNetParams(Section):
    """A residual network; width 64 and blocks (3, 4, 6, 3) is ResNet50."""

    width: Count = 16
    blocks: Blocks = (1, 1, 1, 1)
    bottleneck: bool = False  # false: basic blocks, half as expensive
    keep_last: bool = True  # the last stage keeps the resolution (for small images)
    # torchvision's name of weights of the full size (random loads none); null trains from scratch
    weights: str | None = None
    keep_head: bool = False  # the weights' own last layer, and no training: for their own classes
    training: GradientParams = GradientParams(epochs=8, learning_rate=0.005, small_share=0.4)


class StemParams(Section):
    """How pixels become tokens: plain patches, or the first stages of a residual network.

    The residual kind has three stages and stride 16; the rest of the section concerns it alone.

    ``start`` tells whose weights they begin with: random ones, or the dataset's own ``resnet50``,
    which then must have the same width, blocks and kind of block.
    """

    kind: Literal["patches", "residual"] = "residual"
    width: Count = 16
    blocks: Annotated[tuple[Count, Count, Count], Field(strict=False)] = (1, 1, 1)
    bottleneck: bool = False
    start: Literal["scratch", "resnet50"] = "resnet50"


class TransformerParams(Section):
    """A vision transformer, with plain patches or, for small data, a residual stem (a hybrid)."""

    patch: Count = 16
    layers: Count = 2
    heads: Count = 4
    hidden: Count = 96
    mlp: Count = 192
    stem: StemParams = StemParams()
    weights: str | None = None  # torchvision's name, as above
    keep_head: bool = False
    training: GradientParams = GradientParams(epochs=4, learning_rate=0.0015)

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the dataset that must be trained first."""
        return needed(self.stem.start if self.stem.kind == "residual" else "scratch")


Stage = Annotated[tuple[Count, Count, Count, Count, Count], Field(strict=False)]
Stages = Annotated[tuple[Stage, ...], Field(min_length=1, strict=False)]


class EfficientNetParams(Section):
    """An EfficientNet; B0 has seven stages, see the profile ``paper_latec``."""

    stem: Count = 8  # channels of the first convolution
    # expansion, kernel, stride, channels and blocks of each stage
    stages: Stages = ((1, 3, 1, 8, 1), (4, 3, 2, 16, 1), (4, 3, 2, 24, 2), (4, 3, 2, 40, 1))
    last: Count | None = 80  # channels of the last convolution; null is four times the last stage's
    dropout: Fraction = 0.0
    skipped: Fraction = 0.0  # probability that training skips the last block (stochastic depth)
    # torchvision's name of weights of the full size (random loads none); null trains from scratch
    weights: str | None = None
    keep_head: bool = False  # the weights' own last layer, and no training: for their own classes
    training: GradientParams = GradientParams(epochs=8, learning_rate=0.012, small_share=0.4)


class VggParams(Section):
    """A VGG; width 64, blocks (2, 2, 4, 4, 4) and 4,096 hidden units are VGG-19."""

    width: Count = 8
    blocks: Annotated[tuple[Count, Count, Count, Count, Count], Field(strict=False)] = (
        *(1, 1, 1, 1, 1),
    )
    batch_norm: bool = True  # without, as published, a network of this depth is hard to train anew
    hidden: Count = 64
    weights: str | None = None  # torchvision's name, as above; the last layer is always trained
    training: GradientParams = GradientParams(epochs=8, learning_rate=0.005)


class ResNet3dParams(Section):
    """A residual network on volumes; width 64, blocks (2, 2, 2, 2) is 3D ResNet18."""

    width: Count = 8
    blocks: Blocks = (1, 1, 1, 1)
    video_stem: bool = False  # 3 x 7 x 7 at stride (1, 2, 2) as torchvision, else 3 x 3 x 3 at 2
    training: GradientParams = GradientParams(epochs=8, learning_rate=0.01)


class EfficientNet3dParams(Section):
    """An EfficientNet on volumes; the seven stages of B0 make 3D EfficientNet-b0."""

    stem: Count = 8  # channels of the first convolution
    # expansion, kernel, stride, channels and blocks of each stage
    stages: Stages = ((1, 3, 1, 8, 1), (3, 3, 2, 12, 1), (4, 3, 2, 24, 2), (4, 3, 1, 40, 1))
    last: Count | None = 80  # channels of the last convolution; null is four times the last stage's
    dropout: Fraction = 0.0
    training: GradientParams = GradientParams(epochs=7, learning_rate=0.01)


class Simple3dFormerParams(Section):
    """A transformer on volumes; patch 4, 12 layers of 768 and no stem are Simple3D-Former."""

    patch: Count = 7  # voxels a side of the cubes that are tokens
    stem: Annotated[int, Field(ge=0)] = 16  # channels of a convolution before them; 0 is none
    layers: Count = 3
    heads: Count = 4
    hidden: Count = 64
    mlp: Count = 128
    training: GradientParams = GradientParams(epochs=12, learning_rate=0.003)


class PointNetParams(Section):
    """PointNet; width 64 with a transform of features is the network of the paper."""

    width: Count = 16
    feature_transform: bool = False
    dropout: Fraction = 0.3
    training: GradientParams = GradientParams(epochs=12, learning_rate=0.005)


Widths = Annotated[tuple[Count, ...], Field(min_length=1, strict=False)]


class DgcnnParams(Section):
    """DGCNN; widths (64, 64, 128, 256), 20 neighbours and 1,024 features are the paper's."""

    widths: Widths = (32, 32)
    neighbours: Count = 10
    features: Count = 128
    hidden: Widths = (64,)
    dropout: Fraction = 0.0  # 0.5 as published
    training: GradientParams = GradientParams(epochs=7, learning_rate=0.008, batch_size=16)


Groupings = Annotated[
    tuple[Annotated[tuple[Count, Count, Count], Field(strict=False)], ...],
    Field(min_length=1, strict=False),
]


class PctParams(Section):
    """PCT; embedding 64, stages (512, 32, 128), (256, 32, 256), 1,024 features are the paper's."""

    embedding: Count = 32
    stages: Groupings = ((64, 16, 64),)  # points that are sampled, neighbours of each, channels
    layers: Count = 2  # of attention; 4 as published
    features: Count = 256
    hidden: Widths = (128,)
    dropout: Fraction = 0.3
    training: GradientParams = GradientParams(epochs=6, learning_rate=0.003)


class BcosParams(Section):
    """A B-cos residual network (weight decay is not for B-cos layers).

    ``start`` is ``scratch`` or ``resnet50``: then its filters begin as those of the dataset's own
    ``resnet50`` of the same shape (B-cosification, doi:10.48550/arXiv.2411.00715). ``weights``
    names ImageNet weights of the authors, ``resnet50`` or ``resnet50_long`` (full size only), or
    is ``random``.
    """

    width: Count = 16
    blocks: Blocks = (1, 1, 1, 1)
    bottleneck: bool = False
    start: Literal["scratch", "resnet50"] = "resnet50"
    weights: str | None = None
    training: GradientParams = GradientParams(epochs=5, learning_rate=0.003, weight_decay=0.0)

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the dataset that must be trained first."""
        return needed(self.start)

    @model_validator(mode="after")
    def _one_start(self) -> BcosParams:
        if self.weights is not None and self.start != "scratch":
            raise ValueError(f"weights {self.weights!r} need start 'scratch', not {self.start!r}")
        return self


Grid = Annotated[tuple[Positive, ...], Field(min_length=1, strict=False)]
Shares = Annotated[tuple[Fraction, ...], Field(min_length=1, strict=False)]


class ClipTrainingParams(Section):
    """How the small CLIP is trained; unused with weights from outside."""

    epochs: Count = 11
    learning_rate: Positive = 0.006  # the peak of the one-cycle schedule
    weight_decay: NotNegative = 0.05
    batch_size: Count = 64
    patience: Count = 5  # epochs at full size without a better validation accuracy
    small_size: Count = 64  # pixels in the first part of training, where a small picture will do
    small_share: Annotated[float, Field(ge=0, lt=1)] = 0.67  # of the epochs, on small pictures
    shift: Fraction = 0.06  # the largest random translation, as a part of the image's side
    # of the loss on concept prompts; that on class prompts weighs 1
    concept_weight: NotNegative = 1.0
    caption_weight: NotNegative = 0.3  # of the contrastive loss on captions


class EncoderParams(Section):
    """A vision-language encoder: which architecture, which weights."""

    architecture: str = "pasta-tiny"  # pasta-tiny, or a name that open_clip knows such as ViT-L-14
    # trained, an open_clip tag such as openai, the path of a weights file, random, or none
    weights: str = "trained"
    image_size: Count | None = None  # pixels the image tower sees; null is the architecture's own


class ClipParams(EncoderParams):
    """The encoder that classifiers share unless they name their own, and its words."""

    template: str = "a photo of a {}"  # of prompts, with {} for the name
    training: ClipTrainingParams = ClipTrainingParams()


class OnClipParams(Section):
    """What all classifiers on a vision-language encoder have."""

    encoder: EncoderParams | None = None  # of its own; null is that of the section clip


class ClipZeroShotParams(OnClipParams):
    """Zero-shot classification."""


class ClipLinearParams(OnClipParams):
    """A linear classifier on concept similarities."""

    # C of the logistic regression; the best on validation is taken
    inverse_penalty: Grid = (0.01, 0.1, 1.0, 10.0)


class ClipQdaParams(OnClipParams):
    """Gaussians per class on concept similarities."""

    # towards a sphere, 0 none, 1 all; the best on validation is taken
    shrinkage: Shares = (0.01, 0.1, 0.3, 0.6)


class LaboParams(OnClipParams):
    """A linear classifier on a chosen few concepts."""

    per_class: Count = 10  # concepts chosen for each class
    discriminability: NotNegative = 1.0  # weight of how well a concept tells its class from others
    coverage: NotNegative = 0.2  # weight of how well the chosen represent all concepts
    # C of the logistic regression; the best on validation is taken
    inverse_penalty: Grid = (0.01, 0.1, 1.0, 10.0)


class BackboneParams(Section):
    """The residual network under a concept model and where its first weights come from.

    ``start`` is one of: ``scratch``, random weights; ``resnet50``, the dataset's own trained
    ``resnet50`` (which must have the same shape); ``imagenet``, torchvision's weights
    called ``weights`` (full size only; ``random`` loads none). The stem and the first
    ``frozen`` - 1 residual stages keep these weights and their statistics; 0 trains everything.
    """

    width: Count = 16
    blocks: Blocks = (1, 1, 1, 1)
    bottleneck: bool = False
    keep_last: bool = True
    start: Start = "resnet50"
    weights: str | None = None
    frozen: Annotated[int, Field(ge=0, le=4)] = 1


class ConceptBottleneckParams(Section):
    """A concept bottleneck; see :mod:`pasta.models.concept_bottleneck` for the choices."""

    backbone: BackboneParams = BackboneParams()
    # of the concept network
    training: GradientParams = GradientParams(epochs=3, learning_rate=0.004, patience=3)
    head: Literal["sequential", "independent"] = "sequential"
    score: Literal["logit", "probability"] = "logit"  # what the head sees
    penalty: Positive = 0.003  # L2, on the weights of standardised scores

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the dataset that must be trained first."""
        return needed(self.backbone.start)

    @model_validator(mode="after")
    def _same_scale(self) -> ConceptBottleneckParams:
        if self.head == "independent" and self.score == "logit":
            raise ValueError("head 'independent' learns from 0 and 1 and needs score 'probability'")
        return self


class XnesylParams(Section):
    """X-NeSyL: a detector of parts and a linear classifier on its best scores."""

    backbone: BackboneParams = BackboneParams()
    # pyramid and heads; 256 as published
    channels: Annotated[int, Field(ge=32, multiple_of=32)] = 64
    convolutions: Annotated[int, Field(ge=0)] = 1  # of each head before its output; 4 as published
    levels: Annotated[int, Field(ge=1, le=5)] = 1  # pyramid levels from stride 8 on; 5 as published
    # of the detector
    training: GradientParams = GradientParams(
        epochs=2, learning_rate=0.004, batch_size=24, patience=3
    )
    penalty: Positive = 0.001  # L2, on the weights of standardised scores
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.3  # of a detection worth showing

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the dataset that must be trained first."""
        return needed(self.backbone.start)


class ModelsParams(Section):
    """Classifiers of one dataset that are trained, explained and measured by one stage each."""

    resnet50: ResNetParams | None = None
    vit_b_16: TransformerParams | None = None
    resnet50_bcos: BcosParams | None = None
    clip_zero_shot: ClipZeroShotParams | None = None
    clip_linear: ClipLinearParams | None = None
    clip_qda: ClipQdaParams | None = None
    labo: LaboParams | None = None
    concept_bottleneck: ConceptBottleneckParams | None = None
    xnesyl: XnesylParams | None = None
    efficientnet_b0: EfficientNetParams | None = None
    vgg19: VggParams | None = None
    resnet18_3d: ResNet3dParams | None = None
    efficientnet_b0_3d: EfficientNet3dParams | None = None
    simple3dformer: Simple3dFormerParams | None = None
    pointnet: PointNetParams | None = None
    dgcnn: DgcnnParams | None = None
    pct: PctParams | None = None

    @property
    def backbones(self) -> tuple[str, ...]:
        """The classifiers that have settings here, in the papers' order."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def weights(self) -> dict[str, str]:
        """The weights that classifiers, or the networks below them, start from, by name."""
        found = {}
        for name in self.backbones:
            own = getattr(self, name)
            network = getattr(own, "backbone", getattr(own, "encoder", own))
            weights = getattr(network, "weights", None)
            if weights is not None:
                found[name] = str(weights)
        return found

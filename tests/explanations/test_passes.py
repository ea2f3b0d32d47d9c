"""What methods say about their passes is what they do: a hook counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor, nn

from pasta.explanations.base import METHODS, Sizes, View
from pasta.explanations.engine import Work, attributions, count_passes, view_of
from pasta.explanations.settings import (
    ConceptLimeParams,
    ConceptRiseParams,
    ConceptShapParams,
    LimeParams,
    MethodsParams,
    RiseParams,
    ShapParams,
)
from pasta.models.base import Classifier, ConceptModel
from pasta.models.bcos import BcosClassifier
from pasta.models.concept_bottleneck import LinearHead
from pasta.models.resnet import ResNetClassifier
from pasta.models.settings import BcosParams, ResNetParams, StemParams, TransformerParams
from pasta.models.vit import TransformerClassifier

CLASSES, SIZE, CHANNELS = ("a", "b", "c"), 32, 64
FEW = MethodsParams(
    lime=LimeParams(samples=31, segmenter="slic", segments=24),
    shap=ShapParams(samples=30, segments=12),
    rise=RiseParams(masks=33),
    lime_cbm=ConceptLimeParams(samples=20),
    shap_cbm=ConceptShapParams(samples=20),
    rise_cbm=ConceptRiseParams(masks=20),
)


class Concepts(ConceptModel):
    """Concept scores by a convolution, and a linear head."""

    def __init__(self) -> None:
        super().__init__(CLASSES, ("x", "y", "z"))
        pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.extractor = nn.Sequential(nn.Conv2d(3, 3, 3), *pool)
        self.head = LinearHead(3, 3)


def model_for(method: str) -> Classifier:
    about = METHODS.entry(method).metadata
    torch.manual_seed(0)
    if about["attribution"] == "concepts":
        return Concepts().eval()
    if about["needs_attention"]:
        settings = TransformerParams(
            patch=8, layers=2, heads=2, hidden=16, mlp=24, stem=StemParams(kind="patches")
        )
        return TransformerClassifier(CLASSES, settings, SIZE).eval()
    if about["network"] is not None:
        return BcosClassifier(CLASSES, BcosParams(width=8, start="scratch")).eval()
    return ResNetClassifier(CLASSES, ResNetParams(width=8)).eval()


class Counter:
    """Counts the images that a module sees, and backward passes through it."""

    def __init__(self) -> None:
        self.forward = self.backward = 0

    @contextmanager
    def on(self, module: nn.Module) -> Iterator[None]:
        def seen(_module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
            self.forward += len(given[0])
            if output.requires_grad:
                output.register_hook(self._went_back)  # type: ignore[no-untyped-call]

        handle = module.register_forward_hook(seen)
        try:
            yield
        finally:
            handle.remove()

    def _went_back(self, gradient: Tensor) -> None:
        self.backward += len(gradient)


def count(method: str, images: int) -> Counter:
    model = model_for(method)
    whole: nn.Module = model.extractor if isinstance(model, ConceptModel) else model
    whole = model.network if isinstance(model, BcosClassifier) else whole
    view: View = view_of(model)
    random = torch.Generator().manual_seed(1)
    pictures = torch.rand(images, 3, SIZE, SIZE, generator=random)
    work = Work(view, lambda part: pictures[part], torch.zeros(images, dtype=torch.long), FEW)
    work.references = torch.rand(5, 3, SIZE, SIZE, generator=random)
    counter = Counter()
    with counter.on(whole):
        for _ in attributions(work, [method]):
            pass
    return counter


OWN_HEAD = {"clip_qda"}  # needs Gaussians


@pytest.mark.parametrize("method", sorted(set(METHODS) - OWN_HEAD))
def test_a_method_makes_as_many_passes_as_it_says(method: str) -> None:
    """Two images more: what is done once for a batch falls out."""
    few, more = count(method, 2), count(method, 4)
    said = count_passes([method], FEW, Sizes((SIZE, SIZE), CHANNELS, references=5))
    forward = (more.forward - few.forward) / 2
    if method == "scorecam":  # channels that are the same everywhere are asked about once
        assert said.forward / 2 < forward <= said.forward
        return
    assert forward == said.forward + said.behind
    assert (more.backward - few.backward) / 2 == said.backward

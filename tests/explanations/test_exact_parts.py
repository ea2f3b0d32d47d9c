"""Drawn parts as an oracle: a model of one part has its maps there, in two and three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pasta import explain
from pasta.datasets.drawn.source import draw, label_of
from pasta.datasets.vocabulary import vocabulary
from pasta.explanations.catalog import METHODS
from pasta.explanations.modality import MODALITIES
from pasta.explanations.settings import MethodsParams

# A dataset, its size, and the part that the model looks at.
PARTS = {
    "image": ("catsdogscars", 48, "wheel"),
    "volume": ("vessel", 16, "aneurysm"),
    "point cloud": ("traffic", 96, "wing"),
}
CELLS = {"image": 8, "volume": 4, "point cloud": 1}
# Methods that give each place its own share, and those that hide cells.
EXACT = ("saliency", "input_x_gradient", "guided_backprop", "integrated_gradients",
         "expected_gradients", "deeplift", "deeplift_shap", "lrp", "gradcam", "gradcam++",
         "scorecam")  # fmt: skip
CELLED = ("occlusion", "lime", "shap")


class LooksAt(nn.Module):
    """The mean square of what some places show, as a convolution that a map can be made of."""

    def __init__(self, part: Tensor, channels: int) -> None:
        super().__init__()
        kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[part.ndim - 1]
        self.part, self.active = part, nn.ReLU()
        self.last = kind(channels, 2, 1, bias=False)
        nn.init.constant_(self.last.weight, 0.5)
        with torch.no_grad():
            self.last.weight[1] *= 2

    def forward(self, inputs: Tensor) -> Tensor:
        seen: Tensor = self.active(self.last(inputs * self.part))
        return seen.flatten(2).sum(2)


def shown(kind: str) -> tuple[Tensor, NDArray[np.bool_]]:
    """The first drawn input with the part, and where the part is."""
    dataset, size, concept = PARTS[kind]
    words = vocabulary(dataset)
    for index in range(40):
        record = draw(dataset, 0, index, size)
        part = record.parts == words.value(concept)
        if part.sum() >= 5 and label_of(dataset, index) == record.label:
            inputs = MODALITIES[kind].load(np.array(record.image[None]))
            return (inputs.abs() if kind == "point cloud" else inputs), part
    raise AssertionError(f"no {concept}")


@pytest.mark.parametrize("kind", list(PARTS))
def test_every_faithful_method_has_its_mass_in_the_part_that_decides(kind: str) -> None:
    inputs, part = shown(kind)
    model = LooksAt(torch.from_numpy(part).float(), inputs.shape[1]).eval()
    side = CELLS[kind]
    settings: Any = MethodsParams.model_validate(
        {
            "occlusion": {"window_pixels": side, "stride_pixels": side},
            "lime": {"segmenter": "grid", "cell": side, "samples": 400, "score": "logit"},
            "shap": {"segmenter": "grid", "cell": side, "samples": 400, "score": "logit"},
            "expected_gradients": {"noise": 0.0},
        }
    )
    layer = [name for name in EXACT if METHODS.entry(name).metadata["needs_layer"]]
    names = [name for name in (*EXACT, *CELLED) if kind != "point cloud" or name not in layer]
    maps = explain(
        model, inputs, [1], names, "last", settings=settings, modality=kind,
        references=torch.zeros_like(inputs),
    )  # fmt: skip
    cells = MODALITIES[kind].need("split")(part.shape, side).numpy()
    touched = np.isin(cells, np.unique(cells[part]))
    for name, (found,) in maps.items():
        mass = np.abs(found)
        where = touched if name in CELLED else part
        assert mass[part].sum() > 0, name
        assert mass[where].sum() / mass.sum() > (0.9 if name == "lime" else 1 - 1e-4), name

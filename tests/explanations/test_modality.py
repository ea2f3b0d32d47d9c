"""Inputs that are no images: small volumes are explained, measured and stored like images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import interpolate

from pasta import evaluate, explain
from pasta.errors import PastaError
from pasta.explanations.attribution import scaled, statuses
from pasta.explanations.catalog import METHODS, technique
from pasta.explanations.image import IMAGE
from pasta.explanations.modality import MODALITIES, Modality
from pasta.explanations.settings import MethodsParams
from pasta.explanations.stored import StoredExplanations, write_values

SIDE, NUMBER = 8, 3
SPOT = (slice(2, 4), slice(4, 6), slice(2, 4))  # where the class of a volume shows


def load(values: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.moveaxis(values, -1, 1)).float().div(255)


def resize(maps: Tensor, size: tuple[int, ...]) -> Tensor:
    return interpolate(maps[:, None], size, mode="trilinear", align_corners=False)[:, 0]


def octants(volume: Tensor, *_: Any) -> Tensor:
    """Parts of half the side."""
    places = torch.meshgrid(
        *(torch.arange(side) * 2 // side for side in volume.shape[1:]), indexing="ij"
    )
    return places[0] * 4 + places[1] * 2 + places[2]


def mean_of_rest(volumes: Tensor, removed: Tensor) -> Tensor:
    kept = (~removed)[:, None]
    means = (volumes * kept).flatten(2).sum(2) / kept.flatten(2).sum(2).clamp_min(1)
    return torch.where(removed[:, None], means[..., None, None, None], volumes)


VOLUME = Modality(
    "toy volume",
    axes=("depth", "height", "width"),
    channels=1,
    load=load,
    resize=resize,
    segment=octants,
    remove=mean_of_rest,
)


class SpotNet(nn.Module):
    """Says class 1 as far as the spot is bright."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Conv3d(1, 1, 1, bias=False)
        nn.init.ones_(self.look.weight)

    def forward(self, volumes: Tensor) -> Tensor:
        bright = self.look(volumes).relu()[(slice(None), 0, *SPOT)].flatten(1).mean(1)
        return torch.stack([1 - bright, bright], 1)


@pytest.fixture
def volumes() -> Tensor:
    random = torch.Generator().manual_seed(0)
    found = 0.2 * torch.rand(NUMBER, 1, SIDE, SIDE, SIDE, generator=random)
    found[(slice(None), 0, *SPOT)] += 0.8
    return found


METHOD_KEYS = ["saliency", "input_x_gradient", "integrated_gradients", "smoothgrad", "occlusion"]
SETTINGS = MethodsParams.model_validate(
    {
        "occlusion": {"window": 0.25, "stride": 1.0},
        "lime": {"samples": 60, "segments": 8},
        "shap": {"samples": 60, "segments": 8},
    }
)


def explained(volumes: Tensor, methods: list[str]) -> dict[str, NDArray[np.float32]]:
    targets = np.ones(len(volumes), np.int64)
    model = SpotNet().eval()
    return explain(model, volumes, targets, methods, settings=SETTINGS, modality=VOLUME)


@pytest.mark.parametrize("method", [*METHOD_KEYS, "lime", "shap"])
def test_a_volume_is_explained_where_its_class_shows(volumes: Tensor, method: str) -> None:
    maps = explained(volumes, [method])[method]
    assert maps.shape == (NUMBER, SIDE, SIDE, SIDE)
    inside = maps[(slice(None), *SPOT)]
    assert np.all(inside.min((1, 2, 3)) > 0)
    if method in METHOD_KEYS:
        outside = maps.copy()
        outside[(slice(None), *SPOT)] = 0
        assert np.allclose(outside, 0, atol=1e-6)
    else:  # the spot lies in one octant
        assert np.all(inside.max((1, 2, 3)) == maps.max((1, 2, 3)))


def test_maps_of_a_coarse_layer_are_enlarged_by_the_modality() -> None:
    small = torch.arange(8.0).view(1, 2, 2, 2)
    assert VOLUME.resize(small, (4, 4, 4)).shape == (1, 4, 4, 4)
    with pytest.raises(PastaError, match="EigenCAM explains images only, not the modality toy vo"):
        explained(torch.rand(1, 1, 4, 4, 4), ["eigencam"])
    with pytest.raises(PastaError, match="no target layer of SpotNet is known; name it"):
        explained(torch.rand(1, 1, 4, 4, 4), ["gradcam"])


def test_metrics_tell_a_right_map_of_a_volume_from_a_wrong_one(volumes: Tensor) -> None:
    right = explained(volumes, ["integrated_gradients"])["integrated_gradients"]
    wrong = right[:, ::-1, ::-1, ::-1].copy()
    model, targets = SpotNet().eval(), np.ones(NUMBER, np.int64)
    given: dict[str, Any] = {
        "model": model,
        "images": volumes,
        "targets": targets,
        "modality": VOLUME,
    }
    asked: dict[str, dict[str, Any]] = {
        "pixel_flipping": {"steps": 8},
        "faithfulness_correlation": {"subsets": 40, "share": 0.1, "filling": "mean"},
    }
    for name, options in asked.items():
        found = [evaluate(name, maps=maps, **given, **options) for maps in (right, wrong)]
        assert np.all(found[0] > found[1]), name
    removed = [evaluate("road", maps=maps, percentages=(2,), **given) for maps in (right, wrong)]
    assert removed[0].tolist() == [0] * NUMBER and removed[1].tolist() == [1] * NUMBER
    assert np.all(evaluate("sparseness", maps=right, modality=VOLUME) > 0.9)
    masks = np.zeros((NUMBER, SIDE, SIDE, SIDE))
    masks[(slice(None), *SPOT)] = 1
    for name, best in {"relevance_mass": 1, "relevance_rank": 1, "pointing_game": 1}.items():
        inside = evaluate(name, maps=right, masks=masks, modality=VOLUME)
        np.testing.assert_allclose(inside, best, atol=1e-6)
        assert np.all(evaluate(name, maps=wrong, masks=masks, modality=VOLUME) < best)
    near = evaluate("pointing_game", maps=wrong, masks=masks, modality=VOLUME, tolerance=6.0)
    assert near.tolist() == [1] * NUMBER


def test_robustness_explains_volumes_again(volumes: Tensor) -> None:
    def explainer(inputs: Tensor, targets: Tensor) -> Any:
        model = SpotNet().eval()
        return explain(model, inputs, targets, ["saliency"], modality=VOLUME)["saliency"]

    given: dict[str, Any] = {"images": volumes, "targets": np.ones(NUMBER, np.int64)}
    found = evaluate(
        "max_sensitivity", explainer=explainer, modality=VOLUME, samples=2, uniform=0.01, **given
    )
    np.testing.assert_allclose(found, 0, atol=1e-6)  # its gradient is the same everywhere near


def test_maps_of_volumes_are_stored_and_come_back(volumes: Tensor, tmp_path: Path) -> None:
    maps = explained(volumes, ["input_x_gradient"])["input_x_gradient"]
    values, scales = scaled(3 * maps)
    assert statuses(maps) == ["ok"] * NUMBER and scales.tolist() == [3] * NUMBER
    one = technique("lime/resnet50")  # any signed technique
    write_values(tmp_path, one, values, ())
    stored = StoredExplanations(tmp_path)
    assert stored.maps(one).shape == maps.shape
    np.testing.assert_allclose(stored.shown(one, [2, 0]), maps[[2, 0]], atol=1e-3)


def test_a_wrong_shape_is_named_by_the_axes_of_the_modality(volumes: Tensor) -> None:
    with pytest.raises(PastaError, match=r"expected \(n, 1, depth, height, width\)"):
        explained(volumes[:, 0], ["saliency"])
    with pytest.raises(PastaError, match=r"expected \(n, depth, height, width\)"):
        evaluate("sparseness", maps=np.ones((2, 4, 4)), modality=VOLUME)
    with pytest.raises(PastaError, match="toy volume' has no way to blur its inputs"):
        VOLUME.need("blur")


def test_datasets_of_images_have_the_modality_image() -> None:
    assert MODALITIES["image"] is IMAGE and IMAGE.form == "(n, 3, height, width)"
    assert all(getattr(IMAGE, name) is not None for name in ("segment", "perturb", "remove"))
    assert METHODS.entry("eigencam").metadata["any_modality"] is False

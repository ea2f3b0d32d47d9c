"""Volumes as a modality: against slow oracles, and against images where they are flat."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pasta import evaluate, explain
from pasta.datasets.drawn.source import draw
from pasta.errors import PastaError
from pasta.explanations.image import IMAGE, blur_image, impute
from pasta.explanations.modality import MODALITIES, find_modality
from pasta.explanations.volume import (
    VOLUME,
    blur_volume,
    impute_voxels,
    render_volume,
    resize_maps,
    segment_volume,
)


def made(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def slow_imputation(volume: NDArray[np.float64], removed: NDArray[np.bool_]) -> NDArray[np.float64]:
    """One equation a removed voxel, all written out."""
    holes = [tuple(place) for place in np.argwhere(removed)]
    number = {place: row for row, place in enumerate(holes)}
    matrix, known = np.zeros((len(holes), len(holes))), np.zeros(len(holes))
    for place, row in number.items():
        for step in product((-1, 0, 1), repeat=3):
            other = tuple(a + b for a, b in zip(place, step, strict=True))
            if not any(step) or any(
                not 0 <= at < side for at, side in zip(other, volume.shape, strict=True)
            ):
                continue
            weight = {1: 1 / 6, 2: 1 / 12, 3: 1 / 24}[sum(map(abs, step))]
            matrix[row, row] += weight
            if other in number:
                matrix[row, number[other]] -= weight
            else:
                known[row] += weight * volume[other]
    filled = volume.copy()
    filled[removed] = np.linalg.solve(matrix, known)
    return filled


def test_removed_voxels_solve_the_equations_that_are_written_out() -> None:
    volumes, removed = made(2, 2, 4, 5, 3), made(2, 4, 5, 3, seed=1) < 0.5
    found = impute_voxels(volumes, removed)
    for number, channel in product(range(2), range(2)):
        expected = slow_imputation(volumes[number, channel].numpy(), removed[number].numpy())
        np.testing.assert_allclose(found[number, channel], expected, atol=1e-5)
    assert torch.equal(found[:, 0][~removed], volumes[:, 0][~removed])
    everything = impute_voxels(volumes, torch.ones_like(removed))
    means = volumes.mean((2, 3, 4), keepdim=True).expand_as(volumes)
    torch.testing.assert_close(everything, means)
    assert torch.equal(impute_voxels(volumes, torch.zeros_like(removed)), volumes)


def test_a_flat_volume_gives_what_the_image_gives() -> None:
    images, removed = made(2, 3, 9, 8), made(2, 9, 8, seed=2) < 0.6
    flat = images[:, :, None]
    found = impute_voxels(flat, removed[:, None])[:, :, 0]
    torch.testing.assert_close(found, impute(images, removed), atol=1e-5, rtol=1e-5)
    wide = made(3, 24, 20)
    torch.testing.assert_close(blur_volume(wide[:, None], 2.0)[:, 0], blur_image(wide, 2.0))
    maps = made(2, 4, 3)
    torch.testing.assert_close(
        resize_maps(maps[:, None], (1, 9, 8))[:, 0], IMAGE.resize(maps, (9, 8))
    )
    cells, image_cells = VOLUME.need("split")((1, 9, 8), 4), IMAGE.need("split")((9, 8), 4)
    assert torch.equal(cells[0], image_cells)
    shifted = VOLUME.need("shift")(flat, 0.25)[:, :, 0]
    assert torch.equal(shifted, IMAGE.need("shift")(images, 0.25))


def test_a_flat_volume_is_explained_and_measured_as_the_image() -> None:
    class Flat(nn.Module):
        """The same network, with a first axis of one."""

        def __init__(self, image: nn.Module) -> None:
            super().__init__()
            self.image = image

        def forward(self, volumes: Tensor) -> Tensor:
            found: Tensor = self.image(volumes[:, :, 0])
            return found

    torch.manual_seed(0)
    image = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(16, 2),
    )  # fmt: skip
    images, targets = made(2, 3, 8, 8).float(), [0, 1]
    methods = ["saliency", "input_x_gradient", "integrated_gradients"]
    plain = explain(image, images, targets, methods)
    flat = explain(Flat(image), images[:, :, None], targets, methods, modality="volume")
    for method in methods:
        np.testing.assert_allclose(flat[method][:, 0], plain[method], atol=1e-6)
    maps = plain["saliency"]
    for metric in ("pixel_flipping", "deletion", "sparseness"):
        first = evaluate(metric, maps=maps, model=image, images=images, targets=targets,
                         softmax=True)  # fmt: skip
        second = evaluate(
            metric, maps=maps[:, None], model=Flat(image), images=images[:, :, None],
            targets=targets, softmax=True, modality="volume",
        )  # fmt: skip
        np.testing.assert_allclose(first, second, atol=1e-6)


def test_supervoxels_are_whole_and_the_same_each_time() -> None:
    volume = draw("vessel", 0, 1, 20)
    given = VOLUME.load(volume.image[None])[0]
    labels = segment_volume(given, "quickshift", 30)
    assert labels.shape == (20, 20, 20)
    assert np.unique(labels).tolist() == list(range(int(labels.max()) + 1))
    assert 15 <= int(labels.max()) + 1 <= 60
    assert torch.equal(labels, segment_volume(given, "quickshift", 30))
    # few supervoxels hold both of the vessel and of what is around it
    inside = torch.from_numpy(volume.parts > 0)
    shares = [float(inside[labels == one].double().mean()) for one in np.unique(labels)]
    assert max(shares) > 0.6 and np.median(shares) < 0.1
    constant = segment_volume(torch.full((1, 8, 8, 8), 0.5), "slic", 8)
    assert len(np.unique(constant)) > 1
    assert segment_volume(torch.full((1, 4, 4, 4), float("nan"))).shape == (4, 4, 4)


def test_maps_are_enlarged_smoothly_or_from_the_nearest_cell() -> None:
    maps = torch.arange(8.0).view(1, 2, 2, 2)
    near = resize_maps(maps, (4, 4, 4), "nearest")
    assert torch.equal(
        near, maps.repeat_interleave(2, 1).repeat_interleave(2, 2).repeat_interleave(2, 3)
    )
    smooth = resize_maps(maps, (4, 4, 4))
    assert smooth[0, 0, 0, 0] == 0 and smooth[0, -1, -1, -1] == 7
    assert smooth[0, 0, 0, 1] == 0.25


@pytest.mark.parametrize("signed", [False, True])
def test_a_picture_shows_the_place_of_the_map_from_three_sides(signed: bool) -> None:
    voxels = np.full((8, 8, 8, 1), 90, np.uint8)
    shown = np.zeros((8, 8, 8), np.float32)
    shown[1, 3, 6] = 1.0
    size = 64
    found = render_volume(voxels, shown, signed, size).astype(int)
    assert found.shape == (2 * size + 4, 3 * size + 8, 3) and found.min() >= 0
    red = found[..., 0] - found[..., 2]
    for across, (row, column) in enumerate([(3, 6), (1, 6), (1, 3)]):
        for down in range(2):
            top, left = down * (size + 4), across * (size + 4)
            picture = red[top : top + size, left : left + size]
            place = np.unravel_index(picture.argmax(), picture.shape)
            assert (place[0] // 8, place[1] // 8) == (row, column)
    nothing = render_volume(voxels, np.zeros((8, 8, 8)), signed, size)
    assert np.ptp(nothing[:size, :size]) == 0


def test_modalities_are_found_by_name() -> None:
    assert find_modality("volume") is VOLUME and find_modality(IMAGE) is IMAGE
    assert set(MODALITIES) >= {"image", "volume", "point cloud"}
    assert VOLUME.form == "(n, channels, depth, height, width)"
    assert VOLUME.fits((2, 3, 4, 4, 4)) and not VOLUME.fits((2, 3, 4, 4))
    with pytest.raises(PastaError, match="volume"):
        find_modality("volumes")
    with pytest.raises(PastaError, match=r"expected .*\(n, channels, depth, height, width\)"):
        explain(nn.Flatten(), torch.rand(1, 1, 4, 4), [0], ["saliency"], modality="volume")

"""Linear imputation against one sparse solve per image, and cases that are known by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from pasta.explanations.image import impute
from pasta.metrics.removal import make_imputation
from tests.metrics.known import literal_imputation, sparse_solve


def picture(channels: int, height: int, width: int, seed: int = 0) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.rand(1, channels, height, width, generator=random)


def holes(kind: str, share: float, height: int, width: int) -> Tensor:
    """Removed pixels (1, height, width): scattered, or in blobs as saliency maps have them."""
    random = torch.Generator().manual_seed(1)
    if kind == "scattered":
        values = torch.rand(1, height, width, generator=random)
    else:
        coarse = torch.rand(1, 1, 3, 3, generator=random)
        values = interpolate(coarse, (height, width), mode="bicubic")[0]
    return values >= values.quantile(1 - share)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["scattered", "blobs"])
@pytest.mark.parametrize(("height", "width"), [(32, 32), (21, 34), (5, 7), (1, 9), (96, 96)])
def test_it_equals_a_sparse_solve(kind: str, share: float, height: int, width: int) -> None:
    image, removed = picture(3, height, width), holes(kind, share, height, width)
    found = impute(image, removed)[0].numpy()
    expected = literal_imputation(image[0].double().numpy(), removed[0].numpy())
    np.testing.assert_allclose(found, expected, atol=1e-6)
    at_once = sparse_solve(image[0].double().numpy(), removed[0].numpy())
    np.testing.assert_allclose(at_once, expected, atol=1e-9)  # that the benchmark compares with


def test_images_and_steps_of_a_batch_do_not_disturb_each_other() -> None:
    images = torch.cat([picture(3, 24, 20, seed) for seed in range(3)])
    removed = torch.cat([holes(*case, 24, 20) for case in CASES])
    together = impute(images, removed)
    for number in range(3):
        part = slice(number, number + 1)
        alone = impute(images[part], removed[part])
        torch.testing.assert_close(together[part], alone, atol=1e-6, rtol=0)


CASES = [("scattered", 0.1), ("blobs", 0.5), ("scattered", 0.95)]


def test_pixels_that_are_kept_keep_their_values_and_nothing_removed_changes_nothing() -> None:
    image, removed = picture(3, 16, 16), holes("blobs", 0.5, 16, 16)
    kept = ~removed[0]
    torch.testing.assert_close(impute(image, removed)[0, :, kept], image[0, :, kept])
    torch.testing.assert_close(impute(image, torch.zeros_like(removed)), image)


def test_a_plane_is_restored_inside_and_a_flat_image_everywhere() -> None:
    rows, columns = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    plane = (0.02 * rows + 0.03 * columns)[None, None]
    removed = torch.zeros(1, 16, 16, dtype=torch.bool)
    removed[:, 3:13, 4:12] = True
    torch.testing.assert_close(impute(plane, removed), plane, atol=1e-6, rtol=0)
    flat = torch.full((1, 3, 16, 16), 0.7)
    removed[:, :, :15] = True
    torch.testing.assert_close(impute(flat, removed), flat, atol=1e-5, rtol=0)


def test_an_image_of_which_nothing_is_left_becomes_its_mean() -> None:
    images = picture(3, 8, 8).expand(2, -1, -1, -1)
    removed = torch.ones(2, 8, 8, dtype=torch.bool)
    removed[1, 0, 0] = False
    found = impute(images, removed)
    torch.testing.assert_close(found[0], images[0].mean((1, 2), keepdim=True).expand(-1, 8, 8))
    torch.testing.assert_close(found[1], images[1, :, :1, :1].expand(-1, 8, 8), atol=1e-6, rtol=0)


def test_noise_is_added_to_removed_pixels_only() -> None:
    image, removed = picture(3, 24, 20)[0], holes("blobs", 0.3, 24, 20)
    noise = torch.full_like(image, 0.25)
    found = make_imputation(image, noise)(removed)[0]
    solved = impute(image[None], removed)[0]
    torch.testing.assert_close(found, torch.where(removed, solved + 0.25, image))


def test_images_laid_out_with_channels_last_give_the_same() -> None:
    images, removed = picture(3, 24, 20), holes("blobs", 0.3, 24, 20)
    other = images.contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(impute(other, removed), impute(images, removed), rtol=0, atol=0)
    assert torch.equal(images, other)  # neither was changed

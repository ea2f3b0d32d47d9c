"""The twelve perturbations of images, each with a magnitude from 0 to 1.

Magnitude 0 leaves an image exactly as it is, 1 is the strongest, and in between the strength only
grows. Whatever is random (a place, a corner, a patch) is drawn from the seed before the magnitude
is looked at: one image and one seed give the same crop centre or the same n-th patch at every
magnitude, so that a bisection over the magnitude makes sense.

The paper's appendix says of posterize and solarize that the magnitude raises the number of bits
kept and the threshold, and of the crop that it raises its scale. Each of these would weaken the
perturbation; here the magnitude always means strength.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as change

from pasta.errors import PastaError
from pasta.explanations.modality import Perturbation
from pasta.registry import Registry

# One image (3, height, width), its magnitude above 0, and its own randomness.
Single = Callable[[Tensor, float, torch.Generator], Tensor]

PERTURBATIONS: Registry[Perturbation] = Registry("perturbation")

DARKEST = 0.25  # brightness factor at magnitude 1
JITTER = (0.1, 0.25)  # the factors at magnitude 1 of the two jitters are drawn from here
HIGHEST_CONTRAST = 4.0  # factors at magnitude 1
HIGHEST_SATURATION = 5.0
HIGHEST_SHARPNESS = 20.0
SMALLEST_CROP = 0.35  # side of the crop at magnitude 1, of the image's side
WIDEST_BLUR = 0.04  # standard deviation at magnitude 1, of the image's shorter side
DISTORTION = (0.1, 0.7)  # how far a corner moves at magnitude 1, of half the image's side
PATCHES = 24  # at magnitude 1
PATCH = 0.15  # side of a patch, of the image's side


def perturbation(key: str, *, title: str, about: str) -> Callable[[Single], Perturbation]:
    """Register what happens to one image as a perturbation of a batch."""

    def file(single: Single) -> Perturbation:
        def batched(images: Tensor, magnitudes: Tensor, seeds: Sequence[int]) -> Tensor:
            amounts = _checked(images, magnitudes, seeds)
            with torch.no_grad():
                results = [
                    single(image, amount, torch.Generator().manual_seed(seed)).clamp(0, 1)
                    if amount > 0
                    else image
                    for image, amount, seed in zip(images, amounts, seeds, strict=True)
                ]
            return torch.stack(results) if results else images.clone()

        batched.__name__, batched.__doc__ = key, single.__doc__
        return PERTURBATIONS.register(key, title=title, about=about)(batched)

    return file


def _checked(images: Tensor, magnitudes: Tensor, seeds: Sequence[int]) -> list[float]:
    """The magnitudes as numbers, or an error."""
    if images.ndim != 4 or images.shape[1] != 3 or not images.is_floating_point():
        raise PastaError(f"images must be floats (n, 3, h, w), not {tuple(images.shape)}")
    amounts = [float(amount) for amount in magnitudes.tolist()]
    if not len(images) == len(amounts) == len(seeds):
        raise PastaError(f"{len(images)} images, {len(amounts)} magnitudes, {len(seeds)} seeds")
    wrong = [amount for amount in amounts if not 0 <= amount <= 1]
    if wrong:
        raise PastaError(f"a magnitude is {wrong[0]}, expected 0 to 1")
    return amounts


def _between(bounds: tuple[float, float], generator: torch.Generator, *shape: int) -> Tensor:
    """Uniform random numbers between two bounds."""
    low, high = bounds
    return low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)


@perturbation("brightness_jitter", title="Brightness jitter", about="darker, to a drawn factor")
def brightness_jitter(image: Tensor, magnitude: float, generator: torch.Generator) -> Tensor:
    """Lower the brightness; the lowest factor is drawn for each image, as ColorJitter does."""
    lowest = _between(JITTER, generator).item()
    return _tensor(change.adjust_brightness(image, 1 - (1 - lowest) * magnitude))


@perturbation("contrast_jitter", title="Contrast jitter", about="greyer, to a drawn factor")
def contrast_jitter(image: Tensor, magnitude: float, generator: torch.Generator) -> Tensor:
    """Lower the contrast; the lowest factor is drawn for each image, as ColorJitter does."""
    lowest = _between(JITTER, generator).item()
    return _tensor(change.adjust_contrast(image, 1 - (1 - lowest) * magnitude))


@perturbation("resized_crop", title="Resized crop", about="a part of the image, enlarged")
def resized_crop(image: Tensor, magnitude: float, generator: torch.Generator) -> Tensor:
    """Cut out a part and enlarge it; a stronger crop lies inside every weaker one."""
    height, width = image.shape[1:]
    side = 1 - (1 - SMALLEST_CROP) * magnitude
    rows, columns = max(1, round(side * height)), max(1, round(side * width))
    down, right = _between((0, 1), generator, 2).tolist()
    top, left = round(down * (height - rows)), round(right * (width - columns))
    return _tensor(
        change.resized_crop(image, top, left, rows, columns, [height, width], antialias=True)
    )


@perturbation("gaussian_blur", title="Gaussian blur", about="out of focus")
def gaussian_blur(image: Tensor, magnitude: float, _generator: torch.Generator) -> Tensor:
    """Blur with a Gaussian whose width grows with the magnitude and with the image's size."""
    shorter = min(image.shape[1:])
    # Below a hundredth of a pixel the kernel is one pixel anyway, and its formula divides by zero.
    deviation = max(0.01, WIDEST_BLUR * shorter * magnitude)
    # Borders are mirrored, which gives as many pixels as the image has, less one.
    radius = min(math.ceil(3 * deviation), shorter - 1)
    return _tensor(change.gaussian_blur(image, [2 * radius + 1] * 2, [deviation] * 2))


@perturbation("perspective", title="Perspective", about="seen from aside, black where it ends")
def perspective(image: Tensor, magnitude: float, generator: torch.Generator) -> Tensor:
    """Move the four corners inwards, each in its own drawn direction."""
    bottom, right = image.shape[1] - 1, image.shape[2] - 1
    corners = torch.tensor([[0, 0], [right, 0], [right, bottom], [0, bottom]], dtype=torch.float64)
    middle = torch.tensor([right / 2, bottom / 2], dtype=torch.float64)
    moved = corners + _between(DISTORTION, generator, 4, 2) * magnitude * (middle - corners)
    return _tensor(change.perspective(image, corners.tolist(), moved.tolist()))


@perturbation("brightness", title="Brightness", about="darker")
def brightness(image: Tensor, magnitude: float, _generator: torch.Generator) -> Tensor:
    """Lower the brightness, for every image alike."""
    return _tensor(change.adjust_brightness(image, 1 - (1 - DARKEST) * magnitude))


@perturbation("color", title="Color", about="more saturated")
def color(image: Tensor, magnitude: float, _generator: torch.Generator) -> Tensor:
    """Raise the saturation."""
    return _tensor(change.adjust_saturation(image, HIGHEST_SATURATION**magnitude))


@perturbation("contrast", title="Contrast", about="harder light and shade")
def contrast(image: Tensor, magnitude: float, _generator: torch.Generator) -> Tensor:
    """Raise the contrast."""
    return _tensor(change.adjust_contrast(image, HIGHEST_CONTRAST**magnitude))


@perturbation("sharpness", title="Sharpness", about="harder edges")
def sharpness(image: Tensor, magnitude: float, _generator: torch.Generator) -> Tensor:
    """Raise the sharpness."""
    return _tensor(change.adjust_sharpness(image, HIGHEST_SHARPNESS**magnitude))


@perturbation("posterize", title="Posterize", about="fewer levels in each channel")
def posterize(image: Tensor, magnitude: float, _generator: torch.Generator) -> Tensor:
    """Keep fewer of the eight bits of each channel, at magnitude 1 a single one.

    The paper's magnitude is the number of bits to keep; here more magnitude means fewer bits.
    """
    # As bytes, because torchvision's version for floats is not the identity at eight bits.
    pixels = (image * 255).round().to(torch.uint8)
    return _tensor(change.posterize(pixels, 8 - math.ceil(7 * magnitude))).to(image.dtype) / 255


@perturbation("solarize", title="Solarize", about="bright parts inverted")
def solarize(image: Tensor, magnitude: float, _generator: torch.Generator) -> Tensor:
    """Invert the values at or above a threshold, at magnitude 1 all of them.

    The paper's magnitude raises the threshold; here more magnitude means a lower one. It falls
    slowly at first, because even a few highlights that turn black catch the eye.
    """
    return _tensor(change.solarize(image, 1 - magnitude**2))


@perturbation("masking", title="Masking", about="black patches")
def masking(image: Tensor, magnitude: float, generator: torch.Generator) -> Tensor:
    """Hide parts of the image behind patches; a stronger mask has all patches of a weaker one."""
    height, width = image.shape[1:]
    rows, columns = max(1, round(PATCH * height)), max(1, round(PATCH * width))
    places, black = _between((0, 1), generator, PATCHES, 2).tolist(), image.new_zeros(1, 1, 1)
    for down, right in places[: math.ceil(PATCHES * magnitude)]:
        top, left = round(down * (height - rows)), round(right * (width - columns))
        image = _tensor(change.erase(image, top, left, rows, columns, black))
    return image


def _tensor(value: Tensor) -> Tensor:
    """The same; torchvision has no types."""
    return value

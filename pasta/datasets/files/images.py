"""Read any image file as a square RGB picture; masks and boxes get the same geometry."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, ImageOps

from pasta.datasets.records import Box
from pasta.errors import InputError

SUFFIXES = frozenset({".jpg", ".jpeg", ".png"})
LEAST_VISIBLE = 0.2  # a box of which the crop leaves less than this is no longer an instance

# What Pillow raises for damaged files depends on the format; each of these was seen for one.
_DAMAGED = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    TypeError,
    KeyError,
    IndexError,
    OverflowError,
    struct.error,
    zlib.error,
)


class PixelBox(NamedTuple):
    """A rectangle in pixels of the original image; x1 and y1 are just outside."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def area(self) -> float:
        """Return width times height, never negative."""
        return max(self.x1 - self.x0, 0.0) * max(self.y1 - self.y0, 0.0)


@contextmanager
def _strict() -> Iterator[None]:
    """Refuse truncated files and bombs even if another library has relaxed Pillow's globals."""
    relaxed = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = relaxed


def decode(path: Path, *, upright: bool = True) -> Image.Image:
    """Read an image file as 8-bit RGB.

    Parameters
    ----------
    path
        A file in any format that Pillow reads; of an animation the first frame.
    upright
        Turn the picture as its EXIF orientation says. False gives the stored pixels, which some
        annotations refer to.

    Raises
    ------
    InputError
        The file is missing, no image, truncated, too large to be honest or of unknown range.
    """
    try:
        with _strict():
            with Image.open(path) as probe:
                probe.verify()  # the checksums of PNG; verify() leaves the image unusable
            with Image.open(path) as opened:
                opened.load()
                image = ImageOps.exif_transpose(opened) if upright else opened
                return _rgb(image, path)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("there is no such file", file=path, expected="an image") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"the image is too large: {error}",
            file=path,
            expected=f"at most {Image.MAX_IMAGE_PIXELS} pixels",
        ) from None
    except _DAMAGED as error:
        raise InputError(
            f"not an image, or a damaged or truncated one: {error}",
            file=path,
            expected="a complete JPEG or PNG file",
        ) from None


def decode_as(path: Path, width: int, height: int, annotation: Path) -> Image.Image:
    """Read an image in the orientation that its annotation was made in.

    Some annotation tools showed photographs upright, others showed the stored pixels, so the
    annotated size decides; a size that fits neither means that the two do not belong together.
    """
    image = decode(path)
    if image.size == (width, height):
        return image
    stored = decode(path, upright=False)
    if stored.size == (width, height):
        return stored
    raise InputError(
        f"the annotation is {width} x {height} pixels and its image {path.name} is "
        f"{image.width} x {image.height}",
        file=annotation,
        expected="masks and boxes of the image's own size",
    )


def _rgb(image: Image.Image, path: Path) -> Image.Image:
    if image.mode == "I" or image.mode.startswith("I;16"):
        return _from_integers(np.asarray(image), path)
    if image.mode == "F":
        raise InputError(
            "32-bit float pixels have no defined range", file=path, expected="8 or 16 bits"
        )
    if image.has_transparency_data:
        painted = image.convert("RGBA")
        white = Image.new("RGBA", painted.size, "white")
        return Image.alpha_composite(white, painted).convert("RGB")
    return image.convert("RGB")


def _from_integers(values: NDArray[np.generic], path: Path) -> Image.Image:
    """Scale 16-bit grey to 8 bits; Pillow's own conversion clips everything above 255 to white."""
    wide = values.astype(np.int64)
    if wide.min(initial=0) < 0 or wide.max(initial=0) > 65535:
        raise InputError("grey values outside 0-65535", file=path, expected="8 or 16 bits")
    narrow = ((wide * 255 + 32767) // 65535).astype(np.uint8)
    return Image.fromarray(narrow).convert("RGB")


def _square(width: int, height: int) -> tuple[float, float, float]:
    """Return the centre square of an image: left, top, side."""
    side = min(width, height)
    return (width - side) / 2, (height - side) / 2, side


def _resample(image: Image.Image, size: int, method: Image.Resampling) -> Image.Image:
    left, top, side = _square(*image.size)
    # Crop and resize in one step: rounding the resized longer side first would shift the picture
    # by up to half a pixel against the boxes.
    return image.resize((size, size), method, box=(left, top, left + side, top + side))


def fit(image: Image.Image, size: int) -> Image.Image:
    """Resize the shorter side to ``size`` with antialiasing and keep the centre square.

    Examples
    --------
    >>> fit(Image.new("RGB", (300, 200)), 64).size
    (64, 64)
    """
    return _resample(image, size, Image.Resampling.BILINEAR)


def fit_parts(parts: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Fit a part-index array as :func:`fit` does: nearest neighbour, no new values."""
    resized = _resample(Image.fromarray(parts), size, Image.Resampling.NEAREST)
    return np.array(resized, dtype=np.uint8)


def fit_map(values: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Fit a map as :func:`fit` does; one that has the size already stays as it is."""
    if values.shape == (size, size):
        return values
    resized = _resample(Image.fromarray(values), size, Image.Resampling.BILINEAR)
    return np.array(resized, dtype=np.float32)


def fit_box(box: PixelBox, width: int, height: int, size: int) -> Box | None:
    """Fit a box as :func:`fit` does; None where too little of it remains.

    Examples
    --------
    >>> fit_box(PixelBox(50, 0, 150, 100), 200, 100, 64)
    Box(x0=0.0, y0=0.0, x1=1.0, y1=1.0)
    >>> fit_box(PixelBox(0, 0, 40, 100), 200, 100, 64) is None
    True
    """
    left, top, side = _square(width, height)
    seen = PixelBox(
        min(max((box.x0 - left) / side, 0.0), 1.0),
        min(max((box.y0 - top) / side, 0.0), 1.0),
        min(max((box.x1 - left) / side, 0.0), 1.0),
        min(max((box.y1 - top) / side, 0.0), 1.0),
    )
    pixel = (1 - 1e-9) / size  # exactly one pixel must survive the rounding of the division
    if seen.x1 - seen.x0 < pixel or seen.y1 - seen.y0 < pixel:
        return None
    if seen.area * side * side < LEAST_VISIBLE * box.area:
        return None
    return Box(*seen)

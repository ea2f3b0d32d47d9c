"""Decoding every kind of image, refusing damaged ones, and one geometry for all three views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from pasta.datasets.files.images import PixelBox, decode, decode_as, fit, fit_box, fit_parts
from pasta.errors import InputError
from tests.datasets import trees


def corner(path: Path, *, upright: bool = True) -> tuple[int, ...]:
    """The top left pixel after decoding, once the image was found to be plain RGB."""
    image = decode(path, upright=upright)
    assert image.mode == "RGB"
    pixel = image.getpixel((0, 0))
    assert isinstance(pixel, tuple)
    return tuple(int(value) for value in pixel)


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("RGB", (10, 20, 30), (10, 20, 30)),
        ("L", 77, (77, 77, 77)),
        ("1", 1, (255, 255, 255)),
        ("RGBA", (255, 0, 0, 0), (255, 255, 255)),
        ("RGBA", (0, 0, 0, 128), (127, 127, 127)),
        ("LA", (0, 0), (255, 255, 255)),
        ("LA", (40, 255), (40, 40, 40)),
    ],
)
def test_modes(tmp_path: Path, mode: str, colour: object, expected: tuple[int, ...]) -> None:
    path = tmp_path / "image.png"
    Image.new(mode, (4, 3), colour).save(path)  # type: ignore[arg-type]
    assert corner(path) == expected


def test_palette_with_and_without_transparency(tmp_path: Path) -> None:
    image = Image.new("P", (4, 3), 1)
    image.putpalette([0, 0, 0, 200, 100, 50])
    image.save(tmp_path / "opaque.png")
    image.save(tmp_path / "clear.png", transparency=1)
    assert corner(tmp_path / "opaque.png") == (200, 100, 50)
    assert corner(tmp_path / "clear.png") == (255, 255, 255)


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (257 * 100, 100), (65535, 255), (300, 1)])
def test_sixteen_bits_are_scaled_not_clipped(tmp_path: Path, value: int, expected: int) -> None:
    for name in ("image.png", "image.tif"):
        Image.fromarray(np.full((3, 4), value, dtype=np.uint16)).save(tmp_path / name)
        assert corner(tmp_path / name) == (expected,) * 3


def test_cmyk(tmp_path: Path) -> None:
    path = tmp_path / "image.jpg"
    Image.new("CMYK", (16, 16), (0, 255, 255, 0)).save(path, quality=100)
    red, green, blue = corner(path)
    assert red > 240
    assert green < 15
    assert blue < 15


def turned(path: Path) -> Path:
    """A 6 x 4 image, stored lying on its side: the left half is red when it is upright."""
    upright = Image.new("RGB", (60, 40), "blue")
    upright.paste("red", (0, 0, 30, 40))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    upright.transpose(Image.Transpose.ROTATE_90).save(path, exif=exif, quality=100)
    return path


def test_exif_orientation(tmp_path: Path) -> None:
    path = turned(tmp_path / "image.jpg")
    assert decode(path).size == (60, 40)
    assert corner(path)[0] > 240
    assert decode(path, upright=False).size == (40, 60)


def test_the_annotated_size_decides_on_the_orientation(tmp_path: Path) -> None:
    path = turned(tmp_path / "image.jpg")
    assert decode_as(path, 60, 40, path).size == (60, 40)
    assert decode_as(path, 40, 60, path).size == (40, 60)
    with pytest.raises(InputError, match="61 x 40"):
        decode_as(path, 61, 40, tmp_path / "mask.mat")


@pytest.mark.parametrize("name", ["image.jpg", "image.png"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("relaxed", [False, True])
def test_truncated_files_are_refused_whatever_others_have_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, share: float, relaxed: bool
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", relaxed)
    path = tmp_path / name
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError) as caught:
        decode(path)
    assert caught.value.file == path
    assert relaxed == ImageFile.LOAD_TRUNCATED_IMAGES


def test_text_named_jpg_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"notes\.jpg.*not an image"):
        decode(trees.text(tmp_path / "notes.jpg", "hello"))
    with pytest.raises(InputError, match="no such file"):
        decode(tmp_path / "absent.jpg")


@pytest.mark.parametrize("limit", [90, 40])  # below once and below half of the image's 100 pixels
def test_decompression_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    path = trees.picture(tmp_path / "image.png", 10, 10)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(InputError, match="too large"):
        decode(path)


@given(
    content=st.binary(max_size=200), head=st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"GIF89a"])
)
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_an_image_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, head: bytes
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "image.png"
    path.write_bytes(head + content)
    try:
        decode(path)
    except InputError as error:
        assert error.file == path


@given(
    width=st.integers(40, 160),
    height=st.integers(40, 160),
    size=st.integers(24, 96),
    place=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    share=st.floats(0.3, 0.9),
)
@settings(max_examples=150, deadline=None)
def test_pixels_mask_and_box_land_on_the_same_place(
    width: int, height: int, size: int, place: tuple[float, float], share: float
) -> None:
    side = max(round(min(width, height) * share), 8)
    x0 = round((width - side) * place[0])
    y0 = round((height - side) * place[1])
    colours = np.zeros((height, width, 3), dtype=np.uint8)
    colours[y0 : y0 + side, x0 : x0 + side] = 255
    seen = np.array(fit(Image.fromarray(colours), size))[:, :, 0] > 127
    parts = fit_parts((colours[:, :, 0] // 255 * 7).astype(np.uint8), size)
    box = fit_box(PixelBox(x0, y0, x0 + side, y0 + side), width, height, size)
    assert set(np.unique(parts)) <= {0, 7}
    if box is None:
        assert np.count_nonzero(parts) <= 0.25 * (side / min(width, height) * size + 1) ** 2
        return
    assert all(0 <= edge <= 1 for edge in box)
    for mask in (seen, parts > 0):
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        landed = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
        assert np.allclose(landed, np.array(box) * size, atol=1.0)


def test_boxes_that_hardly_remain_are_dropped() -> None:
    assert fit_box(PixelBox(0, 0, 60, 100), 200, 100, 64) is None  # 10 of 60 columns
    assert fit_box(PixelBox(0, 0, 63, 100), 200, 100, 64) is not None  # 13 of 63
    assert fit_box(PixelBox(60, 0, 61.5, 50), 200, 100, 64) is None  # less than a pixel wide
    assert fit_box(PixelBox(60, 0, 61.6, 50), 200, 100, 64) is not None
    assert fit_box(PixelBox(60, 10, 60, 10), 200, 100, 64) is None

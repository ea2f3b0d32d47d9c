"""A scorer knows what it has seen: drawings for one, photographs for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage
import sklearn
import torch
from numpy.typing import NDArray
from PIL import Image

from pasta.datasets.drawn.source import draw
from pasta.embedding.inputs import render
from pasta.scoring.image_statistics import image_statistics
from pasta.scoring.ood import ALARMS, FamiliarRegion, fit_region, surprisingly_many
from pasta.scoring.score import STRANGE_IMAGE, PastaScore, Scores
from pasta.scoring.stored import StoredScorer, load_scorer
from pasta.seeds import generator
from tests.scoring.small_scorer import SETTINGS, make_root, make_scorer, tiny

Bytes = NDArray[np.uint8]
SIDE = 96
DATASETS = ("catsdogscars", "pascalpart", "monumai", "coco")
# Those that come with a library that is installed anyway.
PHOTOGRAPHS = (
    *(
        Path(skimage.__file__).parent / "data" / name
        for name in (
            *("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png"),
            *("hubble_deep_field.jpg", "retina.jpg", "ihc.png", "camera.png", "coins.png"),
            *("brick.png", "grass.png", "gravel.png", "moon.png", "clock_motion.png"),
        )
    ),
    *(
        Path(sklearn.__file__).parent / "datasets/images" / name
        for name in ("china.jpg", "flower.jpg")
    ),
)


def drawings(first: int, number: int) -> list[Bytes]:
    """So many of each dataset."""
    return [
        draw(dataset, 0, index, SIDE, 0.0).image
        for dataset in DATASETS
        for index in range(first, first + number)
    ]


def photographs(crops: int) -> tuple[list[Bytes], list[str]]:
    """As people hand them in: whole, squeezed, enlarged, and pieces; with the names of files."""
    found, names = [], []
    for file in PHOTOGRAPHS:
        with Image.open(file) as opened:
            whole = opened.convert("RGB")
        width, height = whole.size
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        middle = whole.crop((left, top, left + side, top + side))
        made = [
            whole.resize((SIDE, SIDE)),
            middle.resize((SIDE, SIDE), Image.Resampling.LANCZOS),
            middle.resize((SIDE, SIDE), Image.Resampling.NEAREST),
            middle.resize((224, 224)),
            whole.resize((width // 2, height // 2)),
        ]
        random = generator(0, "crops", file.name)
        for number in range(crops):
            size = SIDE if number % 2 else 224
            x, y = random.integers(width - size + 1), random.integers(height - size + 1)
            made.append(whole.crop((int(x), int(y), int(x) + size, int(y) + size)))
        found += [np.asarray(one) for one in made]
        names += [file.name] * len(made)
    return found, names


def textures(number: int) -> list[Bytes]:
    """Photo-like noise: power falls with the frequency as in nature, and a smooth light."""
    found = []
    for item in range(number):
        random = generator(0, "texture", item)
        frequency = np.hypot(np.fft.fftfreq(SIDE)[:, None], np.fft.fftfreq(SIDE)[None])
        frequency[0, 0] = 1
        slope = random.uniform(0.8, 1.6)
        noise = np.fft.fft2(random.normal(size=(3, SIDE, SIDE)), axes=(1, 2)) / frequency**slope
        planes = np.fft.ifft2(noise, axes=(1, 2)).real
        planes = (planes - planes.mean()) / planes.std()
        mixed = 0.85 * planes.mean(0) + 0.15 * planes
        light = np.linspace(0, random.uniform(-1, 1), SIDE)[:, None]
        grey = 0.5 + 0.18 * (mixed + light) + random.normal(0, 0.01, planes.shape)
        found.append((255 * np.clip(grey, 0, 1)).astype(np.uint8).transpose(1, 2, 0))
    return found


def looks(images: list[Bytes]) -> NDArray[np.float32]:
    given = (torch.from_numpy(np.array(image)).permute(2, 0, 1)[None] for image in images)
    return np.concatenate([image_statistics(image, SIDE) for image in given])


def blobs(images: list[Bytes], seed: int) -> list[NDArray[np.float32]]:
    """A random Gaussian blob for each."""
    found = []
    for item, image in enumerate(images):
        random = generator(seed, "blob", item)
        height, width = image.shape[:2]
        rows, columns = np.mgrid[:height, :width]
        away = ((rows / height - random.uniform()) ** 2) + (columns / width - random.uniform()) ** 2
        heat = np.exp(-away / 2 / random.uniform(0.05, 0.3) ** 2)
        found.append(np.asarray((heat - heat.min()) / np.ptp(heat), np.float32))
    return found


@pytest.fixture(scope="module")
def known() -> list[Bytes]:
    return drawings(0, 150)


@pytest.fixture(scope="module")
def score(known: list[Bytes], tmp_path_factory: pytest.TempPathFactory) -> PastaScore:
    """A scorer that has seen blobs on drawings."""
    encoder = tiny(side=SIDE)
    stored = load_scorer(
        make_scorer(make_root(tmp_path_factory.mktemp("project"), encoder), encoder)
    )
    images = np.stack(known[::4]).transpose(0, 3, 1, 2)
    shown = render(images, np.stack(blobs(known[::4], 1)), False, SETTINGS)
    vectors = encoder.images(torch.from_numpy(shown)).numpy()
    regions = {
        "saliency": fit_region(vectors, range(len(vectors)), ALARMS["saliency"]),
        "image": fit_region(looks(known), range(len(known)), ALARMS["image"]),
    }
    return PastaScore("Q1", StoredScorer(stored.card, stored.fitted, regions), encoder)


def familiar(score: PastaScore, images: list[Bytes], seed: int = 2) -> Scores:
    found = score(image=images, saliency=blobs(images, seed))
    assert isinstance(found, Scores)
    return found


def test_blobs_on_photographs_are_strange_to_a_scorer_of_drawings(score: PastaScore) -> None:
    images, _ = photographs(crops=4)
    found = familiar(score, images)
    assert (~found.familiar).mean() >= 0.95
    strange = [STRANGE_IMAGE in notes for notes in found.notes]
    assert np.mean(strange) >= 0.95
    assert not familiar(score, textures(40)).familiar.any()


def test_held_out_drawings_are_familiar(score: PastaScore) -> None:
    found = familiar(score, drawings(1000, 50))
    assert 0.9 <= found.familiar.mean() <= 0.99
    assert all(
        (STRANGE_IMAGE in notes) <= (not ok)
        for notes, ok in zip(found.notes, found.familiar, strict=True)
    )


def test_a_scorer_of_photographs_knows_other_photographs() -> None:
    images, names = photographs(crops=12)
    held_out = set(sorted(set(names))[::4])
    new = np.array([name in held_out for name in names])
    described = looks(images)
    kept = [name for name in names if name not in held_out]
    region = fit_region(described[~new], kept, ALARMS["image"])
    assert region(described[new]).mean() >= 0.9


@pytest.mark.parametrize("alarms", [0.04, 0.2])
def test_no_more_false_alarms_than_stated_for_new_images(alarms: float) -> None:
    """Few samples in many dimensions, several of each image: distances to oneself would not do."""
    random = np.random.default_rng(0)
    shares = []
    for _ in range(20):
        centres = random.normal(size=(200, 40))
        vectors = centres.repeat(3, 0) + 0.2 * random.normal(size=(600, 40))
        plain = vectors.astype(np.float32)
        region = fit_region(plain[:300], np.arange(100).repeat(3).tolist(), alarms)
        shares.append((~region(plain[300:])).mean())
    assert 0.6 * alarms <= np.mean(shares) <= alarms + 0.01


def test_statistics_do_not_depend_on_the_batch_and_take_bytes_or_floats(
    known: list[Bytes],
) -> None:
    images = torch.from_numpy(np.stack(known[:20])).permute(0, 3, 1, 2)
    together = image_statistics(images, SIDE)
    assert together.shape[0] == 20
    assert np.isfinite(together).all()
    np.testing.assert_allclose(together[3:4], image_statistics(images[3:4], SIDE), rtol=1e-5)
    np.testing.assert_allclose(together, image_statistics(images.float() / 255, SIDE), atol=1e-4)
    flat = image_statistics(torch.zeros(2, 3, 40, 60), 32)
    assert np.isfinite(flat).all()


def test_an_image_with_many_maps_is_looked_at_once(
    score: PastaScore, known: list[Bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    plain = image_statistics

    def counted(images: Any, size: int) -> Any:
        seen.append(len(images))
        return plain(images, size)

    monkeypatch.setattr("pasta.scoring.encoding.image_statistics", counted)
    many = [known[0]] * 5 + [known[1]] * 3
    familiar(score, many)
    assert sum(seen) == 2


def test_directions_in_which_nothing_varied_are_strange_if_they_do() -> None:
    random = np.random.default_rng(0)
    flat = np.zeros((100, 6), np.float32)
    flat[:, :3] = random.normal(size=(100, 3))
    region = fit_region(flat, range(100))
    assert isinstance(region, FamiliarRegion)
    assert region(flat).mean() > 0.9
    moved = flat.copy()
    moved[:, 5] = 0.5
    assert not region(moved).any()


def test_five_in_a_hundred_are_no_surprise() -> None:
    assert not surprisingly_many(0, 10)
    assert not surprisingly_many(5, 100)
    assert not surprisingly_many(14, 200)
    assert surprisingly_many(1, 1)
    assert surprisingly_many(30, 200)

"""Drawn volumes with exact parts: vessel trees, adrenal glands and organs.

A volume shows solids that are described by signed distances (negative inside, in units of half the
volume's side), so that any number of voxels shows the same solids. A voxel's brightness is how much
of it a solid covers; it belongs to the part that covers most of it. Where classes differ by one
part only, everything else is drawn alike: the same random numbers with the other class give a
volume that differs in that part alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import map_coordinates

from pasta.datasets.drawn.canvas import Rng, chance
from pasta.datasets.vocabulary import Vocabulary

Floats = NDArray[np.floating[Any]]
CELLS = 5  # of the coarse grids that textures are interpolated from
FAR = 9.0  # a distance from everything


class Block:
    """A canvas with three axes (depth, height, width), each from -1 to 1.

    Attributes
    ----------
    places
        Where the middle of each voxel is (size, size, size, 3); ``placed`` turns them.
    values
        Brightness from 0 to 1.
    parts
        The part of each voxel, 0 where there is none.
    """

    def __init__(self, size: int, vocabulary: Vocabulary) -> None:
        axis = ((np.arange(size) + 0.5) / size * 2 - 1).astype(np.float32)
        self.size, self.vocabulary = size, vocabulary
        self.places = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
        self.values = np.zeros((size, size, size), np.float32)
        self.parts = np.zeros((size, size, size), np.uint8)

    def place(self, turn: Floats, centre: ArrayLike = (0, 0, 0), scale: float = 1.0) -> None:
        """Turn, move and scale what is drawn from now on."""
        moved = self.places - np.asarray(centre, np.float32)
        self.places = moved @ np.asarray(turn / scale, np.float32)

    def fill(self, concept: str, distance: Floats, brightness: Floats | float) -> None:
        """Cover what is there with a solid."""
        cover = np.clip(0.5 - distance * self.size / 2, 0, 1)
        self.values += cover * (brightness - self.values)
        self.parts[cover > 0.5] = self.vocabulary.value(concept)

    def texture(self, rng: Rng, contrast: float) -> Floats:
        """Make smooth noise around 0, the same at every size."""
        coarse = rng.uniform(-contrast, contrast, (CELLS,) * 3)
        axis = (np.arange(self.size) + 0.5) / self.size * (CELLS - 1)
        where = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"))
        found: Floats = map_coordinates(coarse.astype(np.float32), where, order=1)
        return found

    def finish(self, rng: Rng, noise: float) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Add the noise of a scanner; return bytes (size, size, size, 1) and parts."""
        scanned = self.values + rng.normal(0, noise, self.values.shape)
        return (np.clip(scanned, 0, 1) * 255).round().astype(np.uint8)[..., None], self.parts


def ellipsoid(places: Floats, centre: ArrayLike, radii: ArrayLike) -> Floats:
    """Signed distance from an ellipsoid; exact for balls, about right near other surfaces."""
    sides = np.broadcast_to(np.asarray(radii, np.float32), 3)
    scaled = (places - np.asarray(centre, np.float32)) / sides
    found: Floats = (np.sqrt(np.einsum("...i,...i", scaled, scaled)) - 1) * sides.min()
    return found


def tube(places: Floats, path: ArrayLike, radii: ArrayLike) -> Floats:
    """Signed distance from a tube with round ends along a path, whose radius may change."""
    points = np.asarray(path, np.float32)
    wide = np.broadcast_to(np.asarray(radii, np.float32), len(points))
    starts, along = points[:-1], np.diff(points, axis=0)
    # |p - start - share * along| from dot products, for all voxels and segments at once
    flat = places.reshape(-1, 3)
    squares = np.einsum("ij,ij->i", flat, flat)[:, None] - 2 * flat @ starts.T
    squares += (starts**2).sum(1)
    ahead = flat @ along.T - (starts * along).sum(1)
    lengths = np.maximum((along**2).sum(1), 1e-12)
    share = np.clip(ahead / lengths, 0, 1)
    squares += share * (share * lengths - 2 * ahead)
    distances = np.sqrt(np.maximum(squares, 0)) - wide[:-1] - share * np.diff(wide)
    found: Floats = distances.min(1).reshape(places.shape[:-1])
    return found


def blend(first: Floats, second: Floats, width: float) -> Floats:
    """Unite two solids with a rounded seam (a smooth minimum)."""
    near = np.clip(0.5 + (second - first) / (2 * width), 0, 1)
    united: Floats = second + (first - second) * near - width * near * (1 - near)
    return united


def random_turn(rng: Rng, largest: float) -> Floats:
    """Choose a rotation by up to ``largest`` around each axis."""
    turn = np.eye(3)
    for axis, angle in enumerate(rng.uniform(-largest, largest, 3)):
        first, second = [other for other in range(3) if other != axis]
        one = np.eye(3)
        one[first, first] = one[second, second] = np.cos(angle)
        one[first, second], one[second, first] = -np.sin(angle), np.sin(angle)
        turn = turn @ one
    return turn


def random_direction(rng: Rng) -> Floats:
    """Choose a direction, all equally likely."""
    found = rng.normal(size=3)
    direction: Floats = found / np.linalg.norm(found)
    return direction


def random_path(rng: Rng, start: Floats, direction: Floats, length: float, bend: float) -> Floats:
    """Choose a path that swings around a direction."""
    share = np.linspace(0, 1, 6)[:, None]
    swing = np.outer(np.sin(np.linspace(0, 1, 6) * rng.uniform(2, 4)), random_direction(rng))
    path: Floats = start + share * length * direction + bend * length * swing
    return path


def beside(direction: Floats, rng: Rng, least: float, most: float) -> Floats:
    """Choose a direction at an angle (in radians) to another one."""
    other = np.cross(direction, random_direction(rng))
    other /= np.linalg.norm(other)
    angle = rng.uniform(least, most)
    found: Floats = np.cos(angle) * direction + np.sin(angle) * other
    return found


def draw_vessel(block: Block, label: str, rng: Rng) -> None:
    """Draw a tree of blood vessels; one with an aneurysm has a sac beside its trunk."""
    shape, tissue = rng.spawn(2)
    block.values += 0.1 + block.texture(tissue, 0.05)
    brightness = shape.uniform(0.65, 0.95)
    block.place(random_turn(shape, np.pi), shape.uniform(-0.08, 0.08, 3))
    ahead = np.array([1.0, 0, 0])
    thick = shape.uniform(0.1, 0.14)
    trunk = random_path(shape, np.array([-0.95, 0, 0]), ahead, 1.9, 0.2)
    distance = tube(block.places, trunk, np.linspace(thick, 0.7 * thick, 6))
    branches = np.full_like(distance, FAR)
    for number in (2, 4, *([3] if chance(shape, 0.5) else [])):
        aside = beside(ahead, shape, 0.8, 1.2)
        path = random_path(shape, trunk[number], aside, shape.uniform(0.5, 0.75), 0.12)
        branches = np.minimum(
            branches, tube(block.places, path, np.linspace(0.7 * thick, 0.4 * thick, 6))
        )
        twig = random_path(shape, path[3], beside(aside, shape, 0.6, 1.1), 0.35, 0.1)
        branches = np.minimum(
            branches, tube(block.places, twig, np.linspace(0.5 * thick, 0.3 * thick, 6))
        )
    sac, wide = shape.integers(1, 5), shape.uniform(0.22, 0.3)
    out = beside(ahead, shape, 1.3, 1.7)
    stretched = wide * shape.uniform(0.85, 1.15, 3)
    block.fill("branch", branches, brightness * 0.9)
    block.fill("trunk", distance, brightness)
    if label == "aneurysm":
        ball = ellipsoid(block.places, trunk[sac] + out * (0.6 * thick + 0.7 * wide), stretched)
        block.fill("aneurysm", ball, brightness)


def draw_adrenal(block: Block, label: str, rng: Rng) -> None:
    """Draw an adrenal gland, a body with two thin limbs; a mass is a round swelling of a limb."""
    shape, tissue = rng.spawn(2)
    block.values += 0.14 + block.texture(tissue, 0.07)
    brightness = shape.uniform(0.6, 0.9)
    block.place(random_turn(shape, 0.6), shape.uniform(-0.1, 0.1, 3), shape.uniform(0.88, 1.05))
    middle = shape.normal(0, 0.05, 3)
    ends = np.array([[-0.75, 0.05, 0.0], [0.55, -0.68, 0.1], [0.55, 0.64, -0.1]])
    ends += shape.normal(0, 0.07, (3, 3))
    thick = shape.uniform(0.1, 0.135)
    limbs = []
    for end in ends:
        share = np.linspace(0, 1, 5)[:, None]
        bow = 0.09 * np.sin(np.pi * share) * shape.normal(size=3)
        path = middle + share * (end - middle) + bow
        # a limb is a sheet rather than a tube: two tubes side by side, along the depth
        limbs.append(
            np.minimum(
                tube(block.places, path, np.linspace(thick, 0.65 * thick, 5)),
                tube(block.places, path + (0, 0, 0.16), np.linspace(0.9 * thick, 0.6 * thick, 5)),
            )
        )
    swollen, far = int(shape.integers(1, 3)), shape.uniform(0.45, 0.8)
    stretch = shape.uniform(0.85, 1.15, 3)
    wide = shape.uniform(0.27, 0.35)
    for concept, limb in zip(("body", "medial_limb", "lateral_limb"), limbs, strict=True):
        block.fill(concept, limb, brightness)
    if label == "mass":
        where = middle + far * (ends[swollen] - middle)
        block.fill("mass", ellipsoid(block.places, where, wide * stretch), brightness * 0.94)


def draw_organ(block: Block, label: str, rng: Rng) -> None:
    """Draw one organ in softer surroundings."""
    shape, tissue = rng.spawn(2)
    block.values += 0.2 + block.texture(tissue, 0.1)
    grain = block.texture(tissue, 0.08)
    turn, scale = random_turn(shape, 0.4), shape.uniform(0.85, 1.05)
    block.place(turn, shape.uniform(-0.1, 0.1, 3), scale)
    ORGANS[label](block, shape, shape.uniform(0.6, 0.85) + grain)


def draw_liver(block: Block, rng: Rng, tone: Floats) -> None:
    """Draw a large right and a small left lobe, with the gall bladder below them."""
    places, lobe = block.places, rng.uniform(0.9, 1.1, 2)
    right = ellipsoid(places, (0, -0.05, -0.25), np.array([0.5, 0.58, 0.52]) * lobe[0])
    left = ellipsoid(places, (0.08, -0.2, 0.4), np.array([0.34, 0.32, 0.48]) * lobe[1])
    whole = blend(right, left, 0.15)
    block.fill("right_lobe", whole, tone)
    block.fill("left_lobe", np.maximum(whole, 0.2 - places[..., 2]), tone)
    block.fill("gall_bladder", ellipsoid(places, (0.1, 0.5, 0.12), (0.15, 0.25, 0.15)), 0.35)


def draw_kidney(block: Block, rng: Rng, tone: Floats) -> None:
    """Draw a bean with a dark pelvis in its notch."""
    places, long = block.places, rng.uniform(0.72, 0.82)
    bean = np.maximum(
        ellipsoid(places, (0, 0, -0.08), (0.4, long, 0.46)),
        -ellipsoid(places, (0, 0, 0.52), (0.34, 0.3, 0.34)),
    )
    block.fill("cortex", bean, tone)
    block.fill("pelvis", ellipsoid(places, (0, 0, 0.08), (0.18, 0.36, 0.17)), 0.95)


def draw_bladder(block: Block, rng: Rng, tone: Floats) -> None:
    """Draw a bright wall around dark contents, and the neck below."""
    places, wide = block.places, rng.uniform(0.5, 0.6)
    block.fill("neck", tube(places, [(0, 0.4, 0), (0, 0.9, 0)], (0.2, 0.12)), tone)
    block.fill("wall", ellipsoid(places, (0, -0.1, 0), (wide, 0.52, wide)), tone)
    block.fill("contents", ellipsoid(places, (0, -0.1, 0), (wide - 0.13, 0.39, wide - 0.13)), 0.3)


def draw_femur(block: Block, rng: Rng, tone: Floats) -> None:
    """Draw the upper end of a thigh bone: head, neck and shaft."""
    places, head = block.places, rng.uniform(0.26, 0.32)
    shaft = tube(places, [(0, -0.35, -0.15), (0, 1.1, -0.2)], (0.22, 0.16))
    shaft = blend(shaft, ellipsoid(places, (0, -0.45, -0.25), (0.22, 0.26, 0.2)), 0.1)
    block.fill("shaft", shaft, tone + 0.1)
    block.fill("neck", tube(places, [(0, -0.35, -0.1), (0, -0.6, 0.3)], 0.15), tone + 0.1)
    block.fill("head", ellipsoid(places, (0, -0.62, 0.4), head), tone + 0.15)


def draw_lungs(block: Block, rng: Rng, tone: Floats) -> None:
    """Draw two dark lungs and the bright windpipe between them."""
    places, fit = block.places, rng.uniform(0.92, 1.06, 2)
    body = ellipsoid(places, (0, 0.1, 0), (0.75, 0.95, 0.98))
    block.fill("chest", body, tone)
    for concept, side, grown in zip(("left_lung", "right_lung"), (1, -1), fit, strict=True):
        lung = ellipsoid(places, (0, 0.15, side * 0.45), np.array([0.52, 0.66, 0.33]) * grown)
        block.fill(concept, lung, 0.06)
    block.fill("windpipe", tube(places, [(0, -0.9, 0), (0, -0.1, 0)], 0.1), 0.98)


def draw_bowel(block: Block, rng: Rng, tone: Floats) -> None:
    """Draw a winding tube with bulges."""
    share = np.linspace(0, 1, 22)
    path = np.stack(
        [
            0.12 * np.sin(share * 9 + rng.uniform(0, 6)),
            -0.75 + 1.5 * share,
            0.55 * np.sin(share * rng.uniform(9, 11)),
        ],
        axis=1,
    )
    radii = 0.16 + 0.035 * np.sin(share * 40)
    block.fill("coil", tube(block.places, path, radii), tone)


Organ = Callable[[Block, Rng, Floats], None]
ORGANS: dict[str, Organ] = {
    "liver": draw_liver,
    "kidney": draw_kidney,
    "bladder": draw_bladder,
    "femur": draw_femur,
    "lungs": draw_lungs,
    "bowel": draw_bowel,
}
VOLUMES: dict[str, Callable[[Block, str, Rng], None]] = {
    "vessel": draw_vessel,
    "adrenal": draw_adrenal,
    "organ": draw_organ,
}
NOISE = 0.05  # standard deviation of a voxel's brightness


def draw_volume(
    vocabulary: Vocabulary, label: str, rng: Rng, size: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Draw one volume: bytes (size, size, size, 1) and the part of each voxel."""
    solids, scanner = rng.spawn(2)
    block = Block(size, vocabulary)
    VOLUMES[vocabulary.dataset](block, label, solids)
    return block.finish(scanner, NOISE)

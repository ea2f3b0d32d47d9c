"""Drawn point clouds with exact parts: furniture, vehicles, and a head with expressions.

A shape is a mesh of triangles, each of which belongs to a part; its points are drawn uniformly from
the surface. Shapes stand upright: x to the right, y away, z up. Where classes differ by one part
only (the expressions of a head), the same random numbers with the other class give the same points
but for those of that part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pasta.datasets.drawn.canvas import Rng
from pasta.datasets.vocabulary import Vocabulary

Floats = NDArray[np.floating[Any]]
Faces = NDArray[np.int64]
ROUND = 24  # corners of a circle
JITTER = 0.006  # standard deviation of a point's place, as a scanner's


@dataclass
class Shape:
    """Triangles under construction."""

    vocabulary: Vocabulary
    corners: list[Floats] = field(default_factory=list)  # of each piece
    faces: list[Faces] = field(default_factory=list)
    values: list[int] = field(default_factory=list)

    def add(self, concept: str, corners: Floats, faces: Faces) -> None:
        """Add a piece of a part."""
        self.corners.append(corners)
        self.faces.append(faces + sum(map(len, self.corners[:-1])))
        self.values += [self.vocabulary.value(concept)] * len(faces)

    def box(self, concept: str, centre: ArrayLike, sides: ArrayLike) -> None:
        """Add a box."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        corners = np.asarray(centre, float) + signs * np.asarray(sides, float) / 2
        sheets = [
            (0, 1, 3, 2),
            (4, 5, 7, 6),
            (0, 1, 5, 4),
            (2, 3, 7, 6),
            (0, 2, 6, 4),
            (1, 3, 7, 5),
        ]
        self.add(concept, corners, np.concatenate([_two_triangles(*one) for one in sheets]))

    def sheet(self, concept: str, corners: ArrayLike) -> None:
        """Add a flat piece with four corners, in their order around it."""
        self.add(concept, np.asarray(corners, float), _two_triangles(0, 1, 2, 3))

    def turned(self, concept: str, profile: ArrayLike, centre: ArrayLike = (0, 0, 0)) -> None:
        """Add what a lathe makes: (radius, height) along an outline, turned around the z axis."""
        outline = np.asarray(profile, float)
        angles = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
        ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        flat = outline[:, 0, None, None] * ring
        high = np.broadcast_to(outline[:, 1, None, None], (*flat.shape[:2], 1))
        corners = np.concatenate([flat, high], axis=2).reshape(-1, 3) + np.asarray(centre, float)
        self.add(concept, corners, _grid_faces(len(outline), ROUND, closed=True))

    def tube(self, concept: str, path: ArrayLike, radii: ArrayLike) -> None:
        """Add a tube along a path."""
        points = np.asarray(path, float)
        wide = np.broadcast_to(np.asarray(radii, float), len(points))
        along = np.gradient(points, axis=0)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        other = np.eye(3)[np.abs(along).sum(0).argmin()]
        first = np.cross(along, other)
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        second = np.cross(along, first)
        angles = np.linspace(0, 2 * np.pi, ROUND // 2, endpoint=False)[None, :, None]
        ring = np.cos(angles) * first[:, None] + np.sin(angles) * second[:, None]
        corners = (points[:, None] + wide[:, None, None] * ring).reshape(-1, 3)
        self.add(concept, corners, _grid_faces(len(points), ROUND // 2, closed=True))

    def mesh(self) -> tuple[Floats, Faces, NDArray[np.uint8]]:
        """Return corners, triangles and the part of each triangle."""
        values = np.asarray(self.values, np.uint8)
        return np.concatenate(self.corners), np.concatenate(self.faces), values


def _two_triangles(first: int, second: int, third: int, fourth: int) -> Faces:
    return np.array([[first, second, third], [first, third, fourth]])


def _grid_faces(rows: int, columns: int, closed: bool) -> Faces:
    """Triangles between the corners of a grid, whose last column may meet its first."""
    down, across = np.meshgrid(
        np.arange(rows - 1), np.arange(columns - (not closed)), indexing="ij"
    )
    right = (across + 1) % columns
    corners = [down * columns + across, down * columns + right]
    corners += [(down + 1) * columns + right, (down + 1) * columns + across]
    first, second, third, fourth = (one.ravel() for one in corners)
    return np.concatenate(
        [np.stack([first, second, third], 1), np.stack([first, third, fourth], 1)]
    )


def surface_areas(corners: Floats, faces: Faces) -> Floats:
    """Compute the area of each triangle."""
    first, second, third = (corners[faces[:, one]] for one in range(3))
    areas: Floats = np.linalg.norm(np.cross(second - first, third - first), axis=1) / 2
    return areas


def sample_surface(
    corners: Floats, faces: Faces, number: int, rng: Rng, weights: Floats | None = None
) -> tuple[Floats, Faces]:
    """Draw points from a mesh, uniformly from its surface unless triangles have weights.

    Parameters
    ----------
    corners
        Shape (corners, 3).
    faces
        The numbers of each triangle's corners, shape (faces, 3).
    number
        How many points.
    rng
        Randomness.
    weights
        How often each triangle is chosen; None takes its area.

    Returns
    -------
    Points (number, 3), and the triangle of each.
    """
    share = surface_areas(corners, faces) if weights is None else weights
    edges = np.cumsum(share) / share.sum()
    # one point in each of as many equal strips of the area: more even than independent draws
    where = (np.arange(number) + rng.random(number)) / number
    chosen = np.minimum(np.searchsorted(edges, where), len(faces) - 1)
    root, along = np.sqrt(rng.random(number))[:, None], rng.random(number)[:, None]
    first, second, third = (corners[faces[chosen, one]] for one in range(3))
    points: Floats = (1 - root) * first + root * (1 - along) * second + root * along * third
    return points, chosen


def normalise_points(points: Floats) -> Floats:
    """Move the middle of a cloud to 0 and its farthest point to distance 1."""
    moved = points - points.mean(0)
    scaled: Floats = moved / max(float(np.linalg.norm(moved, axis=1).max()), 1e-12)
    return scaled


def draw_table(shape: Shape, rng: Rng) -> None:
    """Draw a table with a rectangular or round top, four legs and at times a shelf."""
    wide, deep, high = rng.uniform(1.2, 2), rng.uniform(0.9, 1.3), rng.uniform(0.7, 1.1)
    rounded, thick = rng.random() < 0.4, rng.uniform(0.05, 0.08)
    if rounded:
        shape.turned("top", [(0, high), (deep * 0.7, high), (deep * 0.7, high + 0.07),
                             (0, high + 0.07)])  # fmt: skip
        wide = deep
    else:
        shape.box("top", (0, 0, high), (wide, deep, 0.08))
    inset = 0.25 if rounded else 0.08
    _draw_legs(shape, wide / 2 - inset, deep / 2 - inset, high, thick)
    if rng.random() < 0.3:
        shape.box("shelf", (0, 0, 0.3 * high), (wide - 2 * inset, deep - 2 * inset, 0.04))


def draw_chair(shape: Shape, rng: Rng) -> None:
    """Draw a chair with a back, at times with arms."""
    wide, high, back = rng.uniform(0.85, 1.1), rng.uniform(0.6, 0.85), rng.uniform(0.8, 1.2)
    lean = rng.uniform(0.05, 0.25)
    shape.box("seat", (0, 0, high), (wide, wide, 0.09))
    rear, top = -wide / 2, (-wide / 2 - lean, high + back)
    for dy in (0, 0.07):
        shape.sheet("back", [(-wide / 2, rear + dy, high), (wide / 2, rear + dy, high),
                             (wide / 2, top[0] + dy, top[1]), (-wide / 2, top[0] + dy, top[1])]
        )  # fmt: skip
    _draw_legs(shape, wide / 2 - 0.06, wide / 2 - 0.06, high, 0.055)
    if rng.random() < 0.4:
        for side in (-1, 1):
            x = side * (wide / 2 - 0.03)
            path = [(x, wide / 2 - 0.1, high), (x, wide / 2 - 0.1, high + 0.3),
                    (x, rear, high + 0.32)]  # fmt: skip
            shape.tube("arm", path, 0.04)


def _draw_legs(shape: Shape, x: float, y: float, high: float, thick: float) -> None:
    for dx in (-x, x):
        for dy in (-y, y):
            shape.tube("leg", [(dx * 1.05, dy * 1.05, 0), (dx, dy, high)], (0.7 * thick, thick))


def draw_lamp(shape: Shape, rng: Rng) -> None:
    """Draw a standing lamp: base, pole and shade."""
    high, wide = rng.uniform(1.3, 1.9), rng.uniform(0.4, 0.6)
    shape.turned("base", [(0, 0), (0.4, 0), (0.38, 0.06), (0.08, 0.1)])
    shape.tube("pole", [(0, 0, 0.1), (0, 0, high)], 0.035)
    shape.turned(
        "shade",
        [(wide, high - 0.15), (wide * rng.uniform(0.4, 0.75), high + rng.uniform(0.35, 0.5))],
    )


def draw_mug(shape: Shape, rng: Rng) -> None:
    """Draw a mug with its handle."""
    wide, high = rng.uniform(0.38, 0.48), rng.uniform(0.8, 1.1)
    belly = wide * rng.uniform(1.0, 1.15)
    outside = [(0, 0), (0.9 * wide, 0), (belly, 0.45 * high), (wide, high)]
    shape.turned("body", [*outside, (0.88 * wide, high), (0.88 * wide, 0.1), (0, 0.1)])
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 9)
    reach = rng.uniform(0.28, 0.4)
    path = np.stack(
        [0.95 * wide + reach * np.cos(angles), 0 * angles, 0.5 * high + 0.3 * np.sin(angles)], 1
    )
    shape.tube("handle", path, 0.055)


def draw_aeroplane(shape: Shape, rng: Rng) -> None:
    """Draw an airliner along the y axis: fuselage, wings, engines, tail."""
    long, span, sweep = rng.uniform(1.8, 2.2), rng.uniform(1.7, 2.2), rng.uniform(0.25, 0.5)
    ends = np.array([(0.02, 1), (0.1, 0.88), (0.14, 0.6), (0.14, -0.5), (0.09, -0.85), (0.03, -1)])
    path = np.stack([np.zeros(6), ends[:, 1] * long / 2, 0.04 * (ends[:, 1] < -0.6)], 1)
    shape.tube("fuselage", path, ends[:, 0])
    for side in (-1, 1):
        tip = side * span / 2
        for low in (0, 0.03):
            shape.sheet("wing", [(side * 0.1, 0.3, low), (tip, 0.2 - sweep, 0.1 + low),
                                 (tip, 0.05 - sweep, 0.1 + low), (side * 0.1, -0.2, low)]
            )  # fmt: skip
        rear = -long / 2
        shape.sheet("tail", [(side * 0.04, rear + 0.35, 0.06), (side * 0.42, rear + 0.12, 0.08),
                             (side * 0.42, rear, 0.08), (side * 0.04, rear + 0.05, 0.06)]
        )  # fmt: skip
        shape.tube("engine", [(side * 0.45, 0.25, -0.09), (side * 0.45, -0.1, -0.09)], 0.075)
    rear = -long / 2
    for x in (-0.02, 0.02):
        shape.sheet("tail", [(x, rear + 0.4, 0.1), (x, rear + 0.08, 0.5), (x, rear - 0.05, 0.5),
                             (x, rear + 0.05, 0.1)])  # fmt: skip


def draw_car(shape: Shape, rng: Rng) -> None:
    """Draw a car along the y axis: body, cabin and four wheels."""
    long, wide, cabin = rng.uniform(1.8, 2.2), rng.uniform(0.75, 0.9), rng.uniform(0.45, 0.65)
    shape.box("body", (0, 0, 0.36), (wide, long, 0.3))
    rear, front = rng.uniform(-0.5, -0.35) * long, 0.2 * long
    low, high, inner = 0.51, 0.84, 0.42 * wide
    base = np.array([(-inner, rear), (inner, rear), (inner, front), (-inner, front)])
    roof = base * (0.85, cabin + 0.2)
    lower, upper = np.insert(base, 2, low, axis=1), np.insert(roof, 2, high, axis=1)
    for one in range(4):
        two = (one + 1) % 4
        shape.sheet("cabin", [lower[one], lower[two], upper[two], upper[one]])
    shape.sheet("cabin", upper)
    for y in (-0.3 * long, 0.3 * long):
        for side in (-1, 1):
            x = side * wide / 2
            rim = [
                (x - 0.07, y, 0.19),
                (x - 0.06, y, 0.19),
                (x + 0.06, y, 0.19),
                (x + 0.07, y, 0.19),
            ]
            shape.tube("wheel", rim, (0.02, 0.2, 0.2, 0.02))


def draw_boat(shape: Shape, rng: Rng) -> None:
    """Draw a sailing boat along the y axis: hull, mast and two sails."""
    long, high = rng.uniform(1.7, 2.1), rng.uniform(1.5, 1.9)
    share, around = np.linspace(-1, 1, 13), np.linspace(np.pi, 2 * np.pi, 9)
    narrow = np.sqrt(np.clip(1 - np.clip(share, -0.6, 1) ** 2, 0.01, 1))[:, None]
    hull = np.stack(
        [
            0.34 * narrow * np.cos(around),
            np.broadcast_to(share[:, None] * long / 2, (13, 9)),
            (0.3 * narrow + 0.05) * np.sin(around),
        ],
        axis=2,
    )
    shape.add("hull", hull.reshape(-1, 3), _grid_faces(13, 9, closed=False))
    shape.box("deck", (0, -0.1, -0.02), (0.5, 0.55 * long, 0.03))
    shape.tube("mast", [(0, 0.15, 0), (0, 0.15, high)], 0.03)
    back, bow = -0.42 * long, 0.46 * long
    for corners in (
        [(0, 0.12, 0.2), (0, back, 0.24), (0.1, -0.1, 0.9), (0, 0.12, high - 0.08)],
        [(0, 0.2, 0.2), (0, bow, 0.1), (0.06, 0.4, 0.6), (0, 0.2, 0.8 * high)],
    ):
        shape.sheet("sail", corners)


def draw_rocket(shape: Shape, rng: Rng) -> None:
    """Draw a rocket: body, nose, fins and nozzle."""
    high, wide = rng.uniform(1.5, 2.1), rng.uniform(0.2, 0.28)
    shape.turned("body", [(0.85 * wide, 0.1), (wide, 0.5), (wide, high)])
    nose = np.linspace(0, np.pi / 2, 6)
    shape.turned("nose", np.stack([wide * np.cos(nose), high + 0.5 * np.sin(nose)], 1))
    shape.turned("nozzle", [(0.4 * wide, 0.12), (0.75 * wide, -0.12)])
    fins = int(rng.integers(3, 5))
    for angle in np.arange(fins) * 2 * np.pi / fins:
        out = np.array([np.cos(angle), np.sin(angle)])
        corners = [(0.9, 0.65), (2.1, 0.1), (2.1, -0.15), (0.85, 0.15)]
        shape.sheet("fin", [(*(out * reach * wide), height) for reach, height in corners])


HEAD_ROWS, HEAD_COLUMNS = 48, 64
BEHIND = -0.1  # a scan ends behind the ears
FEATURES = 7.0  # how much denser the points of features are than those of the skull


def draw_head(
    label: str, vocabulary: Vocabulary, rng: Rng, number: int
) -> tuple[Floats, NDArray[np.uint8]]:
    """Draw points of a head, which looks along y, with an expression, and the part of each.

    The points are chosen on the head without expression and then moved with their part.
    """
    sides = np.array([0.66, 0.78, 0.92]) * rng.uniform(0.95, 1.05, 3)
    polar = np.linspace(0.02, np.pi - 0.02, HEAD_ROWS)[:, None]
    around = np.linspace(0, 2 * np.pi, HEAD_COLUMNS, endpoint=False)
    ball = np.stack(
        [
            np.sin(polar) * np.sin(around),
            np.sin(polar) * np.cos(around),
            np.broadcast_to(np.cos(polar), (HEAD_ROWS, HEAD_COLUMNS)),
        ],
        axis=2,
    ).reshape(-1, 3)
    faces = _grid_faces(HEAD_ROWS, HEAD_COLUMNS, closed=True)
    rest, parts = _features(ball, sides, "neutral", vocabulary)
    moved, _ = _features(ball, sides, label, vocabulary)
    values = parts[faces].min(1)  # a triangle belongs to a part with all of its corners
    weights = surface_areas(rest, faces) * np.where(values == 0, 1.0, FEATURES)
    weights[rest[faces, 1].mean(1) < BEHIND] = 0
    values[values == 0] = vocabulary.value("skull")
    points, chosen = sample_surface(moved, faces, number, rng, weights)
    return points, values[chosen]


def _features(
    ball: Floats, sides: Floats, label: str, vocabulary: Vocabulary
) -> tuple[Floats, NDArray[np.uint8]]:
    """Move the points of a unit ball to those of a face; and the part of each, 0 for the skull."""
    x, y, z = ball.T
    side = np.abs(x)
    front = np.clip(y, 0, None) ** 0.5
    jaw = 1 - 0.3 * np.clip(-z - 0.1, 0, 1) ** 1.2  # a face is narrower below
    points = ball * sides * np.stack([jaw, 0.5 + 0.5 * jaw, np.ones_like(jaw)], 1)
    parts = np.zeros(len(ball), np.uint8)

    def bump(across: float, up: float, wide: float, high: float) -> Floats:
        """A soft hill on the front, 1 in its middle; across counts to both sides."""
        found: Floats = front * np.exp(-(((side - across) / wide) ** 2) - ((z - up) / high) ** 2)
        return found

    def mark(concept: str, hill: Floats, least: float) -> Floats:
        inside = hill > least
        parts[inside] = vocabulary.value(concept)
        return inside.astype(float)

    out = np.zeros_like(x)
    up = np.zeros_like(x)
    nose, eyes = bump(0, -0.02, 0.13, 0.2), bump(0.3, 0.13, 0.18, 0.12)
    cheeks, brows = bump(0.48, -0.22, 0.22, 0.2), bump(0.3, 0.37, 0.28, 0.1)
    mouth = bump(0, -0.44, 0.32, 0.17)
    out += 0.26 * nose * (z < 0.25) - 0.1 * eyes + 0.05 * brows + 0.05 * mouth
    ears = np.exp(-((y + 0.05) ** 2) / 0.02 - (z**2) / 0.05) * (side > 0.6)
    points[:, 0] += np.sign(x) * 0.13 * ears
    mark("ear", ears, 0.35)
    on_cheeks = mark("cheek", cheeks, 0.35)
    mark("nose", nose, 0.3)
    mark("eye", eyes, 0.3)
    on_brows = mark("brow", brows, 0.3)
    on_mouth = mark("mouth", mouth, 0.25)
    if label == "open_mouth":  # a hole, and the lips apart
        gap = bump(0, -0.44, 0.18, 0.1)
        out -= 0.45 * gap * on_mouth
        up += 0.2 * np.sign(z + 0.44) * (1 - gap) * mouth * on_mouth
    elif label == "pout":
        out += 0.36 * bump(0, -0.44, 0.2, 0.13) * on_mouth
        points[:, 0] *= 1 - 0.4 * on_mouth * mouth
    elif label == "raised_brows":
        up += 0.26 * on_brows * brows
        out += 0.06 * on_brows * brows
    elif label == "puffed_cheeks":
        swollen = 0.3 * on_cheeks * cheeks
        points[:, 0] += np.sign(x) * swollen
        out += 0.8 * swollen
    points[:, 1] += out
    points[:, 2] += up
    return points, parts


OBJECTS: dict[str, Callable[[Shape, Rng], None]] = {
    "table": draw_table,
    "chair": draw_chair,
    "lamp": draw_lamp,
    "mug": draw_mug,
    "aeroplane": draw_aeroplane,
    "car": draw_car,
    "boat": draw_boat,
    "rocket": draw_rocket,
}
CLOUDS: Sequence[str] = ("furniture", "traffic", "faces")


def draw_cloud(
    vocabulary: Vocabulary, label: str, rng: Rng, number: int
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Draw one cloud: points (number, 3) within distance 1 of the origin, and the part of each.

    An object is turned around the z axis by any angle, a head by a little; the points have no
    order.
    """
    thing, pose, order, scanner = rng.spawn(4)
    if vocabulary.dataset == "faces":
        points, parts = draw_head(label, vocabulary, thing, number)
        largest = 0.1
    else:
        shape = Shape(vocabulary)
        outline, surface = thing.spawn(2)
        OBJECTS[label](shape, outline)
        corners, faces, values = shape.mesh()
        points, chosen = sample_surface(corners, faces, number, surface)
        points, parts = normalise_points(points), values[chosen]
        largest = np.pi
    angle = pose.uniform(-largest, largest)
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    placed = points @ turn.T * pose.uniform(0.88, 0.97) + scanner.normal(0, JITTER, points.shape)
    mixed = order.permutation(number)
    return placed[mixed].astype(np.float32), parts[mixed].astype(np.uint8)

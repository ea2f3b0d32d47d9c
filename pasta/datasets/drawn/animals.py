"""Four-legged animals: one body plan, told apart by their builds and heads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pasta.datasets.drawn.canvas import Canvas, Colour, Points, ellipse, limb, pose, shade, smooth
from pasta.datasets.drawn.faces import (
    PROFILES,
    Markings,
    cat_face,
    dog_face,
    markings,
    profile_head,
)
from pasta.datasets.drawn.stage import (
    Coat,
    coat,
    curve,
    darker,
    far,
    mirrored,
    ribbon,
    shadow,
    solid,
)
from pasta.datasets.drawn.surface import chance, mixed

Face = Callable[[Canvas, np.random.Generator, Coat, Markings], None]
Path = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Build:
    """The proportions of an animal seen from its right side, its longer side about 1."""

    length: float  # of the torso
    depth: float
    leg: float  # height of the belly
    leg_width: float
    end: str  # the part a leg ends in
    neck: tuple[float, float, float, float]  # reach forward, rise, width below, width above
    head: float
    tail: tuple[Path, ...]  # curves to choose from, relative to the rump
    tail_width: tuple[float, float]
    tuft: float = 0.0


CAT = Build(
    0.56, 0.24, 0.24, 0.085, "foot", (0.06, 0.14, 0.19, 0.17), 0.2,
    (
        ((0, 0), (-0.14, 0.02), (-0.2, 0.2), (-0.08, 0.42)),
        ((0, 0), (-0.2, 0.05), (-0.1, 0.34), (-0.22, 0.4)),
        ((0, 0), (-0.1, 0.1), (-0.06, 0.3), (0.06, 0.4)),
    ),
    (0.065, 0.045),
)  # fmt: skip
DOG = Build(
    0.52, 0.25, 0.3, 0.095, "foot", (0.1, 0.17, 0.2, 0.16), 0.19,
    (
        ((0, 0), (-0.1, 0.06), (-0.14, 0.2)),
        ((0, 0), (-0.1, -0.02), (-0.2, 0.1)),
        ((0, 0), (-0.14, 0.14), (-0.02, 0.26), (0.06, 0.14)),
    ),
    (0.11, 0.05),
)  # fmt: skip
COW = Build(
    0.68, 0.33, 0.24, 0.09, "hoof", (0.09, 0.08, 0.27, 0.2), 0.3,
    (((0, 0), (-0.08, -0.04), (-0.06, -0.3)), ((0, 0), (-0.12, 0.04), (-0.1, -0.24))),
    (0.035, 0.025), 0.045,
)  # fmt: skip
HORSE = Build(
    0.54, 0.25, 0.38, 0.075, "hoof", (0.17, 0.27, 0.23, 0.13), 0.29,
    (((0, 0), (-0.14, 0.04), (-0.1, -0.34)), ((0, 0), (-0.16, 0.08), (-0.2, -0.26))),
    (0.06, 0.1), 0.055,
)  # fmt: skip
SHEEP = Build(
    0.6, 0.37, 0.2, 0.07, "hoof", (0.08, 0.05, 0.24, 0.2), 0.27,
    (((0, 0), (-0.06, 0.0), (-0.07, -0.12)),),
    (0.09, 0.07),
)  # fmt: skip


def walker(
    canvas: Canvas, rng: np.random.Generator, build: Build, fur: Coat, limbs: Coat
) -> tuple[Points, tuple[float, float]]:
    """Draw a standing or walking body from the side; return its outline and where the head goes."""
    stride = rng.uniform(0, 0.07)
    half = build.length / 2
    top = build.leg + build.depth
    shadow(canvas, build.length + 0.3)
    tail = curve(build.tail[int(rng.integers(len(build.tail)))])
    hang = ribbon(tail + (0.03 - half, top - 0.05), *build.tail_width)
    tail_part = canvas.instance("tail")
    canvas.fill(hang, limbs.plain, tail_part)
    if build.tuft:
        x, y = tail[-1] + (0.03 - half, top - 0.05)
        canvas.fill(ellipse(x, y - 0.03, build.tuft * 0.8, build.tuft * 1.4), limbs.dim, tail_part)
    for place, swing in ((-0.36, -stride), (0.34, stride)):
        _leg(canvas, build, place * build.length + 0.06, swing + 0.02, limbs, near=False)
    reach, rise, low, high = build.neck
    shoulder = (half * 0.72, top - build.depth * 0.38)
    head = (half + reach, top + rise)
    solid(canvas, limb(*shoulder, *head, low, high), fur, "neck")
    trunk = smooth(
        np.array(
            [(-half, build.depth * 0.55), (-half * 0.85, build.depth), (0, build.depth * 0.96),
             (half * 0.8, build.depth * 1.02), (half * 1.08, build.depth * 0.5),
             (half * 0.7, build.depth * 0.02), (-half * 0.3, build.depth * 0.08),
             (-half * 0.95, build.depth * 0.1)]
        ) + (0, build.leg)
    )  # fmt: skip
    solid(canvas, trunk, fur, "torso")
    for place, swing in ((-0.38, stride), (0.36, -stride)):
        _leg(canvas, build, place * build.length, swing, limbs, near=True)
    return trunk, head


def _leg(canvas: Canvas, build: Build, x: float, swing: float, skin: Coat, *, near: bool) -> None:
    width = build.leg_width
    thigh = limb(
        x, build.leg + build.depth * 0.3, x + swing * 0.3, build.leg * 0.5, width * 1.7, width
    )
    shin = limb(x + swing * 0.3, build.leg * 0.5, x + swing, width * 0.4, width, width * 0.8)
    part = canvas.instance("leg")
    paint = solid if near else far
    paint(canvas, thigh, skin, part)
    paint(canvas, shin, skin, part)
    x = x + swing
    if build.end == "hoof":
        hoof = [
            (x - width * 0.45, width * 0.6),
            (x + width * 0.45, width * 0.6),
            (x + width * 0.7, 0),
            (x - width * 0.5, 0),
        ]
        canvas.fill(hoof, (58, 50, 46) if near else (40, 36, 36), "hoof")
    else:
        toes = ellipse(x + width * 0.3, width * 0.35, width * 0.75, width * 0.42)
        canvas.fill(toes, mixed(skin.colour, (250, 245, 238), 0.35 if near else 0.1), "foot")


def marked(
    canvas: Canvas, rng: np.random.Generator, trunk: Points, fur: Coat, marks: Markings
) -> None:
    """Stripes down the back, or patches, that stay inside the trunk."""
    low, high = trunk.min(0), trunk.max(0)
    width, height = high - low
    if marks.stripes:
        for x in np.linspace(low[0] + width * 0.15, high[0] - width * 0.18, 6).tolist():
            path = curve(
                [
                    (x, high[1] - height * 0.05),
                    (x - 0.02, high[1] - height * 0.3),
                    (x + 0.01, low[1] + height * 0.38),
                ],
                6,
            )
            canvas.decorate(ribbon(path, 0.034, 0.008), darker(fur.colour))
    if marks.patches:
        for share in (0.24, 0.52, 0.76):
            if chance(rng, 0.7):
                middle = (low[0] + width * share, low[1] + height * rng.uniform(0.5, 0.66))
                blot = ellipse(
                    *middle, width * rng.uniform(0.08, 0.13), height * rng.uniform(0.2, 0.3)
                )
                wobble = 1 + rng.uniform(-0.25, 0.2, (len(blot), 1))
                canvas.decorate(
                    smooth(middle + (blot - middle) * wobble, 1), shade(fur.colour, 0.55)
                )


def sitter(
    canvas: Canvas, rng: np.random.Generator, build: Build, fur: Coat, marks: Markings
) -> tuple[float, float]:
    """Draw a body that sits and looks at us; return where the head goes."""
    shadow(canvas, 0.62)
    lean = rng.uniform(-0.03, 0.03)
    path = curve(((0, 0), (0.18, -0.04), (0.26, 0.1), (0.16, 0.34)))
    if build.tuft == 0 and build.tail_width[0] > 0.1:
        path = path * (0.95, 0.62)
    canvas.fill(ribbon(path + (0.14, 0.09), *build.tail_width), fur.plain, "tail")
    for side in (-1, 1):
        part = canvas.instance("leg")
        solid(canvas, ellipse(side * 0.17, 0.13, 0.12, 0.13), fur, part)
        canvas.fill(
            ellipse(side * 0.2, 0.035, 0.085, 0.035),
            mixed(fur.colour, (250, 245, 238), 0.3),
            "foot",
        )
    trunk = smooth(
        [
            (-0.12, 0.6),
            (0.12, 0.6),
            (0.2, 0.4),
            (0.21, 0.16),
            (0.14, 0.04),
            (-0.14, 0.04),
            (-0.21, 0.16),
            (-0.2, 0.4),
        ]
    )
    solid(canvas, trunk, fur, "torso")
    if marks.stripes:
        for y in (0.24, 0.33, 0.42):
            stripe = ribbon(curve([(0.185, y + 0.02), (0.12, y), (0.09, y - 0.02)], 5), 0.03, 0.008)
            canvas.decorate(stripe, darker(fur.colour))
            canvas.decorate(mirrored(stripe), darker(fur.colour))
    canvas.decorate(
        smooth([(-0.09, 0.55), (0.09, 0.55), (0.12, 0.4), (0.05, 0.1), (-0.05, 0.1), (-0.12, 0.4)]),
        shade(fur.colour, 1.22),
    )
    for side in (-1, 1):
        part = canvas.instance("leg")
        solid(canvas, limb(side * 0.085, 0.34, side * 0.08, 0.05, 0.11, 0.085), fur, part)
        canvas.fill(
            ellipse(side * 0.08, 0.035, 0.065, 0.04),
            mixed(fur.colour, (250, 245, 238), 0.45),
            "foot",
        )
    solid(canvas, limb(0, 0.52, lean * 0.5, 0.62, 0.24, 0.22), fur, "neck")
    return lean, 0.74


def _pet(
    canvas: Canvas, rng: np.random.Generator, build: Build, fur: Coat, marks: Markings, face: Face
) -> None:
    nod = rng.uniform(-0.14, 0.14)
    sits = chance(rng, 0.5)
    with canvas.placed(pose(0.0 if sits else -0.07)):
        if sits:
            x, y = sitter(canvas, rng, build, fur, marks)
        else:
            trunk, (x, y) = walker(canvas, rng, build, fur, fur)
            marked(canvas, rng, trunk, fur, marks)
        with canvas.placed(pose(x, y, build.head, angle=nod)):
            face(canvas, rng, fur, marks)


def cat(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """A cat, sitting before us or standing sideways, its face towards us."""
    fur = coat(canvas, rng, colour)
    _pet(canvas, rng, CAT, fur, markings(rng, colour, 0.42, pale=True), cat_face)


def dog(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """A dog, from the front or with its long head in profile."""
    fur = coat(canvas, rng, colour)
    marks = markings(rng, colour, 0.0, pale=False)
    if chance(rng, 0.6):
        _pet(canvas, rng, DOG, fur, marks, dog_face)
        return
    with canvas.placed(pose(-0.12, 0, 0.9)):
        trunk, (x, y) = walker(canvas, rng, DOG, fur, fur)
        marked(canvas, rng, trunk, fur, marks)
        with canvas.placed(pose(x - 0.02, y + 0.03, 0.38, angle=rng.uniform(-0.25, 0.2))):
            profile_head(canvas, PROFILES["dog"], fur, marks.muzzle, horned=False)

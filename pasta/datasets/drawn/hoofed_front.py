"""Cows, horses and sheep that have turned towards us."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pasta.datasets.drawn.canvas import Canvas, Colour, ellipse, limb, pose, shade, smooth
from pasta.datasets.drawn.faces import Corners, eye
from pasta.datasets.drawn.stage import (
    INK,
    Coat,
    curve,
    far,
    mirrored,
    ribbon,
    shadow,
    solid,
)


@dataclass(frozen=True)
class Front:
    """Proportions from the front; the head's corners are in units of its half width."""

    chest: tuple[float, float, float]  # half width, half height, height of its middle
    leg: tuple[float, float]  # distance from the middle, width
    head: tuple[float, float]  # half width, height of its middle
    skull: Corners  # right half, from the top
    muzzle: tuple[float, float, float]  # height of its middle, half width, half height
    ear: Corners
    eye: tuple[float, float, float]
    horn: Corners = ()


FRONTS: dict[str, Front] = {
    "cow": Front(
        (0.24, 0.24, 0.42), (0.13, 0.1), (0.145, 0.68),
        ((0.0, 0.95), (0.7, 0.95), (0.95, 0.4), (0.7, -0.5), (0.62, -1.2), (0.0, -1.3)),
        (-1.0, 0.78, 0.46),
        ((0.75, 0.55), (1.3, 0.75), (1.85, 0.5), (1.5, 0.15), (0.85, 0.2)),
        (0.56, 0.2, 0.2),
        ((0.55, 0.8), (1.5, 0.9), (1.6, 1.3), (1.25, 1.8)),
    ),
    "horse": Front(
        (0.17, 0.2, 0.5), (0.095, 0.08), (0.105, 0.8),
        ((0.0, 1.1), (0.6, 1.05), (0.85, 0.4), (0.55, -0.7), (0.5, -1.6), (0.0, -1.7)),
        (-1.45, 0.55, 0.42),
        ((0.25, 0.95), (0.4, 1.85), (0.7, 1.75), (0.75, 0.85)),
        (0.66, 0.25, 0.18),
    ),
    "sheep": Front(
        (0.29, 0.27, 0.44), (0.11, 0.085), (0.13, 0.62),
        ((0.0, 0.9), (0.65, 0.85), (0.85, 0.3), (0.6, -0.6), (0.4, -1.15), (0.0, -1.25)),
        (-0.9, 0.5, 0.4),
        ((0.7, 0.4), (1.2, 0.5), (1.8, 0.1), (1.5, -0.15), (0.8, 0.05)),
        (0.5, 0.15, 0.18),
        ((0.4, 0.75), (1.4, 1.3), (2.1, 0.3), (1.4, -0.7), (1.05, -0.1)),
    ),
}  # fmt: skip


def front_body(canvas: Canvas, build: Front, hide: Coat, limbs: Coat, *, tail: bool = True) -> int:
    """Legs, torso and neck from the front; return the torso's instance."""
    wide, tall, middle = build.chest
    apart, width = build.leg
    shadow(canvas, wide * 3)
    if tail:
        path = curve([(wide * 0.8, middle), (wide * 1.6, middle), (wide * 1.35, middle - 0.26)])
        canvas.fill(ribbon(path, 0.03, 0.06), limbs.dim, "tail")
    for inset, base, paint in ((0.55, 0.05, far), (1.0, 0.0, solid)):
        for side in (-1, 1):
            x = side * apart * inset
            paint(
                canvas,
                limb(x, middle - 0.05, x, base + 0.05, width * 1.2, width * 0.8),
                limbs,
                "leg",
            )
            hoof = np.array([(-0.45, 0.8), (0.45, 0.8), (0.62, 0), (-0.62, 0)]) * width + (x, base)
            canvas.fill(hoof, (54, 47, 44) if paint is solid else (40, 36, 36), "hoof")
        if paint is far:
            torso = canvas.instance("torso")
            solid(canvas, ellipse(0, middle, wide, tall), hide, torso)
    _, head = build.head
    solid(canvas, limb(0, middle + 0.04, 0, head, wide * 1.15, build.head[0] * 1.5), hide, "neck")
    return torso


def front_head(
    canvas: Canvas,
    build: Front,
    skin: Coat,
    muzzle: Colour,
    nod: float,
    *,
    horned: bool,
) -> None:
    """A head that looks at us."""
    size, height = build.head
    with canvas.placed(pose(0, height, size, angle=nod)):
        for turned in (np.array, mirrored):
            ear = turned(smooth(build.ear))
            canvas.fill(ear, shade(skin.colour, 0.62), "ear")
            canvas.decorate(ear.mean(0) + (ear - ear.mean(0)) * 0.65, shade(skin.colour, 0.85))
            if horned:
                horn = curve(build.horn)
                canvas.fill(turned(ribbon(horn, 0.5, 0.12)), (186, 174, 150), "horn")
                canvas.decorate(turned(ribbon(horn + (0, 0.04), 0.3, 0.05)), (228, 216, 190))
        half = np.array(build.skull)
        solid(canvas, smooth(np.concatenate([half, mirrored(half)[::-1]])), skin, "head")
        middle, wide, tall = build.muzzle
        canvas.fill(ellipse(0, middle, wide, tall), shade(muzzle, 0.82), "muzzle")
        canvas.decorate(ellipse(0, middle + tall * 0.15, wide * 0.84, tall * 0.75), muzzle)
        mouth = curve([(-wide * 0.5, middle - tall * 0.45), (0, middle - tall * 0.75),
                       (wide * 0.5, middle - tall * 0.45)], 6)  # fmt: skip
        canvas.stroke(mouth, INK, 0.06)
        x, y, radius = build.eye
        for side in (-1, 1):
            canvas.decorate(ellipse(side * wide * 0.45, middle + tall * 0.3, 0.11, 0.09), INK)
            eye(canvas, side * x, y, radius, (92, 62, 42), 0.7)

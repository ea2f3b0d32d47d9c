"""What four-legged animals have in common; heads and coats tell them apart."""

from __future__ import annotations

from dataclasses import dataclass

from pasta.datasets.drawn.canvas import ellipse, limb
from pasta.datasets.drawn.objects_kit import Mark, body, detail, soft


@dataclass(frozen=True)
class Build:
    """Proportions of an animal seen from the side, facing left."""

    front: float  # where the shoulder is
    back: float  # where the hip is
    line_of_back: float  # height of the back
    depth: float  # of the trunk
    ground: float
    leg: float  # thickness


def legs(build: Build, tone: float, shift: float) -> list[Mark]:
    """Two legs, front and back."""
    top = build.line_of_back + build.depth * 0.6
    return [
        body(
            limb(
                x + shift,
                top,
                x + shift,
                build.ground - build.leg * 0.4,
                build.leg * 1.3,
                build.leg * 0.8,
            ),
            "main",
            tone,
        )
        for x in (build.front, build.back)
    ]


def trunk(build: Build) -> list[Mark]:
    """Far legs, trunk, near legs."""
    middle, half = (build.front + build.back) / 2, (build.back - build.front) / 2
    reach, top, low = (
        half + build.depth * 0.45,
        build.line_of_back,
        build.line_of_back + build.depth,
    )
    outline = [
        (middle - reach, top + 0.02),
        (middle, top - 0.01),
        (middle + reach, top + 0.02),
        (middle + reach, low - 0.04),
        (middle, low + 0.02),
        (middle - reach, low - 0.02),
    ]
    return [*legs(build, 0.72, build.leg * 0.9), soft(outline), *legs(build, 0.95, 0.0)]


def eye(x: float, y: float, r: float = 0.016) -> Mark:
    """A small dark eye."""
    return detail(ellipse(x, y, r), "dark")


def spots(places: list[tuple[float, float]], r: float, paint: str, tone: float = 1.0) -> list[Mark]:
    """Irregular patches on a coat."""
    return [detail(ellipse(x, y, r, r * 0.8, angle=x * 9), paint, tone) for x, y in places]

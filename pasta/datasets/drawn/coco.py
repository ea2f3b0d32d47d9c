"""Indoor scenes: the objects of a shop, an office, a home, a station, a club or a museum.

The room itself (wall, floor, counter) does not depend on the label, so it says nothing about it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pasta.datasets.drawn.canvas import (
    Canvas,
    Colour,
    Rng,
    chance,
    ellipse,
    light,
    mix,
    palette,
    polygon,
    pose,
    random_colour,
    rectangle,
    shade,
    texture,
)
from pasta.datasets.drawn.sketch import Sketch, draw_sketch, read_sketches
from pasta.datasets.records import Box
from pasta.datasets.vocabulary import split_names

SURFACES = palette(
    "e2d6c0 c4ced0 cebeaa b2c0b0 d6c4c4 a8b4c4 e2ded6 bea084 b28c64 96765a a4a2a0 c4b6a0"
)  # for walls, floors and furniture alike: what hides one of them must not shift the mean colour
PAINTS = palette("8e3e38 426080 c49c54 5c7a60 785c7c d6cec0 54545c a87a54")


@dataclass(frozen=True)
class Room:
    """Where things can stand."""

    horizon: float  # where wall and floor meet
    counter: float  # the level on which small things stand
    platform: bool  # whether the floor has a platform for what is on show


def draw_room(canvas: Canvas, rng: Rng, hint: Colour, bias: float) -> Room:
    """Draw an empty room; ``bias`` pulls the wall's colour towards a hint (0: not at all)."""
    room = Room(
        horizon=rng.uniform(0.52, 0.68), counter=rng.uniform(0.5, 0.66), platform=chance(rng, 0.3)
    )
    wall = shade(mix(random_colour(rng, SURFACES), hint, bias), 1.04)
    _draw_wall(canvas, rng, wall, room.horizon)
    _draw_floor(canvas, rng, shade(random_colour(rng, SURFACES), 1.06), room.horizon)
    _draw_opening(canvas, rng, shade(wall, 1.15), room.counter)
    if chance(rng, 0.5):
        _draw_posters(canvas, rng, room.counter)
    if room.platform:
        _draw_platform(canvas, random_colour(rng, SURFACES), room.horizon)
    elif chance(rng, 0.5):
        _draw_rug(canvas, rng)
    _draw_counter(canvas, rng, shade(random_colour(rng, SURFACES), 1.08), room)
    if chance(rng, 0.45):
        _draw_lamp(canvas, rng)
    return room


def draw_shadow(canvas: Canvas, x: float, y: float, width: float) -> None:
    """Draw the soft dark patch below an object."""
    for share, strength in ((0.5, 0.1), (0.42, 0.14)):
        patch = ellipse(x + 0.02 * width, y, width * share, width * 0.055)
        canvas.tint(patch, (20, 16, 24), strength)


def _draw_platform(canvas: Canvas, colour: Colour, horizon: float) -> None:
    """Draw a low platform across the floor."""
    back, front = max(horizon + 0.1, 0.74), 0.93
    canvas.fill(rectangle(0.02, front, 0.98, 0.985), shade(colour, 0.7))
    canvas.fill([(0.1, back), (0.9, back), (0.98, front), (0.02, front)], shade(colour, 0.95))
    canvas.stroke([(0.02, front), (0.98, front)], shade(colour, 1.15), 0.008)
    canvas.tint(rectangle(0.02, 0.97, 0.98, 1.0), (10, 8, 12), 0.3)


def _draw_wall(canvas: Canvas, rng: Rng, colour: Colour, horizon: float) -> None:
    canvas.fill(rectangle(0, 0, 1, horizon), texture(rng, canvas.pixels, colour, contrast=0.12))
    pattern, step = int(rng.integers(4)), rng.uniform(0.07, 0.13)
    start = rng.uniform(0, step)
    if pattern == 1:  # striped paper
        for x in np.arange(start - step, 1, step):
            canvas.tint(rectangle(x, 0, x + step * 0.5, horizon), shade(colour, 0.8), 0.35)
    elif pattern == 2:  # panelling below
        top = horizon - step * 2
        canvas.tint(rectangle(0, top, 1, horizon), shade(colour, 0.7), 0.5)
        canvas.stroke([(0, top), (1, top)], shade(colour, 1.15), 0.012)
        for x in np.arange(start, 1, step):
            canvas.stroke([(x, top), (x, horizon)], shade(colour, 0.66), 0.006)
    elif pattern == 3:  # bricks or wall tiles
        for row, y in enumerate(np.arange(start, horizon, step * 0.6)):
            canvas.stroke([(0, y), (1, y)], shade(colour, 0.86), 0.005)
            for x in np.arange(start + (row % 2) * step * 0.5, 1, step):
                canvas.stroke([(x, y), (x, y + step * 0.6)], shade(colour, 0.86), 0.005)
    canvas.tint(rectangle(0, 0, 1, 0.05), (20, 18, 26), 0.18)
    canvas.decorate(rectangle(0, horizon - 0.02, 1, horizon), shade(colour, 1.12))


def _draw_floor(canvas: Canvas, rng: Rng, colour: Colour, horizon: float) -> None:
    floor = texture(rng, canvas.pixels, colour, contrast=0.25, cells=7)
    canvas.fill(rectangle(0, horizon, 1, 1), floor)
    vanish, step = rng.uniform(0.3, 0.7), rng.uniform(0.1, 0.22)
    joint = shade(colour, 0.76)
    for x in np.arange(-2.0, 3.0, step * 2):  # boards run towards the vanishing point
        near_top = vanish + (x - vanish) * 0.4
        canvas.stroke([(near_top, horizon), (x, 1.0)], joint, 0.006)
    if chance(rng, 0.5):  # tiles have cross joints, closer together farther away
        for share in (0.06, 0.16, 0.32, 0.56, 0.86):
            y = horizon + (1 - horizon) * share
            canvas.stroke([(0, y), (1, y)], joint, 0.006)
    canvas.tint(rectangle(0, horizon, 1, horizon + 0.025), (20, 16, 20), 0.3)


def _draw_opening(canvas: Canvas, rng: Rng, frame: Colour, bottom: float) -> None:
    """Draw a window onto the sky, or a doorway onto another room."""
    if chance(rng, 0.35):
        return
    x, width = rng.uniform(0.02, 0.7), rng.uniform(0.2, 0.32)
    top, low = rng.uniform(0.04, 0.12), bottom - rng.uniform(0.06, 0.14)
    canvas.fill(rectangle(x - 0.015, top - 0.015, x + width + 0.015, low + 0.015), frame)
    if chance(rng, 0.4):
        gloom = random_colour(rng, PAINTS)
        canvas.fill(rectangle(x, top, x + width, low), shade(gloom, 0.55))
        inner = x + width * 0.25
        door = [(x, top), (inner, top + 0.05), (inner, low), (x, low)]
        canvas.fill(door, shade(gloom, 0.8))
        return
    sky = mix((150, 192, 226), (244, 204, 168), rng.random())
    canvas.fill(rectangle(x, top, x + width, low), sky)
    hill = rng.uniform(0.55, 0.85)
    edge = top + (low - top) * hill
    ridge = [(x, edge), (x + width * 0.5, edge - 0.03), (x + width, edge + 0.02)]
    canvas.fill([*ridge, (x + width, low), (x, low)], (120, 146, 112))
    middle, across = x + width / 2, top + (low - top) * 0.45
    canvas.stroke([(middle, top), (middle, low)], frame, 0.012)
    canvas.stroke([(x, across), (x + width, across)], frame, 0.012)
    shine = [(x, low), (x + width * 0.3, top), (x + width * 0.5, top), (x + width * 0.2, low)]
    canvas.gloss(shine, 0.25)


def _draw_posters(canvas: Canvas, rng: Rng, bottom: float) -> None:
    for _ in range(int(rng.integers(1, 3))):
        x, y = rng.uniform(0.0, 0.85), rng.uniform(0.08, bottom - 0.26)
        width, height = rng.uniform(0.1, 0.2), rng.uniform(0.1, 0.2)
        dark = rectangle(x + 0.01, y + 0.012, x + width + 0.01, y + height + 0.012)
        canvas.tint(dark, (0, 0, 0), 0.2)
        canvas.fill(rectangle(x, y, x + width, y + height), random_colour(rng, PAINTS))
        sheet = rectangle(x + 0.012, y + 0.012, x + width - 0.012, y + height - 0.012)
        canvas.fill(sheet, shade(random_colour(rng, SURFACES), 1.1))
        for _ in range(2):
            place = x + width * rng.uniform(0.35, 0.65), y + height * rng.uniform(0.4, 0.6)
            radii = width * rng.uniform(0.1, 0.28), height * rng.uniform(0.1, 0.3)
            canvas.fill(ellipse(*place, *radii), random_colour(rng, PAINTS))


def _draw_rug(canvas: Canvas, rng: Rng) -> None:
    x, y = rng.uniform(0.25, 0.75), rng.uniform(0.86, 0.94)
    colour, border = random_colour(rng, PAINTS), random_colour(rng, PAINTS)
    for share, hue in ((1.0, border), (0.86, colour), (0.5, border), (0.42, colour)):
        canvas.fill(ellipse(x, y, 0.4 * share, 0.09 * share), hue)


def _draw_counter(canvas: Canvas, rng: Rng, colour: Colour, room: Room) -> None:
    """Draw a long sideboard against the wall; every room has one."""
    left, right = rng.uniform(-0.1, 0.05), rng.uniform(0.95, 1.1)
    foot, top = max(room.horizon, room.counter + 0.06) + 0.07, room.counter
    canvas.tint(rectangle(left, foot, right, foot + 0.03), (10, 8, 12), 0.35)
    joints = np.linspace(left + 0.02, right - 0.02, int(rng.integers(3, 7)))
    if chance(rng, 0.3):  # an open table on legs
        for x in joints:
            canvas.fill(rectangle(x - 0.015, top, x + 0.015, foot), shade(colour, 0.8))
    else:
        canvas.fill(rectangle(left + 0.02, top, right - 0.02, foot), shade(colour, 0.86))
        for x, following in itertools.pairwise(joints):
            canvas.stroke([(following, top + 0.05), (following, foot)], shade(colour, 0.5), 0.008)
            knob = ellipse((x + following) / 2, top + 0.085, 0.012)
            canvas.decorate(knob, shade(colour, 1.35))
    back, front = top - 0.035, top + 0.02
    board = [(left + 0.03, back), (right - 0.03, back), (right, front), (left, front)]
    canvas.fill(board, shade(colour, 1.12))
    canvas.fill(rectangle(left, top + 0.02, right, top + 0.04), shade(colour, 0.9))
    canvas.tint(rectangle(left, top + 0.04, right, top + 0.06), (10, 8, 12), 0.3)


def _draw_lamp(canvas: Canvas, rng: Rng) -> None:
    x, y = rng.uniform(0.1, 0.9), rng.uniform(0.06, 0.16)
    colour = random_colour(rng, PAINTS)
    canvas.stroke([(x, 0), (x, y)], (50, 48, 52), 0.008, None)
    canvas.tint(ellipse(x, y + 0.09, 0.16, 0.1), (255, 240, 190), 0.22)
    canvas.fill(ellipse(x, y + 0.07, 0.022), (255, 246, 214))
    canvas.fill(polygon("-0.025,0 0.025,0 0.075,0.07 -0.075,0.07") + (x, y), colour)
    canvas.decorate(polygon("-0.025,0 0,0 -0.03,0.07 -0.075,0.07") + (x, y), shade(colour, 1.2))


@dataclass(frozen=True)
class Scene:
    """What a class shows: large anchors that decide it, and smaller typical companions."""

    anchors: tuple[str, ...]
    companions: tuple[str, ...]
    hint: Colour  # the wall colour that gives the class away if a profile asks for a colour bias


SCENES: dict[str, Scene] = {
    "shopping_and_dining": Scene(
        split_names("cake, wine glass, pizza, dining table, sandwich, hot dog, donut, bowl"),
        split_names(
            "fork, knife, spoon, banana, apple, orange, broccoli, carrot, donut, wine glass"
        ),
        (198, 84, 70),
    ),
    "workplace": Scene(
        split_names("laptop, tv, keyboard, tie"),
        split_names("mouse, cell phone, scissors, tie, keyboard, remote, tv"),
        (84, 118, 176),
    ),
    "home_or_hotel": Scene(
        split_names("bed, toilet, refrigerator, couch, oven, sink, cat"),
        split_names("toaster, microwave, hair drier, toothbrush, teddy bear, remote, cat, dog"),
        (222, 190, 96),
    ),
    "transportation": Scene(
        split_names("airplane, bus, car, train, truck, boat, bicycle, motorcycle"),
        split_names("traffic light, stop sign, parking meter, fire hydrant, suitcase, backpack"),
        (120, 124, 132),
    ),
    "sports_and_leisure": Scene(
        split_names("surfboard, sports ball, kite, tennis racket, skis, snowboard, skateboard"),
        split_names("frisbee, baseball glove, baseball bat, sports ball, kite, skateboard, skis"),
        (104, 168, 96),
    ),
    "cultural": Scene(
        split_names("elephant, zebra, giraffe, vase, horse, bear, cow, sheep"),
        split_names("bird, vase, umbrella, clock, sheep, bird"),
        (150, 104, 168),
    ),
}
COMMON = split_names(
    "person, chair, cup, clock, handbag, potted plant, bottle, book, bench, person"
)
LEADS = 3  # the anchors that most pictures of a class show: a scene has its usual furniture
ORDER = ("wall", "table", "floor")


@dataclass(frozen=True)
class PlacedSketch:
    """A sketch with its place in the picture."""

    sketch: Sketch
    x: float  # middle
    y: float  # foot
    scale: float

    @cached_property
    def box(self) -> Box:
        """Return what it covers of the picture."""
        half = self.sketch.stand.width * self.scale / 2
        top = self.y - self.sketch.stand.height * self.scale
        return Box(self.x - half, top, self.x + half, self.y)


def draw_scene(canvas: Canvas, label: str, rng: Rng, color_bias: float) -> None:
    """Draw an indoor scene of a class."""
    scene = SCENES[label]
    room = draw_room(canvas, rng, scene.hint, color_bias)
    things = arrange(room, scene, rng)
    for thing in sorted(things, key=lambda one: (ORDER.index(one.sketch.stand.place), one.y)):
        _draw_thing(canvas, thing, rng)
    light(canvas, rng)


def arrange(room: Room, scene: Scene, rng: Rng) -> list[PlacedSketch]:
    """Choose the objects and give each a place where it hides as little as possible."""
    large, typical, common = 2, int(rng.integers(1, 4)), int(rng.integers(1, 3))
    leads = _choose(scene.anchors[:LEADS], 2 if rng.random() < 0.6 else 1, rng)
    chosen = list(dict.fromkeys(leads + _choose(scene.anchors, large, rng)))[:large]
    placed: list[PlacedSketch] = []
    sketches = read_sketches()
    for name in chosen:
        scale = _choose_scale(sketches[name], room, rng)
        placed.append(_find_place(sketches[name], scale, room, placed, rng))
    rest = _choose(scene.companions, typical, rng) + _choose(COMMON, common, rng)
    for name in dict.fromkeys(name for name in rest if name not in chosen):
        scale = sketches[name].stand.size * rng.uniform(0.85, 1.2)
        placed.append(_find_place(sketches[name], scale, room, placed, rng))
    return placed


def _choose(names: tuple[str, ...], count: int, rng: Rng) -> list[str]:
    """Choose a few different names; one that is listed twice comes twice as often."""
    shuffled = [names[index] for index in rng.permutation(len(names))]
    return list(dict.fromkeys(shuffled))[:count]


def _choose_scale(sketch: Sketch, room: Room, rng: Rng) -> float:
    """Choose the scale of an anchor: half the width, or most of the height for tall ones."""
    if sketch.stand.place == "table":  # what stands on the counter must fit below the ceiling
        return min(rng.uniform(0.44, 0.62), (room.counter - 0.03) / sketch.stand.height)
    if sketch.stand.place == "wall":
        return rng.uniform(0.36, 0.46)
    if sketch.stand.width < 0.6:
        return rng.uniform(0.5, 0.72)
    return rng.uniform(0.44, 0.62)


def _find_place(
    sketch: Sketch, scale: float, room: Room, placed: list[PlacedSketch], rng: Rng
) -> PlacedSketch:
    """Find the best of a few random places for an object."""
    half, height = sketch.stand.width * scale / 2, sketch.stand.height * scale
    ranges = {
        "floor": (max(room.horizon + 0.12, 0.79), 0.91 if room.platform else 0.97),
        "table": (room.counter - 0.015, room.counter + 0.01),
        "wall": (height + 0.04, max(height + 0.08, room.counter - 0.06)),
    }
    low, high = ranges[sketch.stand.place]
    spots = [
        PlacedSketch(sketch, float(x), float(y), scale)
        for x, y in zip(rng.uniform(half, 1 - half, 12), rng.uniform(low, high, 12), strict=True)
    ]
    return min(spots, key=lambda spot: sum(_overlap(spot.box, other.box) for other in placed))


def _overlap(first: Box, second: Box) -> float:
    """Return the area that two boxes share, relative to the smaller one."""
    width = min(first.x1, second.x1) - max(first.x0, second.x0)
    height = min(first.y1, second.y1) - max(first.y0, second.y0)
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box.x1 - box.x0) * (box.y1 - box.y0) for box in (first, second)]
    return width * height / min(areas)


def _draw_thing(canvas: Canvas, thing: PlacedSketch, rng: Rng) -> None:
    sketch, width = thing.sketch, thing.sketch.stand.width * thing.scale
    flip, stretch = bool(rng.random() < 0.5) and sketch.mirrors, rng.uniform(0.92, 1.06)
    if sketch.stand.place != "wall":
        draw_shadow(canvas, thing.x, thing.y, width)
    half = width * stretch / 2
    left = thing.x + half if flip else thing.x - half
    top = thing.y - sketch.stand.height * thing.scale
    with canvas.placed(pose(left, top, thing.scale, flip=flip, stretch=stretch)):
        draw_sketch(canvas, sketch, rng)

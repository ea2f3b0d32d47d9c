"""Indoor scenes: the objects of a shop, an office, a home, a station, a club or a museum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pasta.datasets.drawn.canvas import Canvas, Colour, Rng, pose
from pasta.datasets.drawn.rooms import Room, draw_room, draw_shadow
from pasta.datasets.drawn.sketch import Sketch, draw_sketch
from pasta.datasets.drawn.sketch_animals import ANIMALS
from pasta.datasets.drawn.sketch_food import FOOD
from pasta.datasets.drawn.sketch_household import HOUSEHOLD
from pasta.datasets.drawn.sketch_leisure import LEISURE
from pasta.datasets.drawn.sketch_traffic import TRAFFIC
from pasta.datasets.drawn.surface import light
from pasta.datasets.records import Box
from pasta.datasets.vocabulary import split_names

SKETCHES: dict[str, Sketch] = {
    sketch.concept: sketch for sketch in (*ANIMALS, *FOOD, *HOUSEHOLD, *LEISURE, *TRAFFIC)
}


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
    for name in chosen:
        placed.append(
            _find_place(SKETCHES[name], _choose_scale(SKETCHES[name], room, rng), room, placed, rng)
        )
    rest = _choose(scene.companions, typical, rng) + _choose(COMMON, common, rng)
    for name in dict.fromkeys(name for name in rest if name not in chosen):
        scale = SKETCHES[name].stand.size * rng.uniform(0.85, 1.2)
        placed.append(_find_place(SKETCHES[name], scale, room, placed, rng))
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

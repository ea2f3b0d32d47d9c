"""Classes and concepts of the four datasets (P1, Tables 5 and 6, misprints repaired)."""

from __future__ import annotations

from dataclasses import dataclass

from pasta.errors import PastaError
from pasta.registry import did_you_mean

_PARTS = (
    "engine, artifact wing, animal wing, stern, tail, locomotive, arm, hair, wheel, chain_wheel, "
    "handlebar, hand, headlight, saddle, body, bodywork, beak, head, eye, foot, leg, neck, torso, "
    "cap, license_plate, door, mirror, window, ear, muzzle, horn, nose, hoof, mouth, eyebrow, "
    "plant, pot, coach, screen"
)
_THINGS = (
    "aeroplane, bicycle, bird, bottle, bus, car, cat, cow, dog, horse, motorbike, person, "
    "pottedplant, sheep, train, tvmonitor"
)
_SCENES = (
    "shopping_and_dining, workplace, home_or_hotel, transportation, sports_and_leisure, cultural"
)
_ARCHITECTURE = (
    "horseshoe-arch, lobed-arch, pointed-arch, ogee-arch, trefoil-arch, serliana, "
    "solomonic-column, pinnacle-gothic, porthole, broken-pediment, rounded-arch, flat-arch, "
    "segmental-pediment, triangular-pediment, lintelled-doorway"
)
_OBJECTS = (
    "person, backpack, umbrella, handbag, tie, suitcase, bicycle, car, motorcycle, airplane, bus, "
    "train, truck, boat, traffic light, fire hydrant, stop sign, parking meter, bench, bird, cat, "
    "dog, horse, sheep, cow, elephant, bear, zebra, giraffe, frisbee, skis, snowboard, "
    "sports ball, kite, baseball bat, baseball glove, skateboard, surfboard, tennis racket, "
    "bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange, broccoli, "
    "carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, "
    "tv, laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, "
    "refrigerator, book, clock, vase, scissors, teddy bear, hair drier, toothbrush"
)


@dataclass(frozen=True)
class Vocabulary:
    """The names a dataset may use, in the order that its indices mean."""

    dataset: str
    title: str
    classes: tuple[str, ...]
    concepts: tuple[str, ...]

    def value(self, concept: str) -> int:
        """Return the concept's value in a part-index array (0 is nothing)."""
        if concept not in self.concepts:
            hint = did_you_mean(concept, list(self.concepts))
            raise PastaError(f"{concept!r} is no concept of {self.dataset}. {hint}")
        return self.concepts.index(concept) + 1

    def class_index(self, label: str) -> int:
        """Return the place of a class label."""
        if label not in self.classes:
            hint = did_you_mean(label, list(self.classes))
            raise PastaError(f"{label!r} is no class of {self.dataset}. {hint}")
        return self.classes.index(label)


def split_names(text: str) -> tuple[str, ...]:
    """Split a list of names at its commas."""
    return tuple(name.strip() for name in text.split(","))


VOCABULARIES: dict[str, Vocabulary] = {
    dataset: Vocabulary(dataset, title, split_names(classes), split_names(concepts))
    for dataset, title, classes, concepts in (
        ("catsdogscars", "Cats Dogs Cars", "cat, dog, car", _PARTS),
        ("pascalpart", "Pascal Part", _THINGS, _PARTS),
        ("monumai", "MonuMAI", "Baroque, Gothic, Hispanic-Muslim, Renaissance", _ARCHITECTURE),
        ("coco", "COCO indoor scenes", _SCENES, _OBJECTS),
    )
}


def vocabulary(dataset: str) -> Vocabulary:
    """Return the vocabulary of a dataset, or an error that names the nearest one."""
    if dataset not in VOCABULARIES:
        hint = did_you_mean(dataset, VOCABULARIES)
        raise PastaError(f"there is no dataset called {dataset!r}. {hint}")
    return VOCABULARIES[dataset]

"""PASCAL-Part's fine part names (its ``part2ind.m``) and the concepts they are merged into.

Left and right, front and back, upper and lower become one concept. Judgement calls: a paw is a
foot; the sides and the roof of a car or bus are its bodywork; the head of a train and its sides
are the locomotive, and a coach's sides are the coach.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_EYES = {"leye": "eye", "reye": "eye"}
_EARS = {"lear": "ear", "rear": "ear"}
_TRUNK = {name: name for name in ("head", "neck", "torso")}
_FEET = {"lfoot": "foot", "rfoot": "foot"}

_PET = {
    **_TRUNK,
    **_EYES,
    **_EARS,
    "nose": "nose",
    "tail": "tail",
    **{f"{side}leg": "leg" for side in ("lf", "rf", "lb", "rb")},
    **{f"{side}pa": "foot" for side in ("lf", "rf", "lb", "rb")},
}
_GRAZER = {
    **_TRUNK,
    **_EYES,
    **_EARS,
    "muzzle": "muzzle",
    "tail": "tail",
    **{f"{side}{half}leg": "leg" for side in ("lf", "rf", "lb", "rb") for half in "ul"},
}
_HORNED = {**_GRAZER, "lhorn": "horn", "rhorn": "horn"}
_ROAD = {
    **{f"{side}side": "bodywork" for side in ("front", "left", "right", "back", "roof")},
    "leftmirror": "mirror",
    "rightmirror": "mirror",
    "fliplate": "license_plate",
    "bliplate": "license_plate",
    **{name: name for name in ("door", "wheel", "headlight", "window")},
}
_CYCLE = {
    "fwheel": "wheel",
    "bwheel": "wheel",
    **{name: name for name in ("saddle", "handlebar", "headlight")},
}

CONCEPTS: Mapping[str, Mapping[str, str]] = {
    "aeroplane": {
        **{name: name for name in ("body", "stern", "tail", "engine", "wheel")},
        "lwing": "artifact wing",
        "rwing": "artifact wing",
    },
    "bicycle": {**_CYCLE, "chainwheel": "chain_wheel"},
    "bird": {
        **_TRUNK,
        **_EYES,
        **_FEET,
        "beak": "beak",
        "tail": "tail",
        "lwing": "animal wing",
        "rwing": "animal wing",
        "lleg": "leg",
        "rleg": "leg",
    },
    "bottle": {"cap": "cap", "body": "body"},
    "bus": _ROAD,
    "car": _ROAD,
    "cat": _PET,
    "cow": _HORNED,
    "dog": {**_PET, "muzzle": "muzzle"},
    "horse": {**_GRAZER, **{f"{side}ho": "hoof" for side in ("lf", "rf", "lb", "rb")}},
    "motorbike": _CYCLE,
    "person": {
        **_TRUNK,
        **_EYES,
        **_EARS,
        **_FEET,
        **{name: name for name in ("nose", "mouth", "hair")},
        **{f"{side}ebrow": "eyebrow" for side in "lr"},
        **{f"{side}hand": "hand" for side in "lr"},
        **{f"{side}{half}arm": "arm" for side in "lr" for half in "lu"},
        **{f"{side}{half}leg": "leg" for side in "lr" for half in "lu"},
    },
    "pottedplant": {"pot": "pot", "plant": "plant"},
    "sheep": _HORNED,
    "train": {
        "head": "locomotive",
        "coach": "coach",
        "headlight": "headlight",
        **{f"h{side}side": "locomotive" for side in ("front", "left", "right", "back", "roof")},
        **{f"c{side}side": "coach" for side in ("front", "left", "right", "back", "roof")},
    },
    "tvmonitor": {"screen": "screen"},
}


def concept(label: str, part: str) -> str | None:
    """The concept of a part of an object, or None for a name that PASCAL-Part does not define.

    Examples
    --------
    >>> concept("aeroplane", "lwing"), concept("bird", "lwing"), concept("bus", "window_20")
    ('artifact wing', 'animal wing', 'window')
    """
    return CONCEPTS[label].get(re.sub(r"_\d+$", "", part))  # "window_20" is the twentieth window

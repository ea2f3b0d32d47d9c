"""Simulated people who mark images and words and rate maps, with everything planted in them saved.

Salient parts (faces, wheels, arches ...) are chosen more often than the rest. A region is the
outline of a part with jitter; sloppy people go over the object, careless ones mark anything.
Raters take points off for what a map misses and for what it shows beside the object, more for the
first, and like smooth maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPoint, Polygon, box

from analysis.map_scores import score_maps
from pasta.seeds import generator
from pasta.studies.attention.geometry import polygon, problem_of
from pasta.studies.attention.material import Maps, Material, Picture
from pasta.studies.attention.plan import marking_plan, mixed, rating_plan
from pasta.studies.attention.settings import FIRST, LEVELS, AttentionParams, MarkingParams

SALIENT = (
    *("head", "face", "eye", "muzzle", "beak", "nose", "ear", "horn", "mouth"),
    *("wheel", "arch", "person", "screen", "handlebar", "headlight"),
)
_SMALL = 4  # pixels, below which a part is not seen
Numbers = NDArray[np.float64]


def is_salient(concept: str) -> bool:
    """Whether people think of a part first.

    >>> [is_salient(one) for one in ("head", "pointed-arch", "torso")]
    [True, True, False]
    """
    return any(one in SALIENT for one in concept.replace("_", "-").replace(" ", "-").split("-"))


def chances(picture: Picture, marking: MarkingParams) -> Numbers:
    """The planted truth: the chance of each pixel to be chosen by a person who is exact."""
    found = np.zeros(picture.size)
    for value in np.unique(picture.parts[picture.object]):
        known = is_salient(picture.concepts[value - 1])
        found[(picture.parts == value) & picture.object] = (
            marking.salient if known else marking.other
        )
    return found


def draw_people(names: Sequence[str], marking: MarkingParams, seed: int) -> pd.DataFrame:
    """Who is sloppy, who is careless, and demographics: one row for each person."""
    rows = []
    for name in names:
        rng = generator(seed, "person", name)
        careless = bool(rng.random() < marking.careless)
        rows.append(
            {
                "annotator_id": name,
                "age": int(rng.integers(18, 70)),
                "sex": str(rng.choice(["female", "male"])),
                "country": str(rng.choice(["United States", "India", "Brazil"])),
                "careless": careless,
                "sloppy": bool(rng.random() < marking.sloppy) and not careless,
            }
        )
    return pd.DataFrame(rows)


def mark_image(
    picture: Picture, careless: bool, sloppy: bool, marking: MarkingParams, rng: np.random.Generator
) -> list[str]:
    """The regions that a person draws on an image, as WKT."""
    height, width = picture.size
    if careless:
        left, top = rng.uniform(0, 0.7 * width), rng.uniform(0, 0.7 * height)
        corners = [left, top, left + 0.15 * width, top + 0.15 * height]
        return [shapely.to_wkt(box(*corners), rounding_precision=1)]
    values = [
        int(value)
        for value in np.unique(picture.parts[picture.object])
        if ((picture.parts == value) & picture.object).sum() >= _SMALL
    ]
    if not values:
        return []
    odds = [
        marking.salient if is_salient(picture.concepts[value - 1]) else marking.other
        for value in values
    ]
    draws = rng.random(len(values))
    chosen = [value for value, odd, draw in zip(values, odds, draws, strict=True) if draw < odd]
    if not chosen:  # the instructions ask for something
        chosen = [values[int(np.argmax(odds))]]
    spill = marking.spill * width if sloppy else 0.0
    regions = []
    for value in chosen:
        rows, columns = np.nonzero((picture.parts == value) & picture.object)
        outline = MultiPoint(np.column_stack([columns + 0.5, rows + 0.5])).convex_hull
        outline = outline.buffer(0.7 + spill, quad_segs=2).simplify(0.5)
        corners = shapely.get_coordinates(outline)[:-1]
        corners = corners + rng.normal(0, marking.jitter * width, corners.shape)
        drawn = shapely.make_valid(Polygon(corners)).intersection(box(0, 0, width, height))
        parts = [one for one in shapely.get_parts(drawn) if one.geom_type == "Polygon"]
        if parts:
            largest = max(parts, key=lambda one: one.area)
            text = polygon(shapely.get_coordinates(largest.exterior).round(1).tolist())
            if not problem_of(shapely.from_wkt(text), picture.size):
                regions.append(text)
    return regions


def mark_images(
    plan: pd.DataFrame, material: Material, people: pd.DataFrame, marking: MarkingParams, seed: int
) -> list[dict[str, object]]:
    """Rows of the table of regions: everybody marks what the plan says."""
    pictures = {one.image_id: one for one in (*material.images, *material.checks)}
    traits = people.set_index("annotator_id")
    rows: list[dict[str, object]] = []
    for person, image in zip(plan["annotator_id"], plan["sample"], strict=True):
        rng = generator(seed, "marks", str(person), str(image))
        careless, sloppy = (bool(traits.loc[person, name]) for name in ("careless", "sloppy"))
        drawn: list[str | None] = list(
            mark_image(pictures[str(image)], careless, sloppy, marking, rng)
        )
        rows += [
            {"image_id": image, "annotator_id": person, "region": number, "shape": "polygon",
             "points": text, "simulated": True}
            for number, text in enumerate(drawn or [None])
        ]  # fmt: skip
    return rows


def choose_words(
    plan: pd.DataFrame,
    cues: Mapping[str, Sequence[int]],
    lengths: Mapping[str, int],
    people: pd.DataFrame,
    marking: MarkingParams,
    seed: int,
) -> list[dict[str, object]]:
    """Rows of the table of words: cue words are chosen often, others now and then."""
    careless = set(people.loc[people["careless"], "annotator_id"])
    rows: list[dict[str, object]] = []
    for person, text in zip(plan["annotator_id"], plan["sample"], strict=True):
        rng = generator(seed, "words", str(person), str(text))
        odds = np.full(lengths[str(text)], 0.2 if person in careless else marking.word)
        if person not in careless:
            odds[list(cues[str(text)])] = marking.cue
        chosen = np.flatnonzero(rng.random(len(odds)) < odds)
        words = " ".join(map(str, chosen)) or None
        rows.append({"text_id": text, "annotator_id": person, "words": words, "simulated": True})
    return rows


def smoothness(values: NDArray[np.float32]) -> Numbers:
    """Minus the mean step between neighbouring pixels of each map (n, height, width)."""
    wide = values.astype(np.float64)
    steps = [np.abs(np.diff(wide, axis=axis)).mean((1, 2)) for axis in (1, 2)]
    return np.asarray(-(steps[0] + steps[1]), np.float64)


def describe_samples(
    maps: Sequence[Maps], material: Material, marking: MarkingParams
) -> pd.DataFrame:
    """What raters go by, standardised: misses, extras and smoothness of each map."""
    pictures = {one.image_id: one for one in material.images}
    if not maps:
        return pd.DataFrame(
            {"sample_id": [], "image_id": [], "method": [], "miss": [], "extra": [], "smooth": []}
        )
    names = list(pictures)
    masks = np.stack([chances(one, marking) for one in pictures.values()])
    objects = np.stack([one.object for one in pictures.values()])
    parts = []
    for one in maps:
        which = [names.index(image) for image in one.images]
        found = score_maps(one.values, masks, which=which, objects=objects)
        parts.append(
            pd.DataFrame(
                {
                    "sample_id": one.samples,
                    "image_id": one.images,
                    "method": one.technique.method,
                    "miss": found["false_negative"],
                    "extra": found["false_positive"],
                    "smooth": smoothness(one.values),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    for name in ("miss", "extra", "smooth"):
        column = table[name].fillna(table[name].mean())
        spread = column.std()
        table[name] = (column - column.mean()) / spread if spread > 0 else 0.0
    return table


def rate_maps(
    plan: pd.DataFrame, samples: pd.DataFrame, settings: AttentionParams, seed: int
) -> list[dict[str, object]]:
    """Rows of the table of goodness: points from 1 to 10."""
    rating = settings.simulation.rating
    known = samples.set_index("sample_id")
    quality = rating.smooth * known["smooth"] - rating.miss * known["miss"]
    quality -= rating.extra * known["extra"]
    items = {
        str(name): float(value + generator(seed, "map", str(name)).normal(0, rating.item_sd))
        for name, value in quality.items()
    }
    rows: list[dict[str, object]] = []
    for person, own in plan.groupby("annotator_id", sort=True):
        rng = generator(seed, "rater", str(person))
        level = rating.middle + rng.normal(0, rating.person_sd)
        for sample, position in zip(own["sample_id"], own["position"], strict=True):
            value = level + items[str(sample)] + rng.normal(0, rating.noise)
            points = int(np.clip(np.rint(value), 1, LEVELS))
            rows.append({"sample_id": sample, "annotator_id": person, "rating": points,
                         "position": int(position), "simulated": True})  # fmt: skip
    return rows


def simulate(
    material: Material,
    maps: Sequence[Maps],
    settings: AttentionParams,
    seed: int,
    texts: Mapping[str, tuple[int, Sequence[int]]] | None = None,
) -> tuple[dict[str, list[dict[str, object]]], dict[str, object]]:
    """Let simulated people take part in the study.

    Parameters
    ----------
    material, maps
        The images, and the maps that are rated.
    settings, seed
        Of the study.
    texts
        For each text its number of words and its cue words.

    Returns
    -------
    Rows by the name of their table, and what is really behind them.
    """
    marking = settings.simulation.marking
    checks = [one.image_id for one in material.checks]
    marked = [one.image_id for one in material.images]
    plan = marking_plan(marked, checks, settings.people, settings.samples, seed)
    samples = describe_samples(maps, material, marking)
    ids = mixed(samples["sample_id"].astype(str).tolist(), seed)
    rated = rating_plan(ids, settings.raters, settings.ratings, FIRST, seed)
    known = dict(texts or {})
    plans = [plan]
    if known:
        worded = marking_plan(list(known), [], settings.people, settings.samples, seed, "t")
        plans.append(worded)
    names = [*dict.fromkeys(name for one in plans for name in one["annotator_id"])]
    people = draw_people([*names, *dict.fromkeys(rated["annotator_id"])], marking, seed)
    rows: dict[str, list[dict[str, object]]] = {
        "people": [
            {
                **{str(k): v for k, v in row.items() if k not in ("careless", "sloppy")},
                "simulated": True,
            }
            for row in people.to_dict("records")
        ],
        "regions": mark_images(plan, material, people, marking, seed),
        "goodness": rate_maps(rated, samples, settings, seed),
        "words": [],
    }
    if known:
        lengths = {name: length for name, (length, _) in known.items()}
        cues = {name: own for name, (_, own) in known.items()}
        rows["words"] = choose_words(plans[1], cues, lengths, people, marking, seed)
    truth: dict[str, object] = {
        "effects": settings.simulation.model_dump(mode="json"),
        "seed": seed,
        "people": people,
        "samples": samples,
    }
    return rows, truth

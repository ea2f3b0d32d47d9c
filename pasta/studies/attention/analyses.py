"""The tables of the analysis `attention`, and its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from analysis.contrasts import Contrast, contrast_row, one_mean
from analysis.map_scores import SCORES, ceiling, score_maps
from analysis.tables import Tables, add_missing, list_missing
from pasta import store
from pasta.config import Params
from pasta.explanations.rendering import overlay
from pasta.layout import Group, groups
from pasta.paths import DATA
from pasta.studies.attention import tables
from pasta.studies.attention.masks import (
    Attention,
    failed_checks,
    image_attention,
    word_attention,
)
from pasta.studies.attention.material import Maps, Material, Picture, read_maps, read_material
from pasta.studies.attention.rated import planted_table, rated_samples, rating_tables
from pasta.studies.attention.settings import FIRST, NAME, AttentionParams
from pasta.studies.attention.texts import stored_texts, stored_weights
from pasta.texts.documents import Document

ATTENTION, SEGMENTATION, CEILING = "attention", "segmentation", "one person"
_KEYS = ["sample_id", "image_id", "method", "backbone"]
_SIDE, _GAP = 160, 6  # pixels of a picture in the report, and between two
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Collected:
    """The answers of a study and what they are about."""

    settings: AttentionParams
    material: Material
    groups: Sequence[Group]
    regions: pd.DataFrame
    words: pd.DataFrame
    goodness: pd.DataFrame
    failed: Mapping[str, float]  # people who failed a check, with their overlap
    attention: Mapping[str, Attention]


def collect(root: Path, params: Params) -> Collected:
    """Read the stored answers and make the masks."""
    here = [one for one in groups(params, root) if (one.images / "images.parquet").is_file()]
    folder = root / DATA / "votes" / NAME
    found = {
        name: store.read(folder / f"{name}.parquet", tables.PARTS[name].table)
        for name in ("regions", "words", "goodness")
    }
    material = read_material(here, params.attention)
    checks = {one.image_id: one.object for one in material.checks}
    failed = failed_checks(found["regions"], checks, params.attention.passing)
    masks = image_attention(found["regions"], material.objects, list(failed))
    return Collected(params.attention, material, here, **found, failed=failed, attention=masks)


def attention_tables(_name: str, root: Path, params: Params) -> Tables:
    """All tables of the study."""
    known = collect(root, params)
    drawn, seed = params.analysis.resamples, params.seeds.analysing
    maps = read_maps(known.groups, known.settings, list(known.attention))
    samples = score_samples(maps, known.attention)
    ceilings = score_people(known.attention)
    answers = known.goodness[known.goodness["position"] > FIRST]
    rated = rated_samples(answers, samples)
    found: Tables = {
        "agreement": agreement_table(known),
        "counts": count_table(known),
        "scores": summarise_scores(samples, ceilings),
        "maps": samples,
        "samples": rated,
        **rating_tables(answers, rated, known.settings, resamples=drawn, seed=seed),
        **text_tables(root, known),
    }
    planted = planted_table(root / DATA / "simulate" / NAME / "planted", answers)
    if planted is not None and known.goodness["simulated"].all():
        found["planted"] = planted
    lacks = {} if maps else {"scores": "none of the images was explained by a saliency map"}
    unrated = [("rated maps", "nobody has rated a map beyond the first four")]
    return add_missing(list_missing(found, lacks), unrated if answers.empty else [])


def score_samples(maps: Sequence[Maps], attention: Mapping[str, Attention]) -> pd.DataFrame:
    """Every score of every map against both masks: a row for each map and mask."""
    images = list(attention)
    if not images or not maps:
        return pd.DataFrame(columns=[*_KEYS, "against", *SCORES, "status"])
    objects = np.stack([attention[one].object for one in images])
    masks = {
        ATTENTION: np.stack([attention[one].mask for one in images]),
        SEGMENTATION: objects.astype(np.float64),
    }
    places = {image: place for place, image in enumerate(images)}
    parts = []
    for one in maps:
        which = [places[image] for image in one.images]
        for against, mask in masks.items():
            found = score_maps(one.values, mask, which=which, objects=objects)
            known = {
                "sample_id": one.samples,
                "image_id": one.images,
                "method": one.technique.method,
                "backbone": one.technique.backbone,
                "against": against,
            }
            parts.append(found.assign(**known)[[*_KEYS, "against", *SCORES, "status"]])
    return pd.concat(parts, ignore_index=True)


def score_people(attention: Mapping[str, Attention]) -> pd.DataFrame:
    """Each person against the mask of the others, and against the segmentation."""
    parts = []
    for image, one in attention.items():
        layers = one.layers & one.object
        others = ceiling(layers, objects=one.object)
        parts.append(others.assign(image_id=image, against=ATTENTION))
        alone = score_maps(
            layers.astype(np.float32),
            one.object[None].astype(np.float64),
            which=np.zeros(len(layers), np.intp),
        )
        parts.append(alone.assign(image_id=image, against=SEGMENTATION))
    if not parts:
        return pd.DataFrame(columns=[*SCORES, "status", "image_id", "against"])
    return pd.concat([one for one in parts if len(one)], ignore_index=True)


def summarise_scores(samples: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Means over images, technique by technique, and of one person: the human ceiling."""
    rows = []
    known = samples.assign(technique=samples["method"] + "/" + samples["backbone"])
    for frame, key in ((known, "technique"), (people.assign(technique=CEILING), "technique")):
        for (technique, against), own in frame.groupby([key, "against"], sort=True):
            for score, better in SCORES.items():
                values = own.groupby("image_id")[score].mean().dropna()
                row = contrast_row(one_mean(values)) if len(values) > 1 else _alone(values)
                rows.append(
                    {
                        "technique": technique,
                        "against": against,
                        "score": score,
                        "better": better,
                        **{name: row[name] for name in ("n", "estimate", "low", "high")},
                        "without": int((own["status"] != "ok").sum()),
                    }
                )
    head = ["technique", "against", "score", "better", "n", "estimate", "low", "high", "without"]
    return pd.DataFrame(rows, columns=head)


def _alone(values: pd.Series[float]) -> dict[str, object]:
    mean = float(values.mean()) if len(values) else np.nan
    return contrast_row(Contrast(len(values), mean, np.nan, np.nan))


def agreement_table(known: Collected) -> pd.DataFrame:
    """How many people marked each image and how far they agree."""
    labels = {one.image_id: one.label for one in known.material.images}
    rows = [
        {"image_id": image, "label": labels[image], **one.row()}
        for image, one in known.attention.items()
    ]
    head = ["image_id", "label", "people", "nothing", "iou", "alpha", "share"]
    return pd.DataFrame(rows, columns=head)


def count_table(known: Collected) -> pd.DataFrame:
    """How much there is of everything."""
    first = known.goodness["position"] <= FIRST
    marking = known.regions["annotator_id"].nunique()
    rows = {
        "images marked": len(known.attention),
        "images for checks": len(known.material.checks),
        "people who marked images": marking,
        "people who failed a check": len(known.failed),
        "regions": int(known.regions["points"].notna().sum()),
        "people who rated maps": known.goodness["annotator_id"].nunique(),
        "ratings": int((~first).sum()),
        "first ratings, left out": int(first.sum()),
        "maps rated": known.goodness.loc[~first, "sample_id"].nunique(),
        "texts marked": known.words["text_id"].nunique(),
        "people who marked texts": known.words["annotator_id"].nunique(),
    }
    return pd.DataFrame({"what": list(rows), "n": list(rows.values())})


def text_tables(root: Path, known: Collected) -> Tables:
    """Agreement on words, and how close explanations of texts come to them."""
    texts = stored_texts(root)
    attention = word_attention(known.words, {name: len(one) for name, one in texts.items()})
    if not attention:
        return {}
    rows = [
        {"text_id": name, "label": texts[name].label, "words": len(texts[name]), **one.row()}
        for name, one in attention.items()
    ]
    weights = stored_weights(root)
    parts = []
    for (text, method), values in weights.items():
        if text in attention and len(values) == len(texts[text]):
            mask = attention[text].mask
            found = score_maps(np.maximum(values, 0)[None], mask[None])
            parts.append(found.assign(text_id=text, method=method))
    people = [
        ceiling(one.layers).assign(text_id=name, method=CEILING) for name, one in attention.items()
    ]
    every = pd.concat([*parts, *(one for one in people if len(one))], ignore_index=True)
    scores = []
    for name, own in every.groupby("method", sort=True):
        for score, better in SCORES.items():
            means = own.groupby("text_id")[score].mean().dropna()
            row = contrast_row(one_mean(means)) if len(means) > 1 else _alone(means)
            kept = {key: row[key] for key in ("n", "estimate", "low", "high")}
            without = int((own["status"] != "ok").sum())
            scores.append(
                {"method": name, "score": score, "better": better, **kept, "without": without}
            )
    examples = _text_examples(texts, attention, weights)
    return {
        "text_agreement": pd.DataFrame(rows),
        "text_scores": pd.DataFrame(scores),
        "text_examples": examples,
    }


def _text_examples(
    texts: Mapping[str, Document],
    attention: Mapping[str, Attention],
    weights: Mapping[tuple[str, str], Numbers],
) -> pd.DataFrame:
    """A text of each class, word by word: the share of people who chose it, and a method's weight.

    The method is the first one that explains the text; without any the weights are missing.
    """
    chosen: dict[str, str] = {}
    for name in attention:
        chosen.setdefault(str(texts[name].label), name)
    frames = []
    for label, name in sorted(chosen.items()):
        words = [one.text for one in texts[name].words]
        own = {method: one for (text, method), one in weights.items() if text == name}
        method, weight = next(iter(own.items()), ("", np.full(len(words), np.nan)))
        known = {"place": range(len(words)), "word": words, "share": attention[name].share}
        frames.append(
            pd.DataFrame(known).assign(text_id=name, label=label, method=method, weight=weight)
        )
    return pd.concat(frames, ignore_index=True)


# Pictures


def draw_pictures(_name: str, root: Path, params: Params, out: Path) -> None:
    """Masks as in the paper's Figure 1, and rated maps as in its Figure 3."""
    known = collect(root, params)
    shown = _shown(known)
    if not shown:
        return
    out.mkdir(parents=True, exist_ok=True)
    rows = [
        [overlay(one.pixels, known.attention[one.image_id].mask, False, _SIDE) for one in shown],
        [_grey(one.object.astype(np.float64)) for one in shown],
        [_grey(known.attention[one.image_id].mask) for one in shown],
    ]
    _write(rows, out / "masks.jpg")
    names = [one.image_id for one in shown]
    maps = read_maps(known.groups, known.settings, names, rated_only=True)
    lines: list[list[NDArray[np.uint8]]] = []
    for method in known.settings.methods:
        values = {
            image: value
            for one in maps
            if one.technique.method == method
            for image, value in zip(one.images, one.values, strict=True)
        }
        empty = np.zeros(shown[0].size)
        lines.append(
            [overlay(one.pixels, values.get(one.image_id, empty), False, _SIDE) for one in shown]
        )
    if lines:
        _write(lines, out / "rated.jpg")


def _shown(known: Collected) -> list[Picture]:
    """Images of different classes that were marked, as many as the settings say."""
    marked = [one for one in known.material.images if one.image_id in known.attention]
    turn: dict[str, list[Picture]] = {}
    for one in marked:
        turn.setdefault(one.label, []).append(one)
    longest = max(map(len, turn.values()), default=0)
    order = [own[at] for at in range(longest) for own in turn.values() if at < len(own)]
    return order[: known.settings.pictures]


def _grey(mask: Numbers) -> NDArray[np.uint8]:
    picture = Image.fromarray((255 * mask).astype(np.uint8)).resize((_SIDE, _SIDE))
    return np.asarray(picture.convert("RGB"))


def _write(rows: Sequence[Sequence[NDArray[np.uint8]]], file: Path) -> None:
    width = len(rows[0]) * (_SIDE + _GAP) - _GAP
    canvas = Image.new("RGB", (width, len(rows) * (_SIDE + _GAP) - _GAP), "white")
    for at, row in enumerate(rows):
        for place, one in enumerate(row):
            canvas.paste(Image.fromarray(one), (place * (_SIDE + _GAP), at * (_SIDE + _GAP)))
    with store.atomic(file) as temporary:
        canvas.save(temporary, format="JPEG", quality=92)

"""What can be measured on an explanation, and the latent quality that follows from it.

Properties, measured without asking anybody:

========= ======================================================================================
overlap   -1 to 1: share of the attribution that lies where it should, against the share expected
          by chance; 0 for a flat attribution, 1 for all inside, -1 for all outside
spread    0 to 1: effective share of the image or of the concepts, exp(entropy) / number
correct   whether the prediction is the label
light,    0 to 1: distance 1 - Pearson's r between the attributions of the original and of the
strong    perturbed image, 1 at most. Maps are compared as they are, even if the image has moved:
          so do people who see both
========= ======================================================================================

For a map, overlap is taken of what speaks for the class (its positive part as shown) and the parts
of the predicted class; for concepts, of their positive attributions and the concepts that are seen.

An explanation that is not ``ok`` shows nothing: its overlap and spread are missing. Something that
turns into nothing, or nothing into something, has changed wholly (1); nothing that stays nothing
has not changed (0). Where an image has no parts the overlap is missing, where a sample has no
perturbed image the change is.

The latent quality of each sample for each question: properties are standardised over the study.
Overlap, spread and correctness within saliency maps and
within concept explanations: they are not on one scale, and so the kinds differ for Q1-Q4 by the
planted preference and by nothing else. Changes are on one scale, so the light and the strong ones
of both kinds are standardised together: here a kind, or a strength, may really change more. Then ::

    quality = mean + overlap * z(overlap) + correct * (right - share of right ones)
              - focus * z(spread) + change * z(light for Q5, strong for Q6) + residual

The residual belongs to the sample, not to its technique; a part of it is common to Q1-Q4 and
another to Q5 and Q6, which the published votes find to go together (P1, B.3). A missing overlap
counts as average. Around its mean a quality stays within three standard deviations, and an
explanation that shows nothing has the least for Q1-Q4. Where a change is not known, there is no
quality.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.datasets.stored import StoredDataset, class_parts, open_dataset
from pasta.explanations.stored import STRENGTHS, StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.seeds import generator
from pasta.studies.ratings.settings import CHANGES, QUESTIONS, QualityParams, SimulationParams

LIMIT = 3.0
PROPERTIES = ("overlap", "spread", "correct", *STRENGTHS)
_CHUNK = 64  # maps held in memory at once

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Loader = Callable[[NDArray[np.int64]], Floats]  # rows of a file -> rows x places
Region = Callable[[slice], Flags]  # some of the explanations -> rows x places


def measure(group: Group) -> pd.DataFrame:
    """One row for each explanation of a group: what it is, and its properties."""
    dataset, stored = open_dataset(group.images), StoredExplanations(group.explanations)
    presence = _presence(dataset)
    parts = class_parts(presence, dataset.images)
    perturbed = stored.perturbed.groupby("strength")
    after = {name: rows.set_index("sample_id") for name, rows in perturbed}
    pieces = []
    for (method, backbone), rows in stored.table.groupby(["method", "backbone"], sort=False):
        technique = stored.technique(str(method), str(backbone))
        if rows["kind"].iloc[0] == "saliency":
            load, region = _maps(stored, technique), _map_regions(dataset, parts, rows)
        else:
            load = _concepts(stored, technique, dataset)
            region = _concept_regions(presence, rows)
        changes = {
            name: after[name].reindex(rows["sample_id"]) if name in after else None
            for name in STRENGTHS
        }
        pieces.append(_measured(rows, changes, load, region))
    measured = pd.concat(pieces, ignore_index=True)
    labels = measured["image_id"].map(dataset.images.set_index("image_id")["label"])
    return measured.assign(correct=(measured["predicted"] == labels).astype(float))[
        ["sample_id", "dataset", "image_id", "kind", "predicted", "status", *PROPERTIES]
    ]


def overlap(attributions: Floats, inside: Flags) -> Floats:
    """Chance-corrected share of what is positive that lies inside, for each row."""
    mass = np.clip(attributions, 0, None)
    total, area = mass.sum(1), inside.mean(1)
    share = np.divide((mass * inside).sum(1), total, out=area.copy(), where=total > 0)
    room = np.where(share >= area, 1 - area, area)
    result: Floats = np.divide(share - area, room, out=np.zeros_like(area), where=room > 0)
    result[area == 0] = np.nan
    return result


def spread(attributions: Floats) -> Floats:
    """Effective share of the places that carry the attribution, whatever its sign."""
    weights = np.abs(attributions)
    total = weights.sum(1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    result: Floats = np.exp(-(shares * logs).sum(1)) / attributions.shape[1]
    return result


def distance(before: Floats, after: Floats) -> Floats:
    """One minus Pearson's correlation of the rows, at most 1; 1 where one of them is flat."""
    first = before - before.mean(1, keepdims=True)
    second = after - after.mean(1, keepdims=True)
    norms = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    r = np.divide((first * second).sum(1), norms, out=np.zeros(len(first)), where=norms > 0)
    result: Floats = np.clip(1 - r, 0, 1)
    return result


def _measured(
    group: pd.DataFrame,
    perturbed: Mapping[str, pd.DataFrame | None],
    load: Loader,
    region: Region,
) -> pd.DataFrame:
    """The properties of one technique's explanations, some at a time."""
    names = ("overlap", "spread", *STRENGTHS)
    found = {name: np.full(len(group), np.nan) for name in names}
    for start in range(0, len(group), _CHUNK):
        part = slice(start, start + _CHUNK)
        rows = group.iloc[part]
        values = load(rows["row"].to_numpy(np.int64))
        empty = (rows["status"] != "ok").to_numpy()
        found["overlap"][part] = np.where(empty, np.nan, overlap(values, region(part)))
        found["spread"][part] = np.where(empty, np.nan, spread(values))
        for name, after in perturbed.items():
            if after is not None:
                found[name][part] = _change(values, empty, after.iloc[part], load)
    return group.assign(**found)


def _change(values: Floats, empty: Flags, after: pd.DataFrame, load: Loader) -> Floats:
    result = np.full(len(values), np.nan)
    known = after["row"].notna().to_numpy()
    if known.any():
        later = load(after["row"][known].to_numpy(np.int64))
        gone = (after["status"][known] != "ok").to_numpy()
        far = distance(values[known], later)
        far[empty[known] | gone] = 1
        far[empty[known] & gone] = 0
        result[known] = far
    return result


def _maps(stored: StoredExplanations, technique: Technique) -> Loader:
    """Maps as people see them, flattened."""

    def load(rows: NDArray[np.int64]) -> Floats:
        return stored.shown(technique, rows.tolist()).reshape(len(rows), -1).astype(np.float64)

    return load


def _concepts(stored: StoredExplanations, technique: Technique, dataset: StoredDataset) -> Loader:
    """Attributions of the concepts in the order of the vocabulary; what is missing counts as 0."""
    names, values = stored.concepts(technique)
    ordered = pd.DataFrame(values, columns=list(names)).reindex(columns=_words(dataset))
    known = np.nan_to_num(ordered.to_numpy(np.float64))
    return lambda rows: known[rows]


def _presence(dataset: StoredDataset) -> pd.DataFrame:
    """Images x concepts of the vocabulary: is the concept seen?"""
    # the key is unique, so there is nothing to average as pivot_table would
    table = dataset.concepts()
    wide = table.pivot(index="image_id", columns="concept", values="present")  # noqa: PD010
    return wide.reindex(columns=_words(dataset)).astype(bool)


def _words(dataset: StoredDataset) -> list[str]:
    return list(dataset.vocabulary.concepts)


def _map_regions(dataset: StoredDataset, parts: pd.DataFrame, group: pd.DataFrame) -> Region:
    """Where the parts of the predicted class are; all parts if it has none in the image."""
    typical = parts.reindex(list(dataset.vocabulary.classes), fill_value=False).to_numpy(bool)
    typical = np.pad(typical, ((0, 0), (1, 0)))  # 0 in the array is no part
    places = {name: index for index, name in enumerate(dataset.vocabulary.classes)}
    rows = group["image_id"].map(dataset.images.set_index("image_id")["row"]).to_numpy(np.int64)
    classes = group["predicted"].map(places).to_numpy(np.int64)

    def region(part: slice) -> Flags:
        values = np.asarray(dataset.parts[rows[part]]).reshape(len(rows[part]), -1)
        inside: Flags = typical[classes[part][:, None], values]
        without = ~inside.any(1)
        inside[without] = values[without] > 0
        return inside

    return region


def _concept_regions(presence: pd.DataFrame, group: pd.DataFrame) -> Region:
    """Which concepts are seen."""
    seen = presence.loc[group["image_id"]].to_numpy(bool)
    return lambda part: seen[part]


def qualities(properties: pd.DataFrame, params: SimulationParams, seed: int) -> pd.DataFrame:
    """Columns sample_id, kind, status, Q1..Q6, sorted by sample."""
    frame = properties.sort_values("sample_id", ignore_index=True)
    scores = standardised(frame)
    residuals = _residuals(len(frame), params.shared, seed)
    empty = (frame["status"] != "ok").to_numpy()
    found = frame[["sample_id", "kind", "status"]].copy()
    for place, question in enumerate(QUESTIONS):
        weights: QualityParams = getattr(params.questions, question)
        values = _explained(scores, weights, question) + weights.residual * residuals[:, place]
        values = np.clip(values, -LIMIT, LIMIT)
        if question not in CHANGES:
            values[empty] = -LIMIT
        found[question] = weights.mean + values
    return found


def standardised(properties: pd.DataFrame) -> pd.DataFrame:
    """The properties around 0 and, but for ``correct``, with deviation 1.

    A right prediction stays one step above a wrong one: with few wrong ones, dividing by the
    deviation would make them outliers.
    """
    scores = pd.DataFrame(index=properties.index)
    kind = properties["kind"]
    shown = properties["status"] == "ok"
    for name in ("overlap", "spread"):
        values = properties[name].where(shown)
        spread = values.groupby(kind).transform("std", ddof=0)
        centred = values - values.groupby(kind).transform("mean")
        scores[name] = (centred / spread.where(spread > 0)).fillna(0.0)
    right = properties["correct"].astype(float)
    scores["correct"] = right - right.groupby(kind).transform("mean")
    changes = properties[list(STRENGTHS)].to_numpy(np.float64)
    known = changes[np.isfinite(changes)]
    centre, deviation = (known.mean(), known.std()) if known.size else (0.0, 0.0)
    scores[list(STRENGTHS)] = (changes - centre) / (deviation or 1.0)
    return scores


def _explained(scores: pd.DataFrame, weights: QualityParams, question: str) -> Floats:
    values = (
        weights.overlap * scores["overlap"]
        + weights.correct * scores["correct"]
        - weights.focus * scores["spread"]
    )
    if question in CHANGES:
        values = values + weights.change * scores[CHANGES[question]]
    return values.to_numpy(np.float64)


def _residuals(samples: int, shared: float, seed: int) -> Floats:
    """Samples x questions of variance 1, of which ``shared`` is common to a group of questions."""
    random = generator(seed, "simulation", "residual")
    common = random.standard_normal((samples, 2))
    own = random.standard_normal((samples, len(QUESTIONS)))
    group = [int(question in CHANGES) for question in QUESTIONS]
    result: Floats = np.sqrt(shared) * common[:, group] + np.sqrt(1 - shared) * own
    return result

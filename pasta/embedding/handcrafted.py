"""Handcrafted features of explanations instead of vectors of an encoder (P1, Appendix D).

Nine numbers describe an explanation: three variances, three complexities and three accuracies.
The appendix leaves open what is filled in here:

* *Variance* (Eqs. 16 and 17): how much the explanation changes when the image is augmented,
  averaged over pixels or concepts and divided by the explanation's mean, of absolute values because
  signed explanations have means near zero. The three sets of augmentations are those of
  :mod:`pasta.embedding.augmented`, whose images are explained again, or (``copies``) the image with
  its light copy, with its strong copy, and with both: their explanations are stored already. As in
  the equations a moved image is not moved back.
* *Complexity* (Eq. 18): the share of the variance in the leading principal components of a
  technique's explanations of one dataset, at three ranks. Techniques are taken one by one, since
  their explanations differ in length.
* *Classification* (Eq. 19): the accuracy with which logistic regression, Gaussians (QDA) and a
  support vector machine tell the predicted class from the explanation, cross-validated, because on
  the data it was fitted to almost any classifier of so many pixels is right.

The last six are the same for all explanations of a technique and dataset. Classes with a single
image cannot be told in cross-validation and count as errors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from pasta import store, tables
from pasta.config import Params
from pasta.embedding.augmented import augmented_variances, variance
from pasta.embedding.settings import HandcraftedParams
from pasta.embedding.stored import HANDCRAFTED, Floats, techniques_of
from pasta.errors import PastaError
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.layout import Group

Numbers = NDArray[np.float64]
NAMES = (
    "variance_first",
    "variance_second",
    "variance_third",
    "complexity_low",
    "complexity_middle",
    "complexity_high",
    "accuracy_logistic",
    "accuracy_gaussian",
    "accuracy_support_vectors",
)
SETS = ((0, 1), (0, 2), (0, 1, 2))  # of original, light copy, strong copy


def coordinates(explanations: Numbers) -> Numbers:
    """The same points (n x length), centred and turned into as few dimensions as hold them.

    Columns are in the order of the principal components. Distances, and with them everything that
    is computed here, stay as they were, while n is much smaller than the number of pixels.
    """
    centred = explanations - explanations.mean(0)
    lengths, axes = np.linalg.eigh(centred @ centred.T)
    keep = lengths > max(float(lengths[-1]), 0.0) * 1e-10
    return np.asarray(axes[:, keep] * np.sqrt(lengths[keep]), dtype=np.float64)[:, ::-1]


def complexity(points: Numbers, rank: int) -> float:
    """The share of the variance in the first principal components (P1, Eq. 18).

    Explanations that are all alike need no component, so their share is 1.
    """
    variances = np.square(points).sum(0)  # the eigenvalues, largest first
    return float(variances[:rank].sum() / variances.sum()) if variances.size else 1.0


def accuracies(points: Numbers, labels: NDArray[Any], settings: HandcraftedParams) -> list[float]:
    """Cross-validated accuracy of each classifier (P1, Eq. 19)."""
    folds = stratified_folds(labels, settings.folds)
    right = np.zeros(len(CLASSIFIERS))
    for fold in np.unique(folds):
        train = folds != fold
        if not train.any():
            continue
        seen, new = _components(points[train], points[~train], settings.components)
        for place, classify in enumerate(CLASSIFIERS):
            answers = _answers(classify, seen, labels[train], new, settings)
            right[place] += (answers == labels[~train]).sum()
    return [float(count) / len(labels) for count in right]


def stratified_folds(labels: NDArray[Any], folds: int) -> NDArray[np.int64]:
    """A fold for each label, the labels of a class spread over different folds; no chance in it."""
    order = np.argsort(labels, kind="stable")
    result = np.empty(len(labels), dtype=np.int64)
    result[order] = np.arange(len(labels)) % folds
    return result


def logistic(
    seen: Numbers, labels: NDArray[Any], new: Numbers, settings: HandcraftedParams
) -> NDArray[Any]:
    """Logistic regression."""
    del settings
    answers: NDArray[Any] = LogisticRegression(max_iter=1000).fit(seen, labels).predict(new)
    return answers


def gaussian(
    seen: Numbers, labels: NDArray[Any], new: Numbers, settings: HandcraftedParams
) -> NDArray[Any]:
    """Quadratic discriminant analysis that also takes classes with a single example.

    Covariances are shrunk towards a sphere of the size of all data.
    """
    classes = np.unique(labels)
    width = seen.shape[1]
    sphere = np.eye(width) * max(float(seen.var(0).mean()), 1e-12)
    scores = []
    for name in classes:
        chosen = seen[labels == name]
        centred = chosen - chosen.mean(0)
        own = centred.T @ centred / len(chosen)
        covariance = (1 - settings.shrinkage) * own + settings.shrinkage * sphere
        covariance += 1e-9 * sphere  # without shrinkage a small class is flat
        away = new - chosen.mean(0)
        distance = (away * np.linalg.solve(covariance, away.T).T).sum(1)
        prior = 2 * np.log(len(chosen) / len(seen))
        scores.append(prior - distance - np.linalg.slogdet(covariance)[1])
    answers: NDArray[Any] = classes[np.argmax(scores, axis=0)]
    return answers


def support_vectors(
    seen: Numbers, labels: NDArray[Any], new: Numbers, settings: HandcraftedParams
) -> NDArray[Any]:
    """A support vector machine with a Gaussian kernel."""
    del settings
    answers: NDArray[Any] = SVC().fit(seen, labels).predict(new)
    return answers


Classifier = Callable[[Numbers, NDArray[Any], Numbers, HandcraftedParams], NDArray[Any]]
CLASSIFIERS: tuple[Classifier, ...] = (logistic, gaussian, support_vectors)


def features(
    explanations: Numbers,
    labels: NDArray[Any],
    ok: NDArray[np.bool_],
    settings: HandcraftedParams,
    changing: Numbers | None = None,
) -> Floats:
    """The nine numbers (n x 9) of one technique's explanations of one dataset.

    ``explanations`` is 3 (original, light, strong) x n x length; rows that are not ``ok`` become
    NaN and are not looked at. ``changing`` has variances (n x 3) that are known already.
    """
    result = np.full((len(labels), len(NAMES)), np.nan, dtype=np.float32)
    if not ok.any():
        return result
    chosen = np.asarray(explanations[:, ok], dtype=np.float64)
    points = coordinates(chosen[0])
    common = [complexity(points, rank) for rank in settings.ranks]
    common += accuracies(points, labels[ok], settings)
    if changing is None:
        moved = np.column_stack([variance(chosen[list(members)]) for members in SETS])
    else:
        moved = changing[ok]
    result[ok] = np.column_stack([moved, np.tile(common, (int(ok.sum()), 1))])
    return result


def handcrafted_features(
    group: Group, settings: HandcraftedParams, params: Params | None = None, root: Path = Path()
) -> dict[str, Floats]:
    """The features of a group's explanations, by ``method.backbone``, like an encoder's vectors.

    ``params`` and the ``root`` of the project are needed where images are explained again.
    """
    again = {}
    if settings.augmentations == "explained":
        if params is None:
            raise PastaError("explaining augmented images needs the parameters of the project")
        again = augmented_variances(group, settings, params, root)
    stored = StoredExplanations(group.explanations)
    perturbed = store.read(group.explanations / "perturbed.parquet", tables.PERTURBED)
    copies = [
        perturbed[perturbed["strength"] == strength].set_index("sample_id")
        for strength in ("light", "strong")
    ]
    found: dict[str, Floats] = {}
    for technique, places in techniques_of(stored):
        rows = stored.table.iloc[places]
        explanations = _all_three(stored, technique, rows, copies)
        labels, ok = rows["predicted"].to_numpy(str), (rows["status"] == "ok").to_numpy(bool)
        name = f"{technique.method}.{technique.backbone}"
        found[name] = features(explanations, labels, ok, settings, again.get(technique))
    return found


def identity(settings: HandcraftedParams) -> dict[str, Any]:
    """What makes features comparable; see :func:`pasta.embedding.encoders.about`."""
    number = hashlib.md5(settings.model_dump_json().encode(), usedforsecurity=False).hexdigest()
    return {"encoder": HANDCRAFTED, "md5": number, "size": 0, "width": len(NAMES)}


def _all_three(
    stored: StoredExplanations,
    technique: Technique,
    rows: pd.DataFrame,
    copies: Sequence[pd.DataFrame],
) -> Numbers:
    """Explanations of originals, light and strong copies; those that are no numbers are NaN.

    Where a release has no such copy the original stands for it: no change is known.
    """
    own = rows.set_index("sample_id")[["row", "status"]]
    parts = [
        rows,
        *(
            pd.concat([copy[["row", "status"]], own[~own.index.isin(copy.index)]]).loc[own.index]
            for copy in copies
        ),
    ]
    places = [part["row"].tolist() for part in parts]
    if technique.kind == "concept":
        values = stored.concepts(technique)[1]
        found = np.stack([values[place] for place in places])
    else:
        found = np.stack([stored.shown(technique, place) for place in places]).astype(np.float64)
        found = found.reshape(*found.shape[:2], -1)
    broken = np.stack([(part["status"] == "nan").to_numpy(bool) for part in parts])
    return np.where(broken[..., None], np.nan, found)


def _components(seen: Numbers, new: Numbers, number: int) -> tuple[Numbers, Numbers]:
    """Principal components of the training part, at a common scale of about 1."""
    mean = seen.mean(0)
    axes = np.linalg.svd(seen - mean, full_matrices=False)[2][:number].T
    first, second = (seen - mean) @ axes, (new - mean) @ axes
    scale = max(float(np.sqrt(np.square(first).mean())) if first.size else 0.0, 1e-12)
    return first / scale, second / scale


def _answers(
    classify: Classifier,
    seen: Numbers,
    labels: NDArray[Any],
    new: Numbers,
    settings: HandcraftedParams,
) -> NDArray[Any]:
    if len(np.unique(labels)) == 1 or not seen.shape[1]:
        names, counts = np.unique(labels, return_counts=True)
        return np.full(len(new), names[np.argmax(counts)])
    return classify(seen, labels, new, settings)

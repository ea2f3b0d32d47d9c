"""Steered maps of held-out images: score P, faithfulness F and true quality for each lambda."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.applications.paired import COLUMNS as DIFFERENCE
from pasta.applications.paired import paired_difference
from pasta.errors import PastaError
from pasta.params import Params
from pasta.params.applications import ApplicationsParams, SteeringParams

MEASURES = ("score", "faithfulness", "quality")
# weight is lambda; familiar: whether the map looks like what the scorer has learned from; equal:
# whether all masks of the image have the same score, so that nothing was steered
COLUMNS = (
    *("dataset", "image_id", "image", "held_out", "predicted", "weight", "score", "familiar"),
    *("faithfulness", "why", "quality", "status", "equal"),
)


@dataclass(frozen=True)
class Steered:
    """What steering gives: tables, and pictures for the report."""

    tables: dict[str, pd.DataFrame]  # steered (a row for each image and lambda), curve
    images: NDArray[np.uint8]  # (n, height, width, 3)
    maps: NDArray[np.float16]  # (n, lambdas, height, width), as people see them
    seconds: pd.DataFrame  # image, model, encoder, scores: never the same twice, so no table


def run_steering(
    scores: pd.DataFrame,
    folders: Sequence[Path],
    params: Params,
    settings: ApplicationsParams,
    scorer: Path,
    planted: Path | None = None,
) -> Steered:
    """Steer RISE on images that the scorer has not seen.

    ``scores`` say which those are, see :func:`~pasta.applications.scores.score_stored`. Per image
    the model sees every mask once, the encoder too, and both are shared by all lambdas.
    """
    from pasta.applications.steering import require_weights
    from pasta.progress import bar
    from pasta.scoring.score import PastaScore

    own = settings.steering
    require_weights(own.weights)
    metric = PastaScore.load(settings.question, scorer)
    chosen = choose_images(scores, own.backbone, own.images)
    parts, seconds = [], []
    with bar("steer RISE", len(chosen), "images") as line:
        for folder in folders:
            group = chosen[chosen["dataset"] == folder.name]
            if group.empty:
                continue
            one = _Dataset(folder, metric, params, settings, planted)
            for row in group.itertuples():
                parts.append(one.steer(str(row.image_id), str(row.predicted)))
                seconds.append({"image": str(row.image), **parts[-1].seconds})
                line.advance(words=str(row.image))
    table = pd.concat([part.table for part in parts], ignore_index=True)
    held_out = chosen.set_index("image")["held_out"]
    steered = table.assign(held_out=table["image"].map(held_out))[list(COLUMNS)]
    return Steered(
        {"steered": steered, "curve": curve(steered, settings.resamples, params.seed)},
        np.stack([part.pixels for part in parts]),
        np.stack([part.maps for part in parts]).astype(np.float16),
        pd.DataFrame(seconds),
    )


def choose_images(scores: pd.DataFrame, backbone: str, number: int) -> pd.DataFrame:
    """Held-out images of a classifier, taken from the datasets in turn; all if there are fewer."""
    own = scores[(scores["backbone"] == backbone) & (scores["kind"] == "saliency")]
    if own.empty:
        raise PastaError(f"there is no saliency map of {backbone!r}, so nothing to compare with")
    images = own.drop_duplicates("image")[["dataset", "image_id", "image", "predicted", "held_out"]]
    unseen = images[images["held_out"]].sort_values("image")
    if unseen.empty:
        raise PastaError(
            f"the scorer has seen explanations of all {len(images)} images; steering is judged on "
            "held-out ones: lower scoring.public.train, or explain more images"
        )
    turns = zip_longest(*(list(group.index) for _, group in unseen.groupby("dataset")))
    order = [place for turn in turns for place in turn if place is not None]
    return unseen.loc[order[:number]].reset_index(drop=True)


def curve(steered: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Each lambda against plain RISE on the same images; empty without lambda = 0.

    Columns weight, measure and those of paired differences: ``first`` is the mean at this lambda,
    ``second`` that of plain RISE.
    """
    rows = []
    for measure in MEASURES:
        wide = steered.pivot_table(measure, "image", "weight", dropna=False)
        if 0.0 not in wide.columns or not wide.notna().any(axis=None):
            continue
        for weight in wide.columns:
            difference = paired_difference(wide[weight], wide[0.0], resamples, seed, 1e-9)
            rows.append({"weight": weight, "measure": measure, **difference})
    return pd.DataFrame(rows, columns=["weight", "measure", *DIFFERENCE])


@dataclass(frozen=True)
class _Part:
    table: pd.DataFrame
    pixels: NDArray[np.uint8]
    maps: NDArray[np.float32]
    seconds: dict[str, float]


class _Dataset:
    """Steering of one dataset's images: the classifier and the judge are opened once."""

    def __init__(
        self,
        folder: Path,
        metric: Any,
        params: Params,
        settings: ApplicationsParams,
        planted: Path | None,
    ) -> None:
        from pasta.applications.faithful import made_quick
        from pasta.applications.judge import MapJudge, planted_judge
        from pasta.applications.scores import direction, goodness
        from pasta.datasets.stored import open_dataset
        from pasta.explanations.engine import view_of
        from pasta.models.checkpoint import load
        from pasta.models.data import as_tensor
        from pasta.paths import project_root

        self.metric, self.params, self.settings = metric, params, settings
        self.own: SteeringParams = settings.steering
        self.dataset = open_dataset(folder)
        self.rows = self.dataset.images.set_index("image_id")["row"]
        model, _ = load(folder / "models" / self.own.backbone, params, project_root())
        self.view = made_quick(view_of(model), as_tensor(self.dataset.pixels[[0]]))
        question, protocol = settings.question, params.annotations.protocol
        judge = planted_judge(planted, params.annotations.simulation, question)
        self.judge = None if judge is None else MapJudge(judge, self.dataset)
        self.sign = direction(question, protocol)
        self.good = partial(goodness, question=question, protocol=protocol)

    def steer(self, image_id: str, predicted: str) -> _Part:
        import torch

        from pasta.applications.faithful import faithfulness
        from pasta.applications.steering import ask
        from pasta.explanations.attribution import shown_maps, statuses
        from pasta.explanations.base import Given
        from pasta.models.data import as_tensor

        words, params = self.dataset.vocabulary, self.params
        pixels = self.dataset.pixels[[int(self.rows[image_id])]]
        images, target = as_tensor(pixels), words.class_index(predicted)
        rise = params.explanations.methods.rise.model_copy(update={"masks": self.own.masks})
        budget = params.explanations.budget
        given = Given(
            self.view, images, torch.tensor([target]), {"rise": rise}, params.seed, budget
        )
        asked = ask(given, 0, predicted, self.metric, self.good, self.own.batch_size)
        raw = asked.maps(self.own.weights)
        shown = shown_maps(raw, "positive")
        name = f"{words.dataset}/{image_id}"
        values, why = faithfulness(
            self.view, images[0], target, shown, self.settings.subsets, params.seed, name
        )
        table = pd.DataFrame({"weight": list(self.own.weights), "faithfulness": values, "why": why})
        scored = self._scored(pixels[0], shown, predicted)
        table = table.assign(
            dataset=words.dataset,
            image_id=image_id,
            image=name,
            predicted=predicted,
            score=scored.score.astype(np.float64),
            familiar=scored.familiar,
            quality=self._quality(shown, image_id, predicted),
            status=statuses(raw),
            equal=asked.equal,
        )
        return _Part(table, pixels[0], shown, asked.seconds)

    def _scored(self, pixels: NDArray[Any], shown: NDArray[Any], predicted: str) -> Any:
        many = np.broadcast_to(pixels, (len(shown), *pixels.shape))
        return self.metric.score(
            image=many, saliency=shown, label=predicted, dataset=self.dataset.vocabulary.dataset
        )

    def _quality(self, shown: NDArray[Any], image_id: str, predicted: str) -> Any:
        if self.judge is None:
            return np.full(len(shown), np.nan)
        number = len(shown)
        return self.sign * self.judge(shown, [image_id] * number, [predicted] * number)

"""Maps of a technique under different settings, on the same images.

LIME's kernel width and penalty only weigh the same answers of the model differently. Candidates
that differ in nothing else share their forward passes, which are nearly all of the work.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pasta.applications.prepared.falls import made_quick, score_falls
from pasta.applications.prepared.fresh import Fresh
from pasta.applications.prepared.grid import LAYER, Candidate, with_candidate
from pasta.explanations.attribution import as_numpy, raw_maps, shown_maps
from pasta.explanations.base import Given, View
from pasta.explanations.engine import Work, attributions, predicted_classes, view_of
from pasta.explanations.layers import resolve_layer
from pasta.explanations.lime import kernel, random_switches, ridge
from pasta.explanations.masking import superpixel_scores
from pasta.explanations.superpixels import mean_colours, number_of, segment, spread
from pasta.explanations.techniques import Technique
from pasta.models.base import Classifier
from pasta.params import Params

Maps = NDArray[np.float32]


@dataclass
class LiveSubject:
    """Some images of one dataset, and the classifier that is explained."""

    fresh: Fresh
    model: Classifier
    technique: Technique
    params: Params
    _lime: dict[tuple[Any, ...], _Answers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.view = view_of(self.model)
        parts = torch.split(self.fresh.images, 16)
        self.targets = torch.cat([predicted_classes(self.view, part) for part in parts])

    @property
    def predicted(self) -> list[str]:
        """Names of the classes that are explained."""
        return [self.model.classes[index] for index in self.targets.tolist()]

    def view_for(self, candidate: Candidate) -> View:
        """The classifier, with the candidate's target layer if it has one."""
        if LAYER not in candidate:
            return self.view
        layer, reshape = resolve_layer(self.model, str(candidate[LAYER]))
        return replace(self.view, layer=layer, reshape=reshape)

    def shown(self, candidate: Candidate) -> Maps:
        """Maps (n, height, width) as people see them."""
        methods = with_candidate(self.technique, self.params.explanations.methods, candidate)
        sign = self.technique.about["sign"]
        if self.technique.method == "lime":
            return shown_maps(self._lime_maps(methods.lime), sign)
        explain = self.params.explanations
        work = Work(
            self.view_for(candidate),
            lambda part: self.fresh.images[part],
            self.targets,
            dict(methods),
            self.params.seed,
            explain.batch_size,
            explain.budget,
        )
        raw = [part.raw for part in attributions(work, [self.technique.method])]
        return shown_maps(np.concatenate(raw), sign)

    def falls(self, subsets: int) -> NDArray[np.float64]:
        """How the target's probability falls without subsets of pixels (n, subsets)."""
        view, seed = made_quick(self.view, self.fresh.images[:1]), self.params.seed
        rows = zip(self.fresh.images, self.targets.tolist(), self.fresh.ids, strict=True)
        name = self.fresh.name
        return np.stack(
            [score_falls(view, *row[:2], subsets, seed, f"{name}/{row[2]}") for row in rows]
        )

    def _lime_maps(self, settings: Any) -> Maps:
        key = (settings.samples, settings.segmenter, settings.segments)
        if key not in self._lime:
            given = Given(
                self.view,
                self.fresh.images,
                self.targets,
                {"lime": settings},
                self.params.seed,
                self.params.explanations.budget,
            )
            self._lime[key] = _ask(given, settings)
        maps = self._lime[key].maps(settings.kernel_width, settings.penalty)
        return as_numpy(raw_maps(maps, (maps.shape[1], maps.shape[2]), "signed"))


@dataclass(frozen=True)
class _Answers:
    """What the model said about the masked copies of each image."""

    labels: list[Tensor]
    switches: list[Tensor]
    scores: Tensor  # images x samples

    def maps(self, kernel_width: float, penalty: float) -> Tensor:
        """The same regression as :func:`pasta.explanations.lime.coefficients`."""
        weights = torch.stack([kernel(rows, kernel_width) for rows in self.switches])
        inputs = pad_sequence([rows.double().T for rows in self.switches], batch_first=True).mT
        found = ridge(inputs, self.scores.double(), weights, penalty)
        own = [row[: rows.shape[1]] for row, rows in zip(found, self.switches, strict=True)]
        return torch.stack([spread(*pair) for pair in zip(own, self.labels, strict=True)]).float()


def _ask(given: Given, settings: Any) -> _Answers:
    labels = [segment(image, settings.segmenter, settings.segments) for image in given.images]
    switches = [
        random_switches(settings.samples, number_of(label), given.generator(number, "lime"))
        for number, label in enumerate(labels)
    ]
    hidden = [mean_colours(*pair) for pair in zip(given.images, labels, strict=True)]
    return _Answers(
        labels, switches, torch.stack(superpixel_scores(given, labels, hidden, switches))
    )

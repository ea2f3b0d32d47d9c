"""The parts of an input that LIME and SHAP switch on and off, by captum: superpixels of an image.

Captum's ``LimeBase`` makes the images with hidden superpixels, asks the model about as many at a
time as the budget allows, and hands the answers to a surrogate model. The rows of switches come
from generators that know the image and the seed, so that nothing global is drawn from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

import torch
from captum.attr import LimeBase
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from pasta.explanations.base import Given, exact
from pasta.explanations.masking import batch_rows, halve_until_it_fits


def number_of(labels: Tensor) -> int:
    """How many superpixels there are."""
    return int(labels.max()) + 1


def pixel_counts(labels: Tensor) -> Tensor:
    """How many pixels each superpixel has."""
    return torch.bincount(labels.flatten())


def mean_colours(image: Tensor, labels: Tensor) -> Tensor:
    """The image (3, height, width) with each superpixel in its mean colour."""
    place, values = labels.flatten(), exact(image.flatten(1))
    sums = values.new_zeros(len(image), number_of(labels))
    sums.index_add_(1, place.to(sums.device), values)
    means = (sums / pixel_counts(labels).to(sums)).to(image)
    return means[:, place].view(image.shape)


def spread(values: Tensor, labels: Tensor) -> Tensor:
    """A map (height, width) in which each pixel has the value of its superpixel."""
    return values[labels]


class Surrogate(Protocol):
    """A simple model of what a classifier says about an image with hidden superpixels."""

    def fit(self, answers: DataLoader[Any], **_: Any) -> None:
        """Learn from the dataset of (switches, scores, weights) that captum has collected."""

    def representation(self) -> Tensor:
        """Return what was learnt."""


class Answers:
    """No model at all: the scores themselves, for those who fit several models to them."""

    def fit(self, answers: DataLoader[Any], **_: Any) -> None:
        """Keep the scores."""
        self.scores: Tensor = collected(answers)[1]

    def representation(self) -> Tensor:
        """Return the scores (rows,)."""
        return self.scores


def collected(answers: DataLoader[Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Take switches (m, superpixels), scores (m,) and weights (m,) from captum's dataset.

    Returns them in double precision, in main memory. To iterate over a loader would draw from
    torch's global generator.
    """
    switches, scores, weights = cast(TensorDataset, answers.dataset).tensors
    return switches.cpu().double(), scores.cpu().double(), weights.cpu().double()


def fit_surrogate(
    given: Given,
    number: int,
    labels: Tensor,
    hidden: Tensor,
    switches: Tensor,
    weights: Tensor,
    surrogate: Surrogate,
) -> Tensor:
    """Let captum hide superpixels of an image, ask the model, and fit a surrogate to its answers.

    Parameters
    ----------
    given, number
        The batch, and which of its images.
    labels
        To which superpixel a pixel (height, width) belongs.
    hidden
        What it looks like (3, height, width) where its superpixel is switched off.
    switches
        Which superpixels can be seen, row by row (m, superpixels).
    weights
        How much each row counts (m,).
    surrogate
        What is fitted to the target's probabilities of all rows.

    Returns
    -------
    What the surrogate has learnt, in double precision from scores in single precision, in main
    memory. Where memory runs out, fewer rows are asked at a time.
    """
    image, target = given.images[number : number + 1], int(given.targets[number])
    rows = switches.to(image.device)

    def hide(row: Tensor, picture: Tensor, **_: Any) -> Tensor:
        return torch.where(row[0][labels], picture, hidden)

    def ask(at_once: int) -> Tensor:
        waiting = iter(torch.split(weights, 1))

        def perturb(_image: Tensor, **_: Any) -> Iterator[Tensor]:
            yield from torch.split(rows, 1)

        def weigh(*_: Any, **__: Any) -> Tensor:
            return next(waiting)

        run = LimeBase(given.view.probabilities, surrogate, weigh, perturb, True, hide, None)
        found: Tensor = run.attribute(
            image, target=target, n_samples=len(rows), perturbations_per_eval=at_once
        )
        return found

    return halve_until_it_fits(ask, batch_rows(given))


def superpixel_scores(
    given: Given, labels: Sequence[Tensor], hidden: Sequence[Tensor], switches: Sequence[Tensor]
) -> list[Tensor]:
    """Compute the target's probability where only some superpixels of an image can be seen.

    ``labels``, ``hidden`` and ``switches`` of each image are those of :func:`fit_surrogate`. Rows
    that are equal are computed once.
    """
    scores = []
    for number, rows in enumerate(switches):
        different, place = torch.unique(rows, dim=0, return_inverse=True)
        even = torch.ones(len(different))
        parts = (labels[number], hidden[number], different, even)
        scores.append(fit_surrogate(given, number, *parts, Answers())[place])
    return scores

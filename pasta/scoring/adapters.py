"""The score where users of other libraries expect it: as a Quantus metric and in torchmetrics.

Neither library is needed to import this module. :class:`QuantusPastaScore` is called like any
metric of Quantus (doi:10.48550/arXiv.2202.06861) and goes into ``quantus.evaluate``;
:class:`MeanPastaScore` is a ``torchmetrics.Metric``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.attribution import shown_maps
from pasta.scoring.score import PastaScore, Scores

_Metric: Any = object  # only MeanPastaScore needs torchmetrics, and says so
with suppress(ModuleNotFoundError):
    from torchmetrics import Metric as _Metric

__all__ = ["MeanPastaScore", "QuantusPastaScore"]


class QuantusPastaScore:
    """Predicted ratings with the signature of Quantus' metrics.

    Parameters
    ----------
    score
        The question to ask, see :meth:`PastaScore.load`.
    classes
        The names of the model's outputs: Quantus knows classes by number.
    dataset
        Whose classes they are; None allows those of all.
    abs, normalise
        As in Quantus. Normalised maps are what people see: from 0 to 1 or, if ``signed``, from -1
        to 1; without, only maps of another range are converted.
    signed
        Negative attributions speak against the class; else they are the least of the map.
    prepare
        From the model's normalised input to images from 0 to 1; None takes them as they are.
    return_aggregate, aggregate_func
        Give one number for the batch, by default the mean of those that have a score.
    """

    name = "PASTA-score"

    @property
    def score_direction(self) -> Any:
        """Quantus' word for whether more stars are better, which depends on the question."""
        from quantus.helpers.enums import ScoreDirection

        return ScoreDirection.HIGHER if self.score.direction > 0 else ScoreDirection.LOWER

    @property
    def evaluation_category(self) -> Any:
        """None of Quantus': it is people's opinion."""
        from quantus.helpers.enums import EvaluationCategory

        return EvaluationCategory.NONE

    @property
    def data_applicability(self) -> set[Any]:
        """Images, in Quantus' words."""
        from quantus.helpers.enums import DataType

        return {DataType.IMAGE}

    @property
    def model_applicability(self) -> set[Any]:
        """Any model, in Quantus' words: it is not asked."""
        from quantus.helpers.enums import ModelType

        return set(ModelType)

    def __init__(
        self,
        score: PastaScore,
        classes: Sequence[str],
        dataset: str | None = None,
        abs: bool = False,
        normalise: bool = True,
        signed: bool = False,
        prepare: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
        return_aggregate: bool = False,
        aggregate_func: Callable[[Any], Any] = np.nanmean,
        disable_warnings: bool = False,
        display_progressbar: bool = False,
    ) -> None:
        self.score, self.classes, self.dataset = score, list(classes), dataset
        self.abs, self.normalise, self.signed, self.prepare = abs, normalise, signed, prepare
        self.return_aggregate, self.aggregate_func = return_aggregate, aggregate_func
        self.disable_warnings, self.display_progressbar = disable_warnings, display_progressbar
        self.evaluation_scores: list[float] = []
        self.all_evaluation_scores: list[float] = []

    def __call__(
        self,
        model: Any,
        x_batch: NDArray[Any],
        y_batch: NDArray[Any],
        a_batch: NDArray[Any] | None = None,
        s_batch: NDArray[Any] | None = None,
        channel_first: bool | None = None,
        explain_func: Callable[..., Any] | None = None,
        explain_func_kwargs: Mapping[str, Any] | None = None,
        model_predict_kwargs: Mapping[str, Any] | None = None,
        softmax: bool | None = False,
        device: str | None = None,
        batch_size: int = 64,
        **kwargs: Any,
    ) -> list[float]:
        """Stars for each explanation, NaN for maps that show nothing; the model is not asked."""
        del s_batch, model_predict_kwargs, softmax, batch_size, kwargs
        images = np.asarray(x_batch)
        if a_batch is None:
            if explain_func is None:
                raise PastaError("give attributions as a_batch=, or explain_func= to compute them")
            options = {
                **({} if device is None else {"device": device}),
                **(explain_func_kwargs or {}),
            }
            a_batch = explain_func(model=model, inputs=images, targets=y_batch, **options)
        images = images if self.prepare is None else np.asarray(self.prepare(images))
        maps = np.asarray(a_batch)
        if channel_first is False or (channel_first is None and images.shape[1] != 3):
            images = images.transpose(0, 3, 1, 2)
            maps = _channels_to_front(maps, images.shape[2:])
        found = self.score.score(
            image=list(images),
            saliency=self._maps(maps),
            label=self._labels(y_batch),
            dataset=self.dataset,
            signed=self.signed,
        )
        assert isinstance(found, Scores)  # noqa: S101 (a list gives a batch)
        scores = [float(one) for one in found.score]
        self.evaluation_scores = (
            [float(self.aggregate_func(scores))] if self.return_aggregate else scores
        )
        self.all_evaluation_scores.extend(self.evaluation_scores)
        return self.evaluation_scores

    @property
    def get_params(self) -> dict[str, Any]:
        """The settings, as Quantus shows them."""
        hidden = ("score", "evaluation_scores", "all_evaluation_scores")
        return {key: value for key, value in vars(self).items() if key not in hidden}

    def interpret_scores(self) -> str:
        """What the numbers mean."""
        return (
            f"Predicted stars from 1 to 5 that people would give for {self.score.question}; "
            f"{'higher' if self.score.direction > 0 else 'lower'} is better. NaN: the map shows "
            f"nothing.{_origin(self.score)}"
        )

    def _maps(self, attributions: NDArray[Any]) -> list[NDArray[Any]]:
        """One map for each image; attributions of colours are added up."""
        maps = attributions.sum(axis=1) if attributions.ndim == 4 else attributions
        maps = np.abs(maps) if self.abs else maps
        if not self.normalise:
            return list(maps)
        bad = np.flatnonzero(~np.isfinite(maps).all(axis=(1, 2)))
        if len(bad):
            raise PastaError(f"map {bad[0]}: some values are NaN or infinite")
        return list(shown_maps(maps, "signed" if self.signed else "positive"))

    def _labels(self, numbers: Any) -> list[str]:
        found = []
        for number in np.asarray(numbers).ravel():
            if not 0 <= int(number) < len(self.classes):
                raise PastaError(f"there is no class {number}: classes= names {len(self.classes)}")
            found.append(self.classes[int(number)])
        return found


def _channels_to_front(maps: NDArray[Any], size: tuple[int, ...]) -> NDArray[Any]:
    """Attributions (n, height, width, channels) as (n, channels, height, width)."""
    last = maps.ndim == 4 and maps.shape[1:3] == size
    return maps.transpose(0, 3, 1, 2) if last else maps


def _origin(score: PastaScore) -> str:
    return f" The scorer has {score.card.origin}." if score.card.origin else ""


class MeanPastaScore(_Metric):
    """Mean predicted stars over batches and processes; maps that show nothing do not count.

    >>> metric = MeanPastaScore(PastaScore.load())                   # doctest: +SKIP
    >>> metric.update(image=images, saliency=maps, label=labels)     # doctest: +SKIP
    >>> metric.compute()                                             # doctest: +SKIP
    """

    is_differentiable = False
    full_state_update = False
    total: Tensor
    count: Tensor
    identity: Tensor  # of scorer and question: a MetricCollection merges metrics of equal states

    def __init__(self, score: PastaScore, **kwargs: Any) -> None:
        if _Metric is object:
            raise PastaError("MeanPastaScore needs torchmetrics: pip install torchmetrics")
        super().__init__(**kwargs)
        self.score = score
        self.add_state("total", torch.tensor(0.0, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.tensor(0), dist_reduce_fx="sum")
        name = f"{score.card.weights_sha256} {score.question}"
        self.add_state("identity", torch.tensor(zlib.crc32(name.encode())), dist_reduce_fx="max")

    @property
    def higher_is_better(self) -> bool:
        """Whether more stars are good news, which depends on the question."""
        return self.score.direction > 0

    def update(
        self,
        image: Any = None,
        saliency: Any = None,
        concepts: Any = None,
        label: Any = None,
        dataset: Any = None,
        signed: bool = False,
        picture: Any = None,
    ) -> None:
        """Add explanations; the arguments are those of :meth:`PastaScore.score`."""
        found = self.score.score(
            image, saliency, concepts, label, dataset, signed=signed, picture=picture
        )
        stars = found.score if isinstance(found, Scores) else [found.score]
        values = torch.as_tensor(stars, dtype=torch.float64, device=self.total.device)
        known = ~values.isnan()
        self.total += values[known].sum()
        self.count += known.sum()

    def compute(self) -> Tensor:
        """The mean; NaN before the first explanation."""
        return (self.total / self.count).float()

"""Comprehensiveness and sufficiency of word weights (DeYoung et al. 2020, ERASER).

If an explanation is comprehensive, the class loses its probability without the words that weigh
most; if it is sufficient, they alone keep it (doi:10.18653/v1/2020.acl-main.408). Both are averaged
over several shares of the words: the area over the perturbation curve (AOPC). Words are deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from pasta.compute import to_numpy
from pasta.errors import PastaError
from pasta.explanations.hooks import evaluating
from pasta.registry import did_you_mean
from pasta.texts.classifier import TextModel
from pasta.texts.documents import Document, as_documents
from pasta.texts.settings import Removal

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
NAMES = ("comprehensiveness", "sufficiency")
Values = NDArray[np.float64]
Status = Literal["ok", "zero", "constant", "nan", "no words"]


@dataclass(frozen=True)
class Faithfulness:
    """What the class loses at each share of the words (shares,), and the means.

    Attributes
    ----------
    without
        Probability of the text minus that without the heaviest words.
    alone
        Probability of the text minus that of the heaviest words alone.
    status
        ``ok``, or why there are no numbers.
    """

    without: NDArray[np.float64]
    alone: NDArray[np.float64]
    status: Status = "ok"

    @property
    def comprehensiveness(self) -> float:
        """Mean over the shares, higher is better; NaN unless the status is ok."""
        return float(self.without.mean()) if self.status == "ok" else float("nan")

    @property
    def sufficiency(self) -> float:
        """Mean over the shares, lower is better; NaN unless the status is ok."""
        return float(self.alone.mean()) if self.status == "ok" else float("nan")


def evaluate_texts(
    name: str,
    model: TextModel,
    texts: Sequence[str | Document],
    weights: Sequence[Sequence[float] | Values],
    targets: Sequence[int] | None = None,
    *,
    shares: Sequence[float] = SHARES,
    removal: Removal = "delete",
) -> Values:
    """Measure how faithful the weights of words are, with one value a text.

    It stands beside :func:`pasta.evaluate` as :func:`pasta.explain_texts` beside
    :func:`pasta.explain`: texts have no common size and no tensors, and the ``sufficiency`` of
    images is another metric.

    Parameters
    ----------
    name
        ``comprehensiveness`` (higher is better) or ``sufficiency`` (lower is better).
    model, texts, targets
        As for :func:`pasta.explain_texts`; None takes the predicted classes.
    weights
        For each text one number a word, as :func:`pasta.explain_texts` gives them for a method.
    shares, removal
        See :func:`measure_faithfulness`.

    Returns
    -------
    Values (n,), NaN where there is none: :func:`measure_faithfulness` says why.

    Examples
    --------
    >>> from pasta.texts.classifier import FunctionModel
    >>> def judge(texts):
    ...     good = np.array([0.9 if "good" in text else 0.2 for text in texts])
    ...     return np.stack([1 - good, good], 1)
    >>> model = FunctionModel(judge, ["bad", "good"])
    >>> evaluate_texts("comprehensiveness", model, ["so very good"], [[0, 0, 1]]).round(3)
    array([0.7])
    """
    if name not in NAMES:
        raise PastaError(f"there is no metric of texts {name!r}. {did_you_mean(name, list(NAMES))}")
    documents = as_documents(texts)
    if targets is None:
        targets = to_numpy(model.probabilities(documents)).argmax(1).tolist()
    if not len(documents) == len(weights) == len(targets):
        raise PastaError(
            f"{len(documents)} texts, weights of {len(weights)} and targets of {len(targets)}"
        )
    found = (
        measure_faithfulness(model, document, own, target, shares, removal)
        for document, own, target in zip(documents, weights, targets, strict=True)
    )
    return np.array([getattr(one, name) for one in found], np.float64)


def measure_faithfulness(
    model: TextModel,
    document: Document,
    weights: Sequence[float] | NDArray[np.float64],
    target: int,
    shares: Sequence[float] = SHARES,
    removal: Removal = "delete",
) -> Faithfulness:
    """Ask a model about a text without its heaviest words, and about these alone.

    Parameters
    ----------
    model
        The classifier.
    document
        The text.
    weights
        One number a word; large ones speak for the class. Of equal ones the first word counts as
        heavier.
    target
        The class that is explained.
    shares
        Shares of the words that are taken away or left; each is at least one word.
    removal
        ``delete`` as in ERASER, or ``mask``.

    Returns
    -------
    What the class loses. Weights that are all the same or not finite order nothing and are not
    measured, and have a status.

    Examples
    --------
    >>> from pasta.texts.classifier import FunctionModel
    >>> def judge(texts):
    ...     good = np.array([0.9 if "good" in text else 0.2 for text in texts])
    ...     return np.stack([1 - good, good], 1)
    >>> found = measure_faithfulness(
    ...     FunctionModel(judge, ["bad", "good"]), Document("so very good"), [0, 0, 1], 1
    ... )
    >>> round(found.comprehensiveness, 3), round(found.sufficiency, 3)
    (0.7, 0.0)
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(document),):
        raise PastaError(f"{values.size} weights for {len(document)} words")
    _check_shares(shares)
    if not np.isfinite(values).all():
        return _nothing(shares, "nan")
    if not len(values):
        return _nothing(shares, "no words")
    if np.ptp(values) == 0:
        return _nothing(shares, "constant" if values.any() else "zero")
    heaviest = top_words(values, shares)
    whole = np.ones((1, len(values)), dtype=bool)
    kept = torch.from_numpy(np.concatenate([whole, ~heaviest, heaviest]))
    with evaluating(model):
        scores = to_numpy(model.ask(document, kept, removal=removal).double())[:, target]
    count = len(shares)
    return Faithfulness(scores[0] - scores[1 : count + 1], scores[0] - scores[count + 1 :])


def top_words(weights: NDArray[np.float64], shares: Sequence[float]) -> NDArray[np.bool_]:
    """Flags (shares, words) of the heaviest words: of w words, share x w rounded up.

    >>> top_words(np.array([0.1, 0.9, 0.5]), [0.01, 0.5]).astype(int).tolist()
    [[0, 1, 0], [0, 1, 1]]
    """
    order = np.argsort(-weights, kind="stable")
    places = np.empty(len(weights), dtype=np.int64)
    places[order] = np.arange(len(weights))
    # A product such as 0.1 x 30 may lie a rounding error above a whole number.
    counts = [max(1, int(np.ceil(share * len(weights) - 1e-9))) for share in shares]
    return np.stack([places < count for count in counts])


def _nothing(shares: Sequence[float], status: Status) -> Faithfulness:
    empty = np.full(len(shares), np.nan)
    return Faithfulness(empty, empty, status)


def _check_shares(shares: Sequence[float]) -> None:
    wrong = [one for one in shares if not 0 < one <= 1]
    if wrong or not len(shares):
        found = f"the share {wrong[0]}" if wrong else "no share"
        raise PastaError(f"{found} of the words, expected shares above 0 and up to 1")

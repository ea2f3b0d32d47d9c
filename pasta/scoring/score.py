"""How people would rate an explanation: ``from pasta import PastaScore``.

>>> score = PastaScore.load()                                   # doctest: +SKIP
>>> score(image=image, saliency=heat, label="cat").score        # doctest: +SKIP
3.4
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasta.embedding import inputs
from pasta.embedding.encoders import ENCODERS, Encoder
from pasta.embedding.stored import GIVEN
from pasta.errors import PastaError
from pasta.paths import find_root, project_root
from pasta.registry import did_you_mean
from pasta.scoring.base import STARS, Floats
from pasta.scoring.encoding import ExplanationEncoder, Watch
from pasta.scoring.given import (
    OK,
    Many,
    concepts_given,
    images_given,
    labels_given,
    maps_given,
)
from pasta.scoring.ood import CONCEPT, IMAGE, SALIENCY
from pasta.scoring.stored import (
    ENCODER,
    FOLDER,
    EncoderCard,
    ScorerCard,
    StoredScorer,
    load_scorer,
)
from pasta.seeds import generator
from pasta.studies.ratings.settings import MAIN

RESAMPLES = 10_000


@dataclass(frozen=True)
class Score:
    """The predicted rating of one explanation."""

    question: str
    score: float  # stars, 1-5; NaN if there is nothing to rate, see status
    distribution: Floats | None  # chances that one person gives 1, 2, 3, 4, 5 stars
    low: float | None  # 90 % interval of the aggregated rating
    high: float | None
    familiar: bool  # whether it looks like what the scorer has learned from
    status: str  # ok, constant (a map that shows nothing) or zero (no concept matters)
    origin: str = ""  # what the scorer learned from, if not from people's votes on real images
    informative: bool = True  # False if the interval leaves nearly the whole scale open
    notes: tuple[str, ...] = ()  # whatever one should know before trusting the score
    warning: str = ""  # if the question is hardly predicted at all; it is among the notes

    def __float__(self) -> float:
        return self.score


@dataclass(frozen=True)
class Scores:
    """The predicted ratings of a batch; each field has one row for each explanation."""

    question: str
    score: Floats
    distribution: Floats | None
    low: Floats | None
    high: Floats | None
    familiar: NDArray[np.bool_]
    status: tuple[str, ...]
    origin: str
    informative: NDArray[np.bool_]
    notes: tuple[tuple[str, ...], ...]
    warning: str

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, row: int) -> Score:
        return Score(
            self.question,
            float(self.score[row]),
            None if self.distribution is None else self.distribution[row],
            None if self.low is None else float(self.low[row]),
            None if self.high is None else float(self.high[row]),
            bool(self.familiar[row]),
            self.status[row],
            self.origin,
            bool(self.informative[row]),
            self.notes[row],
            self.warning,
        )

    def __iter__(self) -> Iterator[Score]:
        return (self[row] for row in range(len(self)))


class Summary(NamedTuple):
    """Mean score of the explanations that have one."""

    n: int
    mean: float  # NaN if there are none
    ci95: tuple[float, float] | None  # of the mean over other images; None for fewer than two


def summarise_scores(scores: NDArray[Any], seed: int = 0) -> Summary:
    """Mean with a percentile bootstrap interval over explanations (10,000 resamples).

    The interval tells how much the mean would vary with other images. It does not know that the
    scorer itself errs: for that see the intervals of the single scores.
    """
    known = np.asarray(scores, np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return Summary(0, math.nan, None)
    if len(known) == 1:
        return Summary(1, float(known[0]), None)
    rng = generator(seed, "score", "bootstrap")
    rows = max(1, 2_000_000 // len(known))
    means: list[NDArray[Any]] = []
    for start in range(0, RESAMPLES, rows):
        size = (min(rows, RESAMPLES - start), len(known))
        means.append(known[rng.integers(len(known), size=size)].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return Summary(len(known), float(known.mean()), (float(low), float(high)))


def better_techniques(
    mean: float, techniques: Mapping[str, float], direction: int
) -> list[str] | None:
    """The techniques with a better mean, the nearest first; None without a mean to compare.

    ``direction`` is 1 where more stars are better and -1 where fewer are.
    """
    if math.isnan(mean) or not techniques:
        return None
    better = [name for name, other in techniques.items() if direction * (other - mean) > 0]
    return sorted(better, key=lambda name: direction * techniques[name])


__all__ = ["PastaScore", "Score", "Scores"]
BATCH = 32  # pictures encoded at once
WEAK = 0.2  # held-out kappa below which a question is answered with a warning
OPEN = 0.9  # share of the scale; an interval that covers as much says nothing
STRANGE_IMAGE = "the image is unlike those the scorer was trained on"
STRANGE = "the explanation is unlike those the scorer was trained on"
DRAWN = "only the drawn explanation was looked at: whether its image is familiar is not known"


class _Job(NamedTuple):
    """Explanations that have been checked."""

    kind: str
    encode: Callable[[NDArray[np.int64]], Floats]  # vectors of some of them
    images: Many | None  # those that are explained, if they are known
    labels: list[str | None] | None
    status: list[str]
    notes: list[list[str]]  # how each was brought into the form that the scorer knows
    batch: bool


class PastaScore:
    """Predicts how people would answer one question about explanations.

    :meth:`load` opens a trained scorer; calling it is :meth:`score`.

    Parameters
    ----------
    question
        One of those that the scorer has learned.
    stored
        The scorer, as :func:`pasta.scoring.stored.load_scorer` returns it.
    encoder
        The encoder that it was trained with.
    batch_size
        Pictures encoded at once.

    Examples
    --------
    In a project whose scorer is trained; ``load("Q1", folder)`` opens any other one.

    >>> import numpy as np
    >>> from pasta import PastaScore
    >>> score = PastaScore.load("Q1")
    >>> image, saliency = np.full((32, 32, 3), 0.5), np.eye(32)
    >>> found = score(image=image, saliency=saliency, label="cat")
    >>> found.status, 1 <= found.score <= 5
    ('ok', True)

    A batch has arrays:

    >>> score(image=[image] * 3, saliency=[saliency] * 3, label="cat").score.shape
    (3,)
    """

    def __init__(
        self, question: str, stored: StoredScorer, encoder: Encoder, batch_size: int = BATCH
    ) -> None:
        self.question, self.stored, self.encoder = question, stored, encoder
        if question not in stored.card.questions:
            hint = did_you_mean(question, list(stored.card.questions))
            raise PastaError(f"the scorer has not learned a question {question!r}. {hint}")
        self._column = stored.card.questions.index(question)
        self.batch_size = batch_size
        self._encode = ExplanationEncoder(encoder, stored.card.preprocessing, batch_size)

    @classmethod
    def load(
        cls,
        question: str = MAIN,
        folder: Path | str | None = None,
        *,
        encoder: Encoder | None = None,
        batch_size: int = BATCH,
    ) -> PastaScore:
        """Open the scorer of a question.

        Parameters
        ----------
        question
            One of those that raters answered with stars.
        folder
            A trained scorer; None is the project's own. No project is needed for another one.
        encoder
            One that is already open; None opens the one that the scorer was trained with.
        batch_size
            Pictures encoded at once.

        Returns
        -------
        PastaScore
        """
        own = folder is None
        place = project_root() / FOLDER if folder is None else Path(folder)
        stored = load_scorer(place)
        if question not in stored.card.questions:  # before an encoder is opened, which takes long
            hint = did_you_mean(question, list(stored.card.questions))
            raise PastaError(f"{place}: the scorer has not learned {question!r}. {hint}")
        card = stored.card.encoder
        opened = encoder or _open_encoder(card, place)
        if opened.md5 != card.md5:
            advice = (
                "`dvc repro score` trains the scorer again" if own else "get the scorer's encoder"
            )
            raise PastaError(
                f"{place}: the scorer was trained with another encoder: {card.name} with weights "
                f"of the md5 {card.md5}, but {opened.name} here has {opened.md5}. Its scores would "
                f"mean nothing; {advice}"
            )
        return cls(question, stored, opened, batch_size)

    @property
    def direction(self) -> int:
        """1 if more stars are better for this question, -1 if fewer are."""
        return self.card.directions[self.question]

    @property
    def card(self) -> ScorerCard:
        """What is known about the scorer: encoder, preprocessing, classes, metrics."""
        return self.stored.card

    def score(
        self,
        image: Any = None,
        saliency: Any = None,
        concepts: Any = None,
        label: Any = None,
        dataset: Any = None,
        *,
        signed: bool = False,
        picture: Any = None,
        watch: Watch | None = None,
    ) -> Score | Scores:
        """Predicted ratings of one explanation or of many at once.

        Parameters
        ----------
        image, saliency
            The image and its map, as numpy arrays, torch tensors or PIL images: one, a batch, or
            lists. Images are bytes, or floats from 0 to 1. Maps are floats from 0 to 1 of the
            image's size; others are converted (:mod:`pasta.scoring.given`), with a note.
        concepts
            Instead of a map, ``{name: value}``, or a list of such for a batch.
        label
            The class that the model predicted (one for all, or one for each). Without one, or with
            one that the scorer does not know, it answers without, with a note.
        dataset
            Which dataset's class is meant; None allows those of all.
        signed
            Maps are from -1 to 1; what is negative speaks against the class.
        picture
            Instead of image and map, explanations that are already drawn.
        watch
            Called with the number of explanations just encoded.

        Returns
        -------
        A :class:`Score`, or :class:`Scores` with arrays for a batch. A map that is the same
        everywhere shows people nothing: its score is NaN, its status says so. ``notes`` say what
        was converted, what is unfamiliar, and when a score carries no information.
        """
        job = self._job(image, saliency, concepts, label, dataset, signed, picture, watch)
        _warn(job.status)
        scores = self._scored(job)
        return scores if job.batch else scores[0]

    __call__ = score

    def check(self, **given: Any) -> None:
        """Raise what :meth:`score` would raise about its input, without the encoder's work.

        Parameters
        ----------
        **given
            As for :meth:`score`.
        """
        self._job(**given)

    def __deepcopy__(self, memo: Any) -> PastaScore:
        """The same object: nothing about a score changes, and encoders are large."""
        return self

    def _job(
        self,
        image: Any = None,
        saliency: Any = None,
        concepts: Any = None,
        label: Any = None,
        dataset: Any = None,
        signed: bool = False,
        picture: Any = None,
        watch: Watch | None = None,
    ) -> _Job:
        """Checked input and how to encode it."""
        if sum(given is not None for given in (saliency, concepts, picture)) != 1:
            raise PastaError("give exactly one of saliency= (with image=), concepts= and picture=")
        say = watch or _silent
        if concepts is not None:
            rows, status, batch = concepts_given(concepts)
            labels, notes = self._labels(label, len(rows), dataset)
            return _Job(
                CONCEPT,
                lambda some: self._encode.concepts([rows[row] for row in some], say),
                None,
                labels,
                status,
                notes,
                batch,
            )
        images = images_given(image if picture is None else picture)
        number = len(images.items)
        maps = None if picture is not None else maps_given(saliency, images, signed)
        converted = [[DRAWN]] * number if maps is None else maps.notes
        labels, notes = self._labels(label, number, dataset)
        return _Job(
            SALIENCY,
            lambda some: self._encode.pictures(
                images, None if maps is None else maps.items, some, signed, say
            ),
            None if maps is None else images,
            labels,
            [OK] * number if maps is None else maps.status,
            [[*first, *second] for first, second in zip(converted, notes, strict=True)],
            images.batch,
        )

    def _labels(
        self, label: Any, number: int, dataset: Any
    ) -> tuple[list[str | None] | None, list[list[str]]]:
        labels = self.card.labels
        if labels is None:
            return None, [[] for _ in range(number)]
        return labels_given(label, number, labels.datasets, dataset, needed=labels.dropout == 0)

    def _scored(self, job: _Job) -> Scores:
        """Scores of what can be rated; NaN for the rest."""
        number, column = len(job.status), self._column
        some = np.flatnonzero(np.array(job.status) == OK)
        vectors = job.encode(some) if len(some) else np.zeros((0, self.encoder.width), np.float32)
        features = vectors
        if job.labels is not None and self.card.labels is not None:
            own = [job.labels[row] for row in some]
            features = inputs.with_label(vectors, own, self.card.labels.order)
        notes = [list(own) for own in job.notes]
        familiar = np.zeros(number, bool)
        familiar[some] = True
        self._judge(familiar, job.kind, some, vectors, STRANGE, notes)
        if job.images is not None and len(some):
            looks = self._encode.statistics(job.images, some)
            self._judge(familiar, IMAGE, some, looks, STRANGE_IMAGE, notes)
        answer = self.stored.fitted.follow(self._encode.where).predict(features)

        def placed(values: Floats | None) -> Floats | None:
            if values is None:
                return None
            whole = np.full((number, *values.shape[2:]), np.nan, np.float32)
            whole[some] = values[:, column]
            return whole

        stars = placed(answer.stars)
        assert stars is not None  # noqa: S101 (for the type checker)
        low, high = placed(answer.low), placed(answer.high)
        informative = np.ones(number, bool)
        if low is not None and high is not None:
            width = high - low
            informative = ~(width >= OPEN * (len(STARS) - 1))
            for row in np.flatnonzero(~informative):
                notes[row].append(
                    f"no information: the interval covers {width[row]:.1f} of the scale's "
                    f"{len(STARS) - 1} stars"
                )
        warning = weak_question(self.card, self.question)
        return Scores(
            self.question,
            stars,
            placed(answer.distribution),
            low,
            high,
            familiar,
            tuple(job.status),
            self.card.origin,
            informative,
            tuple((*own, warning) if warning else tuple(own) for own in notes),
            warning,
        )

    def _judge(
        self,
        familiar: NDArray[np.bool_],
        kind: str,
        some: NDArray[np.int64],
        vectors: Floats,
        strange: str,
        notes: list[list[str]],
    ) -> None:
        """Note what is not familiar; of a kind that the scorer has never seen nothing is."""
        region = self.stored.familiar.get(kind)
        known = np.zeros(len(some), bool) if region is None else region(vectors)
        familiar[some] &= known
        for row in some[~known]:
            notes[row].append(strange)


def weak_question(card: ScorerCard, question: str) -> str:
    """A warning if a scorer hardly predicts a question, or if nobody has measured it."""
    kappa = card.kappa(question)
    if kappa is None:
        return f"how well the scorer predicts {question} is not known"
    if kappa >= WEAK:
        return ""
    return f"the scorer hardly predicts {question}: held-out kappa {kappa:.2f}"


def _open_encoder(card: EncoderCard, place: Path) -> Encoder:
    """The encoder that lies with the scorer, or else the one that its card names."""
    if card.name == GIVEN:
        raise PastaError(
            f"{place}: the scorer was trained on vectors that were given ({card.weights}), so it "
            "cannot look at explanations. `load_scorer(FOLDER).fitted.predict(vectors)` of "
            "pasta.scoring.stored scores further vectors, followed by one column for each label"
        )
    own = place / ENCODER
    if own.is_dir():
        return ENCODERS[card.name](str(own.resolve()), place)
    # public weights are found anywhere
    return ENCODERS[card.name](card.weights, find_root() or place)


def _silent(done: int) -> None:
    """Report no progress."""


def _warn(status: list[str]) -> None:
    wrong = [row for row, one in enumerate(status) if one != OK]
    if wrong:
        warnings.warn(
            f"{len(wrong)} of {len(status)} explanations show nothing (the first is number "
            f"{wrong[0]}, {status[wrong[0]]}); their scores are NaN",
            stacklevel=4,
        )

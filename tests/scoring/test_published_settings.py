"""The papers' own learning rates, on vectors as long as those of the papers' encoders.

CLIP ViT-L/14@336 gives vectors that are about 21 long (rom1504/clip-retrieval, issue 290: -0.1623
and -0.007797 are the same number of a picture before and after division by the length).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pasta import compute
from pasta.scoring import baselines, neural  # noqa: F401 (they register themselves)
from pasta.scoring.base import SCORERS, Fitted, Rated
from pasta.scoring.evaluation import quadratic_kappa, star_counts
from pasta.scoring.settings import LINEAR, MLP, PenaltyParams
from pasta.seeds import generator
from tests.scoring.planted import rated

compute.limit_threads()
WIDTH, LENGTH = 1024, 21.0
VALIDATION, TEST = 600, 2000
CLOSE = 0.03  # of quadratic kappa
Parts = tuple[Rated, Rated, Rated]  # training, validation, test


def known_problem(seed: int, train: int, length: float, classes: int = 0) -> Parts:
    """Stars that follow 64 of 1,024 directions, up to noise.

    As with CLIP, all vectors have a direction in common (the cosine of two is about 0.6) and what
    is left varies in few directions much and in many a little.
    """
    random = generator(seed, "published settings")
    spread = 1 / np.arange(1, WIDTH + 1)
    spread /= np.linalg.norm(spread)
    turn = np.linalg.qr(random.normal(size=(WIDTH, WIDTH)))[0]
    common = random.normal(size=WIDTH)
    hidden = random.normal(size=(train + VALIDATION + TEST, WIDTH))
    own = (hidden * spread) @ turn
    vectors = length * (np.sqrt(0.6) * common / np.linalg.norm(common) + np.sqrt(0.4) * own)
    cause = hidden[:, :64] @ (random.normal(size=64) * spread[:64])
    cause = cause / cause.std() + 0.7 * random.normal(size=len(cause))
    stars = np.clip(np.rint(3 + 1.2 * cause / cause.std()), 1, 5)
    if classes:
        hot = np.eye(classes)[random.integers(classes, size=len(vectors))]
        vectors = np.concatenate([vectors, hot], axis=1)
    every = rated(vectors, stars)
    ends = np.cumsum([train, VALIDATION, TEST])
    first, second, third = np.split(np.arange(len(vectors)), ends[:-1])
    return every.at(first), every.at(second), every.at(third)


def kappa(fitted: Fitted, part: Rated) -> float:
    stars: NDArray[Any] = fitted.predict(part.features).stars[:, 0]
    return float(quadratic_kappa(star_counts(part.labels[:, 0], stars)))


def reached(name: str, problems: list[Parts], settings: Any) -> float:
    """The mean kappa on the test parts; all problems are trained at once."""
    train, validation, test = zip(*problems, strict=True)
    fitted = SCORERS[name].fit_many(train, validation, settings, range(len(problems)))
    return float(np.mean([kappa(one, own) for one, own in zip(fitted, test, strict=True)]))


def reached_by_ridge(problems: list[Parts]) -> float:
    """Ridge with the penalty that is best on the validation part."""
    found = []
    for train, validation, test in problems:
        every = [
            SCORERS["ridge"].fit(train, validation, PenaltyParams(alpha=alpha), 0)
            for alpha in (0.1, 1.0, 10.0, 100.0, 1000.0)
        ]
        best = max(every, key=lambda fitted: kappa(fitted, validation))
        found.append(kappa(best, test))
    return float(np.mean(found))


def test_the_linear_scorer_of_p1_learns_as_much_as_ridge() -> None:
    problems = [known_problem(seed, 640, LENGTH) for seed in (1, 2)]
    ridge = reached_by_ridge(problems)
    assert ridge > 0.65
    assert reached("pasta-linear", problems, LINEAR) > ridge - CLOSE


def test_vectors_of_unit_length_are_too_short_for_the_rate_of_p1() -> None:
    problems = [known_problem(seed, 640, 1.0) for seed in (1,)]
    assert reached("pasta-linear", problems, LINEAR) < reached_by_ridge(problems) - 0.2


@pytest.mark.slow
def test_the_mlp_of_p2_learns_as_much_as_ridge() -> None:
    problems = [known_problem(1, 768, LENGTH, classes=26)]
    ridge = reached_by_ridge(problems)
    assert ridge > 0.65
    assert reached("pasta-mlp", problems, MLP) > ridge - CLOSE

"""Every scorer learns what is there, nothing that is not, and survives being stored."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.scoring import baselines, neural  # noqa: F401 (they register themselves)
from pasta.scoring.base import SCORERS, Rated
from pasta.scoring.material import split
from pasta.scoring.settings import By, HiddenLayerParams, PenaltyParams, SupportVectorParams
from tests.scoring.planted import (
    SECOND_LOSS,
    evaluate,
    linear_stars,
    planted,
    rated,
    samples,
    settings,
)

HIDDEN = settings(
    hidden=(64, 16), learning_rate=2e-3, weight_decay=1e-6, epochs=40, loss=SECOND_LOSS
)
SETTINGS: dict[str, Any] = {
    "pasta-linear": settings(learning_rate=0.1, epochs=60),
    "pasta-mlp": HIDDEN,
    "pasta-mlp-open": HIDDEN,
    "ridge": PenaltyParams(alpha=1.0),
    "handcrafted": PenaltyParams(alpha=1.0),
    "lasso": PenaltyParams(alpha=0.01),
    "svm": SupportVectorParams(cost=1.0, epsilon=0.1),
    "mlp-100": HiddenLayerParams(hidden=100, epochs=200),
    "constant": None,
    "global-mean": None,
}
LEARNERS = [name for name, own in SETTINGS.items() if own is not None]
every = pytest.mark.parametrize("name", SETTINGS)


def kappas(frame: pd.DataFrame, data: list[Rated], by: By, name: str) -> list[float]:
    """QWK on the test part of the first question, with a seed for each of the data."""
    parts = [split(frame, by, 0.7, seed) for seed in range(len(data))]
    train = [one.at(part.train) for one, part in zip(data, parts, strict=True)]
    validation = [one.at(part.validation) for one, part in zip(data, parts, strict=True)]
    seeds = list(range(len(data)))
    fitted = SCORERS[name].fit_many(train, validation, SETTINGS[name], seeds)
    found = []
    for one, part, trained in zip(data, parts, fitted, strict=True):
        test = one.at(part.test)
        table = evaluate(test.labels[:, 0], trained.predict(test.features).stars[:, 0])
        found.append(float(table.loc[table["measure"] == "qwk", "estimate"].item()))
    return found


@pytest.mark.parametrize("name", LEARNERS)
def test_a_planted_linear_function_is_recovered(name: str) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1600, 8))
    data = rated(features, linear_stars(features, rng, 1))
    assert kappas(samples(), [data, data], "image_and_technique", name)[1] > 0.9


def test_an_output_that_starts_below_zero_stays_there_only_with_relu() -> None:
    train, validation = planted(200, 8, 1), planted(60, 8, 1, 1)
    nothing = Rated(train.features * 1e-6, train.counts, train.labels)  # all depends on the start
    dead = [
        seed for seed in range(20) if _network("pasta-mlp", nothing, validation, seed).max() == 1
    ]
    assert 0 < len(dead) < 20
    assert _network("pasta-mlp", nothing, validation, dead[0], epochs=40).max() == 1
    assert _network("pasta-mlp-open", nothing, validation, dead[0], epochs=40).min() > 1


def _network(
    name: str, train: Rated, validation: Rated, seed: int, epochs: int = 1
) -> NDArray[np.float32]:
    """Stars for the training set after some epochs."""
    own = HIDDEN.model_copy(update={"epochs": epochs, "evaluate_every": epochs})
    return SCORERS[name].fit(train, validation, own, seed).predict(train.features).stars


@pytest.mark.parametrize("name", ["ridge", "pasta-linear"])
@pytest.mark.parametrize(
    "by", ["none", "image", "technique", "image_and_technique", "dataset_and_technique"]
)
def test_random_labels_cannot_be_learned(name: str, by: By) -> None:
    rng = np.random.default_rng(0)
    data = rated(rng.normal(size=(1600, 8)), rng.integers(1, 6, 1600))
    assert abs(np.mean(kappas(samples(), 3 * [data], by, name))) < 0.12


def remembered(codes: NDArray[Any], seed: int) -> Rated:
    """Random stars for each image (or technique), and features that tell which one it is."""
    rng = np.random.default_rng(seed)
    faces, stars = rng.normal(size=(codes.max() + 1, 80)), rng.integers(1, 6, codes.max() + 1)
    noise = 0.1 * rng.normal(size=(len(codes), 80))
    return rated(faces[codes] + noise, stars[codes])


@pytest.mark.parametrize("name", ["ridge", "pasta-linear"])
@pytest.mark.parametrize(
    ("column", "frame", "honest"),
    [
        ("image", samples(100, 12), ["image", "image_and_technique", "dataset_and_technique"]),
        ("technique", samples(12, 100), ["technique", "image_and_technique"]),
    ],
)
def test_a_leaky_split_rewards_memory_and_an_honest_one_does_not(
    name: str, column: str, frame: pd.DataFrame, honest: list[By]
) -> None:
    _, codes = np.unique(frame[column], return_inverse=True)
    data = [remembered(codes, seed) for seed in range(6)]
    assert kappas(frame, data[:1], "none", name)[0] > 0.5
    for by in honest:
        assert abs(np.mean(kappas(frame, data, by, name))) < 0.2, by


@every
def test_what_is_stored_predicts_the_same(name: str) -> None:
    train, validation = planted(80, 5, 3), planted(30, 5, 3, 1)
    train.labels[:9, 1] = np.nan
    fitted = SCORERS[name].fit(train, validation, SETTINGS[name], 0)
    arrays, about = fitted.state()
    assert all(array.dtype == np.float32 for array in arrays.values())
    again = SCORERS[name].load(dict(arrays), json.loads(json.dumps(about)))
    expected = fitted.predict(validation.features).stars
    assert expected.shape == (30, 3)
    assert expected.dtype == np.float32
    np.testing.assert_array_equal(again.predict(validation.features).stars, expected)


@every
def test_samples_are_scored_alone_as_in_company(name: str) -> None:
    train, validation = planted(80, 5, 2), planted(30, 5, 2, 1)
    fitted = SCORERS[name].fit(train, validation, SETTINGS[name], 0)
    whole = fitted.predict(validation.features).stars
    alone = [fitted.predict(one[None]).stars[0] for one in validation.features]
    np.testing.assert_allclose(alone, whole, atol=1e-5)
    assert fitted.predict(validation.features[:0]).stars.shape == (0, 2)
    assert whole.min() >= 1
    assert whole.max() <= 5


@every
def test_unusable_features_are_refused(name: str) -> None:
    train, validation = planted(80, 5, 2), planted(30, 5, 2, 1)
    fitted = SCORERS[name].fit(train, validation, SETTINGS[name], 0)
    with pytest.raises(PastaError, match=r"expected \(samples, 5\)"):
        fitted.predict(np.zeros((2, 4), np.float32))
    with pytest.raises(PastaError, match="1 of 2 samples have features that are NaN"):
        fitted.predict(np.array([[0.0] * 5, [np.nan] * 5], np.float32))


def test_baselines_predict_what_scikit_learn_predicts() -> None:
    from sklearn.linear_model import Lasso, Ridge
    from sklearn.svm import SVR

    train, test = planted(80, 5, 1), planted(30, 5, 1, 1)
    peers = {"ridge": Ridge(alpha=1.0), "lasso": Lasso(alpha=0.01), "svm": SVR(C=1.0, epsilon=0.1)}
    for name, peer in peers.items():
        peer.fit(train.features, train.labels[:, 0])
        found = SCORERS[name].fit(train, test, SETTINGS[name], 0).predict(test.features).stars[:, 0]
        np.testing.assert_allclose(
            found, np.clip(peer.predict(test.features), 1, 5), atol=1e-4, err_msg=name
        )


def test_constant_is_the_most_frequent_star_and_mean_the_mean() -> None:
    data = rated(np.zeros((5, 2)), np.array([4, 4, 2, 2, 5]))
    found = [SCORERS[name].fit(data, data, None, 0) for name in ("constant", "global-mean")]
    stars = [fitted.predict(data.features).stars for fitted in found]
    assert np.unique(stars[0]).tolist() == [2]
    assert np.unique(stars[1]).tolist() == pytest.approx([3.4])


def test_handcrafted_does_not_depend_on_units() -> None:
    train, test = planted(80, 5, 1), planted(30, 5, 1, 1)
    units = np.array([1, 1e-4, 1e3, 1, 1], np.float32)
    own = PenaltyParams(inputs="standard")
    plain = SCORERS["handcrafted"].fit(train, test, own, 0)
    scaled = Rated(train.features * units, train.counts, train.labels)
    other = SCORERS["handcrafted"].fit(scaled, test, own, 0)
    np.testing.assert_allclose(
        other.predict(test.features * units).stars, plain.predict(test.features).stars, atol=1e-4
    )

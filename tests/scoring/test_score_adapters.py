"""The score as a metric of Quantus and of torchmetrics."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy

from pasta.errors import PastaError
from pasta.scoring import adapters
from pasta.scoring.adapters import MeanPastaScore, QuantusPastaScore
from pasta.scoring.score import PastaScore, Scores
from tests.scoring.small_scorer import ORIGIN, heat, make_scorer, pictures, tiny

CLASSES = ("cat", "dog", "car")
TARGETS = np.array([0, 2, 1, 0])


@pytest.fixture(scope="module")
def score(tmp_path_factory: pytest.TempPathFactory) -> PastaScore:
    encoder = tiny()
    folder = make_scorer(tmp_path_factory.mktemp("project"), encoder)
    return PastaScore.load("Q1", folder, encoder=encoder)


def images() -> Any:
    return pictures(4).transpose(0, 3, 1, 2).astype(np.float32) / 255


def expected(score: PastaScore) -> Any:
    found = score(image=pictures(4), saliency=heat(4), label=["cat", "car", "dog", "cat"])
    assert isinstance(found, Scores)
    return found.score


def test_the_quantus_metric_shows_maps_as_people_see_them(score: PastaScore) -> None:
    metric = QuantusPastaScore(score, CLASSES, "catsdogscars")
    raw = 7 * heat(4)[:, None] - 3  # any scale
    found = metric(model=None, x_batch=images(), y_batch=TARGETS, a_batch=raw)
    assert found == pytest.approx(expected(score), abs=1e-3)
    last = metric(model=None, x_batch=pictures(4), y_batch=TARGETS, a_batch=raw)
    assert last == pytest.approx(expected(score), abs=1e-3)
    assert metric.all_evaluation_scores == found + last
    mean = QuantusPastaScore(score, CLASSES, return_aggregate=True)
    assert mean(None, images(), TARGETS, raw) == [pytest.approx(np.mean(found), abs=1e-3)]


def test_attributions_may_have_their_channels_last(score: PastaScore) -> None:
    metric = QuantusPastaScore(score, CLASSES, "catsdogscars")
    shares = np.array([0.5, 0.3, 0.2], np.float32)
    colours = heat(4)[..., None] * shares  # (n, height, width, channels)
    for maps in (colours, heat(4)[..., None], heat(4)):
        found = metric(None, pictures(4), TARGETS, maps, channel_first=False)
        assert found == pytest.approx(expected(score), abs=1e-3)
    first = colours.transpose(0, 3, 1, 2)
    found = metric(None, images(), TARGETS, first, channel_first=True)
    assert found == pytest.approx(expected(score), abs=1e-3)


def test_quantus_can_ask_what_kind_of_metric_it_is(score: PastaScore) -> None:
    from quantus.metrics.robustness.max_sensitivity import MaxSensitivity

    metric = QuantusPastaScore(score, CLASSES)
    other = MaxSensitivity(disable_warnings=True)
    for name in (
        *("score_direction", "evaluation_category", "data_applicability", "model_applicability"),
    ):
        own, theirs = getattr(metric, name), getattr(other, name)
        kinds = [one if isinstance(one, set) else {one} for one in (own, theirs)]
        assert {type(one) for one in kinds[0]} == {type(one) for one in kinds[1]}
    assert metric.score_direction.value == ("higher" if score.direction > 0 else "lower")


def test_the_quantus_metric_asks_for_explanations_and_undoes_normalisation(
    score: PastaScore,
) -> None:
    asked: list[Any] = []

    def explain(model: Any, inputs: Any, targets: Any, shade: float) -> Any:
        asked.append((model, inputs.shape, list(targets), shade))
        return heat(4)

    metric = QuantusPastaScore(score, CLASSES, prepare=lambda x: np.clip((x + 1) / 2, 0, 1))
    found = metric(
        "model", 2 * images() - 1, TARGETS, explain_func=explain, explain_func_kwargs={"shade": 0.5}
    )
    assert asked == [("model", (4, 3, 32, 32), [0, 2, 1, 0], 0.5)]
    assert found == pytest.approx(expected(score), abs=1e-3)


def test_the_quantus_metric_names_bad_input(score: PastaScore) -> None:
    metric = QuantusPastaScore(score, CLASSES)
    with pytest.raises(PastaError, match="a_batch="):
        metric(None, images(), TARGETS)
    with pytest.raises(PastaError, match="there is no class 3"):
        metric(None, images(), TARGETS + 1, heat(4))
    with pytest.raises(PastaError, match="map 0: some values are NaN"):
        metric(None, images(), TARGETS, heat(4) * np.nan)
    with pytest.raises(PastaError, match="before it was normalised"):
        metric(None, 3 * images() - 1, TARGETS, heat(4))
    plain = QuantusPastaScore(score, CLASSES, normalise=False)
    with pytest.raises(PastaError, match="map 0: 1024 of 1024 values are NaN"):
        plain(None, images(), TARGETS, heat(4) * np.nan)
    doubled = plain(None, images(), TARGETS, 2 * heat(4))
    assert doubled == pytest.approx(plain(None, images(), TARGETS, heat(4)), abs=1e-4)


def test_it_goes_into_quantus_evaluate_like_its_own_metrics(score: PastaScore) -> None:
    quantus = pytest.importorskip("quantus")
    theirs = inspect.signature(quantus.Sparseness.__call__).parameters
    ours = inspect.signature(QuantusPastaScore.__call__).parameters
    assert list(theirs) == list(ours)
    found = quantus.evaluate(
        metrics={"PASTA": QuantusPastaScore(score, CLASSES)},
        xai_methods={"spot": heat(4)[:, None]},
        model=torch.nn.Identity(),
        x_batch=images(),
        y_batch=TARGETS,
        agg_func=np.mean,
    )
    assert found["spot"]["PASTA"] == pytest.approx(expected(score).mean(), abs=1e-3)


def test_the_torch_metric_averages_over_batches(score: PastaScore) -> None:
    torchmetrics = pytest.importorskip("torchmetrics")
    metric = MeanPastaScore(score)
    assert isinstance(metric, torchmetrics.Metric)
    labels = ["cat", "car", "dog", "cat"]
    for part in (slice(0, 3), slice(3, 4)):
        pixels = torch.from_numpy(images()[part])
        metric.update(image=pixels, saliency=torch.from_numpy(heat(4)[part]), label=labels[part])
    flat = np.zeros((32, 32), np.float32)
    with pytest.warns(UserWarning, match="show nothing"):
        metric.update(image=pictures(1)[0], saliency=flat, label="cat")
    assert float(metric.compute()) == pytest.approx(float(expected(score).mean()), abs=1e-3)
    copy = metric.clone()
    assert copy.score is score
    metric.reset()
    with pytest.warns(UserWarning, match="before the ``update``"):
        assert metric.compute().isnan()
    assert not copy.compute().isnan()
    together = torchmetrics.MetricCollection({"pasta": MeanPastaScore(score)})
    together.update(image=pictures(4), saliency=heat(4), label=labels)
    assert float(together.compute()["pasta"]) == pytest.approx(
        float(expected(score).mean()), abs=1e-3
    )


def test_a_missing_torchmetrics_is_named(
    score: PastaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "_Metric", object)
    with pytest.raises(PastaError, match="needs torchmetrics"):
        MeanPastaScore(score)


def test_the_direction_and_origin_of_a_question_are_told(score: PastaScore) -> None:
    changed = PastaScore("Q3", score.stored, score.encoder)  # fewer stars are better
    assert (score.direction, changed.direction) == (1, -1)
    assert MeanPastaScore(score).higher_is_better is True
    assert MeanPastaScore(changed).higher_is_better is False
    assert "higher is better" in QuantusPastaScore(score, CLASSES).interpret_scores()
    said = QuantusPastaScore(changed, CLASSES).interpret_scores()
    assert "lower is better" in said and ORIGIN in said
    found = score(image=pictures(4), saliency=heat(4), label=["cat", "car", "dog", "cat"])
    assert isinstance(found, Scores)
    assert {found.origin, *(one.origin for one in found)} == {ORIGIN}


def test_questions_in_one_collection_stay_apart_and_beside_other_metrics(
    score: PastaScore,
) -> None:
    other = PastaScore("Q2", score.stored, score.encoder)
    both = MetricCollection(
        {
            "first": MeanPastaScore(score),
            "second": MeanPastaScore(other),
            "accuracy": MulticlassAccuracy(3),
        }
    )
    label = ["cat", "car", "dog", "cat"]
    truth = {"preds": torch.tensor(TARGETS), "target": torch.tensor(TARGETS)}
    with pytest.warns(UserWarning, match="show nothing"):
        both.update(image=pictures(4), saliency=np.zeros_like(heat(4)), label=label, **truth)
    both.update(image=pictures(4), saliency=heat(4), label=label, **truth)
    found = both.compute()
    second = other(image=pictures(4), saliency=heat(4), label=label)
    assert isinstance(second, Scores)
    assert float(found["first"]) == pytest.approx(expected(score).mean(), abs=1e-5)
    assert float(found["second"]) == pytest.approx(second.score.mean(), abs=1e-5)
    assert float(found["accuracy"]) == 1


def test_the_torch_metric_can_be_sent_to_other_processes(score: PastaScore) -> None:
    copy = pickle.loads(pickle.dumps(MeanPastaScore(score)))  # noqa: S301 (our own bytes)
    copy.update(image=pictures(4), saliency=heat(4), label=["cat", "car", "dog", "cat"])
    assert float(copy.compute()) == pytest.approx(expected(score).mean(), abs=1e-5)

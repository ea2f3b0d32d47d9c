"""joins.pdf: what follows from the numbers, by the rule that the page prints."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.joins import correlate_groups, correlate_items, group_places
from analysis.precision import people_needed
from analysis.tables import Tables
from pasta.studies.source import Source, combine_sources
from pipelines.joins import ATTENTION, SCORED, SEGMENTATION, decide, hold_against_rivals
from reports.source.pages.joins import joins_report
from reports.source.typesetting import compile_pdf
from tests.analysis.simulated import one

MASKS = (ATTENTION, SEGMENTATION)


def tables(seed: int = 0) -> Tables:
    """A metric that follows Q1 within images, one that contradicts it, and one of noise."""
    rng = np.random.default_rng(seed)
    image, method = np.divmod(np.arange(400), 8)
    quality = rng.normal(size=400) + method
    items = pd.DataFrame({"Q1": quality + rng.normal(size=400)})
    items["insertion"] = quality + rng.normal(size=400)
    items["entropy"] = -quality + rng.normal(size=400)
    items["iou"] = rng.normal(size=400)
    names = np.array(list("abcdefgh"))[method]
    means = items.groupby(names).mean()
    means["utility: biased"] = np.where(np.arange(8) < 4, np.arange(8.0), np.nan)
    related = correlate_items(items, image, names, against=["Q1"], resamples=100)
    between = correlate_groups(means, permutations=2_000)
    people = people_needed(items["Q1"], image, names, resamples=100)
    return {
        "places": group_places(means),
        "items": related,
        "methods": between,
        "people": people.assign(study="ratings", part="", judged="stars"),
        "decisions": decide(related, between),
    }


def test_verdicts_follow_from_the_intervals() -> None:
    decisions = tables()["decisions"]
    verdicts = decisions.set_index("measure")["within_verdict"].to_dict()
    assert verdicts["insertion"] == "follows" and verdicts["entropy"] == "contradicts"
    assert verdicts["iou"] == "cannot be told"
    assert verdicts["utility: biased"] == "not compared"
    row = one(decisions, measure="utility: biased")
    assert row["methods_n"] == 4
    assert np.isnan(row["within_estimate"])


def test_findings_name_measures_and_people() -> None:
    report = joins_report(tables(), simulated=True)
    first, second, pairs, people = report.content["findings"]
    assert "insertion" in first and "iou" not in first and "the opposite say entropy" in first
    assert second.startswith("Given the technique")
    assert "exact tests" in pairs and "people for star ratings" in people
    assert len(report.content["decisions"]["rows"]) == 4


def test_an_order_that_chance_could_make_takes_endless_people() -> None:
    found = tables()
    found["people"] = found["people"].assign(estimate=np.inf, high=np.inf, low=80.0)
    report = joins_report(found, simulated=False)
    assert report.content["people"]["rows"][0][-2:] == ["endless", "80 to endless"]
    assert not any("takes about" in said for said in report.content["findings"])


def test_answers_of_several_studies_have_a_source_of_their_own() -> None:
    people, simulated = Source("people", "a"), Source("simulated", "b")
    assert combine_sources([people, people]).origin == "people"
    mixed = combine_sources([people, simulated])
    assert mixed.origin == "people and simulated" and mixed.simulated
    assert mixed != combine_sources([simulated, people])


def test_scores_against_attention_are_held_against_the_outline_and_the_closest_metric() -> None:
    """Ratings follow the score against attention; that against the segmentation is noisier."""
    rng = np.random.default_rng(3)
    image, method = np.divmod(np.arange(240), 6)
    names = np.array(["gradcam", "lime", "shap", "rise", "bcos", "dff"])[method]
    samples = [f"coco/{one}/{name}/resnet50" for one, name in zip(image, names, strict=True)]
    quality = rng.normal(size=240) + 0.2 * method
    noise = {(one, mask): rng.normal(size=240) for one in SCORED for mask in MASKS}
    scores = pd.DataFrame(noise, index=pd.Index(samples, name="sample_id"))
    scores["agreement"] = np.stack(
        [quality + noise_of * rng.normal(size=240) for noise_of in (0.3, 2)], 1
    )
    items = pd.DataFrame({"Q1": quality, "iou": rng.normal(size=240)}, index=scores.index)
    means = items.groupby(names).mean().assign(**{"utility: biased": np.arange(6.0)})
    images = pd.Series([f"coco/{one}" for one in image])
    found = hold_against_rivals(items, means, scores, images, ["iou"], resamples=200, seed=0)
    row = one(found, score="agreement", target="Q1", kind="segmentation")
    assert row["low"] > 0 and row["clusters"] == 40
    assert one(found, score="auc", target="Q1", kind="metrics")["rival"] == "iou"
    few = one(found, score="agreement", target="utility: biased", kind="segmentation")
    assert few["n"] == 6 and np.isnan(few["low"]) and np.isfinite(few["estimate"])
    by_method = scores["agreement"].groupby(names).mean()
    expected = by_method["attention"].corr(means["utility: biased"])
    assert few["champion"] == pytest.approx(expected)
    report = joins_report({**tables(), "rivals": found}, simulated=True)
    said = report.content["findings"][-1]
    assert said.startswith("Of 1 question, agreement with human attention foretells 1 better")
    assert len(report.content["rivals"]["rows"]) == 4
    assert compile_pdf(report, {})[:4] == b"%PDF"


def test_without_a_study_of_attention_nothing_is_held_against_rivals() -> None:
    items = pd.DataFrame({"Q1": [1.0, 2.0]}, index=["coco/1/lime/vit", "coco/2/lime/vit"])
    images = pd.Series(["coco/1", "coco/2"])
    found = hold_against_rivals(items, items, pd.DataFrame(), images, ["iou"], resamples=10, seed=0)
    assert found.empty and "score" in found
    assert joins_report({"rivals": found}, simulated=False).content["rivals"] is None

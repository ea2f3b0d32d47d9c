"""joins.pdf: what follows from the numbers, by the rule that the page prints."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.joins import correlate_groups, correlate_items, group_places
from analysis.precision import people_needed
from analysis.tables import Tables
from pasta.studies.source import Source, combine_sources
from pipelines.joins import (
    ATTENTION,
    SCORED,
    SEGMENTATION,
    decide,
    hold_against_rivals,
    hold_methods_against_rivals,
)
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
        "shown": pd.DataFrame(
            {"experiment": "biased", "condition": list("ab"), "n": [30, 10], "stars": [3.0, np.nan],
             "familiar": [0.5, 0.1]}
        ),
    }  # fmt: skip


def test_the_score_of_what_helped_to_predict_says_how_much_of_it_looks_familiar() -> None:
    said = joins_report(tables(), simulated=True).content["shown"]
    assert "40 explanations" in said and "; 40% of them" in said
    assert joins_report({}, simulated=True).content["shown"] is None


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
    images = pd.Series([f"coco/{one}" for one in image])
    found = hold_against_rivals(items, scores, images, ["iou"], resamples=200, seed=0)
    row = one(found, score="agreement", target="Q1", kind="segmentation")
    assert row["low"] > 0 and row["clusters"] == 40
    assert one(found, score="auc", target="Q1", kind="metrics")["rival"] == "iou"
    report = joins_report({**tables(), "rivals": found}, simulated=True)
    said = report.content["findings"][-1]
    assert said.startswith("Of 1 question, agreement with human attention foretells 1 better")
    assert len(report.content["rivals"]["rows"]) == 2
    assert compile_pdf(report, {})[:4] == b"%PDF"


def test_utility_of_methods_is_held_against_the_maps_of_the_benchmark() -> None:
    methods = ["gradcam", "saliency", "occlusion", "integrated_gradients", "input_x_gradient"]
    known = np.arange(5.0)
    means = pd.DataFrame(
        {
            "utility: biased": [*known, np.nan],
            "attention": [1.0, *[np.nan] * 5],  # of rated maps, of which there is one method
            "segmentation": [2.0, *[np.nan] * 5],
            "LATEC: faithfulness": [*-known, 0],
            "LATEC: attention": 0.0,
            "LATEC: segmentation": 0.0,
        },
        index=[*methods, "rise"],
    )
    scores = pd.concat(
        {
            score: pd.DataFrame({ATTENTION: known**2, SEGMENTATION: [0.0, 3, 1, 2, 0]}, methods)
            for score in SCORED
        },
        axis=1,
    )
    found = hold_methods_against_rivals(means, scores, resamples=50, seed=0)
    few = one(found, score="agreement", target="utility: biased", kind="segmentation")
    assert few["n"] == 5 and np.isnan(few["low"])
    assert few["champion"] == pytest.approx(np.corrcoef(known, known**2)[0, 1])
    assert few["rival_estimate"] == pytest.approx(abs(np.corrcoef(known, [0, 3, 1, 2, 0])[0, 1]))
    rank = one(found, score="nss", target="utility: biased", kind="metrics")
    assert rank["rival"] == "LATEC: faithfulness" and rank["rival_estimate"] == pytest.approx(1)
    assert hold_methods_against_rivals(means, pd.DataFrame(), resamples=5, seed=0).empty


def test_without_a_study_of_attention_nothing_is_held_against_rivals() -> None:
    items = pd.DataFrame({"Q1": [1.0, 2.0]}, index=["coco/1/lime/vit", "coco/2/lime/vit"])
    images = pd.Series(["coco/1", "coco/2"])
    found = hold_against_rivals(items, pd.DataFrame(), images, ["iou"], resamples=10, seed=0)
    assert found.empty and "score" in found
    assert joins_report({"rivals": found}, simulated=False).content["rivals"] is None

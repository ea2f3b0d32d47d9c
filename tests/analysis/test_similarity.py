"""Sentences against raters' own words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.similarity import TEXT_MEASURES, correlate_similarity, measure_texts
from tests.analysis.simulated import Study, one, simulate

SAID = "The cat has pointed ears and whiskers"
WROTE = "I see pointed ears and long whiskers on a cat"


def _frames(said: str, wrote: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    sentences = pd.DataFrame({"unit": ["s"], "sentence": [said]})
    return sentences, pd.DataFrame({"unit": ["s"], "rater": ["a"], "text": [wrote]})


def test_rouge_is_the_f_measure_of_shared_stems() -> None:
    """Of 7 and 10 words 5 are shared, 4 of them in order: 2*5/17 and 2*4/17."""
    values, _ = measure_texts(*_frames(SAID, WROTE))
    assert values["rouge1"].iloc[0] == pytest.approx(10 / 17)
    assert values["rougeL"].iloc[0] == pytest.approx(8 / 17)


def test_bleu_of_equal_and_of_unrelated_texts() -> None:
    assert measure_texts(*_frames(SAID, SAID.upper()))[0]["bleu"].iloc[0] == pytest.approx(1)
    assert measure_texts(*_frames("cat", "dog"))[0]["bleu"].iloc[0] == 0


def test_bleu_by_hand() -> None:
    """Clipped precisions 5/7, 2/6, 1/5 and, smoothed from 0, (1/2)/4; brevity exp(1 - 10/7)."""
    shares = [5 / 7, 2 / 6, 1 / 5, 0.5 / 4]
    expected = np.exp(np.mean(np.log(shares)) + 1 - 10 / 7)
    values, _ = measure_texts(*_frames(SAID, WROTE))
    assert values["bleu"].iloc[0] == pytest.approx(expected)


@pytest.mark.parametrize("texts", [None, "empty", "blank", "elsewhere"])
def test_without_texts_there_is_a_reason_and_no_number(texts: str | None) -> None:
    ratings, _, shown = simulate(Study(samples=20), 0)
    sentences = shown[["unit"]].assign(sentence=SAID)
    frame = ratings[["unit", "rater"]].drop_duplicates()
    descriptions = {
        "empty": frame.head(0).assign(text=""),
        "blank": frame.assign(text="  "),
        "elsewhere": frame.assign(text=WROTE, unit="other"),
    }.get(str(texts))
    values, why = measure_texts(sentences, descriptions)
    found = correlate_similarity(values, ratings, TEXT_MEASURES)
    assert len(found) == len(TEXT_MEASURES) * 2 * 4 and found["estimate"].isna().all()
    assert "no texts" in why and (found["note"] != "").all()


def test_within_finds_a_bias_that_is_hidden_and_ignores_quality_that_is_shared() -> None:
    """Own similarity pushes the stars of one pair; quality moves stars and similarity of all."""
    rng = np.random.default_rng(0)
    sample, who = np.divmod(np.arange(300 * 6), 6)
    quality, own = rng.normal(size=300)[sample], rng.normal(size=1800)
    keys = {"unit": sample.astype(str), "rater": who.astype(str)}

    def found(effect_of_own: float) -> pd.DataFrame:
        stars = 3 + quality + effect_of_own * own + rng.normal(0, 0.7, 1800)
        rating = np.clip(np.round(stars), 1, 5)
        ratings = pd.DataFrame(keys | {"item": "Q1", "rating": rating})
        values = pd.DataFrame(keys | {"like": quality + own})
        found = correlate_similarity(values, ratings, ["like"])
        return found[found["method"] == "pearson"]

    quality_only, biased = found(0.0), found(0.4)
    assert one(quality_only, scope="pooled")["low"] > 0.3
    assert one(quality_only, scope="within")["p"] > 0.05
    assert one(biased, scope="within")["low"] > 0.2


def test_what_all_raters_of_a_unit_share_has_no_correlation_within() -> None:
    ratings, _, _ = simulate(Study(samples=40), 1)
    rng = np.random.default_rng(0)
    pairs = ratings[["unit", "rater"]].drop_duplicates(ignore_index=True)
    shared = pairs["unit"].map(dict(zip(pairs["unit"].unique(), rng.random(40), strict=True)))
    values = pairs.assign(shared=shared, own=rng.random(len(pairs)))
    found = correlate_similarity(values, ratings, ["shared", "own"])
    found = found[(found["item"] == "Q1") & (found["method"] == "pearson")]
    assert "does not differ" in one(found, measure="shared", scope="within")["note"]
    assert np.isfinite(one(found, measure="shared", scope="pooled")["estimate"])
    assert np.isfinite(one(found, measure="own", scope="within")["estimate"])

"""attention.pdf: made from a small simulated study, with what is missing said, and its errata."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.tables import Tables, list_missing
from pasta.explanations.techniques import Technique
from pasta.studies.attention.analyses import score_people, score_samples, summarise_scores
from pasta.studies.attention.masks import image_attention
from pasta.studies.attention.material import Maps, Material
from pasta.studies.attention.rated import rated_samples, rating_tables
from pasta.studies.attention.settings import FIRST, AttentionParams
from pasta.studies.attention.simulation import simulate
from pasta.studies.attention.tables import PARTS
from reports.source.errata_attention import errata
from reports.source.pages.attention import attention_report
from reports.source.replication.rows import published_table
from reports.source.typesetting import compile_pdf
from tests.studies.attention.test_recovery import MATERIAL

PUBLISHED = published_table("human_attention_tests")


def maps_of(method: str, rough: float, seed: int, material: Material) -> Maps:
    """Maps that follow the object more or less."""
    rng = np.random.default_rng(seed)
    values = np.stack(
        [one.object * 0.7 + rough * rng.random(one.size) for one in material.images]
    ).astype(np.float32)
    names = tuple(one.image_id for one in material.images)
    samples = tuple(f"{name}/{method}/resnet50" for name in names)
    about = Technique(method, "resnet50", method, "saliency", "positive", "post-hoc")
    return Maps(about, samples, names, values)


def study_tables(material: Material, raters: int) -> Tables:
    """The tables of a small simulated study."""
    settings = AttentionParams(people=5, samples=4, raters=raters)
    maps = [maps_of("gradcam", 0.4, 0, material), maps_of("lime", 0.9, 1, material)]
    rows, _ = simulate(material, maps, settings, seed=0)
    regions, goodness = (PARTS[name].table.frame(rows[name]) for name in ("regions", "goodness"))
    attention = image_attention(regions, material.objects)
    samples = score_samples(maps, attention)
    answers = goodness[goodness["position"] > FIRST]
    rated = rated_samples(answers, samples)
    found: Tables = {
        "scores": summarise_scores(samples, score_people(attention)),
        "samples": rated,
        **rating_tables(answers, rated, settings, resamples=200, seed=0),
    }
    return list_missing(found)


@pytest.fixture(scope="module")
def tables() -> Tables:
    return study_tables(MATERIAL, 40)


@pytest.mark.parametrize("images", [1, 3, 4])
def test_a_tiny_study_has_reasons_in_place_of_numbers(images: int) -> None:
    found = study_tables(Material(MATERIAL.images[:images], MATERIAL.checks), 5)
    report = attention_report(found, {}, True, PUBLISHED)
    assert compile_pdf(report, {})[:4] == b"%PDF"


def test_the_report_is_made_of_a_small_study(tables: Tables) -> None:
    report = attention_report(tables, {}, True, PUBLISHED)
    assert compile_pdf(report, {}) == compile_pdf(report, {})
    said = " ".join(report.content["findings"])
    assert "GradCAM" in said and "their difference" in said
    assert report.content["texts"] is None


def test_a_report_without_answers_says_so_and_keeps_its_errata() -> None:
    lacks = pd.DataFrame({"section": ["rated maps"], "why": ["nobody has rated a map"]})
    report = attention_report({"missing": lacks}, {}, False, PUBLISHED)
    assert report.content["lacks"] == ["Rated maps: nobody has rated a map."]
    assert len(report.content["errata"]["rows"]) == 7
    assert compile_pdf(report, {})[:4] == b"%PDF"


def test_every_erratum_is_borne_out_by_the_printed_numbers() -> None:
    rows = errata(PUBLISHED)
    assert [row["holds"] for row in rows] == [False] * 7


def test_an_erratum_is_gone_where_the_printed_number_would_be_right() -> None:
    mended = PUBLISHED.copy()
    mended["p"] = mended["p"].astype(object)
    first = mended["comparison"] == "segmentation_score ~ attention_score"
    mended.loc[first, "intercept"] = 0.0
    mended.loc[mended["comparison"] == "rating ~ segmentation_score", "intercept"] = 0.5
    holds = {row["what"]: row["holds"] for row in errata(mended)}
    right = [what for what, fine in holds.items() if fine]
    assert len(right) == 3 and any("intercept" in what for what in right)


def test_the_published_table_is_the_one_of_the_paper() -> None:
    assert PUBLISHED["comparison"].tolist()[:2] == [
        "segmentation_score ~ attention_score",
        "rating ~ attention_score",
    ]
    assert PUBLISHED["slope"].tolist() == [0.896, 0.428, 0.313, -0.428, -0.607, -0.121, -0.306]

"""latec.pdf: the tables and figures that are made of ranks, from values with a planted order."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from analysis.tables import Tables
from pasta.benchmark.ranks import rank_tables
from reports.source.pages.latec import latec_report
from tests.benchmark.small_study import made_up
from tests.benchmark.test_ranks import facts

METHODS = ("lrp", "gradcam", "saliency", "raw_attention", "lrp_attention")


@pytest.fixture(scope="module")
def tables() -> Tables:
    images = made_up(METHODS, pull=2.0)
    volumes = made_up(METHODS, ("organ",), ("resnet18_3d", "simple3dformer"), pull=2.0)
    both = pd.concat([images, volumes], ignore_index=True)
    looks = both["method"].isin(METHODS[3:])
    formers = both["model"].isin(["vit_b_16", "simple3dformer"])
    values = both[~looks | formers].reset_index(drop=True)
    return rank_tables(values, facts(values), "corrected", resamples=20, seed=0)


def test_averages_are_there_for_all_classifiers_and_with_and_without_attention(
    tables: Tables,
) -> None:
    content = latec_report(tables, {}, simulated=True).content
    every, without, transformers = (one["table"] for one in content["across"])
    columns = [f"{letter}, {kind}" for letter in "FRC" for kind in ("image", "volume")]
    assert every["columns"] == ["method", *columns]
    codes = [row[0] for row in every["rows"]]
    assert len(codes) == 5 and [row[0] for row in transformers["rows"]] == codes
    assert [row[0] for row in without["rows"]] == codes[:3]  # attention has no rank there
    averages = tables["averages"]
    best = averages[(averages["method"] == "lrp") & (averages["scope"] == "without attention")]
    assert (best["estimate"] == 1).all() and without["rows"][0][1].startswith("1.0 (")


def test_values_of_each_metric_are_drawn_by_method(tables: Tables) -> None:
    content = latec_report(tables, {}, simulated=True).content
    metrics = tables["distributions"]["metric"].nunique()
    for one in content["modalities"]:
        drawn = [panel for panel in one["values"].axes if panel.has_data()]
        assert len(drawn) == metrics
        own = tables["distributions"]
        own = own[(own["modality"] == one["name"]) & (own["metric"] == own["metric"].iloc[0])]
        points = np.asarray(drawn[0].collections[-1].get_offsets())
        assert sorted(points[:, 1]) == pytest.approx(sorted(own["estimate"]))
        assert sorted(points[:, 0]) == list(range(len(own)))
    plt.close("all")

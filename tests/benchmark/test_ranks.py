"""From values to tables: a planted order is found, and what has no value is ranked nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pasta.benchmark.ranks import average_table, compare_readings, people_tables, rank_tables
from pasta.benchmark.tables import ALL_MODALITIES, BENCHMARK_FACTS, EVERY
from pasta.seeds import generator
from pasta.tables import METRIC_VALUES
from tests.benchmark.small_study import made_up, without_values

METHODS = ("lrp", "gradcam", "saliency", "raw_attention", "lrp_attention")


def facts(values: pd.DataFrame) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            "dataset": dataset,
            "model": model,
            "method": "",
            "quantity": "macro_f1",
            "value": 0.9 + 0.01 * number,
            "note": "",
            "reading": "corrected",
        }
        for number, (dataset, model) in enumerate(
            values[["dataset", "model"]].drop_duplicates().itertuples(index=False)
        )
    ]
    return BENCHMARK_FACTS.frame(rows)


def test_the_planted_order_is_the_order_of_average_ranks() -> None:
    values = made_up(METHODS, pull=2.0)
    tables = rank_tables(values, facts(values), "corrected", resamples=30, seed=0)
    own = tables["averages"]
    for criterion in ("faithfulness", "robustness", "complexity", EVERY):
        order = own[(own["scope"] == "all") & (own["criterion"] == criterion)]
        assert order.sort_values("estimate")["method"].tolist() == list(METHODS)
        assert (order["low"] <= order["estimate"]).all()
        assert (order["estimate"] <= order["high"]).all()
    wanted = {"spread", "agreement", "distances", "weights", "weighted", "architectures", "groups"}
    wanted |= {"accuracy", "correlations", "critical", "left_out", "half", "stability", "needed"}
    assert wanted <= set(tables) and tables["missing"].empty


def test_each_modality_has_its_own_ranks_and_orders_are_compared_across() -> None:
    images = made_up(METHODS, pull=2.0)
    volumes = made_up(tuple(reversed(METHODS)), ("organ",), ("resnet18_3d", "pct"), pull=2.0)
    both = pd.concat([images, volumes], ignore_index=True)
    tables = rank_tables(both, facts(both), "corrected", resamples=20, seed=0)
    alone = rank_tables(images, facts(images), "corrected", resamples=20, seed=0)
    for name in ("averages", "spread", "left_out", "distances", "ranks"):
        own = tables[name][tables[name]["modality"] == "image"].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, alone[name], check_dtype=False)
    alike = tables["modality_agreement"]
    assert set(alike["modality"]) == {ALL_MODALITIES}
    assert alike["estimate"].to_numpy() == pytest.approx(-1)  # planted
    assert alike["p"].to_numpy() == pytest.approx(2 / 120)  # of all orders of five methods
    assert set(tables["correlations"]["modality"]) == {"image", "volume", ALL_MODALITIES}
    lacks = set(tables["missing"]["section"])
    assert all(one.startswith(("image, ", "volume, ", ALL_MODALITIES)) for one in lacks)


def test_a_metric_without_any_value_in_a_cell_ranks_nobody_there() -> None:
    values = made_up(METHODS, pull=2.0)
    lost = (values["metric"] == "sparseness") & (values["method"] == "lrp")
    tables = rank_tables(
        without_values(values, lost, "zero"), facts(values), "corrected", resamples=20, seed=0
    )
    ranks = tables["ranks"]
    own = ranks[(ranks["metric"] == "sparseness") & (ranks["method"] == "lrp")]
    assert len(own) == 6 and own["rank"].isna().all()  # never rank 1, as the released code has it
    assert (own["n"] == 0).all()
    gone = tables["empty_cells"]
    assert gone[["metric", "method", "missing"]].to_numpy().tolist() == [["sparseness", "lrp", 6]]


@pytest.mark.parametrize(
    "less",
    [
        {"methods": ("lrp",)},
        {"metrics": ("sparseness",)},
        {"observations": 1},
        {"datasets": ("coco",), "models": ("resnet50",)},
    ],
)
def test_one_of_anything_is_enough_and_says_what_is_missing(less: dict[str, Any]) -> None:
    values = made_up(**{"methods": METHODS, **less})
    tables = rank_tables(values, facts(values), "corrected", resamples=20, seed=0)
    lacks = set(tables["missing"]["section"])
    # nobody is the best of one
    assert tables["averages"]["estimate"].notna().all() == ("methods" not in less)
    if "metrics" in less:
        assert "distances" in lacks
    if "methods" in less:
        assert {"correlations", "groups", "averages"} <= lacks
    if "models" in less:
        assert "architectures" in lacks


def test_equal_readings_move_nothing_and_the_released_ranking_has_its_own_criteria() -> None:
    values = made_up(METHODS, pull=2.0)
    same = pd.concat([values, values.assign(reading="released")], ignore_index=True)
    tables = compare_readings(same, "corrected")
    assert tables["reading_metrics"]["estimate"].to_numpy() == pytest.approx(1)
    assert (tables["reading_metrics"]["moved"] == 0).all()
    final = tables["reading_ranks"]
    assert (final.loc[final["reading"] == "released", "change"] == 0).all()
    assert set(final["reading"]) == {"corrected", "released", "released, ranked as released"}
    assert compare_readings(values, "corrected") == {}


def test_average_ranks_do_not_depend_on_the_order_of_rows() -> None:
    values = made_up(METHODS)
    mixed = values.sample(frac=1, random_state=0)
    one, two = (average_table(each, resamples=20, seed=0) for each in (values, mixed))
    keys = ["scope", "criterion", "method"]
    pd.testing.assert_frame_equal(
        one.sort_values(keys, ignore_index=True), two.sort_values(keys, ignore_index=True)
    )


def test_classifiers_with_and_without_attention_are_averaged_as_if_the_others_were_not_there() -> (
    None
):
    values = made_up(METHODS, models=("resnet50", "efficientnet_b0", "vit_b_16"))
    looks = values["method"].isin(["raw_attention", "lrp_attention"])
    values = values[~looks | (values["model"] == "vit_b_16")]
    own = average_table(values, resamples=20, seed=0)
    assert {"with attention", "without attention"} < set(own["scope"])
    alone = average_table(values[values["model"] != "vit_b_16"], resamples=20, seed=0)
    assert set(alone["scope"]) == {"all", "resnet50", "efficientnet_b0", *values["dataset"]}
    for scope, expected in (
        ("without attention", alone[alone["scope"] == "all"]),
        ("with attention", own[own["scope"] == "vit_b_16"]),
    ):
        found = own[own["scope"] == scope].assign(scope="").reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected.assign(scope="").reset_index(drop=True))


def test_the_metric_that_people_follow_is_found_with_its_direction() -> None:
    random = generator(0, "people")
    rows, labels = [], []
    for image in range(8):
        for technique in range(6):
            sample = f"coco/{image:04d}/method{technique}/resnet50"
            liked = random.normal()
            for metric, value in (("entropy", -liked), ("sparseness", random.normal())):
                rows.append(
                    {
                        "sample_id": sample,
                        "metric": metric,
                        "variant": "",
                        "value": value,
                        "direction": "lower" if metric == "entropy" else "higher",
                        "status": "ok",
                    }
                )
            labels.append({"sample_id": sample, "question": "Q1", "mean": 3 + np.tanh(liked)})
    rated = METRIC_VALUES.frame(rows)
    tables = people_tables(rated, pd.DataFrame(labels), resamples=50, permutations=20, seed=0)
    people = tables["people"].set_index(["predictor", "scope"])["estimate"]
    assert people["entropy", "across groups"] == pytest.approx(1)  # lower is better
    assert abs(people["sparseness", "across groups"]) < 0.5
    committees = tables["committees"]
    best = committees[(committees["kind"] == "best") & (committees["scope"] == "held-out groups")]
    assert best["estimate"].max() > 0.9
    assert "people" in set(people_tables(rated.iloc[:0], pd.DataFrame(labels), resamples=5,
                                         permutations=5, seed=0)["missing"]["section"])  # fmt: skip

"""The mixture of methods, paired differences, predicted scores, and the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pasta import store
from pasta.applications import scores as scores_module
from pasta.applications.mixture import (
    ALL,
    CEILING,
    CROSSED,
    ELSEWHERE,
    HELD_OUT,
    MEAN,
    TIE,
    candidates,
    choose,
    compare,
    run_mixture,
    wins,
)
from pasta.applications.paired import mean_interval, paired_difference
from pasta.applications.simulated_judge import MapJudge, planted_judge, planted_quality
from pasta.datasets.stored import StoredDataset
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import PastaError
from pasta.seeds import generator
from pasta.studies.ratings.settings import SimulationParams
from pasta.studies.ratings.simulation.quality import qualities
from tests.applications.made_up import METHODS, measured, random_scores, scored, settings
from tests.studies.ratings.simulation_study import parameters

GRID = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, len(METHODS))),
    elements=st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.7, 1.0, np.nan]),
)


@limits(max_examples=40, deadline=None)
@given(GRID)
def test_no_single_method_scores_above_the_mixture_on_the_same_images(good: Any) -> None:
    scores = scored(good)
    if scores["good"].isna().all():
        with pytest.raises(PastaError, match="all show nothing"):
            candidates(scores, "resnet50")
        return
    found = candidates(scores, "resnet50")
    table = compare(found, choose(found), 20, 0, ALL)
    own = table[table["measure"] == "score"]
    compared = own[own["n"] > 0]
    assert (compared["first"] >= compared["second"]).all()
    assert (own["worse"] == 0).all()


def test_the_mixture_takes_the_best_of_each_image() -> None:
    scores = scored([[0.1, 0.9, 0.2, 0.3], [0.5, 0.1, 0.2, 0.8]])
    found = candidates(scores, "resnet50")
    choices = choose(found)
    assert choices["technique"].tolist() == ["lime/resnet50", "eigencam/resnet50"]
    assert choices["runner_up"].tolist() == ["eigencam/resnet50", "gradcam/resnet50"]
    np.testing.assert_allclose(choices["margin"], [4 * 0.6, 4 * 0.3])
    won = wins(choices, found["technique"].unique().tolist())
    assert won.groupby("images")["wins"].sum().tolist() == [2.0, 2.0]


def test_ties_are_counted_share_the_win_and_are_worth_their_mean() -> None:
    scores = scored([[0.9, 0.9, 0.1, 0.2]], [[3.0, 1.0, 9.0, 9.0]], held_out=1)
    found = candidates(scores, "resnet50")
    choices = choose(found)
    [choice] = choices.to_dict("records")
    assert (choice["tied"], choice["undecided"]) == (2, False)
    assert choice["winners"] == "gradcam/resnet50; lime/resnet50"
    assert choice["quality"] == 2.0
    won = wins(choices, list(found["technique"])).set_index(["images", "technique"])
    assert won.loc[(ALL, "lime/resnet50"), "wins"] == 0.5
    assert won.loc[(ALL, "lime/resnet50"), "shared_wins"] == 1


def test_scores_that_differ_by_rounding_only_are_ties() -> None:
    scores = scored([[0.5, 0.5 + TIE / 8, 0.5 + TIE, 0.0]])
    [choice] = choose(candidates(scores, "resnet50")).to_dict("records")
    assert (choice["technique"], choice["tied"]) == ("shap/resnet50", 1)
    scores = scored([[0.5, 0.5 + TIE / 8, 0.2, 0.0]])
    [choice] = choose(candidates(scores, "resnet50")).to_dict("records")
    assert (choice["technique"], choice["tied"]) == ("lime/resnet50", 2)


def test_candidates_that_all_score_the_same_leave_the_choice_undecided() -> None:
    found = candidates(scored(np.full((3, 4), 0.4)), "resnet50")
    choices = choose(found)
    assert choices["undecided"].all()
    assert (choices["tied"] == 4).all()
    assert choices["runner_up"].eq("").all()
    won = wins(choices, list(found["technique"].unique()))
    assert set(won.loc[won["images"] == ALL, "wins"]) == {0.75}
    assert set(won["undecided"]) == {2, 3}


def test_an_explanation_that_shows_nothing_is_no_candidate() -> None:
    choices = choose(candidates(scored([[np.nan, 0.2, 0.1, 0.0]]), "resnet50"))
    assert choices["candidates"].tolist() == [3]


def test_a_classifier_that_is_not_there_is_named() -> None:
    with pytest.raises(PastaError, match=r"no explanation of 'vit_b_16' \(there are some of res"):
        candidates(random_scores(), "vit_b_16")


def test_held_out_images_are_compared_by_themselves_and_against_the_best_of_the_others() -> None:
    scores = random_scores(12)
    tables = run_mixture(scores, measured(scores), settings(), 0)
    rows = tables["comparison"].set_index(["images", "measure", "against"])
    assert set(rows["n"].xs(HELD_OUT)) == {6}
    assert set(rows["n"].xs(ALL)) == {12}
    training = scores[~scores["held_out"]].groupby("technique")["good"].mean()
    assert rows.loc[(HELD_OUT, "quality", ELSEWHERE), "note"] == f"always {training.idxmax()}"
    held = scores[scores["held_out"]]
    best = held.loc[held.groupby("image")["good"].idxmax(), "quality"].mean()
    assert rows.loc[(HELD_OUT, "quality", MEAN), "first"] == pytest.approx(best)
    assert rows.loc[(HELD_OUT, "quality", MEAN), "second"] == pytest.approx(held["quality"].mean())
    assert rows.loc[(HELD_OUT, "quality", CEILING), "better"] == 0


def test_cross_fitted_scores_are_compared_with_the_best_method_of_the_other_folds() -> None:
    crossed = random_scores(9, seed=1).assign(held_out=True)
    crossed["fold"] = crossed["image_id"].astype(int) % 3
    tables = run_mixture(random_scores(9), None, settings(), 0, crossed)
    rows = tables["comparison"].set_index(["images", "measure", "against"])
    usual = []
    for _, own in crossed.groupby("image"):
        others = crossed[crossed["fold"] != own["fold"].iloc[0]]
        name = others.groupby("technique")["good"].mean().idxmax()
        usual.append(own.loc[own["technique"] == name, "score"].iloc[0])
    row: Any = rows.loc[(CROSSED, "score", ELSEWHERE), :]
    assert row["n"] == 9
    assert row["second"] == pytest.approx(np.mean(usual))
    assert row["first"] == pytest.approx(crossed.groupby("image")["score"].max().mean())


def test_without_a_judge_there_is_no_row_about_quality() -> None:
    scores = random_scores().assign(quality=np.nan)
    comparison = run_mixture(scores, None, settings(), 0)["comparison"]
    assert set(comparison["measure"]) == {"score"}


def test_the_order_of_rows_does_not_matter() -> None:
    scores = random_scores()
    mixed = scores.sample(frac=1, random_state=np.random.default_rng(1))
    one, other = (run_mixture(some, measured(scores), settings(), 0) for some in (scores, mixed))
    pd.testing.assert_frame_equal(one["choices"], other["choices"])
    pd.testing.assert_frame_equal(one["comparison"], other["comparison"])


def test_a_constant_difference_has_an_interval_without_width() -> None:
    found = paired_difference(np.arange(8) + 0.5, np.arange(8), 100, 0)
    assert (found["estimate"], found["low"], found["high"]) == (0.5, 0.5, 0.5)
    assert (found["better"], found["equal"], found["worse"]) == (8, 0, 0)


def test_missing_values_are_left_out_and_said() -> None:
    found = paired_difference([1.0, np.nan, 3.0], [0.0, 0.0, np.nan], 100, 0)
    assert (found["n"], found["estimate"]) == (1, 1.0)
    assert np.isnan(found["low"])
    assert found["note"] == "2 images without a value; fewer than 5 images: no interval"
    nothing = paired_difference([np.nan], [1.0], 100, 0)
    assert nothing["n"] == 0
    assert np.isnan(nothing["estimate"])


def test_bootstrap_intervals_cover_a_known_mean() -> None:
    covered = []
    for seed in range(200):
        values = generator(seed, "coverage").normal(1.0, 1.0, 40)
        low, high = mean_interval(values, 400, seed)
        covered.append(low <= 1.0 <= high)
    assert 0.88 <= np.mean(covered) <= 0.99


def test_goodness_turns_stars_so_that_more_is_better() -> None:
    stars = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(scores_module.goodness(stars, "Q1", "p2"), [0, 0.25, 1])
    np.testing.assert_allclose(scores_module.goodness(stars, "Q5", "p2"), [1, 0.75, 0])


def properties() -> pd.DataFrame:
    random, number = generator(0, "properties"), 40
    kinds = np.where(np.arange(number) % 4 == 3, "concept", "saliency")
    overlap = random.normal(0, 0.5, number)
    overlap[:3] = np.nan
    status = np.where(np.arange(number) % 10 == 5, "zero", "ok")
    return pd.DataFrame(
        {
            "sample_id": [f"coco/{row:04d}/gradcam/resnet50" for row in range(number)],
            "dataset": "coco",
            "image_id": [f"{row:04d}" for row in range(number)],
            "kind": kinds,
            "predicted": "cultural",
            "status": status,
            "overlap": np.where(status == "ok", overlap, np.nan),
            "spread": np.where(status == "ok", random.uniform(0, 1, number), np.nan),
            "correct": random.integers(0, 2, number).astype(float),
            "light": np.nan,
            "strong": np.nan,
        }
    )


def plant(folder: Path, params: SimulationParams) -> None:
    """What the simulate stage leaves behind of its parameters."""
    store.write_json({"effects": params.model_dump(mode="json")}, folder / "planted.json")


@pytest.mark.parametrize("question", ["Q1", "Q3"])
def test_the_judge_expects_what_the_simulator_plants_without_its_residual(
    tmp_path: Path, question: str
) -> None:
    params, table = parameters(), properties()
    table.to_parquet(tmp_path / "properties.parquet")
    plant(tmp_path, params)
    judge = planted_judge(tmp_path, question)
    assert judge is not None
    weights = getattr(params.questions, question).model_copy(update={"residual": 0.0})
    questions = params.questions.model_copy(update={question: weights})
    planted = qualities(table, params.model_copy(update={"questions": questions}), 0)
    own = (table["kind"] == "saliency").to_numpy()
    overlap, spread, correct = (
        table.loc[own, name].to_numpy(np.float64) for name in ("overlap", "spread", "correct")
    )
    shown = (table["status"] == "ok")[own].to_numpy()
    expected = judge.expected(overlap, spread, correct, shown)
    np.testing.assert_allclose(expected, planted.loc[own, question], rtol=1e-12)


class Drawn(StoredDataset):
    """Two images without files: the left half is a cat's head, the lower right a wheel."""

    def concepts(self) -> pd.DataFrame:
        rows = [
            {"image_id": image, "concept": concept, "present": concept == seen}
            for image, seen in (("a", "head"), ("b", "wheel"))
            for concept in self.vocabulary.concepts
        ]
        return pd.DataFrame(rows)


def test_new_maps_are_judged_by_the_parts_of_the_predicted_class(tmp_path: Path) -> None:
    properties().to_parquet(tmp_path / "properties.parquet")
    plant(tmp_path, parameters())
    judge = planted_judge(tmp_path, "Q1")
    assert judge is not None
    words = vocabulary("catsdogscars")
    parts = np.zeros((2, 4, 4), np.uint8)
    parts[0, :, :2] = 1 + words.concepts.index("head")
    images = pd.DataFrame({"image_id": ["a", "b"], "label": ["cat", "car"], "row": [0, 1]})
    pixels = np.zeros((2, 4, 4, 3), np.uint8)
    maps = np.zeros((3, 4, 4))
    maps[0, :, :2] = 1  # on the head
    maps[1, :, 2:] = 1  # beside it
    found = MapJudge(judge, Drawn(tmp_path, words, images, pixels, parts))(
        maps, ["a", "a", "a"], ["cat", "cat", "cat"]
    )
    expected = judge.expected(
        np.array([1.0, -1.0, np.nan]),
        np.array([0.5, 0.5, np.nan]),
        np.ones(3),
        np.array([True, True, False]),  # the last map shows nothing
    )
    np.testing.assert_allclose(found, expected)
    assert found[0] > found[1] > found[2]


def test_with_real_raters_there_is_no_judge(tmp_path: Path) -> None:
    assert planted_judge(tmp_path, "Q1") is None
    assert planted_judge(None, "Q1") is None
    assert planted_quality(tmp_path, "Q1").empty

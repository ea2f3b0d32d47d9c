"""The tables of the rating study: right numbers, and words where there can be none."""

from __future__ import annotations

import warnings
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from analysis.agreement import agreement_by, agreement_summary, agreement_with_mode
from analysis.bias import group_tests
from analysis.resampling import holm
from analysis.tables import MISSING, Tables, list_missing
from pasta.studies.ratings.analyses import preference
from pasta.studies.ratings.analyses.agreement import MOST_PAIRED
from pasta.studies.ratings.analyses.boxes import MEASURES as BOX_MEASURES
from pasta.studies.ratings.analyses.correlation import correlation_study, explained_study
from pasta.studies.ratings.analyses.dataset import dataset_tables
from pasta.studies.ratings.analyses.names import describe_samples, generic, named
from pasta.studies.ratings.analyses.preference import (
    NO_KINDS,
    NO_RANKINGS,
    NO_RATINGS,
    NO_TECHNIQUES,
    ORDERS,
    preference_tables,
    ranking_tables,
    score_differences,
    scores_by,
    technique_orders,
    technique_scores,
)
from tests.analysis.simulated import Study, one
from tests.studies.ratings.analysed import LACKS, agreement_and_bias, lacking, simulate

Frames = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


@pytest.fixture(scope="module")
def study() -> Frames:
    return simulate(Study(raters=9, samples=48, sex=1.5), seed=1)


@pytest.fixture(scope="module")
def tables(study: Frames) -> Tables:
    return agreement_and_bias(*study)


def whys(tables: Tables) -> dict[str, str]:
    missing = tables[MISSING]
    return dict(zip(missing["section"], missing["why"], strict=True))


def test_tables_are_those_of_the_single_functions_clustered_on_images(
    study: Frames, tables: Tables
) -> None:
    ratings, people, samples = study
    joined = generic(ratings.merge(samples[["sample_id", "kind", "image_id"]], on="sample_id"))
    boot = {"cluster": "image_id", "resamples": 60}
    expected = named(agreement_summary(joined, **boot))  # type: ignore[arg-type]
    assert_frame_equal(tables["agreement"], expected)
    assert_frame_equal(tables["kinds"], named(agreement_by(joined, "kind", **boot)))
    tests = named(group_tests(generic(ratings), generic(people), permutations=60))
    assert_frame_equal(tables["group_tests"], tests)


@pytest.mark.parametrize("images", ["none", "one unknown"])
def test_without_all_images_samples_are_resampled(study: Frames, images: str) -> None:
    ratings, people, samples = study
    shown = samples.drop(columns="image_id") if images == "none" else samples.iloc[1:]
    tables = agreement_and_bias(ratings, people, shown)
    expected = named(agreement_with_mode(generic(ratings), resamples=60))
    assert_frame_equal(tables["with_mode"], expected)
    facts = tables["study"].set_index("fact")["value"]
    assert np.isnan(facts["images"])
    assert facts[["votes", "samples", "annotators", "questions"]].tolist() == [480, 48, 9, 2]


def test_order_of_rows_and_names_that_are_numbers_change_nothing(
    study: Frames, tables: Tables
) -> None:
    ratings, people, samples = study
    mixed = agreement_and_bias(
        ratings.sample(frac=1, random_state=3), people.iloc[::-1], samples.iloc[::-1]
    )
    for name, table in tables.items():
        assert_frame_equal(table, mixed[name], obj=name)
    numbers = [
        frame.assign(annotator_id=frame["annotator_id"].str[1:].astype(int))
        for frame in (ratings, people)
    ]
    numbered = agreement_and_bias(*numbers, samples)
    for name in ("group_tests", "agreement", "model"):
        assert_frame_equal(tables[name], numbered[name], obj=name)


@pytest.mark.parametrize("shift", [-1, 10])
def test_a_scale_with_other_numbers_gives_the_same_agreement_and_shifted_levels(
    study: Frames, tables: Tables, shift: int
) -> None:
    ratings, people, samples = study
    moved = ratings.assign(rating=ratings["rating"] + shift)
    second = agreement_and_bias(
        moved, people, samples, categories=tuple(range(1 + shift, 6 + shift))
    )
    for name in ("agreement", "with_mode", "pairs", "group_tests", "model", "order", "look_at"):
        assert_frame_equal(tables[name], second[name], obj=name)
    level = tables["people"]["measure"] == "level"
    apart = second["people"]["estimate"] - tables["people"]["estimate"]
    assert np.allclose(apart[level], shift)
    assert np.allclose(apart[~level], 0, equal_nan=True)


def test_a_wider_scale_changes_kappa_as_its_weights_say() -> None:
    ratings = simulate(Study(raters=2, samples=60, votes=2, questions=1), seed=4)[0]
    scale = (1, 2, 3, 4, 5, 6, 7)
    wide = ratings.assign(rating=ratings["rating"] + 2 * (ratings["rating"] > 3))
    tables = agreement_and_bias(wide, categories=scale)
    a, b = (
        wide[wide["annotator_id"] == name].set_index("sample_id")["rating"]
        for name in ("a00", "a01")
    )
    expected = cohen_kappa_score(a, b.reindex(a.index), weights="quadratic", labels=scale)
    found = one(tables["pairs"], first="a00", second="a01", question="Q1")
    assert found["estimate"] == pytest.approx(expected, abs=1e-12)
    margin = tables["group_tests"].loc[tables["group_tests"]["measure"] == "level", "margin"]
    assert margin.dropna().unique().tolist() == [6 / 16]


def test_ratings_off_the_scale_and_votes_given_twice_are_refused(study: Frames) -> None:
    ratings = study[0]
    with pytest.raises(ValueError, match="is none of"):
        agreement_and_bias(ratings.assign(rating=9))
    with pytest.raises(ValueError, match="given twice"):
        agreement_and_bias(pd.concat([ratings, ratings.iloc[:1]]))
    with pytest.raises(ValueError, match="no column rating"):
        agreement_and_bias(ratings.drop(columns="rating"))


@pytest.mark.parametrize("name", LACKS)
def test_what_is_missing_is_said_and_the_rest_is_there(name: str) -> None:
    (ratings, people, samples), lack = lacking(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = agreement_and_bias(ratings, people, samples)
    assert lack.words in whys(tables)[lack.section]
    if lack.section in tables and name != "three annotators":
        frame = tables[lack.section]
        numbers = frame.select_dtypes("number").drop(columns=["n", "margin"], errors="ignore")
        assert numbers.isna().all(axis=None), "a number from nothing"
    if len(ratings) > 1:
        assert tables["stars"]["n"].sum() == len(ratings)
        assert tables["profiles"]["estimate"].notna().any() == (name != "anonymous")


def test_nothing_is_said_to_be_missing_of_a_whole_study(study: Frames) -> None:
    ratings, people, samples = study
    people = people.assign(country=np.where(people.index % 2, "India", "Kenya"))
    pairs = ratings.drop_duplicates(["sample_id", "annotator_id"])[["sample_id", "annotator_id"]]
    words = np.array(["wheel and door", "the head", "wheel", "an ear and a tail"])
    described = pairs.assign(text=words[np.arange(len(pairs)) % 4])
    sentences = samples[["sample_id"]].assign(sentence="wheel, door, head")
    random = np.random.default_rng(0)
    inside = pairs.assign(**{name: random.random(len(pairs)) for name in BOX_MEASURES})
    tables = agreement_and_bias(ratings, people, samples, described, sentences, pairs, inside)
    assert tables[MISSING].empty
    assert tables["text_bias"]["estimate"].notna().any()
    assert tables["box_bias"]["estimate"].notna().all()


def test_boxes_without_maps_are_another_gap_than_no_boxes(study: Frames) -> None:
    ratings, people, samples = study
    boxes = ratings[["sample_id", "annotator_id"]].assign(x0=0.0, y0=0.0, x1=0.5, y1=0.5)
    tables = agreement_and_bias(ratings, people, samples, None, None, boxes, None)
    assert "no saliency maps" in whys(tables)["box_bias"]


def test_too_many_annotators_are_not_paired() -> None:
    ratings = simulate(Study(raters=MOST_PAIRED + 1, samples=60, questions=1), seed=5)[0]
    tables = agreement_and_bias(ratings)
    assert tables["pairs"].empty and "more than 40" in whys(tables)["pairs"]
    assert "pairwise_kappa" not in set(tables["agreement"]["measure"])
    assert tables["with_mode"]["estimate"].notna().any()


# Preferences and rankings

STUDY = Study(samples=90, technique=0.8)
KEYS = {
    "technique_scores", "kinds", "kind_differences", "backbones", "backbone_differences", *ORDERS,
    "positions", "concordance", "position_differences", MISSING,
}  # fmt: skip


@pytest.fixture(scope="module")
def rated() -> tuple[pd.DataFrame, pd.DataFrame]:
    ratings, _, shown = simulate(STUDY, 0)
    return ratings, shown


def rankings(people: int = 5) -> pd.DataFrame:
    """Everybody agrees on Q7; on Q8 half of the people turn the order round."""
    rows = []
    for person in range(people):
        for place, item in enumerate("abc", start=1):
            rows.append((f"a{person:02d}", "Q7", item, place))
            rows.append((f"a{person:02d}", "Q8", item, place if person % 2 else 4 - place))
    return pd.DataFrame(rows, columns=["annotator_id", "question", "item", "position"])


def test_planted_order_of_techniques_is_found_and_turned_where_fewer_stars_are_better(
    rated: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    straight = preference_tables(*rated, rankings(), directions={"Q1": 1, "Q2": 1}, resamples=99)
    turned = preference_tables(*rated, directions={"Q1": -1, "Q2": -1})
    assert set(straight) == KEYS
    for tables, best, worst in ((straight, "m5", "m0"), (turned, "m0", "m5")):
        order = tables["ranking"]["technique"].tolist()
        assert (order[0], order[-1]) == (f"{best}/resnet", f"{worst}/resnet")
        assert tables["critical_difference"]["item"].iloc[0] == f"{best}/resnet"
        ranking = tables["ranking"]
        assert sorted(ranking["rank_bradley_terry"]) == ranking["rank"].tolist()
    for name in ("technique_scores", "kinds"):  # stars as they were given
        assert_frame_equal(turned[name], straight[name])


def test_rankings_all_alike_have_w_one_and_turned_ones_less() -> None:
    tables = ranking_tables(rankings(6), resamples=199)
    assert one(tables["concordance"], question="Q7")["estimate"] == pytest.approx(1)
    assert one(tables["concordance"], question="Q8")["estimate"] == pytest.approx(0)
    assert one(tables["positions"], question="Q7", item="a")["estimate"] == 1
    assert tables[MISSING].empty


@pytest.mark.parametrize("given", [None, rankings().iloc[:0], rankings().assign(position=None)])
def test_without_rankings_their_tables_are_empty_and_said_to_be_missing(
    given: pd.DataFrame | None,
) -> None:
    tables = ranking_tables(given)
    assert whys(tables) == dict.fromkeys(tables.keys() - {MISSING}, NO_RANKINGS)
    assert all(tables[name].empty for name in tables if name != MISSING)


def test_no_ratings_and_no_samples_give_empty_tables_that_survive_a_file(
    rated: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    tables = preference_tables(rated[0].iloc[:0], None)
    assert set(tables) == KEYS and all(tables[name].empty for name in KEYS - {MISSING})
    assert whys(tables)["ranking"] == NO_RATINGS
    for name, table in tables.items():
        back = pd.read_csv(StringIO(table.to_csv(index=False)))
        assert list(back.columns) == list(table.columns), name


def test_thin_studies_have_reasons_instead_of_numbers(
    rated: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    ratings, shown = rated
    unknown = whys(preference_tables(ratings, shown[["sample_id"]]))
    assert unknown["ranking"] == NO_TECHNIQUES and unknown["kinds"] == NO_KINDS
    one_kind = preference_tables(ratings, shown.assign(kind="saliency"))
    assert one_kind["kinds"]["estimate"].notna().all()
    assert "only one group (saliency)" in whys(one_kind)["kind_differences"]
    alone = whys(preference_tables(ratings[ratings["annotator_id"] == "a00"], shown))
    assert "critical_difference" in alone and "ranking" not in alone
    equal = whys(preference_tables(ratings.assign(rating=3), shown))
    assert equal["ranking"] == "all ratings are equal: no order"


def test_a_reason_given_before_is_kept_and_tables_without_estimates_are_not_missing() -> None:
    first = list_missing({"a": pd.DataFrame({"estimate": [None]})}, {"a": "lost"})
    counts = pd.DataFrame({"n": [1]})
    again = list_missing({**first, "b": counts, "c": pd.DataFrame({"estimate": [float("nan")]})})
    assert whys(again) == {"a": "lost", "c": "there is nothing to estimate from"}


def test_mean_mode_of_a_technique_is_that_of_a_loop(
    rated: tuple[pd.DataFrame, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings, shown = rated
    dimensions = {"both": ("Q1", "Q2"), "robustness": ("Q5", "Q6")}
    monkeypatch.setattr(preference, "DIMENSIONS", dimensions)
    found = technique_scores(ratings, shown)
    modes = []
    for sample in shown.loc[shown["method"] == "m2", "sample_id"]:
        votes = ratings[ratings["sample_id"] == sample]
        each = [votes.loc[votes["question"] == name, "rating"] for name in ("Q1", "Q2")]
        modes.append(np.mean([stars.mode().min() for stars in each]))
    row = one(found, technique="m2/resnet", dimension="both")
    assert row["estimate"] == pytest.approx(np.mean(modes)) and row["n"] == 15
    interval = stats.t.interval(0.95, 14, np.mean(modes), stats.sem(modes))
    assert (row["low"], row["high"]) == pytest.approx(interval)
    absent = found[found["dimension"] == "robustness"]
    assert absent["estimate"].isna().all() and (absent["note"] == "no votes on Q5, Q6").all()


def test_kinds_and_their_difference_agree_with_plain_means() -> None:
    ratings, _, shown = simulate(Study(kind=1.5, techniques=20), 1)
    means = scores_by(ratings, shown).set_index(["question", "group"])["estimate"]
    gap = one(score_differences(ratings, shown), question="Q1")
    expected = means["Q1", "concept"] - means["Q1", "saliency"]
    assert gap["comparison"] == "concept - saliency"
    assert gap["estimate"] == pytest.approx(expected) and gap["high"] < 0


def test_a_scale_of_seven_steps_is_ranked_and_mirrored_as_such() -> None:
    ratings, _, shown = simulate(Study(technique=1.0, samples=48), 3)
    wide = ratings.assign(rating=ratings["rating"] + 2)  # 3 to 7
    for directions in ({}, {"Q1": -1, "Q2": -1}):
        own = preference_tables(ratings, shown, directions=directions)
        seven = preference_tables(wide, shown, directions=directions, categories=range(1, 8))
        assert seven["ranking"]["technique"].tolist() == own["ranking"]["technique"].tolist()
        same = ["kind_differences", "critical_difference", "top_techniques"]
        for name in same:
            assert_frame_equal(seven[name], own[name])
        for name in ("kinds", "technique_scores"):
            moved = own[name].assign(
                **{end: own[name][end] + 2 for end in ("estimate", "low", "high")}
            )
            assert_frame_equal(seven[name], moved)
    with pytest.raises(ValueError, match="is none of"):
        preference_tables(wide, shown)


def test_a_shared_technique_widens_the_interval_of_a_kind() -> None:
    """Techniques differ much: fifty samples of three techniques know little about a fourth."""
    ratings, _, shown = simulate(Study(technique=1.0), 2)
    apart = shown.assign(technique=shown["sample_id"], image_id=shown["sample_id"])
    clustered, alone = scores_by(ratings, shown), scores_by(ratings, apart)
    wide, narrow = (frame["high"] - frame["low"] for frame in (clustered, alone))
    assert (wide > 2 * narrow).all()


def test_backbones_are_compared_for_saliency_only(
    rated: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    ratings, shown = rated
    shown = shown.assign(backbone=np.resize(["resnet", "vit", "clip"], len(shown)))
    found = scores_by(ratings, shown, "backbone", kind="saliency")
    assert found.loc[found["question"] == "Q1", "n"].sum() == (shown["kind"] == "saliency").sum()
    gaps = score_differences(ratings, shown, "backbone", kind="saliency")
    assert set(gaps["comparison"]) == {"clip - resnet", "clip - vit", "resnet - vit"}


def test_favourites_and_orders_have_the_kind_of_the_technique(
    rated: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    orders = technique_orders(*rated)
    for name in ("top_techniques", "ranking"):
        kinds = orders[name].set_index("technique")["kind"]
        assert (kinds["m0/resnet"], kinds["m1/resnet"]) == ("concept", "saliency")


def test_images_of_two_datasets_with_one_number_are_two_images() -> None:
    samples = pd.DataFrame({"sample_id": ["s", "t"], "dataset": ["a", "b"], "image_id": ["1", "1"]})
    assert describe_samples(samples)["image"].tolist() == ["a/1", "b/1"]


# Counting what a study has

IMAGES = pd.DataFrame(
    {
        "dataset": ["d", "d", "d", "e"],
        "image_id": ["0", "1", "2", "0"],
        "split": ["train", "train", "test", "test"],
        "label": ["cat", "dog", "cat", "arch"],
    }
)
EXPLANATIONS = pd.DataFrame(
    {
        "sample_id": ["d/2/lime/r", "d/2/cam/r", "e/0/lime/r", "e/0/cam/r"],
        "dataset": ["d", "d", "e", "e"],
        "image_id": ["2", "2", "0", "0"],
        "method": ["lime", "cam", "lime", "cam"],
        "backbone": "r",
        "kind": "saliency",
        "status": ["ok", "zero", "ok", "ok"],
    }
)
PERTURBED = pd.DataFrame(
    {
        "sample_id": ["d/2/lime/r"] * 2 + ["e/0/lime/r"] * 2,
        "strength": ["light", "strong"] * 2,
        "perturbation": ["blur", "blur", "crop", "blur"],
        "magnitude": 0.1,
        "changed": [False, True, False, False],
        "status": ["ok", "nan", "ok", "ok"],
    }
)
VOTES = pd.DataFrame(
    [
        ("d/2/lime/r", "a", "Q1", 1), ("d/2/lime/r", "b", "Q1", 5), ("e/0/lime/r", "a", "Q1", 1),
        ("d/2/lime/r", "a", "Q2", 4), ("d/2/cam/r", "b", "Q1", 2),
    ],
    columns=["sample_id", "annotator_id", "question", "rating"],
)  # fmt: skip
PEOPLE = pd.DataFrame({"annotator_id": ["a", "b"], "sex": ["female", None], "age": [20, 61]})


def test_counts_are_those_made_by_hand() -> None:
    tables = dataset_tables(IMAGES, EXPLANATIONS, PERTURBED, VOTES, PEOPLE, published={"lime/r"})
    assert one(tables["splits"], dataset="d", split="train")["n"] == 2
    assert one(tables["classes"], dataset="d", label="cat")["n"] == 2
    cam = one(tables["techniques"], technique="cam/r")
    assert (cam["n"], cam["ok"], cam["zero"], cam["rated"], cam["extra"]) == (2, 1, 1, 1, True)
    assert not one(tables["techniques"], technique="lime/r")["extra"]
    strong = one(tables["strengths"], strength="strong")
    assert (strong["n"], strong["changed"], strong["nan"]) == (2, 0.5, 1)
    assert one(tables["perturbations"], strength="strong", perturbation="blur")["n"] == 2
    first = one(tables["questions"], question="Q1")
    assert (first["n"], first["samples"], first["annotators"]) == (4, 3, 2)
    assert first["mean"] == pytest.approx(9 / 4)
    assert one(tables["stars"], question="Q1", rating=1)["share"] == 0.5
    assert one(tables["stars"], question="Q1", rating=3)["n"] == 0
    assert tables["missing"].empty


def test_people_and_samples_meet_once_however_many_questions_were_asked() -> None:
    plan = dataset_tables(IMAGES, EXPLANATIONS, None, VOTES)["plan"]
    each = one(plan, of="sample")
    assert (each["levels"], each["least"], each["most"]) == (3, 1, 2)
    assert one(plan, of="pair of annotators")["most"] == 1
    assert one(plan, of="image")["most"] == 2


def test_those_who_did_not_say_are_counted_and_come_last() -> None:
    people = dataset_tables(votes=VOTES, annotators=PEOPLE)["people"]
    sex = people[people["factor"] == "sex"]
    assert sex["group"].tolist() == ["female", "not stated"] and sex["votes"].tolist() == [3, 2]
    ages = people.loc[people["factor"] == "age_group", "group"].tolist()
    assert ages == ["under 25", "60 and over"]
    assert "country" not in set(people["factor"])


def test_nothing_given_is_nothing_counted_with_reasons() -> None:
    tables = dataset_tables()
    assert all(tables[name].empty for name in tables if name != "missing")
    sections = set(tables["missing"]["section"])
    assert {"splits", "techniques", "strengths", "questions", "people"} <= sections


def test_without_the_papers_list_nothing_is_called_an_extra() -> None:
    assert dataset_tables(explanations=EXPLANATIONS)["techniques"]["extra"].isna().all()


# Metrics against ratings


def planted(images: int = 24, seed: int = 0) -> Frames:
    """Metrics: "between" tells techniques apart, "inside" samples of one, "none" always fails."""
    rng = np.random.default_rng(seed)
    rows, values, labels = [], [], []
    level = {"cam": -1.0, "lime": 0.0, "rise": 1.0}
    for image in range(images):
        for method, height in level.items():
            for backbone in ("resnet", "vit"):
                name = f"d{image % 2}/{image}/{method}/{backbone}"
                inside = rng.normal()
                rows.append((name, f"d{image % 2}", str(image // 2), method, backbone))
                for question, slope in (("Q1", 0.7), ("Q2", 0.0)):
                    rating = 3 + height + slope * inside + 0.5 * rng.normal()
                    labels.append((name, question, rating))
                values.append((name, "between", "a", height + 0.2 * rng.normal()))
                values.append((name, "inside", "a", inside))
                values.append((name, "none", "a", np.nan))
    samples = pd.DataFrame(rows, columns=["sample_id", "dataset", "image_id", "method", "backbone"])
    metrics = pd.DataFrame(values, columns=["sample_id", "metric", "variant", "value"])
    labelled = pd.DataFrame(labels, columns=["sample_id", "question", "mode"])
    return metrics, labelled, describe_samples(samples).reset_index()


def test_the_study_has_every_scope_and_equals_scipy_in_one() -> None:
    metrics, labels, samples = planted()
    study = correlation_study(metrics, labels, samples, resamples=50)
    scopes = study[["scope", "part"]].drop_duplicates().apply(tuple, axis=1).tolist()
    assert scopes == [
        ("overall", ""),
        ("dataset", "d0"),
        ("dataset", "d1"),
        ("backbone", "resnet"),
        ("backbone", "vit"),
        ("within technique", ""),
    ]
    wanted = {"scope": "backbone", "part": "vit", "metric": "inside", "question": "Q1"}
    pearson, spearman = (one(study, **wanted, method=name) for name in ("pearson", "spearman"))
    chosen = samples.loc[samples["backbone"] == "vit", "sample_id"]
    x = metrics[metrics["metric"] == "inside"].set_index("sample_id").loc[chosen, "value"]
    y = labels[labels["question"] == "Q1"].set_index("sample_id").loc[chosen, "mode"]
    assert pearson["estimate"] == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman["p"] == pytest.approx(stats.spearmanr(x, y).pvalue)
    assert pearson["clusters"] == 24  # an image_id is one image only in its dataset


def test_within_technique_only_the_metric_that_knows_samples_is_left() -> None:
    study = correlation_study(*planted(), resamples=200)
    study = study[study["method"] == "pearson"]
    within = study[(study["scope"] == "within technique") & (study["question"] == "Q1")]
    assert one(study, scope="overall", metric="between", question="Q1")["low"] > 0.4
    assert abs(one(within, metric="between")["estimate"]) < 0.25
    assert one(within, metric="inside")["low"] > 0.6


def test_a_metric_that_always_failed_stays_in_the_table_with_the_reason() -> None:
    study = correlation_study(*planted(), resamples=20)
    failed = study[study["metric"] == "none"]
    assert len(failed) == 6 * 2 * 2
    assert (failed["n"] == 0).all()
    assert failed["estimate"].isna().all()
    assert failed["note"].str.startswith("fewer than 3 samples").all()


def test_p_values_are_adjusted_over_a_method_and_scope() -> None:
    study = correlation_study(*planted(), resamples=20)
    family = study[(study["method"] == "pearson") & (study["scope"] == "dataset")]
    assert family["p_holm"].to_numpy() == pytest.approx(holm(family["p"]), nan_ok=True)
    assert (family["p_holm"].dropna() >= family["p"].dropna()).all()


def test_the_explained_study_has_four_rows_for_each_question_and_metric() -> None:
    metrics, labels, samples = planted()
    study = explained_study(metrics, labels.rename(columns={"mode": "mean"}), samples)
    assert len(study) == 3 * 2 * 4
    slopes = study[study["quantity"] == "slope"]
    assert one(slopes, metric="inside", question="Q1")["p_holm"] < 1e-6
    assert one(slopes, metric="inside", question="Q2")["p_holm"] > 0.05
    assert np.isnan(one(slopes, metric="none", question="Q1")["estimate"])


def test_of_anonymous_votes_only_samples_are_spoken_of(study: Frames, tables: Tables) -> None:
    ratings, people, samples = study
    assert people is not None and samples is not None
    hidden = people.assign(anonymous=True)
    found = agreement_and_bias(ratings, hidden, samples)
    measures = set(found["agreement"]["measure"])
    assert (
        measures
        == {"krippendorff_ordinal", "fleiss", "icc1", "icc1k"}
        == set(found["kinds"]["measure"])
    )
    kept = tables["agreement"][tables["agreement"]["measure"].isin(measures)]
    assert_frame_equal(found["agreement"], kept.reset_index(drop=True))
    for name in ("with_mode", "pairs", "profiles", "look_at", "people", "kind_differences"):
        assert found[name].empty, name
        assert "anonymous" in whys(found)[name]
    for name in ("sex", "age", "country", "groups", "group_tests", "model", "order"):
        assert "anonymous" in whys(found)[name]
    assert np.isnan(found["study"].set_index("fact")["value"]["annotators"])


def test_people_among_anonymous_votes_are_compared_with_people(study: Frames) -> None:
    ratings, people, samples = study
    assert people is not None
    hidden = people.assign(anonymous=people["annotator_id"] == people["annotator_id"].iloc[0])
    found = agreement_and_bias(ratings, hidden, samples)
    known = ratings[ratings["annotator_id"] != people["annotator_id"].iloc[0]]
    alone = agreement_and_bias(known, people.iloc[1:], samples)
    for name in ("with_mode", "pairs", "profiles", "look_at", "people", "group_tests"):
        assert_frame_equal(found[name], alone[name], obj=name)
    everybody = found["agreement"].query("measure == 'fleiss'")
    assert (
        everybody["estimate"].tolist()
        != alone["agreement"].query("measure == 'fleiss'")["estimate"].tolist()
    )


def test_orders_of_techniques_and_counts_of_people_need_people(study: Frames) -> None:
    ratings, people, samples = study
    assert people is not None and samples is not None
    shown = samples.assign(method=["gradcam", "lime"] * (len(samples) // 2), backbone="resnet50")
    hidden, nowhere = people.assign(anonymous=True), shown.drop(columns="image_id")
    found = preference_tables(ratings, nowhere, annotators=hidden, resamples=20)
    assert len(found["technique_scores"]) and len(found["kinds"])
    for name in ("top_techniques", "ranking", "critical_difference"):
        assert found[name].empty and "anonymous" in whys(found)[name]
    images = [f"{number // 2}" for number in range(len(shown))]  # two techniques explain each
    found = preference_tables(
        ratings, shown.assign(dataset="coco", image_id=images), annotators=hidden, resamples=20
    )
    for name in ("top_techniques", "ranking"):
        assert set(found[name]["technique"]) == {"gradcam/resnet50", "lime/resnet50"}
        assert "images stand for annotators" in whys(found)[name]
    assert (found["top_techniques"]["n"] == len(shown) // 2).all()
    counts = dataset_tables(votes=ratings, annotators=hidden)
    assert counts["questions"]["annotators"].isna().all()
    assert "annotators" not in set(counts["study"]["what"])
    assert counts["plan"]["of"].tolist() == ["sample"] and "anonymous" in whys(counts)["people"]
    known = dataset_tables(votes=ratings, annotators=people.assign(anonymous=False))
    assert "annotators" in set(known["study"]["what"])


def test_what_is_known_of_some_samples_only_is_said(study: Frames) -> None:
    ratings, people, samples = study
    assert samples is not None
    even = pd.Series(np.arange(len(samples)) % 2 == 0, index=samples.index)
    gaps = samples.assign(
        method=pd.Series("gradcam", samples.index).where(even),
        backbone=pd.Series("resnet50", samples.index).where(even),
        kind=samples["kind"].where(samples.index > 0),
    )
    half = f"{len(samples) // 2} of {len(samples)} rated samples have no known technique"
    assert half in whys(preference_tables(ratings, gaps, resamples=20))["technique_scores"]
    one = f"1 of {len(samples)} rated samples have no known kind"
    assert one in whys(agreement_and_bias(ratings, people, gaps))["kinds"]

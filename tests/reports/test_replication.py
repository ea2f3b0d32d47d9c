"""Every printed number has a row; the verdict follows its rule; nothing is made up."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from pasta.benchmark.tables import CRITERIA
from pasta.cli import app
from pasta.config import load_params
from pasta.explanations.techniques import RELEASED
from reports.source.format import whole
from reports.source.names import LEAVE_ONE_OUT, OWN_VOTE
from reports.source.pages.replication import replication_figure, replication_report
from reports.source.replication import latec_tables, metapredictor_tables
from reports.source.replication.collected import collect_facts
from reports.source.replication.measured import study_facts
from reports.source.replication.pasta_tables import ablation_levels
from reports.source.replication.reasons import MISSING, NEVER, WAYS
from reports.source.replication.rows import (
    judged,
    over_runs,
    paper_rows,
    published_table,
    published_tables,
    published_techniques,
    technique_keys,
)
from reports.source.replication.table import (
    COLUMNS,
    SECTIONS,
    compare_study,
    replication_table,
)
from reports.source.replication.written import write_rows
from reports.source.setting import list_choices
from tests.analysis.simulated import one
from tests.conftest import ROOT
from tests.reports.studies import as_read, printed, rated

LINEAR, MLP, CLIP = "pasta-linear", "pasta-mlp", "clip-vit-l-14-336"
SUMMARY = ["study", "level", "scorer", "encoder", "question", "measure", "mean", "sd", "n",
           "reason"]  # fmt: skip
# Numbers with an estimate in the papers' tables, counted by hand.
PRINTED = {
    ("P1", "Table 1"): 6 * 4 * 2,
    ("P1", "Table 2"): 2 * 2,
    ("P1", "Table 3"): 3 * 4 * 6,
    ("P1", "Tables 4, 15–20"): (3 + 3 + 2 + 5 + 2 + 6 + 3) * 3,
    ("P1", "Table 8"): 9 * 5 - 5,  # four "NA" and a "No"
    ("P1", "Table 9"): 6 * 2 * 2,
    ("P1", "Table 10"): 6 * 2,
    ("P1", "Table 11"): 38 * 3,
    ("P1", "Table 12"): 46 * 4,
    ("P1", "Table 13"): 5,
    ("P1", "Table 14"): 6 * 2,
    ("P1", "Table 23"): 7,
    ("P1", "Figures 3a, 3b"): 4 * 3,
    ("P2", "Figures 4, 5"): 4 * 3,
    ("P2", "Table 1"): 3 * 5 * 6,
    ("LATEC", "Table 2"): 17 * 9 - 3 * 3,  # three methods do not exist for point clouds
    ("LATEC", "Table 3"): 8 * 3 * 5,  # ImageNet's classifiers are not tested
    ("LATEC", "Table 9"): 2 * (3 + 3) * 4,
    ("LATEC", "Table 10"): 2 * 3 * 48,  # the part on complexity is garbled
    ("LATEC", "Tables 11, 12"): 3 * (14 + 14 + 11) + 3 * (17 + 17 + 14),
    ("Meta-predictor", "Table 1"): 7 * 3,
    ("Meta-predictor", "Section 4"): 3 * 6 - 2,  # the last has neither eta squared nor rho
    ("Meta-predictor", "Section 4.1"): 6,
    ("Meta-predictor", "Figures 4, 5, 6"): 7 + 7 + 6,
    ("Human attention", "Figures 2, 4"): 7 * 2 + 3,
    ("Human attention", "Section 4"): 6,
}


@pytest.fixture(name="nothing", scope="module")
def _nothing() -> pd.DataFrame:
    return replication_table(published_tables(), {})


def test_every_printed_number_has_one_row(nothing: pd.DataFrame) -> None:
    counts = nothing.groupby(["paper", "table"]).size().to_dict()
    assert {key: counts[key] for key in PRINTED} == PRINTED
    assert list(nothing.columns) == COLUMNS
    assert not nothing.duplicated(["paper", "table", "title", "item", "quantity"]).any()


def test_numbers_stand_where_the_papers_have_them(nothing: pd.DataFrame) -> None:
    row = one(nothing, paper="P1", table="Table 1", item="Q6, black patches", quantity="Pearson")
    assert (row["paper_value"], row["paper_p"]) == (-0.13, "1e-5")
    row = one(nothing, paper="P1", table="Table 3", item="Q1, CLIP", quantity="QWK")
    assert (row["paper_value"], row["paper_sd"]) == (0.48, 0.05)
    row = one(nothing, paper="P2", table="Table 1", item="Q6, BLIP", quantity="MSE")
    assert (row["paper_value"], row["places"]) == (10.71, 3)
    row = one(nothing, paper="P1", table="Table 14", item="Q5", quantity="mean position (Q9)")
    assert (row["paper_value"], row["paper_sd"]) == (1.8, 0.57)


def test_without_our_tables_nothing_agrees_and_every_row_has_a_reason(
    nothing: pd.DataFrame,
) -> None:
    assert set(nothing["verdict"]) == {"out of reach"}
    assert (nothing["reason"] != "").all()
    assert nothing[["ours", "low", "high", "difference"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("paper", "ours", "low", "high", "design", "verdict"),
    [
        (0.50, 0.48, 0.45, 0.52, False, "agrees"),
        (0.50, 0.44, 0.41, 0.47, False, "agrees"),  # told apart, but as close as the margin wants
        (0.50, 0.45, 0.30, 0.60, False, "undecided"),
        (0.50, 0.00, -5.0, 5.0, False, "undecided"),  # a wide interval earns nothing
        (0.70, 0.45, 0.40, 0.60, False, "differs"),
        (0.61, 0.55, 0.506, 0.606, False, "agrees"),  # 0.61 may have been 0.606
        (0.61, 0.55, 0.40, 0.606, False, "undecided"),
        (0.61, 0.55, 0.40, 0.604, False, "differs"),
        (0.50, 0.50, np.nan, np.nan, False, "no interval"),
        (15, 15, np.nan, np.nan, True, "agrees"),
        (15, 16, np.nan, np.nan, True, "differs"),
    ],
)
def test_the_verdict_is_a_rule_on_numbers(
    paper: float, ours: float, low: float, high: float, design: bool, verdict: str
) -> None:
    row = {"paper_value": paper, "ours": ours, "low": low, "high": high, "design": design}
    found = judged(paper_rows([row]), 0.1).iloc[0]
    assert found["verdict"] == verdict and found["margin"] == 0.1
    assert found["difference"] == pytest.approx(ours - paper)


def test_a_mean_over_runs_has_students_interval() -> None:
    runs = np.random.default_rng(0).normal(0.4, 0.05, 10)
    summary = pd.DataFrame({"mean": [runs.mean()], "sd": [runs.std(ddof=1)], "n": [10]})
    row = over_runs(summary).iloc[0]
    expected = stats.t.interval(0.95, 9, runs.mean(), stats.sem(runs))
    assert (row["low"], row["high"]) == pytest.approx(expected)
    alone = over_runs(pd.DataFrame({"mean": [0.4], "sd": [np.nan], "n": [1]})).iloc[0]
    assert np.isnan(alone["low"])


@pytest.mark.parametrize(
    "name", ["pasta_v1_table11_metric_values", "pasta_v1_table12_mean_mode_per_technique"]
)
def test_every_printed_technique_is_one_of_ours(name: str) -> None:
    keys = technique_keys(published_table(name), published_table("released_technique_ids"))
    assert "" not in keys
    assert len(set(keys)) == len(keys)


def test_our_numbers_find_their_row() -> None:
    keys = {"scope": "overall", "part": "", "n": 100, "low": -0.1, "high": 0.1, "note": ""}
    correlations = pd.DataFrame(
        [
            {"question": "Q1", "metric": "faithfulness", "variant": "road text",
             "method": "pearson", "estimate": 0.02, **keys},
            {"question": "Q1", "metric": "faithfulness", "variant": "road published",
             "method": "pearson", "estimate": 0.9, **keys},
            {"question": "Q1", "metric": "sparseness", "variant": "", "method": "spearman",
             "estimate": 0.05, **keys},
        ]
    )  # fmt: skip
    score = pd.DataFrame(
        [
            ("main", LINEAR, LINEAR, CLIP, "Q1", "scc_as_published", 0.24, 0.05, 10, ""),
            ("main", MLP, MLP, CLIP, "Q1", "spearman_of_stars", 0.30, 0.05, 10, ""),
            ("main", OWN_VOTE, "people", "none", "Q1", "qwk", 0.8, 0.05, 15, ""),
            ("main", LEAVE_ONE_OUT, "people", "none", "Q1", "qwk", 0.1, 0.05, 15, ""),
            ("split", "technique", LINEAR, CLIP, "Q1", "qwk", 0.2, 0.05, 10, ""),
        ],
        columns=SUMMARY,
    )
    scores = pd.DataFrame(
        {"technique": ["bcos/resnet50_bcos"], "dimension": ["objectivity"], "n": [9],
         "estimate": [2.8], "low": [2.0], "high": [3.0], "note": [""]}
    )  # fmt: skip
    ours = {"correlations": correlations, "score": score, "technique_scores": scores}
    found = replication_table(published_tables(), as_read(ours))
    measured = found[found["ours"].notna()].set_index(["table", "item", "quantity"])["verdict"]
    assert measured.to_dict() == {
        ("Table 1", "Q1, ROAD", "Pearson"): "undecided",
        ("Table 10", "Q1", "Spearman"): "differs",
        ("Table 3", "Q1, CLIP", "SCC"): "agrees",
        ("Table 3", "Q1, human", "QWK"): "agrees",
        ("Tables 4, 15–20", "split: xai id", "QWK"): "differs",
        ("Table 12", "BCos, ResNet50-BCos", "objectivity (Q4)"): "undecided",
        ("Table 1", "Q1, CLIP", "SCC"): "differs",  # P2's, as is the next
        ("Table 1", "Q1, human", "QWK"): "agrees",
    }


def main_score(encoder: str, scorer: str, question: str = "Q1") -> tuple[object, ...]:
    level = OWN_VOTE if scorer == "people" else f"{encoder}, {scorer}"
    return ("main", level, scorer, encoder, question, "qwk", 0.4, 0.05, 5, "")


@pytest.mark.parametrize(
    ("encoder", "scorer", "fills"),
    [
        (CLIP, LINEAR, {("P1", "Q1, CLIP")}),
        (CLIP, MLP, {("P2", "Q1, CLIP")}),
        ("siglip-vit-l-16-384", MLP, {("P2", "Q1, SIGLIP")}),
        ("blip-base", MLP, {("P2", "Q1, BLIP")}),
        ("eva02-l-14-336", MLP, {("P2", "Q1, EVA")}),
        ("llava-1.5-7b", LINEAR, {("P1", "Q1, LLaVa")}),
        ("handcrafted", "handcrafted-pasta", {("P1", "Q1, handcrafted")}),
        ("none", "people", {("P1", "Q1, human"), ("P2", "Q1, human")}),
        ("siglip-vit-l-16-384", LINEAR, set()),
        ("siglip-vit-l-16-384-with-random-weights", MLP, set()),
        ("tiny-clip", LINEAR, set()),
        ("tiny-clip", MLP, set()),
    ],
)
def test_a_scorer_stands_beside_its_own_encoder_and_network_only(
    encoder: str, scorer: str, fills: set[tuple[str, str]]
) -> None:
    score = pd.DataFrame([main_score(encoder, scorer)], columns=SUMMARY)
    found = replication_table(published_tables(), as_read({"score": score}))
    filled = found[found["ours"].notna()]
    assert set(zip(filled["paper"], filled["item"], strict=True)) == fills
    assert set(filled["quantity"]) <= {"QWK"}


def test_ablations_stand_beside_those_of_the_same_encoder_and_network() -> None:
    rows = [
        ("split", "technique", scorer, encoder, "Q1", "qwk", 0.4, 0.05, 5, "")
        for scorer, encoder in ((LINEAR, "tiny-clip"), (MLP, CLIP))
    ]
    other = pd.DataFrame(rows, columns=SUMMARY)
    assert replication_table(published_tables(), {"score": other})["ours"].isna().all()
    functions = [("scoring function", "ridge", "ridge", CLIP, "Q1", "qwk", 0.4, 0.05, 5, "")]
    found = replication_table(
        published_tables(), {"score": pd.DataFrame(functions, columns=SUMMARY)}
    )
    assert found.loc[found["ours"].notna(), "item"].tolist() == ["scoring function: ridge"]


def test_facts_of_the_study_are_counted() -> None:
    _, labels, samples = rated(4)
    votes = pd.concat(
        [labels.assign(annotator_id=name, rating=labels["mode"]) for name in ("a", "b")]
    )
    annotators = pd.DataFrame({"annotator_id": ["a", "b"], "age": [20, 30], "sex": ["male", None]})
    images = pd.DataFrame({"dataset": ["x", "x", "y"], "label": ["cat", "dog", "cat"]})
    zero_shot = samples.assign(backbone=samples["backbone"].replace("vit_b_16", "clip_zero_shot"))
    counted = study_facts(votes, zero_shot, annotators, images=images)
    facts = counted.set_index("fact")["estimate"]
    expected = {"images": 4, "techniques": 3, "rated_samples": 12, "votes_per_sample": 2}
    expected |= {"ratings": 144, "annotators": 2, "age_mean": 25, "male": 1, "female": 0}
    expected |= {"non_binary": 0, "sex_not_said": 1, "samples_per_question": 12, "favourites": 12}
    expected |= {"labels": 2, "backbones": 2}  # one cat in two datasets; CLIP is not trained
    assert {name: facts[name] for name in expected} == expected
    concept = samples.loc[samples["kind"] == "concept", "sample_id"]
    own = labels[labels["sample_id"].isin(concept) & (labels["question"] == "Q1")]
    assert facts["concept_fidelity"] == pytest.approx(own["mode"].mean())
    assert "lowest_accuracy" not in facts
    made = pd.DataFrame({"perturbation": ["color", "contrast"], "magnitude": [0.1, 0.2]})
    released = made.assign(perturbation="released", magnitude=np.nan)
    for perturbed, expected_facts in ((made, [2.0]), (released, [])):
        found = study_facts(votes, samples, perturbed=perturbed).set_index("fact")["estimate"]
        assert found.reindex(["perturbations"]).dropna().tolist() == expected_facts


def collected(**tables: dict[str, pd.DataFrame]) -> pd.Series:
    names = ["tuning", "mixture", "backbones"]
    applications = {name: tables.pop(name) for name in names if name in tables}
    return collect_facts(tables, applications).set_index("fact")["estimate"]


def test_facts_are_read_from_the_tables_of_all_stages() -> None:
    splits = pd.DataFrame(
        [("coco", "train", 10), ("coco", "test", 5), ("monumai", "test", 7)],
        columns=["dataset", "split", "n"],
    )
    classes = pd.DataFrame({"dataset": ["coco", "coco"], "label": ["a", "b"], "n": 5})
    stars = pd.DataFrame({"question": "Q1", "rating": [1, 2, 3, 4, 5]})
    facts = collected(dataset={"splits": splits, "classes": classes, "stars": stars})
    expected = {"stars": 5, "coco_train": 10, "coco_images": 15, "coco_classes": 2}
    assert facts.to_dict() == expected | {"coco_concepts": 80}  # MonuMAI: no images to train on

    kinds = ["saliency"] * 7 + ["concept"] * 5
    favourites = {"top_techniques": pd.DataFrame({"technique": range(12), "kind": kinds})}
    assert collected(preference=favourites).to_dict() == {"favourite_concepts": 4}

    candidates = pd.DataFrame(
        {"technique": "lime/resnet50", "candidate": ["kernel_width 0.25", "kernel_width 0.1"],
         "score": [2.16, 2.25], "low": 2.0, "high": 2.4, "n": 8, "default": [True, False]}
    )  # fmt: skip
    assert collected(tuning={"candidates": candidates}).to_dict() == {
        "lime_default": 2.16, "lime_default_width": 0.25,
        "lime_tuned": 2.25, "lime_tuned_width": 0.1,
    }  # fmt: skip

    placed = pd.DataFrame(
        {"image": ["a", "a", "b", "b", "b"], "backbone": ["resnet50"] * 4 + ["vit_b_16"],
         "faithfulness": [0.1, 0.3, 0.4, 0.4, 9.0]}
    )  # fmt: skip
    picks = pd.DataFrame({"faithfulness": [0.3, 0.4, np.nan]})
    facts = collected(mixture={"placed": placed, "choices": picks})
    assert facts.to_dict() == pytest.approx(
        {"mixture_faithfulness": 0.35, "every_faithfulness": 0.3}
    )

    summary = pd.DataFrame(
        [("ViT-B-16", "gradcam", "activation", "score", 1.0),
         ("ViT-B-16", "all methods", "activation", "score", 3.0),
         ("ViT-B-16", "all methods", "perturbation", "score", 2.0),
         ("ViT-g-14", "all methods", "activation", "score", 2.5)],
        columns=["tower", "group", "family", "measure", "mean"],
    ).assign(n=4, low=0.0, high=5.0)  # fmt: skip
    facts = collected(backbones={"summary": summary})
    assert facts.to_dict() == {"towers": 2, "tower_vit_b_16": 3.0, "tower_vit_g_14": 2.5}


def test_the_loss_on_new_images_has_welchs_interval() -> None:
    rng = np.random.default_rng(1)
    runs = {"none": rng.normal(0.5, 0.02, 10), "image": rng.normal(0.4, 0.08, 6)}
    rows = [
        ("split", level, LINEAR, CLIP, "Q1", "qwk", own.mean(), own.std(ddof=1), len(own), "")
        for level, own in runs.items()
    ]
    found = collect_facts({"score": {"summary": pd.DataFrame(rows, columns=SUMMARY)}}, {})
    expected = stats.ttest_ind(runs["none"], runs["image"], equal_var=False).confidence_interval()
    assert found["fact"].tolist() == ["drop_image"]
    row = found.iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high))


def test_what_a_paper_says_of_a_side_is_judged_by_the_side() -> None:
    sides = [("above", 0.1, 0.3), ("above", -0.1, 0.3), ("above", -0.3, -0.1),
             ("below", -0.3, -0.1), ("below", 0.1, 0.3)]  # fmt: skip
    rows = [
        {"paper_value": 0.0, "ours": (low + high) / 2, "low": low, "high": high, "side": side}
        for side, low, high in sides
    ]
    found = judged(paper_rows(rows), 0.1)["verdict"].tolist()
    assert found == ["agrees", "undecided", "differs", "agrees", "differs"]


def benchmark(ends: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Our tables beside LATEC's, with a number everywhere."""
    cells = [
        (modality, criterion, method)
        for modality in latec_tables.MODALITIES.values()
        for criterion in CRITERIA
        for method in latec_tables.METHODS.values()
    ]
    keys = ["modality", "criterion", "method"]
    datasets = sorted(set(latec_tables.DATASETS.values()))
    models = sorted(set(latec_tables.MODELS.values()))
    places = pd.DataFrame(cells, columns=keys).assign(**ends, sd=0.1, error=0.1)
    places = places.assign(place_rounded=3.0, place_low=2.0, place_high=4.0)
    scopes = ["all", *datasets, *models]
    levels = [("dataset", one) for one in datasets] + [("model", one) for one in models]
    spread = [
        (modality, *level, criterion)
        for modality in latec_tables.MODALITIES.values()
        for level in levels
        for criterion in CRITERIA
    ]
    return {
        "averages": pd.concat([places.assign(scope=one) for one in scopes], ignore_index=True),
        "metric_ranks": pd.concat(
            [places[keys].assign(model=one, rank=2.0) for one in models], ignore_index=True
        ),
        "spread": pd.DataFrame(spread, columns=["modality", "by", "level", "criterion"]).assign(
            **ends
        ),
        "classifiers": pd.DataFrame(
            [(dataset, model, quantity) for dataset in datasets for model in models
             for quantity in ("accuracy", "macro_f1")],
            columns=["dataset", "model", "quantity"],
        ).assign(estimate=0.9),
    }  # fmt: skip


def predictions(ends: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Our tables beside the meta-predictor's."""
    experiments = list(metapredictor_tables.EXPERIMENTS.values())
    conditions = list(metapredictor_tables.CONDITIONS.values())
    each = pd.DataFrame({"experiment": experiments}).assign(**ends)
    every = each.merge(pd.DataFrame({"condition": conditions}), how="cross")
    pairs = list(itertools.combinations(conditions, 2))
    tukey = each.merge(pd.DataFrame(pairs, columns=["first", "second"]), how="cross")
    return {
        "anova": each.assign(people="screened", df1=7, df2=200, f=3.0),
        "utility_correlations": each.assign(
            metric="faithfulness", method="spearman", over="methods"
        ),
        "method_faithfulness": every.assign(metric="faithfulness"),
        "utility": every.assign(people="screened", k=np.nan),
        "tukey": tukey,
    }


def attention(ends: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Our tables beside those of human attention."""
    files = published_tables()
    lines = [one.replace("LIME:", "lime:").replace("GradCAM:", "gradcam:")
             for one in files["human_attention_tests"]["comparison"]]  # fmt: skip
    terms = [(line, term) for line in lines for term in ("slope", "intercept")]
    pairs = [("attention_score", "segmentation_score"), ("attention_score", "rating"),
             ("segmentation_score", "rating")]  # fmt: skip
    tests = files["human_attention_homogeneity"][["test", "term"]]
    return {
        "attention_lines": pd.DataFrame(terms, columns=["line", "term"]).assign(
            kind="by image", **ends
        ),
        "attention_correlations": pd.DataFrame(pairs, columns=["value", "rating"]).assign(
            method="pearson", **ends
        ),
        "attention_tests": tests.assign(kind="by image", p=0.02),
    }


def everything() -> dict[str, pd.DataFrame]:
    """A number for whatever a table of ours could hold."""
    files = published_tables()
    ends: dict[str, Any] = {"estimate": 0.5, "low": 0.4, "high": 0.6, "n": 9, "note": ""}
    questions = [f"Q{number}" for number in range(1, 7)]
    variants = {"faithfulness": ("road", "black", "uniform", "gaussian"),
                "max_sensitivity": ("uniform", "gaussian"), "sparseness": ("",)}  # fmt: skip
    pairs = [(metric, variant) for metric, own in variants.items() for variant in own]
    techniques = sorted(published_techniques())
    models = [(CLIP, LINEAR), ("llava-1.5-7b", LINEAR), ("handcrafted", "handcrafted-pasta"),
              *((name, MLP) for name in (CLIP, "siglip-vit-l-16-384", "blip-base",
                                         "eva02-l-14-336")), ("none", "people")]  # fmt: skip
    measures = ("mse", "qwk", "scc_as_published", "spearman_of_stars")
    ablations = ablation_levels(files["pasta_v1_ablations_q1"])
    score = [
        (*main_score(*model, question)[:5], measure, 0.4, 0.05, 5, "")
        for model in models
        for question in questions
        for measure in measures
    ] + [
        (study, level, LINEAR, CLIP, "Q1", measure, 0.4, 0.05, 5, "")
        for study, level, measure in ablations[["study", "level", "measure"]].to_numpy()
    ]
    axioms = files["pasta_v1_table13_q7_axiom_rank"]["axiom"].tolist()
    ranked = {"Q7": axioms, "Q8": questions, "Q9": questions}
    steps = {"embedding": "", "training": LINEAR, "inference": LINEAR}
    seconds = [
        (CLIP, scorer, device, step, 256, 2.0)
        for device in ("cpu", "gpu")
        for step, scorer in steps.items()
    ]
    widths = files["pasta_v1_table23_lime_kernel_width"]
    texts = files["text_numbers"]
    reachable = texts[texts["never"].isna()]
    return benchmark(ends) | predictions(ends) | attention(ends) | {
        "correlations": pd.DataFrame(
            [(question, metric, variant, method, "overall") for question in questions
             for metric, variant in pairs for method in ("pearson", "spearman")],
            columns=["question", "metric", "variant", "method", "scope"],
        ).assign(**ends),
        "values": pd.DataFrame(
            [(technique, *pair) for technique in techniques for pair in pairs],
            columns=["technique", "metric", "variant"],
        ).assign(**ends),
        "technique_scores": pd.DataFrame(
            [(technique, dimension) for technique in techniques
             for dimension in ("fidelity", "complexity", "objectivity", "robustness")],
            columns=["technique", "dimension"],
        ).assign(**ends),
        "positions": pd.DataFrame(
            [(question, item) for question, own in ranked.items() for item in own],
            columns=["question", "item"],
        ).assign(**ends),
        "kind_differences": files["preferred_kinds"][["question", "comparison"]].assign(**ends),
        "score": pd.DataFrame(score, columns=SUMMARY),
        "facts": reachable[["fact"]].drop_duplicates().assign(**ends),
        "kernel_width": widths[["kernel_width"]].assign(**ends),
        "seconds": pd.DataFrame(
            seconds, columns=["encoder", "scorer", "device", "step", "n", "seconds"]
        ),
    }  # fmt: skip


def test_every_number_that_has_a_way_is_filled_once_a_table_has_it() -> None:
    found = replication_table(published_tables(), as_read(everything()))
    lacking = found[found["verdict"] == "out of reach"]
    assert set(lacking["way"]) == {"none"} and set(lacking["reason"]) == set(NEVER.values())
    assert found.loc[found["verdict"] != "out of reach", "reason"].eq("").all()
    trained = one(found, table="Table 2", item="CPU", quantity="seconds of training")
    assert (trained["ours"], trained["verdict"]) == (4.0, "no interval")  # with its vectors
    lost = lacking[lacking["paper_value"].isna()]
    assert lost.groupby("table").size().to_dict() == {"Table 12": 24, "Tables 4, 15–20": 3}
    assert lost["ours"].notna().all()  # only the print is lost
    assert set(found.loc[found["ours"].isna(), "paper"]) == {
        "P1", "LATEC", "Meta-predictor", "Human attention"
    }  # fmt: skip
    assert (
        (found.loc[found["ours"].isna() & (found["paper"] == "P1"), "table"])
        .isin(["Table 8", "text"])
        .all()
    )


def test_every_missing_number_says_which_command_on_which_data_makes_it(
    nothing: pd.DataFrame,
) -> None:
    ways = nothing[nothing["way"] != "none"]
    assert set(ways["way"]) == set(WAYS)
    for row in ways.to_dict("records"):
        way = WAYS[row["way"]]
        assert (row["command"], row["data"]) == (way.command, way.data)
        assert row["reason"].endswith(f"; {way} makes it")
    rest = nothing[nothing["way"] == "none"]
    assert set(rest["reason"]) == set(NEVER.values())
    assert set(rest[["command", "data"]].to_numpy().ravel()) == {""}


def test_a_release_fills_what_needs_votes_maps_and_pictures() -> None:
    """Without classifiers, with anonymous votes, without rankings, and with one encoder."""
    ours = everything()
    maps = ours["correlations"]["metric"] == "sparseness"
    ours["correlations"] = ours["correlations"][maps]
    ours["values"] = ours["values"][ours["values"]["metric"] == "sparseness"]
    people, siglip = ours["score"]["scorer"] == "people", ("siglip-vit-l-16-384", MLP)
    own = (ours["score"][["encoder", "scorer"]] == list(siglip)).all(axis=1)
    ours["score"] = ours["score"][people | own]
    texts = published_table("text_numbers")
    known = texts.loc[texts["way"] == "released", "fact"]
    ours["facts"] = ours["facts"][ours["facts"]["fact"].isin(known)]
    for name in ("positions", "kernel_width", "seconds"):
        ours[name] = ours[name][:0]
    for name in (*benchmark({}), *predictions({}), *attention({})):
        del ours[name]
    found = replication_table(published_tables(), as_read(ours))
    reached = found[found["verdict"] != "out of reach"]
    assert {(row["paper"], row["table"]) for row in reached.to_dict("records")} == {
        ("P1", "Table 3"), ("P1", "Table 8"), ("P1", "Table 10"), ("P1", "Table 11"),
        ("P1", "Table 12"), ("P1", "Figures 3a, 3b"), ("P1", "text"), ("P2", "Table 1"),
        ("P2", "Figures 4, 5"), ("P2", "text"),
    }  # fmt: skip
    scored = reached[reached["table"].isin(["Table 1", "Table 3"])]["item"].str.split(", ").str[1]
    assert set(scored) == {"human", "SIGLIP"}
    assert set(reached.loc[reached["table"] == "Table 11", "quantity"]) == {"Sparseness"}
    left = found[(found["verdict"] == "out of reach") & found["paper"].isin(["P1", "P2"])]
    needs = left.groupby("table")["reason"].agg(" ".join)
    assert "it needs the classifiers" in needs["Table 1"]
    assert "paper_p1" in needs["Table 9"] and "ranked" in needs["Table 13"]
    assert "the perceptron on clip-vit-l-14-336" in needs["Table 1"]


def subcommands(command: str) -> list[list[str]]:
    """The words of each `pasta` command in a text: quoted, or a whole command line."""
    quoted = re.findall(r"`([^`]+)`", command)
    lines = [part.strip() for line in quoted for part in line.split("&&")]
    return [line.split()[1:] for line in lines if line.startswith("pasta ")]


def test_every_command_in_a_reason_exists() -> None:
    sentences = [str(way) for way in WAYS.values()] + [*MISSING.values(), *NEVER.values()]
    commands = [words for sentence in sentences for words in subcommands(sentence)]
    assert len(commands) >= len(WAYS)
    for words in commands:  # options are parsed before help is given
        answer = CliRunner().invoke(app, [*words, "--help"])
        assert answer.exit_code == 0, f"pasta {' '.join(words)}: {answer.output}"


def test_every_profile_in_a_reason_exists() -> None:
    profiles = {file.stem for file in (ROOT / "pipelines/profiles").glob("*.yaml")}
    named = [
        words[2]
        for way in WAYS.values()
        for words in subcommands(str(way))
        if words[:2] == ["profile", "use"]
    ]
    assert set(named) == {
        "released", "paper_p1", "paper_p2", "paper_latec", "paper_mp", "paper_ha"
    }  # fmt: skip
    assert set(named) <= profiles


def test_the_report_says_what_it_is_made_of(nothing: pd.DataFrame) -> None:
    report = replication_report(as_read({"rows": nothing})["rows"], True)
    assert report.content["numbers"] == len(nothing) and report.content["known"] == 0
    assert not report.content["papers"] and report.content["counts"] is None
    ways = report.content["ways"]
    assert [way["command"] for way in ways] == [way.command for way in WAYS.values()]
    lacks = [lack for way in ways for lack in way["lacks"]] + report.content["never"]
    assert sum(lack["n"] for lack in lacks) == len(nothing) > 10 * len(lacks)
    where = {one.partition(":")[0] for lack in lacks for one in lack["where"]}
    assert len(where) == len({(one.paper, one.table) for one in SECTIONS})
    assert len(report.tables["all_numbers"]) == len(nothing)
    assert "Agreement is therefore not expected" in printed(report)


def test_the_pages_name_commands_and_what_is_lost() -> None:
    rows = replication_table(published_tables(), as_read(everything()))
    rows = rows[rows["paper"] != "LATEC"]  # fewer pages
    report = replication_report(as_read({"rows": rows})["rows"], False)
    text = printed(report)
    assert "pasta profile use released --root DIR && dvc repro" in text
    assert "six techniques, GradCAMElementWise and HiResCAM on ResNet50" in text
    studies = report.content["studies"]
    assert [row[0] for row in studies["rows"]][-2:] == ["Xuan et al. 2023", "this study"]
    assert studies["rows"][0] == ["PASTA v1", whole(66000), "15", "6", "21", "100"]
    assert "> 0.59" in text and "< 0.00" in text  # what is only said to be above or below
    assert not report.content["ways"]


def test_no_published_table_makes_an_empty_report() -> None:
    rows = replication_table({}, {})
    assert rows.empty
    assert "No table of printed numbers" in printed(replication_report(rows, False))
    assert replication_figure(rows, {("P1", "Table 1"): "P1"}) is None


def test_released_numbers_are_those_of_our_techniques() -> None:
    listed = published_table("released_technique_ids").dropna(subset="technique")
    for row in listed.to_dict("records"):
        assert RELEASED[row["technique"]] == row["xai_id"]
    assert published_techniques() == set(listed.loc[listed["in_table"], "technique"])
    assert len(published_techniques()) == 46


def verdicts_of(paper: str, ours: dict[str, pd.DataFrame]) -> pd.DataFrame:
    found = replication_table(published_tables(), as_read(ours))
    return found[(found["paper"] == paper) & found["ours"].notna()]


def test_a_paper_that_says_which_is_larger_is_held_against_tukeys_interval() -> None:
    """Both orders of a pair are the same comparison."""
    pair = {"experiment": "biased", "n": 40, "p": 0.01}
    tukey = pd.DataFrame(
        [pair | {"first": "baseline", "second": "gradcam", "estimate": -0.3, "low": -0.5,
                 "high": -0.1},
         pair | {"first": "saliency", "second": "gradcam", "estimate": 0.1, "low": -0.1,
                 "high": 0.3}]
    )  # fmt: skip
    found = verdicts_of("Meta-predictor", {"tukey": tukey}).set_index("item")
    row = found.loc["Husky vs Wolf: GradCAM less Baseline"]
    assert (row["ours"], row["low"], row["high"], row["verdict"]) == (0.3, 0.1, 0.5, "agrees")
    assert row["paper_p"] == ".002"
    assert found.loc["Husky vs Wolf: Saliency less GradCAM", "verdict"] == "undecided"
    assert len(found) == 2


def test_screened_people_and_the_whole_curve_stand_beside_the_figures() -> None:
    rows = [("screened", np.nan, 1.2), ("screened", 5.0, 9.0), ("everybody", np.nan, 8.0)]
    utility = pd.DataFrame(rows, columns=["people", "k", "estimate"]).assign(
        experiment="hard", condition="saliency", low=1.1, high=1.3
    )
    [row] = verdicts_of("Meta-predictor", {"utility": utility}).to_dict("records")
    assert (row["item"], row["ours"], row["verdict"]) == ("Leaves: Saliency", 1.2, "agrees")


def test_printed_p_values_are_held_against_p_values() -> None:
    name = "error ~ rating, high FP against high FN"
    tests = pd.DataFrame(
        [(name, "as printed", "slopes", 0.0001), (name, "by image", "slopes", 0.2),
         (name, "by image", "lines", 0.0001)],
        columns=["test", "kind", "term", "p"],
    )  # fmt: skip
    [row] = verdicts_of("Human attention", {"attention_tests": tests}).to_dict("records")
    assert (row["ours"], row["verdict"]) == (0.2, "differs")
    tests["p"] = 0.0004
    [row] = verdicts_of("Human attention", {"attention_tests": tests}).to_dict("records")
    assert row["verdict"] == "agrees"


def test_places_on_cnns_are_those_of_the_mean_over_both() -> None:
    """Means 1.5 and 1.5 of two methods tie, whatever the transformer says."""
    lines = [("resnet50", "lime", 1.0), ("resnet50", "occlusion", 2.0),
             ("efficientnet_b0", "lime", 2.0), ("efficientnet_b0", "occlusion", 1.0),
             ("vit_b_16", "lime", 1.0), ("vit_b_16", "occlusion", 9.0)]  # fmt: skip
    ranks = pd.DataFrame(lines, columns=["model", "method", "rank"])
    ranks = ranks.assign(modality="image", criterion="robustness")
    found = verdicts_of("LATEC", {"metric_ranks": ranks}).set_index("item")["ours"]
    assert found.to_dict() == {"OC, image, CNNs": 1.5, "LIME, image, CNNs": 1.5}


def test_a_weighted_deviation_is_that_of_ten_seven_and_three_metrics() -> None:
    spread = pd.DataFrame(
        {"criterion": ["faithfulness", "robustness", "complexity"], "estimate": [3.0, 2.0, 1.0]}
    ).assign(modality="volume", by="model", level="simple3dformer", low=np.nan, high=np.nan)
    found = verdicts_of("LATEC", {"spread": spread}).set_index("quantity")["ours"]
    assert found["deviation, weighted average"] == pytest.approx((30 + 14 + 3) / 20)
    assert found["deviation, robustness"] == 2.0 and len(found) == 4


def test_sizes_of_the_other_studies_are_counted() -> None:
    flow = pd.DataFrame(
        {"experiment": ["biased", "biased", "hard"], "condition": ["all", "control", "all"],
         "stage": "practice", "came": [240, 30, 250]}
    )  # fmt: skip
    latec = {
        "methods": pd.DataFrame({"method": ["a", "b", "a"], "group": ["attention", "x", "x"]}),
        "metrics": pd.DataFrame({"metric": ["m"], "criterion": ["complexity"]}),
        "ranks": pd.DataFrame(
            {"modality": "image", "dataset": ["d", "e"], "model": "m", "n": [3, 4]}
        ),
        "counts": pd.DataFrame({"reading": ["corrected", "paper", "corrected"], "n": [5, 8, 6]}),
    }
    marked = {"agreement": pd.DataFrame({"label": ["cat", "dog", "cat"]})}
    facts = collected(utility={"flow": flow}, latec=latec, attention=marked)
    expected = {"mp_people": 490, "mp_experiments": 2, "ha_images": 3, "ha_classes": 2}
    expected |= {"latec_methods": 2, "latec_attention": 1, "latec_cells": 2, "latec_scores": 11}
    expected |= {"latec_observations": 4, "latec_complexity": 1, "latec_robustness": 0}
    assert {name: facts[name] for name in expected} == expected


def test_choices_in_the_parameters_are_those_of_the_papers() -> None:
    """Every choice has a row; the meta-predictor's design is the paper's unless it is changed."""
    printed_numbers = published_table("text_numbers").set_index("fact")["value"]
    choices = list_choices(load_params(ROOT / "params.yaml"))
    assert set(choices) <= set(printed_numbers.index)
    for name in ("mp_sessions", "mp_training", "mp_test", "mp_methods", "ha_first", "ha_levels"):
        assert choices[name] == printed_numbers[name]


def test_other_reports_show_the_same_rows() -> None:
    whole_table = replication_table(published_tables(), as_read(everything()))
    for paper in ("Meta-predictor", "Human attention"):
        shown = compare_study(published_tables(), as_read(everything()), paper)
        own = whole_table[(whole_table["paper"] == paper) & (whole_table["table"] != "text")]
        own = own[own["ours"].notna()].reset_index(drop=True)
        pd.testing.assert_frame_equal(shown, own, check_dtype=False)
        assert len(write_rows(shown)["rows"]["rows"]) == len(own) >= 23

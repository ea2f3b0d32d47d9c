"""The numbers that versions are compared by, and what is said about their changes."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from pasta.scoring.settings import SplitParams
from reports.source.changes import (
    compare_versions,
    describe_changes,
    describe_versions,
    largest_changes,
)
from reports.source.numbers import (
    COLUMNS,
    EVERY,
    PUBLIC,
    TOPICS,
    choose_headlines,
    collect_numbers,
    headline_metrics,
    join_topics,
    split_topics,
)
from tests.reports import applications_made_up as made_up

QUESTIONS = [f"Q{number}" for number in range(1, 7)]
SPLIT = SplitParams()


def kappas(shift: float = 0.0, half: float = 0.02) -> pd.DataFrame:
    rows = pd.DataFrame({"question": [*QUESTIONS, "all"], "measure": "mode_kappa_leave_one_out"})
    estimate = np.linspace(0.6, 0.7, 7) + shift
    return rows.assign(n=100, estimate=estimate, low=estimate - half, high=estimate + half)


def parts(votes: int = 76800, shift: float = 0.0) -> dict[str, dict[str, pd.DataFrame]]:
    """All parts of a study; ``shift`` moves the kappas of annotators."""
    summary = pd.DataFrame(
        [
            (level, question, mean)
            for level, mean in (
                ("constant", -1e-17),
                ("ordinal", 0.41234567),
                ("pasta-mlp", 0.3),
                ("people (leave one out)", 0.7),
            )
            for question in QUESTIONS
        ],
        columns=["level", "question", "mean"],
    ).assign(study="main", measure="qwk", sd=0.05, n=10)
    sizes = {"votes": votes, "samples": 2560, "annotators": 15, "first day": "2025-01-06"}
    rhos = pd.DataFrame(
        [
            (question, metric, variant, scope, method, rho)
            for question in QUESTIONS
            for metric, variant, rho in (
                ("sparseness", np.nan, 0.1),
                ("faithfulness", "road text", -0.3),
            )
            for scope in ("overall", "within technique")
            for method in ("spearman", "pearson")
        ],
        columns=["question", "metric", "variant", "scope", "method", "estimate"],
    )
    kinds = pd.DataFrame({"question": QUESTIONS, "comparison": "concept - saliency", "n": 9})
    return {
        "dataset": {
            "study": pd.DataFrame({"what": list(sizes), "value": list(map(str, sizes.values()))}),
            "accuracy": pd.DataFrame(
                {"dataset": ["coco"] * 2, "model": ["resnet50", "vit_b_16"]}
            ).assign(measure="accuracy", n=100, estimate=[0.9, 0.8], low=0.7, high=0.95),
        },
        "agreement": {"agreement": kappas(shift)},
        "preference": {"kind_differences": kinds.assign(estimate=-0.5, low=-1.0, high=0.0)},
        "correlation": {
            "correlations": rhos.assign(
                n=99, low=rhos["estimate"] - 0.1, high=rhos["estimate"] + 0.1
            )
        },
        "score": {"summary": summary},
    }


def numbers(
    votes: int = 76800, shift: float = 0.0, scorer: str = "ordinal"
) -> dict[str, pd.DataFrame]:
    uses = {"mixture": made_up.mixture(), "steering": made_up.steering()}
    return collect_numbers(parts(votes, shift), uses, scorer, SPLIT)


def test_the_numbers_are_tidy_and_free_of_the_noise_of_floats() -> None:
    found = numbers()
    assert list(found) == list(TOPICS)
    assert all(tuple(frame.columns) == COLUMNS for frame in found.values())
    own = found["score"].set_index(["name", "of"])["estimate"]
    assert own[PUBLIC, "Q1"] == 0.4123  # four digits
    assert not any("commonest" in str(name) for name in found["score"]["name"])  # always 0
    text = join_topics(found).to_csv(index=False)
    assert "e-1" not in text and "-0.0," not in text
    again = split_topics(join_topics(found))
    for topic, frame in again.items():
        pd.testing.assert_frame_equal(frame.reset_index(drop=True), found[topic], check_dtype=False)
    assert all(frame.empty for frame in collect_numbers({}, {}, "ordinal", SPLIT).values())


def test_the_headlines_are_few_short_and_rounded() -> None:
    found = choose_headlines(numbers())
    assert 15 <= len(found) <= 25
    assert sum(len(name) + 3 for name in found) <= 170  # columns of `dvc exp show`
    assert found["votes"] == 76800 and found["people"] == 0.7 and found["accuracy"] == 0.85
    assert found["metric"] == 0.3 and {"mixture", "steering"} <= set(found)
    assert not re.search(r"\.\d{4}", json.dumps(found))
    assert choose_headlines(collect_numbers({}, {}, "ordinal", SPLIT)) == {}


def test_another_public_scorer_shows_in_the_headlines() -> None:
    ours, theirs = (choose_headlines(numbers(scorer=name)) for name in ("ordinal", "pasta-mlp"))
    assert (ours["score.Q1"], theirs["score.Q1"]) == (0.412, 0.3)
    assert {name for name in ours if ours[name] != theirs[name]} == {
        f"score.{question}" for question in QUESTIONS
    }


def test_the_interval_over_splits_knows_that_they_share_data() -> None:
    """Corrected resampled t, by hand: ten splits, 70 % for training and 15 % for tests."""
    row = numbers()["score"].iloc[0]
    half = 2.262157 * 0.05 * np.sqrt(1 / 10 + 0.15 / 0.70)
    assert row["high"] - row["estimate"] == pytest.approx(half, abs=2e-4)


def test_mlflow_gets_the_closest_metric_of_each_question_not_hundreds() -> None:
    study = parts()
    closest = headline_metrics("correlation", study["correlation"])
    assert closest == {f"closest rho.{question}": 0.3 for question in QUESTIONS}
    agreed = headline_metrics("agreement", study["agreement"])
    assert set(agreed) == {f"annotators.{of}" for of in (*QUESTIONS, EVERY)}
    assert headline_metrics("dataset", study["dataset"])["votes"] == 76800
    assert len(headline_metrics("preference", study["preference"])) == 6
    allowed = re.compile(r"[\w\-. :/]+")
    assert all(allowed.fullmatch(name) for name in (*closest, *agreed))


def test_nothing_is_said_when_nothing_changed_beyond_rounding() -> None:
    before = numbers()
    after = {topic: frame.copy() for topic, frame in before.items()}
    after["correlation"]["estimate"] += 1e-4
    assert describe_changes(compare_versions(before, after)) == []


def test_a_clear_change_a_noisy_one_and_a_count_are_told_apart() -> None:
    found = compare_versions(numbers(), numbers(82800, 0.02))
    kappa = found[found["topic"] == "agreement"]
    assert set(kappa["verdict"]) == {"noise"}  # 0.02 < hypot(0.02, 0.02)
    votes = found[found["name"] == "votes"].iloc[0]
    expected = "The number of votes rose from 76 800 to 82 800 (+6 000)."
    assert votes["sentence"].replace("\N{NARROW NO-BREAK SPACE}", " ") == expected
    assert (
        describe_versions(found).replace("\N{NARROW NO-BREAK SPACE}", " ")
        == "76 800 votes before, 82 800 now"
    )
    clear = compare_versions(numbers(), numbers(shift=0.03))
    rows = clear[clear["topic"] == "agreement"]
    assert set(rows["verdict"]) == {"clear"}
    first = rows[rows["of"] == "Q1"]["sentence"].iloc[0]
    assert first.endswith(
        "on Q1 rose from 0.60 [0.58, 0.62] to 0.63 [0.61, 0.65]: more than the intervals allow."
    )


def test_the_side_of_an_interval_that_faces_the_other_counts() -> None:
    old = pd.DataFrame([("a", "", 1, 0.0, -1.0, 0.1)], columns=list(COLUMNS))
    new = pd.DataFrame([("a", "", 1, 0.5, 0.4, 1.5)], columns=list(COLUMNS))
    up = compare_versions({"bias": old}, {"bias": new}).iloc[0]
    down = compare_versions({"bias": new}, {"bias": old}).iloc[0]
    assert up["verdict"] == down["verdict"] == "clear"
    assert up["importance"] == pytest.approx(0.5 / np.hypot(0.1, 0.1))
    assert down["importance"] == pytest.approx(up["importance"])


def test_topics_keep_their_order_and_the_largest_change_comes_first() -> None:
    before, after = numbers(), numbers(82800, 0.1)
    after["agreement"].loc[2, ["estimate", "low", "high"]] += 0.2
    after["score"] = after["score"][after["score"]["name"] != PUBLIC]
    found = describe_changes(compare_versions(before, after), most=3)
    assert [topic["title"] for topic in found] == ["Data and votes", "Agreement", "Score"]
    assert "on Q3 rose" in found[1]["sentences"][0]
    assert len(found[1]["sentences"]) == 3 and found[1]["more"] == 4
    assert found[2]["summary"] == "6 no longer there." and found[2]["sentences"] == []
    everything = describe_changes(compare_versions(before, after))
    assert len(everything[1]["sentences"]) == 7 and len(everything[2]["sentences"]) == 6


def test_the_largest_changes_of_all_topics_come_first_whatever_their_scale() -> None:
    """By the distance in units of what the intervals allow: 10, 5 and 2 of them."""

    def rows(name: str, estimate: float, half: float) -> pd.DataFrame:
        line = (name, "Q1", 9, estimate, estimate - half, estimate + half)
        return pd.DataFrame([line], columns=list(COLUMNS))

    before = {"agreement": rows("a", 0.5, 0.01), "latec": rows("b", 8.0, 0.5),
              "score": rows("c", 0.4, 0.05), "bias": rows("d", 0.1, 0.1)}  # fmt: skip
    moved = {"agreement": 2.0, "latec": 10.0, "score": 5.0, "bias": 0.5}
    after = {}
    for topic, frame in before.items():
        half = float((frame["high"] - frame["estimate"]).iloc[0])
        shift = moved[topic] * np.hypot(half, half)
        after[topic] = frame.assign(
            **{name: frame[name] + shift for name in ("estimate", "low", "high")}
        )
    said = largest_changes(compare_versions(before, after), most=3)
    assert [sentence.split(" rose")[0] for sentence in said] == [
        "The average rank of b in Q1", "Held-out kappa of c on Q1",
        "Kappa of annotators with the mode of the others on Q1",
    ]  # fmt: skip
    assert "from 8.00 [7.50, 8.50] to" in said[0]
    assert largest_changes(compare_versions(before, after), most=1) == said[:1]
    assert largest_changes(compare_versions(before, before), most=3) == []
    many = {"agreement": pd.concat([rows(f"a{place}", 0.1, 0.01) for place in range(4)])}
    later = {"agreement": many["agreement"].assign(estimate=0.5, low=0.4, high=0.6)}
    assert len(largest_changes(compare_versions(many, later), most=4)) == 2


def test_the_other_studies_of_people_have_topics() -> None:
    utility = pd.DataFrame(
        [("biased", "screened", "gradcam", np.nan, 1.2, 1.1), ("biased", "screened", "gradcam", 5.0,
         1.3, 1.1), ("biased", "everybody", "gradcam", np.nan, 1.4, 1.1),
         ("biased", "screened", "baseline", np.nan, 1.0, np.nan)],
        columns=["experiment", "people", "condition", "k", "estimate", "low"],
    ).assign(n=20, high=1.5)  # fmt: skip
    scores = pd.DataFrame(
        [("gradcam/resnet50", "attention", "agreement", 0.8),
         ("gradcam/resnet50", "segmentation", "agreement", 0.7),
         ("one person", "attention", "agreement", 0.9), ("one person", "attention", "auc", 0.6)],
        columns=["technique", "against", "score", "estimate"],
    ).assign(n=30, low=0.5, high=0.95)  # fmt: skip
    found = collect_numbers(
        {"utility": {"utility": utility}, "attention": {"scores": scores}}, {}, "ordinal", SPLIT
    )
    assert found["utility"][["name", "of", "estimate"]].to_numpy().tolist() == [
        ["GradCAM", "biased", 1.2]
    ]
    assert found["attention"].set_index("name")["estimate"].to_dict() == {
        "GradCAM on ResNet50": 0.8, "one person": 0.9,
    }  # fmt: skip

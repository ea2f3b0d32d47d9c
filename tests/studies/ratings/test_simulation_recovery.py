"""What is planted in the simulated raters is found again, in twenty studies of P1's size.

Estimates come from stacked probit regressions, one for each annotator, on whether a vote exceeds
each threshold t: with the true quality q and the side s (1/2 for maps, -1/2 for concepts),

    P(stars > k) = Phi((scale * q + scale * preference * s + leniency - t_k) / noise)

so the coefficients of q, s, 1 and -t_k give all four. They are consistent whatever the model of the
raters, and know nothing of how votes are drawn.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.simulation.raters import draw_raters, rate
from pasta.studies.ratings.tables import STARS
from tests.studies.ratings.simulation_study import (
    NOTHING_PLANTED,
    RATERS,
    annotator_names,
    parameters,
    plan_for,
    synthetic_qualities,
)

SEEDS = range(20)
Floats = NDArray[np.float64]

PLANTED = parameters()
NONE = parameters(NOTHING_PLANTED, saliency_preference=0.0, saliency_calm=0.0)


def votes_of(seed: int, planted: bool) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    params = PLANTED if planted else NONE
    qualities = synthetic_qualities(seed)
    raters = draw_raters(annotator_names(), params.raters, seed)
    votes = rate(qualities, raters, plan_for(qualities["sample_id"], seed), params, seed)
    return votes, raters, qualities


def probit(design: Floats, outcome: Floats) -> Floats:
    """Maximum likelihood by Fisher scoring."""
    coefficients = np.zeros(design.shape[1])
    for _ in range(12):
        score = np.clip(design @ coefficients, -6, 6)
        share, density = norm.cdf(score), norm.pdf(score)
        weight = density**2 / (share * (1 - share))
        step = np.linalg.solve(
            design.T @ (weight[:, None] * design),
            design.T @ (density * (outcome - share) / (share * (1 - share))),
        )
        coefficients = coefficients + step
    return coefficients


def fitted(
    votes: pd.DataFrame, qualities: pd.DataFrame, questions: tuple[str, ...]
) -> pd.DataFrame:
    """Leniency, noise, scale and preference of each annotator, from questions of equal noise."""
    long = qualities.melt(["sample_id", "kind"], list(questions), "question", "quality")
    joined = votes[votes["question"].isin(questions)].merge(long, on=["sample_id", "question"])
    rows = {}
    for name, mine in joined.groupby("annotator_id"):
        side = np.where(mine["kind"] == "saliency", 0.5, -0.5)
        base = np.column_stack([mine["quality"], side, np.ones(len(mine))])
        design = np.concatenate(
            [np.column_stack([base, np.full(len(mine), -t)]) for t in PLANTED.thresholds]
        )
        outcome = np.concatenate([(mine["rating"] > star).to_numpy(float) for star in STARS[:4]])
        slope, shift, constant, inverse = probit(design, outcome)
        rows[name] = {
            "leniency": constant / inverse,
            "noise": 1 / inverse,
            "scale": slope / inverse,
            "preference": shift / slope,
        }
    return pd.DataFrame.from_dict(rows, orient="index")


@cache
def estimates(planted: bool) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """For each seed, the raters as they are and as they are found."""
    result = []
    for seed in SEEDS:
        votes, raters, qualities = votes_of(seed, planted)
        found = fitted(votes, qualities, ("Q1", "Q2"))
        result.append((raters.set_index("annotator_id"), found))
    return result


def age_effect(raters: pd.DataFrame, found: pd.DataFrame) -> float:
    return float(np.polyfit(raters["age"] / 10, np.log(found["noise"]), 1)[0])


def sex_effect(raters: pd.DataFrame, found: pd.DataFrame) -> float:
    women, men = (found.loc[raters["sex"] == sex, "leniency"] for sex in ("female", "male"))
    return float(women.mean() - men.mean())


@pytest.mark.parametrize(
    ("trait", "tolerance"), [("leniency", 0.03), ("noise", 0.02), ("scale", 0.03)]
)
def test_each_annotators_traits_are_found(trait: str, tolerance: float) -> None:
    errors = np.array([found[trait] - raters[trait] for raters, found in estimates(True)])
    assert np.sqrt((errors**2).mean()) < tolerance
    assert abs(errors.mean()) < tolerance / 5


def test_traits_of_different_annotators_can_be_told_apart_in_every_seed() -> None:
    for raters, found in estimates(True):
        for trait in ("leniency", "noise"):
            assert np.corrcoef(raters[trait], found[trait])[0, 1] > 0.95


def test_the_effects_of_age_and_sex_are_found() -> None:
    ages = [age_effect(*pair) for pair in estimates(True)]
    sexes = [sex_effect(*pair) for pair in estimates(True)]
    # annotators differ besides: single studies scatter by 0.05 and 0.12 around these
    assert abs(np.mean(ages) - RATERS["age_noise"]) < 0.03
    assert abs(np.mean(sexes) - RATERS["sex_leniency"]) < 0.08


def test_the_preference_for_saliency_is_found_in_every_seed() -> None:
    found = [pair[1]["preference"].mean() for pair in estimates(True)]
    assert np.abs(np.array(found) - PLANTED.saliency_preference).max() < 0.04


def test_maps_seem_to_change_less_than_concepts() -> None:
    votes, _, qualities = votes_of(0, planted=True)
    found = fitted(votes, qualities, ("Q5",))["preference"].mean()
    assert abs(found + PLANTED.saliency_calm) < 0.08


def test_what_is_not_planted_is_not_found() -> None:
    for raters, found in estimates(False):
        assert found["leniency"].std() < 0.04
        assert found["noise"].std() < 0.03
        assert abs(age_effect(raters, found)) < 0.03
        assert abs(sex_effect(raters, found)) < 0.03
        assert abs(found["preference"].mean()) < 0.04
    pairs = estimates(False)
    assert abs(np.mean([age_effect(*pair) for pair in pairs])) < 0.015
    assert abs(np.mean([sex_effect(*pair) for pair in pairs])) < 0.015
    assert abs(np.mean([found["preference"].mean() for _, found in pairs])) < 0.015


def test_without_planted_effects_all_annotators_are_equal() -> None:
    raters = draw_raters(annotator_names(), NONE.raters, 0)
    for trait in ("leniency", "noise", "scale"):
        assert len(set(raters[trait])) == 1


def deviations(votes: pd.DataFrame) -> pd.DataFrame:
    """Each vote against the mean of the others on its sample and question: no truth is needed."""
    groups = votes.groupby(["sample_id", "question"])["rating"]
    total, number = groups.transform("sum"), groups.transform("size")
    others = (total - votes["rating"]) / (number - 1)
    return votes.assign(deviation=votes["rating"] - others)


def test_plain_deviations_from_the_other_votes_show_leniency_and_noise() -> None:
    for seed in SEEDS[:5]:
        votes, raters, _ = votes_of(seed, planted=True)
        mine = deviations(votes).groupby("annotator_id")["deviation"]
        truth = raters.set_index("annotator_id")
        assert np.corrcoef(mine.mean(), truth["leniency"])[0, 1] > 0.95
        assert np.corrcoef(mine.std(), truth["noise"])[0, 1] > 0.9


def quadratic_kappa(first: Floats, second: Floats) -> float:
    """Cohen's kappa with quadratic weights over the five stars."""
    joint = np.zeros((5, 5))
    np.add.at(joint, (first.astype(int) - 1, second.astype(int) - 1), 1)
    joint /= joint.sum()
    chance = np.outer(joint.sum(1), joint.sum(0))
    weight = (np.arange(5)[:, None] - np.arange(5)) ** 2
    return float(1 - (weight * joint).sum() / (weight * chance).sum())


def kappas_to_the_mode(votes: pd.DataFrame) -> pd.DataFrame:
    """Annotators x questions; the mode has the annotator's own vote, ties go to fewer stars."""
    counts = votes.pivot_table(
        index=["sample_id", "question"], columns="rating", aggfunc="size", fill_value=0
    ).reindex(columns=list(STARS), fill_value=0)
    mode = pd.Series(counts.to_numpy().argmax(1) + 1, counts.index, name="mode")
    joined = votes.join(mode, on=["sample_id", "question"])
    return pd.DataFrame(
        {
            question: {
                name: quadratic_kappa(mine["rating"].to_numpy(), mine["mode"].to_numpy())
                for name, mine in group.groupby("annotator_id")
            }
            for question, group in joined.groupby("question")
        }
    )


def test_annotators_agree_with_the_mode_as_in_the_papers() -> None:
    means = pd.DataFrame(
        {seed: kappas_to_the_mode(votes_of(seed, True)[0]).mean() for seed in SEEDS}
    )
    assert list(means.index) == list(QUESTIONS)
    assert means.to_numpy().min() > 0.70
    assert means.to_numpy().max() < 0.85

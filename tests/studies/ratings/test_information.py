"""Which votes to ask for next: against literal formulas, limits, and what must not matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from pasta.errors import PastaError
from pasta.studies.ratings.information import (
    Belief,
    Components,
    Goal,
    believe,
    checked_goal,
    choose_by_chance,
    choose_votes,
    precision,
    share_out,
    technique_qualities,
    variance_components,
    vote_noise,
)

COMPONENTS = Components(noise=0.6, technique=0.2, image=0.1, rest=0.3)


def grid(techniques: int = 4, images: int = 6) -> pd.DataFrame:
    """Every technique on every image."""
    pairs = [(t, i) for t in range(techniques) for i in range(images)]
    return pd.DataFrame(
        {
            "sample_id": [f"d/{i}/m{t}/net" for t, i in pairs],
            "technique": [f"m{t}/net" for t, _ in pairs],
            "image": [f"d/{i}" for _, i in pairs],
        }
    )


def some_belief(seed: int = 0, rated: float = 0.5) -> Belief:
    random = np.random.default_rng(seed)
    samples = grid()
    members = (
        3 + random.normal(0, 0.5, (len(samples), 1)) + random.normal(0, 0.2, (len(samples), 3))
    )
    counts = random.multinomial(2, [0.1, 0.2, 0.3, 0.2, 0.2], len(samples))
    counts[random.random(len(samples)) > rated] = 0
    return believe(samples, members, counts, COMPONENTS)


def covariance(belief: Belief, votes: np.ndarray) -> np.ndarray:
    """Of theta, by the normal equations of all votes one by one."""
    size = belief.loadings.shape[1]
    inverse = np.eye(size)
    for loading, number in zip(belief.loadings, votes, strict=True):
        if number:
            variance = belief.components.rest + belief.components.noise / number
            inverse += np.outer(loading, loading) / variance
    return np.asarray(np.linalg.inv(inverse))


def sum_of_variances(belief: Belief, votes: np.ndarray) -> float:
    spread = covariance(belief, votes)
    return float(sum(row @ spread @ row for row in belief.loadings))


def wrong_orders(belief: Belief, votes: np.ndarray) -> float:
    """The expected number of pairs in the wrong order, pair by pair; means stay as they are."""
    spread = covariance(belief, votes)
    values = technique_qualities(belief)
    means = {
        name: belief.loadings[(belief.samples["technique"] == name).to_numpy()].mean(axis=0)
        for name in values.index
    }
    total = 0.0
    for place, first in enumerate(values.index):
        for second in values.index[:place]:
            apart = means[first] - means[second]
            error = np.sqrt(apart @ spread @ apart)
            total += float(norm.cdf(-abs(values[first] - values[second]) / error))
    return total


@pytest.mark.parametrize(
    ("goal", "loss"), [("score", sum_of_variances), ("techniques", wrong_orders)]
)
@pytest.mark.parametrize("seed", range(5))
def test_the_first_vote_is_the_one_that_lowers_the_loss_most(
    goal: Goal, loss: Callable[[Belief, np.ndarray], float], seed: int
) -> None:
    belief = some_belief(seed)
    [asked] = choose_votes(belief, 1, goal, 5, np.random.default_rng(0)).to_dict("records")
    losses = [loss(belief, belief.votes + one) for one in np.eye(len(belief.votes), dtype=int)]
    best = belief.samples["sample_id"].to_numpy() == asked["sample_id"]
    gain = loss(belief, belief.votes) - np.array(losses)
    # to the first order in the change of the variance, hence not always the very best
    assert gain[best][0] >= (1 if goal == "score" else 0.9) * gain.max() - 1e-12


def test_two_samples_that_nobody_knows_come_before_a_second_vote_on_one() -> None:
    belief = some_belief(rated=0.0)
    asked = choose_votes(belief, 10, "techniques", 5, np.random.default_rng(0))
    assert (asked["votes"] == 1).all() and len(asked) == 10
    gains = np.diff(precision(np.arange(6), COMPONENTS))
    assert (np.diff(gains) < 0).all()


def test_votes_go_on_the_same_sample_where_only_noise_is_unknown() -> None:
    """One explanation about which the scorer knows nothing, and all others alike."""
    samples = grid(2, 3)
    members = np.full((6, 2), 3.0)
    members[0] = [1.0, 5.0]
    components = Components(noise=2.0, technique=0.0, image=0.0, rest=1e-6)
    belief = believe(samples, members, np.zeros((6, 5), int), components)
    [asked] = choose_votes(belief, 4, "score", 5, np.random.default_rng(0)).to_dict("records")
    assert asked == {"sample_id": samples["sample_id"][0], "votes": 4, "votes_before": 0}


def test_the_order_of_samples_and_the_sign_of_deviations_change_nothing() -> None:
    belief = some_belief(3)
    order = np.random.default_rng(1).permutation(len(belief.votes))
    flipped = Belief(
        belief.samples.iloc[order].reset_index(drop=True),
        belief.prediction[order],
        -belief.loadings[order],
        belief.components,
        belief.votes[order],
        belief.mean[order],
    )
    for goal in ("techniques", "score"):
        one = choose_votes(belief, 6, checked_goal(goal), 5, np.random.default_rng(0))
        # a sign that is the same for all samples is only another name of a direction
        other = choose_votes(flipped, 6, checked_goal(goal), 5, np.random.default_rng(9))
        if goal == "score":
            assert set(one["sample_id"]) == set(other["sample_id"])
        assert one["votes"].sum() == other["votes"].sum() == 6


def test_no_sample_gets_more_votes_than_allowed_and_all_are_given() -> None:
    belief = some_belief(4)
    asked = choose_votes(belief, 40, "score", 3, np.random.default_rng(0))
    assert asked["votes"].sum() == 40
    assert (asked["votes"] + asked["votes_before"]).max() <= 3
    room = int(np.maximum(3 - belief.votes, 0).sum())
    with pytest.raises(PastaError, match=f"there is room for {room}"):
        choose_votes(belief, room + 1, "score", 3, np.random.default_rng(0))
    with pytest.raises(PastaError, match="Did you mean 'score'"):
        checked_goal("scores")


def test_variance_components_are_found_again() -> None:
    random = np.random.default_rng(0)
    samples = grid(60, 60)
    technique, image = pd.factorize(samples["technique"])[0], pd.factorize(samples["image"])[0]
    quality = random.normal(0, 0.5, 60)[technique] + random.normal(0, 0.3, 60)[image]
    quality += random.normal(0, 0.4, len(samples))
    votes = np.full(len(samples), 4)
    errors = quality + random.normal(0, 0.8, (4, len(samples))).mean(axis=0)
    found = variance_components(errors, votes, 0.64, samples)
    assert found.technique == pytest.approx(0.25, abs=0.08)
    assert found.image == pytest.approx(0.09, abs=0.03)
    assert found.rest == pytest.approx(0.16, abs=0.02)


def test_the_noise_of_votes_is_their_pooled_variance() -> None:
    counts = np.array([[2, 0, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1]])
    assert vote_noise(counts) == pytest.approx((0 + 2) / 2)
    with pytest.raises(PastaError, match="two votes or more"):
        vote_noise(counts[2:])


def test_nobody_is_asked_twice_and_all_are_asked_about_as_often() -> None:
    asked = pd.DataFrame({"sample_id": [f"s{n}" for n in range(20)], "votes": [1, 2] * 10})
    before = pd.DataFrame({"sample_id": ["s1", "s1", "s3"], "annotator_id": ["a", "b", "c"]})
    people = list("abcd")
    plan = share_out(asked, people, before, np.random.default_rng(0))
    assert len(plan) == 30 and not plan.duplicated(["sample_id", "annotator_id"]).any()
    both = plan.merge(before, on=["sample_id", "annotator_id"])
    assert both.empty
    assert plan.groupby("annotator_id").size().between(7, 8).all()
    assert set(plan.loc[plan["sample_id"] == "s1", "annotator_id"]) == {"c", "d"}
    with pytest.raises(PastaError, match="more --annotators"):
        share_out(asked, ["a", "b"], before, np.random.default_rng(0))


def test_choice_by_chance_gives_every_vote_to_other_samples() -> None:
    found = choose_by_chance(grid(), 13, 5, np.random.default_rng(0))
    assert found["votes"].tolist() == [5, 5, 3] and found["sample_id"].is_unique
    with pytest.raises(PastaError, match="need 25 samples"):
        choose_by_chance(grid(), 125, 5, np.random.default_rng(0))

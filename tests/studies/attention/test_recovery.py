"""Simulated people carry what is planted in them, and the analysis finds it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.lines import fit_line, fit_plane
from pasta.studies.attention.geometry import problem
from pasta.studies.attention.masks import failed_checks, image_attention
from pasta.studies.attention.material import Material, Picture
from pasta.studies.attention.plan import marking_plan, rating_plan
from pasta.studies.attention.rated import centre
from pasta.studies.attention.settings import (
    FIRST,
    AttentionParams,
    MarkingParams,
    RatingParams,
    SimulatedParams,
)
from pasta.studies.attention.simulation import chances, rate_maps, simulate
from pasta.studies.attention.tables import PARTS

SEEDS = 50


def picture(number: int) -> Picture:
    """A body with a head, in a place that depends on the number."""
    parts = np.zeros((32, 32), np.uint8)
    left = 3 + number % 8
    parts[12:28, left : left + 14] = 1
    parts[4:12, left : left + 8] = 2
    pixels = np.zeros((32, 32, 3), np.uint8)
    name = f"made/{number:02d}"
    return Picture(name, "cat", pixels, parts, parts > 0, ("torso", "head"))


MATERIAL = Material(tuple(picture(n) for n in range(12)), (picture(50), picture(51)))


def samples(seed: int, number: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sample_id": [f"made/{n % 12:02d}/m{n}/net" for n in range(number)],
            "image_id": [f"made/{n % 12:02d}" for n in range(number)],
            "miss": rng.normal(size=number),
            "extra": rng.normal(size=number),
            "smooth": rng.normal(size=number),
        }
    )


def answers(seed: int, rating: RatingParams, raters: int = 60) -> pd.DataFrame:
    settings = AttentionParams(simulation=SimulatedParams(rating=rating), raters=raters)
    known = samples(seed)
    plan = rating_plan(known["sample_id"].tolist(), raters, settings.ratings, FIRST, seed)
    rows = PARTS["goodness"].table.frame(rate_maps(plan, known, settings, seed))
    single = centre(rows[rows["position"] > FIRST])
    return single.merge(known, on="sample_id")


def test_planted_slopes_and_the_bias_to_misses_are_found_over_fifty_seeds() -> None:
    rating = RatingParams()
    found, covered = [], 0
    for seed in range(SEEDS):
        single = answers(seed, rating)
        spread = single["miss"].std(ddof=1)
        table = fit_plane(
            single[["miss", "extra", "smooth"]],
            single["centred"],
            compare=("miss", "extra"),
            clusters=[single["sample_id"], single["annotator_id"]],
        ).set_index("term")
        found.append(table["estimate"])
        # A tenth of each effect goes with the mean of a person's ten ratings.
        truth = -rating.miss * float(spread) * 0.9
        covered += bool(table["low"]["miss"] <= truth <= table["high"]["miss"])
    means = pd.DataFrame(found).mean()
    assert means["miss"] == pytest.approx(-0.9 * rating.miss, abs=0.08)
    assert means["extra"] == pytest.approx(-0.9 * rating.extra, abs=0.06)
    assert means["smooth"] == pytest.approx(0.9 * rating.smooth, abs=0.06)
    assert means["difference"] < -0.5
    assert covered >= 0.86 * SEEDS


def test_where_nothing_is_planted_there_are_at_most_eight_percent_of_false_alarms() -> None:
    nothing = RatingParams(miss=0.0, extra=0.0, smooth=0.0)
    alarms = {"miss": 0, "difference": 0, "line": 0}
    for seed in range(SEEDS):
        single = answers(seed, nothing)
        clusters = [single["sample_id"], single["annotator_id"]]
        table = fit_plane(
            single[["miss", "extra"]], single["centred"], compare=("miss", "extra"),
            clusters=clusters,
        ).set_index("term")  # fmt: skip
        for name in ("miss", "difference"):
            alarms[name] += bool(table["p"][name] < 0.05)
        means = single.groupby("sample_id")[["miss", "centred"]].mean()
        alarms["line"] += bool(fit_line(means["miss"], means["centred"])["p"].iloc[1] < 0.05)
    assert all(one <= 0.08 * SEEDS for one in alarms.values()), alarms


def test_raters_do_not_go_by_misses_only() -> None:
    equal = answers(0, RatingParams(miss=0.8, extra=0.8, smooth=0.0), raters=200)
    table = fit_plane(equal[["miss", "extra"]], equal["centred"], compare=("miss", "extra"))
    row = table.set_index("term").loc["difference"]
    assert row["low"] < 0 < row["high"]


@pytest.fixture(scope="module")
def marked() -> tuple[pd.DataFrame, pd.DataFrame]:
    settings = AttentionParams(people=10, samples=4, raters=2)
    rows, truth = simulate(MATERIAL, [], settings, seed=3)
    people = truth["people"]
    assert isinstance(people, pd.DataFrame)
    return PARTS["regions"].table.frame(rows["regions"]), people


def test_simulated_regions_are_good_polygons_and_careless_people_fail(
    marked: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    regions, people = marked
    assert not [text for text in regions["points"].dropna() if problem(text, (32, 32))]
    checks = {one.image_id: one.object for one in MATERIAL.checks}
    failed = failed_checks(regions, checks, 0.1)
    assert set(failed) <= set(people.loc[people["careless"], "annotator_id"])


def test_masks_show_what_is_planted(marked: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    regions, _ = marked
    found = image_attention(regions, MATERIAL.objects)
    shares, truth = [], []
    for one in MATERIAL.images:
        planted = chances(one, MarkingParams())
        for level in (0.3, 0.85):
            shares.append(found[one.image_id].share[planted == level].mean())
            truth.append(level)
    low, high = (np.mean([s for s, t in zip(shares, truth, strict=True) if t == at])
                 for at in (0.3, 0.85))  # fmt: skip
    assert low == pytest.approx(0.3, abs=0.12) and high == pytest.approx(0.85, abs=0.12)


def test_the_plan_gives_each_sample_ten_people_and_everybody_the_same_checks_first() -> None:
    names = [f"s{n}" for n in range(23)]
    plan = marking_plan(names, ["c1", "c2"], people=10, each=10, seed=1)
    own = plan[~plan["check"]]
    assert own.groupby("sample")["annotator_id"].nunique().eq(10).all()
    assert not plan.duplicated(["annotator_id", "sample"]).any()
    first = plan[plan["position"] <= 2].groupby("annotator_id")["sample"].agg(list)
    assert first.map(lambda one: one == ["c1", "c2"]).all()
    assert own.groupby("annotator_id").size().max() == 10


def test_another_seed_makes_other_answers_and_the_same_one_the_same() -> None:
    settings = AttentionParams(people=3, samples=3, raters=2)
    first, again, other = (simulate(MATERIAL, [], settings, seed)[0] for seed in (1, 1, 2))
    assert first == again != other

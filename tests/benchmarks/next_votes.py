"""Votes by information against votes by chance, on the simulated raters, over ten seeds.

From the explanations and vectors of a finished demo. In each seed the raters' tastes are drawn
anew, 120 explanations by chance have five votes each, and an ordinal scorer learns from them. Then
300 more ratings are asked for:

- ``chance, five each``: 60 new explanations, five people each, as the papers do;
- ``chance, one each``: 300 new explanations, one person each;
- ``information, techniques`` and ``information, score``: `pasta study ratings plan --next 300`.

Judged by the simulator's truth: how well techniques are ordered (Kendall's tau of their mean stars
over all explanations; once by plain means of votes, once with the scorer and the variances), and
how well a scorer that is trained anew predicts explanations of images that nobody rated
(Spearman). ::

    python -m tests.benchmarks.next_votes --root . --seeds 10
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kendalltau, norm, spearmanr, ttest_1samp

from pasta.compute import limit_threads
from pasta.config import Params, load_params
from pasta.embedding.inputs import classes_of, label_order, with_label
from pasta.embedding.stored import load_embeddings
from pasta.layout import explained_groups
from pasta.paths import PARAMS
from pasta.scoring.base import SCORERS, Rated
from pasta.scoring.held_out import COUNTS
from pasta.scoring.next_votes import components_of
from pasta.scoring.ordinal import FittedOrdinal
from pasta.seeds import generator
from pasta.studies.ratings.information import (
    Belief,
    Goal,
    believe,
    choose_by_chance,
    choose_votes,
    share_out,
    technique_qualities,
)
from pasta.studies.ratings.plan import names_of_annotators
from pasta.studies.ratings.rateable import rateable
from pasta.studies.ratings.settings import MAIN, QUESTIONS, SimulationParams
from pasta.studies.ratings.simulation.quality import measure, qualities
from pasta.studies.ratings.simulation.raters import draw_raters, preferences, rate
from tests.conftest import ROOT

FIRST, EACH, NEXT, PEOPLE = 120, 5, 300, 40
STARS = np.arange(1, 6)
PLACE = QUESTIONS.index(MAIN)
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Everything that does not change with the seed."""

    params: Params
    samples: pd.DataFrame  # sample_id, technique, image; sorted
    features: NDArray[np.float32]
    properties: pd.DataFrame


def read_world(root: Path) -> World:
    """Explanations, their vectors and their measured properties."""
    params, groups = load_params(root / PARAMS), explained_groups(root)
    table = rateable(groups, params.annotations.extras).sort_values("sample_id")
    parts = [load_embeddings(group, params.embedding) for group in groups]
    names = pd.Index(np.concatenate([part.table["sample_id"] for part in parts]))
    rows = names.get_indexer(pd.Index(table["sample_id"]))
    vectors = np.concatenate([part.vectors for part in parts])[rows]
    usable = np.isfinite(vectors).all(axis=1)
    table, vectors = table[usable].reset_index(drop=True), vectors[usable]
    order = label_order(classes_of(group.dataset for group in groups))
    samples = pd.DataFrame(
        {
            "sample_id": table["sample_id"],
            "technique": table["method"] + "/" + table["backbone"],
            "image": table["dataset"] + "/" + table["image_id"],
        }
    )
    found = pd.concat([measure(group) for group in groups], ignore_index=True)
    properties = found[found["sample_id"].isin(set(samples["sample_id"]))]
    features = with_label(vectors, table["predicted"].tolist(), order)
    return World(params, samples, features, properties.sort_values("sample_id", ignore_index=True))


class Simulator:
    """Raters of one seed, who can be asked for votes."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.seed = world, seed
        self.params: SimulationParams = world.params.annotations.simulation
        self.people = names_of_annotators(PEOPLE)
        self.raters = draw_raters(self.people, self.params.raters, seed)
        self.quality = qualities(world.properties, self.params, seed)
        self.votes = pd.DataFrame({"sample_id": [], "annotator_id": []}, dtype="str")

    @property
    def truth(self) -> Doubles:
        """The expected star of each sample by the average rater, on the main question."""
        liked = self.quality.sort_values("sample_id")
        latent = liked[MAIN].to_numpy() + preferences(liked["kind"], self.params)[:, PLACE]
        spread = float(self.raters["noise"].mean()) * getattr(self.params.questions, MAIN).noise
        spread = float(np.hypot(spread, self.raters["leniency"].std()))
        beyond = norm.sf((np.array(self.params.thresholds)[:, None] - latent) / spread)
        return np.asarray(1 + beyond.sum(axis=0), np.float64)

    def ask(self, asked: pd.DataFrame, before: pd.DataFrame, *purpose: str) -> pd.DataFrame:
        """The votes of a plan, with those before it."""
        random = generator(self.seed, "next votes", "share", *purpose)
        plan = share_out(asked, self.people, before, random)
        given = rate(self.quality, self.raters, plan, self.params, self.seed)
        return pd.concat([before, given], ignore_index=True)

    def counts(self, votes: pd.DataFrame) -> NDArray[np.int64]:
        """Samples x questions x stars."""
        shape = (len(self.world.samples), len(QUESTIONS), 5)
        row = pd.Index(self.world.samples["sample_id"]).get_indexer(pd.Index(votes["sample_id"]))
        question = pd.Index(QUESTIONS).get_indexer(pd.Index(votes["question"]))
        found = np.zeros(shape, np.int64)
        np.add.at(found, (row, question, votes["rating"].to_numpy(np.int64) - 1), 1)
        return found


def learn(world: World, counts: NDArray[np.int64], seed: int) -> tuple[FittedOrdinal, pd.DataFrame]:
    """A scorer of these votes, and its predictions of the images it has not seen."""
    rated = np.flatnonzero(counts[:, PLACE].any(axis=1))
    images = world.samples["image"].iloc[rated].to_numpy()
    known = np.unique(images)
    random = generator(seed, "next votes", "validation")
    kept = random.choice(known, max(len(known) // 5, 2), replace=False)
    validates = np.isin(images, kept)
    number = counts.sum(axis=2)
    means = np.where(number > 0, counts @ STARS / np.maximum(number, 1), np.nan)
    whole = Rated(world.features, counts, means.astype(np.float32))
    train, validation = whole.at(rated[~validates]), whole.at(rated[validates])
    fitted = SCORERS["ordinal"].fit(train, validation, world.params.scoring.ordinal, seed)
    assert isinstance(fitted, FittedOrdinal)
    held: dict[str, Any] = {"sample_id": world.samples["sample_id"].to_numpy()[rated[validates]]}
    held["stars"] = fitted.member_stars(validation.features).mean(axis=1)[:, PLACE]
    held |= dict(zip(COUNTS, validation.counts[:, PLACE].T, strict=True))
    return fitted, pd.DataFrame(held)


def judge(
    simulator: Simulator, belief: Belief, votes: pd.DataFrame, unseen: NDArray[np.bool_]
) -> dict[str, float]:
    """What the votes are worth; ``belief`` is that before the last of them."""
    world, truth = simulator.world, simulator.truth
    counts = simulator.counts(votes)
    technique = world.samples["technique"]
    real = pd.Series(truth).groupby(technique).mean()
    mine = votes[votes["question"] == MAIN].merge(world.samples, on="sample_id")
    plain = mine.groupby("technique")["rating"].mean().reindex(real.index)
    plain = plain.fillna(float(mine["rating"].mean()))
    after = believe_again(belief, counts)
    modelled = technique_qualities(after).reindex(real.index)
    fitted, _ = learn(world, counts, simulator.seed)
    stars = fitted.predict(world.features[unseen]).stars[:, PLACE]
    return {
        "tau, plain means": float(kendalltau(real, plain).statistic),
        "tau, with the scorer": float(kendalltau(real, modelled).statistic),
        "scorer, unseen images": float(spearmanr(truth[unseen], stars).statistic),
    }


def believe_again(belief: Belief, counts: NDArray[np.int64]) -> Belief:
    """The same scorer with other votes."""
    own = counts[:, PLACE]
    votes = own.sum(axis=1)
    mean = own @ STARS / np.maximum(votes, 1)
    return Belief(
        belief.samples, belief.prediction, belief.loadings, belief.components, votes, mean
    )


def one_seed(world: World, seed: int) -> Iterator[dict[str, Any]]:
    """All ways to ask, in a world of the same tastes with the same first votes."""
    simulator = Simulator(world, seed)
    random = generator(seed, "next votes", "first")
    images = world.samples["image"].unique()
    reserved = random.choice(images, len(images) // 4, replace=False)
    unseen = world.samples["image"].isin(reserved).to_numpy()
    pool = world.samples[~unseen].reset_index(drop=True)
    first = choose_by_chance(pool, FIRST * EACH, EACH, random)
    before = simulator.ask(first, simulator.votes, "first")
    counts = simulator.counts(before)
    fitted, held = learn(world, counts, seed)
    members = fitted.member_stars(world.features)[:, :, PLACE]
    belief = believe(world.samples, members, counts[:, PLACE], components_of(held))
    rows = np.flatnonzero(~unseen)
    open_belief = Belief(
        pool, belief.prediction[rows], belief.loadings[rows], belief.components,
        belief.votes[rows], belief.mean[rows],
    )  # fmt: skip
    yield {"seed": seed, "way": "before", **judge(simulator, belief, before, unseen)}
    unrated = pool[~pool["sample_id"].isin(set(before["sample_id"]))].reset_index(drop=True)
    goals: tuple[Goal, ...] = ("techniques", "score")
    ways = {
        "chance, five each": choose_by_chance(unrated, NEXT, EACH, random),
        "chance, one each": choose_by_chance(unrated, NEXT, 1, random),
        **{
            f"information, {goal}": choose_votes(open_belief, NEXT, goal, EACH, random)
            for goal in goals
        },
    }
    for way, asked in ways.items():
        votes = simulator.ask(asked, before, way)
        about = {"samples": len(asked), "again": int((asked["votes_before"] > 0).sum())}
        yield {"seed": seed, "way": way, **judge(simulator, belief, votes, unseen), **about}


def main() -> None:
    """All seeds; prints means, and differences from chance with their errors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="a project with a finished demo")
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    limit_threads()
    world = read_world(given.root.resolve())
    rows = []
    for seed in range(given.seeds):
        for row in one_seed(world, seed):
            rows.append(row)
            print(row, flush=True)
    frame = pd.DataFrame(rows)
    measures = [name for name in map(str, frame) if name.startswith(("tau", "scorer"))]
    print(f"\n{len(world.samples):,} explanations, {given.seeds} seeds; means:\n")
    means = frame.groupby("way", sort=False)[[*measures, "samples", "again"]].mean()
    print(means.round(3).to_string())
    wide = frame.pivot_table(index="seed", columns="way", values=measures)
    for base in ("chance, five each", "chance, one each"):
        print(f"\nbeside {base}: difference, standard error, p of the paired t test")
        for measure_ in measures:
            for way in ("information, techniques", "information, score", "chance, one each"):
                if way == base:
                    continue
                apart = (wide[(measure_, way)] - wide[(measure_, base)]).to_numpy()
                p = float(ttest_1samp(apart, 0.0).pvalue)
                error = apart.std(ddof=1) / np.sqrt(len(apart))
                print(f"{measure_:24s} {way:26s} {apart.mean():+.3f} {error:.3f} {p:.3f}")


if __name__ == "__main__":
    main()

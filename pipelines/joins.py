"""DVC stage `joins`: what the studies say of the same images, models and methods, side by side.

A study knows nothing of another one; here their answers meet. Measures of single explanations
(ratings, the predicted score, agreement with where people look, computational metrics) are compared
within images and given the technique; their means over methods stand beside LATEC's ranks and the
Utility of methods. Higher is better in every column. Of each score against human attention it is
asked whether it foretells ratings and Utility better than segmentation masks and metrics do.
Hardly a method of the meta-predictor study is rated with stars: the score foretells the stars of
the very explanations that its participants saw, and the benchmark's maps are held against masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from analysis.joins import (
    GIVEN_GROUPS,
    WITHIN_CLUSTERS,
    correlate_groups,
    correlate_items,
    correlate_rivals,
    group_places,
)
from analysis.map_scores import SCORES
from analysis.precision import people_needed
from analysis.tables import Tables, add_missing, list_missing
from pasta import store, tables
from pasta.benchmark.tables import BENCHMARK_VALUES, MAPS, STAGE, VALUES
from pasta.compute import limit_threads
from pasta.config import Params, load_params
from pasta.datasets.vocabulary import vocabulary
from pasta.embedding.stored import GIVEN
from pasta.explanations.catalog import METHODS
from pasta.explanations.techniques import Technique
from pasta.layout import Group, groups
from pasta.paths import DATA, project_root, stage_folder
from pasta.scoring.score import PastaScore
from pasta.scoring.stored import FOLDER, load_scorer
from pasta.stage import run_stage
from pasta.studies.attention.analyses import collect, score_samples
from pasta.studies.attention.material import Maps
from pasta.studies.attention.settings import FIRST
from pasta.studies.attention.tables import GOODNESS
from pasta.studies.prediction.settings import BASELINE, CONTROL
from pasta.studies.prediction.shown import shown_experiments
from pasta.studies.prediction.tables import PARTICIPANTS, SCREENING, TRIALS
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.settings import MAIN, STEADY
from pasta.studies.ratings.tables import LABELS, VOTES
from pasta.studies.source import combine_sources, read_source, write_source
from pasta.tracking import tracked_run

PAIRINGS = 20_000  # so many that p adjusted for some hundred pairs can be small
STUDIES = ("ratings", "prediction", "attention")
SCORE, ATTENTION, SEGMENTATION = "predicted score", "attention", "segmentation"
AGREEMENT = "agreement"  # the score of maps against masks that stands beside other measures
# Scores that are held against rivals; false positives are the same against both masks.
SCORED = (AGREEMENT, "false_negative", "auc", "nss", "rank_correlation")
VARIANTS = ("", "road text", "gaussian")  # of metrics that have several: one of each
RANK, UTILITY, FAITHFULNESS = "LATEC", "utility", "faithfulness"
# What one person does in each kind of study, and what is compared.
KINDS = {
    "ratings": f"stars of explanations ({MAIN})",
    "prediction": "predictions of the model",
    "attention": "grades of maps",
}


def main() -> None:
    """Write places, correlations, rivals, people needed and decisions as CSV tables."""
    params, root = load_params(), project_root()
    threadpool_limits(1, "blas")  # the last digits of sums would depend on the number of cores
    here = groups(params)
    answers = [root / DATA / "votes" / name for name in STUDIES]
    out = stage_folder("joins")
    with tracked_run(
        "correlations",
        "joins",
        "joins: all studies on the same methods",
        about="Ratings, Utility, attention, metrics and the predicted score side by side. The "
        "tables are among the artefacts.",
        inputs=[*answers, stage_folder("analyse"), *(one.metrics for one in here)],
        params={"analysis": params.analysis.model_dump(), "seed": params.seeds.analysing},
        tags={"study": "joins", "dataset": ", ".join(dict.fromkeys(one.dataset for one in here))},
    ) as run:
        found = join_tables(root, here, params)
        store.write_csvs(found, out)
        write_source(combine_sources(map(read_source, answers)), out)
        for table in found:
            run.log_file(out / f"{table}.csv", "tables")
        run.log_metrics(summary(found))


def summary(found: Tables) -> dict[str, float]:
    """Reliability of each study, and how many measures follow the main question."""
    people, decisions = found["people"], found["decisions"]
    known = people[(people["quantity"] == "reliability") & people["estimate"].notna()]
    numbers = {
        f"reliability.{row['study']}{'.' if row['part'] else ''}{row['part']}": row["estimate"]
        for row in known.to_dict("records")
    }
    for scope in ("within", "given"):
        numbers[f"follow.{scope}"] = float((decisions[f"{scope}_verdict"] == "follows").sum())
    return numbers


def join_tables(root: Path, here: list[Group], params: Params) -> Tables:
    """All tables of the joins."""
    resamples, seed = params.analysis.resamples, params.seeds.analysing
    metrics, scores = _metrics(here), _scores_of_maps(root)
    benchmarked = scores_of_benchmark(root, params)
    items = measures_of_items(root, here, params, metrics, scores)
    names = pd.Series(items.index.astype(str)).str.split("/", expand=True)
    images, methods = names[0] + "/" + names[1], names[2]
    techniques = methods + "/" + names[3]
    means = items.groupby(methods.to_numpy()).mean()
    means = means.join(_benchmark(root), how="outer").join(_choices(root), how="outer")
    if len(benchmarked):
        means = means.join(benchmarked[AGREEMENT].add_prefix(f"{RANK}: "), how="outer")
    shown = foretell_shown(root)
    stars = shown.pivot_table(index="condition", columns="experiment", values="stars")
    means = means.join(stars.add_prefix(f"{SCORE}: "), how="outer")
    related = correlate_items(
        items.reset_index(drop=True),
        images,
        techniques,
        against=[one for one in (MAIN, SCORE, ATTENTION) if one in items],
        resamples=resamples,
        seed=seed,
    )
    between = correlate_groups(means, permutations=PAIRINGS, seed=seed)
    rivals = pd.concat(
        [
            hold_against_rivals(
                items, scores, images, list(map(str, metrics)), resamples=resamples, seed=seed
            ),
            hold_methods_against_rivals(means, benchmarked, resamples=resamples, seed=seed),
        ],
        ignore_index=True,
    )
    found: Tables = {
        "places": group_places(means),
        "methods": between,
        "items": related,
        "rivals": rivals,
        "people": needed(root, params),
        "decisions": decide(related, between),
        "shown": shown,
    }
    lacks = {}
    predicted = UTILITY in " ".join(map(str, means.columns))
    if not predicted:
        lacks[UTILITY] = "nobody predicted the model"
    if ATTENTION not in items:
        lacks[ATTENTION] = "no map was compared with where people look"
    elif predicted and not rivals["target"].str.startswith(UTILITY).any():
        lacks["attention and utility"] = "hardly a method has both"
    if predicted and shown.empty:
        lacks["stars of what helped to predict"] = "no scorer here can look at explanations"
    return add_missing(list_missing(found), list(lacks.items()))


def measures_of_items(
    root: Path, here: list[Group], params: Params, metrics: pd.DataFrame, scores: pd.DataFrame
) -> pd.DataFrame:
    """Every measure of every rated saliency map: a row for each, by sample_id.

    ``metrics`` and ``scores`` (against masks) have one by sample_id as well.
    """
    protocol = load_protocol(params.annotations.protocol)
    labels = store.read(root / DATA / "votes" / "ratings" / "labels.parquet", LABELS)
    wide = labels.pivot_table(index="sample_id", columns="question", values="mean", observed=True)
    for question in wide.columns:
        wide[question] *= protocol.question(question).direction or 1
    every = [
        store.read(one.explanations / "explanations.parquet", tables.EXPLANATIONS) for one in here
    ]
    samples = pd.concat(every, ignore_index=True)
    maps = samples.loc[samples["kind"] == "saliency", "sample_id"]
    wide = wide[wide.index.isin(maps)].sort_index()
    predicted = pd.read_csv(root / DATA / "score" / "predictions.csv")
    stars = predicted[predicted["question"] == MAIN].groupby("sample_id")["stars"].mean()
    wide = wide.join(stars.to_frame(SCORE))
    if AGREEMENT in scores:
        wide = wide.join(scores[AGREEMENT])
    return wide.join(metrics)


def hold_against_rivals(
    items: pd.DataFrame,
    scores: pd.DataFrame,
    images: pd.Series[str],
    metrics: list[str],
    *,
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """What foretells ratings better: maps against attention, against segmentation, or a metric.

    ``items`` are the measures by sample_id, ``scores`` those against both masks.
    """
    frames = []
    questions = [one for one in STEADY if one in items]
    for score in SCORED if len(scores) else ():
        found = correlate_rivals(
            items.assign(**scores[score].reindex(items.index)),
            ATTENTION,
            {SEGMENTATION: [SEGMENTATION], "metrics": metrics},
            questions,
            clusters=images.to_numpy(),
            resamples=resamples,
            seed=seed,
        )
        frames.append(found.assign(score=score))
    nothing = correlate_rivals(items, ATTENTION, {}, []).assign(score="")
    return pd.concat(frames, ignore_index=True) if frames else nothing


def hold_methods_against_rivals(
    means: pd.DataFrame, scores: pd.DataFrame, *, resamples: int, seed: int
) -> pd.DataFrame:
    """The same for the Utility of methods, with means over the benchmark's maps and its ranks.

    ``means`` has the measures of methods, ``scores`` those of the benchmark's maps by method.
    """
    frames = []
    utilities = [str(one) for one in means if str(one).startswith(UTILITY)]
    own = {f"{RANK}: {ATTENTION}", f"{RANK}: {SEGMENTATION}"}
    ranks = [str(one) for one in means if str(one).startswith(RANK) and str(one) not in own]
    for score in SCORED if len(scores) else ():
        found = correlate_rivals(
            means[[*utilities, *ranks]].join(scores[score]),
            ATTENTION,
            {SEGMENTATION: [SEGMENTATION], "metrics": ranks},
            utilities,
            resamples=resamples,
            seed=seed,
        )
        frames.append(found.assign(score=score))
    nothing = correlate_rivals(means, ATTENTION, {}, []).assign(score="")
    return pd.concat(frames, ignore_index=True) if frames else nothing


def foretell_shown(root: Path) -> pd.DataFrame:
    """The stars that the score foretells of explanations that people saw when they predicted a
    model.

    Returns
    -------
    Means over the images of the sessions: experiment, condition, n (explanations with a score),
    stars (turned: more are better), familiar (the share that looks like what the score knows).
    """
    columns = ["experiment", "condition", "n", "stars", "familiar"]
    experiments, folder = shown_experiments(root), root / FOLDER
    blind = not folder.is_dir() or load_scorer(folder).card.encoder.name == GIVEN
    if not experiments or blind:
        return pd.DataFrame(columns=columns)
    limit_threads()
    score = PastaScore.load(MAIN, folder)
    people = store.read(root / DATA / "votes" / "prediction" / "participants.parquet", PARTICIPANTS)
    rows = []
    for experiment in experiments:
        places = experiment.pool["row"].to_numpy(np.int64)
        pixels = np.asarray(experiment.pixels[places])
        own = people.loc[people["experiment"] == experiment.experiment, "condition"]
        for condition in sorted(set(own.astype(str)) - {BASELINE, CONTROL}):
            maps = experiment.maps(condition)
            if maps is None:
                continue
            signed = METHODS.entry(condition).metadata["sign"] == "signed"  # known, not guessed
            found = score(image=pixels, saliency=maps[places].astype(np.float32), signed=signed)
            stars = np.asarray(found.score, np.float64)
            known = np.isfinite(stars)
            mean = score.direction * stars[known].mean() if known.any() else np.nan
            familiar = np.asarray(found.familiar)[known].mean() if known.any() else np.nan
            rows.append((experiment.experiment, condition, int(known.sum()), mean, familiar))
    return pd.DataFrame(rows, columns=columns)


def scores_of_benchmark(root: Path, params: Params) -> pd.DataFrame:
    """Scores of the benchmark's maps against both masks, turned: means by method."""
    known = collect(root, params)
    maps = list(_benchmark_maps(root / DATA / STAGE, params, set(known.attention)))
    scores = turn(score_samples(maps, known.attention))
    if scores.empty:
        return scores
    methods = scores.index.astype(str).str.split("/").str[2]
    return scores.groupby(methods).mean()


def _benchmark_maps(folder: Path, params: Params, images: set[str]) -> Iterator[Maps]:
    """Maps of the main reading, of images that people have marked."""
    for dataset in params.benchmark.datasets:
        home = folder / dataset / MAPS / params.benchmark.reading
        if vocabulary(dataset).modality != "image" or not home.is_dir():
            continue
        every = store.read(folder / dataset / VALUES, BENCHMARK_VALUES)
        own = every.loc[every["reading"] == params.benchmark.reading, "image_id"]
        names = [f"{dataset}/{one}" for one in own.unique()]
        rows = [row for row, name in enumerate(names) if name in images]
        marked = tuple(names[row] for row in rows)
        for file in sorted(home.glob("*/*.npy")) if rows else ():
            values = np.asarray(store.read_array(file)[rows])
            if values.ndim > 3:  # a value for each channel
                values = values.sum(1)
            method, model = file.stem, file.parent.name
            samples = tuple(f"{one}/{method}/{model}" for one in marked)
            shown = Technique(method, model, method, "saliency", "positive", "post-hoc")
            yield Maps(shown, samples, marked, values)


def _scores_of_maps(root: Path) -> pd.DataFrame:
    """Scores of maps against both masks, turned so that higher is better: columns score, mask."""
    file = root / DATA / "analyse" / "attention" / "maps.csv"
    return turn(pd.read_csv(file) if file.is_file() else pd.DataFrame({"status": []}))


def turn(samples: pd.DataFrame) -> pd.DataFrame:
    """Scores of maps in columns score, mask; higher is better in all of them."""
    known = samples[samples["status"] == "ok"]
    if known.empty:
        return known
    wide = known.pivot(index="sample_id", columns="against", values=list(SCORED))  # noqa: PD010
    signs = {score: 1.0 if SCORES[score] == "higher" else -1.0 for score in SCORED}
    return wide * wide.columns.get_level_values(0).map(signs).to_numpy()


def _metrics(here: list[Group]) -> pd.DataFrame:
    """Computational metrics in columns, turned so that higher is better."""
    files = [one.metrics / "metric_values.parquet" for one in here]
    values = pd.concat([store.read(file, tables.METRIC_VALUES) for file in files if file.is_file()])
    values = values[(values["status"] == "ok") & values["variant"].fillna("").isin(VARIANTS)]
    name = (values["metric"] + " " + values["variant"].fillna("")).str.strip()
    signed = values["value"] * values["direction"].map({"higher": 1.0, "lower": -1.0}).astype(float)
    return values.assign(name=name, value=signed).pivot_table(
        index="sample_id", columns="name", values="value"
    )


def _benchmark(root: Path) -> pd.DataFrame:
    """LATEC's average ranks over images, by method and criterion, turned round."""
    file = root / DATA / "analyse" / "latec" / "averages.csv"
    averages = pd.read_csv(file) if file.is_file() else pd.DataFrame(columns=["scope", "method"])
    own = averages[averages["scope"] == "all"]
    if own.empty:
        return pd.DataFrame(index=pd.Index([], name="method"))
    wide = -own.pivot_table(index="method", columns="criterion", values="estimate")
    return wide.add_prefix(f"{RANK}: ")


def _choices(root: Path) -> pd.DataFrame:
    """Utility and faithfulness of each method in each experiment."""
    folder = root / DATA / "analyse" / "utility"
    points = folder / "utility_metrics.csv"
    if not points.is_file():
        return pd.DataFrame(index=pd.Index([], name="method"))
    found = pd.read_csv(points)
    found = found[(found["metric"] == FAITHFULNESS) & (found["condition"] != CONTROL)]
    wide = found.pivot_table(
        index="condition", columns="experiment", values=["utility", "value"], sort=True
    )
    names = {"utility": UTILITY, "value": FAITHFULNESS}
    pairs = wide.columns.to_flat_index()
    wide.columns = pd.Index([f"{names[str(pair[0])]}: {pair[1]}" for pair in pairs])
    return wide


def needed(root: Path, params: Params) -> pd.DataFrame:
    """Reliability of each study, and how many people bring it to the goal."""
    folder = root / DATA / "votes"
    votes = store.read(folder / "ratings" / "votes.parquet", VOTES)
    votes = votes[votes["question"] == MAIN]
    grades = store.read(folder / "attention" / "goodness.parquet", GOODNESS)
    grades = grades[grades["position"] > FIRST]
    people = store.read(folder / "prediction" / "participants.parquet", PARTICIPANTS)
    trials = store.read(folder / "prediction" / "trials.parquet", TRIALS)
    screening = store.read(folder / "prediction" / "screening.parquet", SCREENING)
    kept = screening.loc[screening["kept"], "participant_id"]
    chosen = trials[(trials["phase"] == "test") & trials["participant_id"].isin(kept)]
    chosen = chosen.merge(people[["participant_id", "experiment", "condition"]])
    explained = chosen[~chosen["condition"].isin([BASELINE])]

    def technique(ids: pd.Series[str]) -> pd.Series[str]:
        return ids.str.split("/").str[2:].str.join("/")

    answers = {
        ("ratings", ""): (votes["rating"], votes["annotator_id"], technique(votes["sample_id"])),
        ("attention", ""): (
            grades["rating"],
            grades["annotator_id"],
            technique(grades["sample_id"]),
        ),
        **{
            ("prediction", str(name)): (
                own["right"].astype(float),
                own["participant_id"],
                own["condition"],
            )
            for name, own in explained.groupby("experiment", sort=True)
        },
    }
    frames = []
    for (study, part), (values, who, what) in answers.items():
        found = people_needed(
            values, who, what, resamples=params.analysis.resamples, seed=params.seeds.analysing
        )
        frames.append(found.assign(study=study, part=part, judged=KINDS[study]))
    return pd.concat(frames, ignore_index=True)


def decide(related: pd.DataFrame, between: pd.DataFrame) -> pd.DataFrame:
    """What each kind of evaluation says of the main question, by a rule on the numbers.

    ``follows`` if the correlation within images has its interval above 0, ``contradicts`` below,
    ``cannot be told`` otherwise; the same given the technique. Of means over methods the exact test
    decides, at 5 %.
    """
    rows = []
    for name in pd.unique(pd.concat([between["first"], between["second"]])):
        if name == MAIN:
            continue
        row: dict[str, object] = {"measure": name}
        for scope, column in ((WITHIN_CLUSTERS, "within"), (GIVEN_GROUPS, "given")):
            own = _pair(related[related["scope"] == scope], name)
            row |= {f"{column}_{key}": own.get(key) for key in ("n", "estimate", "low", "high")}
            row[f"{column}_verdict"] = _verdict(own.get("low"), own.get("high"))
        own = _pair(between[between["method"] == "spearman"], name)
        row |= {f"methods_{key}": own.get(key) for key in ("n", "estimate", "p")}
        rows.append(row)
    return pd.DataFrame(rows)


def _pair(table: pd.DataFrame, name: object) -> dict[str, float]:
    """The row of a measure with the main question."""
    one, two = table["first"], table["second"]
    own = table[((one == MAIN) & (two == name)) | ((one == name) & (two == MAIN))]
    return {str(key): value for key, value in own.iloc[0].items()} if len(own) else {}


def _verdict(low: float | None, high: float | None) -> str:
    if low is None or high is None or pd.isna(low) or pd.isna(high):
        return "not compared"
    return "follows" if low > 0 else "contradicts" if high < 0 else "cannot be told"


if __name__ == "__main__":
    run_stage(main)

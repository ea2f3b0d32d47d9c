"""What of our study stands beside the numbers in the papers' text: counted when it is analysed.

:mod:`.collected` adds what the tables of other stages say.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.contrasts import clustered_mean, codes_of, contrast_row
from pasta.studies.ratings.analyses.names import anonymous_raters, describe_samples
from pasta.studies.ratings.analyses.preference import DIMENSIONS, TOP, label_samples
from reports.source.replication.collected import FACTS, fact_row

ZERO_SHOT = "clip_zero_shot"  # the backbone that nobody trains on a dataset


def study_facts(
    votes: pd.DataFrame,
    samples: pd.DataFrame,
    annotators: pd.DataFrame | None = None,
    accuracy: pd.DataFrame | None = None,
    images: pd.DataFrame | None = None,
    perturbed: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Sizes of the study and the few findings that the papers put into words.

    Parameters
    ----------
    votes, samples, annotators
        The tables of the study: sample_id, annotator_id, question, rating; sample_id, dataset,
        image_id, method, backbone, kind; annotator_id, age, sex.
    accuracy
        dataset, model, measure, estimate, low, high.
    images, perturbed
        dataset and label of every image; the perturbation that each sample was shown with.

    Returns
    -------
    DataFrame with fact (as in ``text_numbers.csv``), n, estimate, low, high, note; what is
    not known has no row
    """
    rows = [
        *_sizes(votes, samples, count_people=not anonymous_raters(annotators)),
        *_people(annotators),
        *_others(images, perturbed),
        *_lowest(accuracy),
        *_kinds(votes, samples),
    ]
    return pd.DataFrame(rows, columns=FACTS)


def _sizes(
    votes: pd.DataFrame, samples: pd.DataFrame, count_people: bool
) -> list[dict[str, object]]:
    shown = samples.drop_duplicates("sample_id")
    rated = shown[shown["sample_id"].isin(votes["sample_id"].unique().tolist())]
    images = shown.groupby("dataset")["image_id"].nunique()
    given = votes.groupby(["sample_id", "question"]).size()
    work = votes.groupby("annotator_id")["sample_id"].nunique()
    facts = {
        "images": images.sum(),
        "images_per_dataset": images.mean(),
        "datasets": len(images),
        "methods": shown["method"].nunique(),
        "backbones": shown.loc[shown["backbone"] != ZERO_SHOT, "backbone"].nunique(),
        "techniques": len(shown[["method", "backbone"]].drop_duplicates()),
        "explanations": len(shown),
        "rated_samples": votes["sample_id"].nunique(),
        "samples_per_question": votes.groupby("question")["sample_id"].nunique().mean(),
        "votes_per_sample": given.mean(),
        "questions": votes["question"].nunique(),
        "ratings": len(votes),
        "favourites": TOP,
        "rated_per_image": rated.groupby(["dataset", "image_id"]).size().mean(),
    }
    if count_people:
        facts |= {"explanations_per_annotator": work.mean(), "annotators": len(work)}
    return [fact_row(name, value) for name, value in facts.items() if len(votes)]


def _people(annotators: pd.DataFrame | None) -> list[dict[str, object]]:
    if annotators is None or annotators.empty:
        return []
    rows = []
    ages = pd.to_numeric(annotators["age"], errors="coerce").dropna().to_numpy(np.float64)
    if len(ages):
        found = {"youngest": ages.min(), "oldest": ages.max(), "mean": ages.mean()}
        if len(ages) > 1:
            found["sd"] = ages.std(ddof=1)
        rows += [fact_row(f"age_{name}", value, len(ages)) for name, value in found.items()]
    known = annotators["sex"].dropna()
    if len(known):
        counts = {sex: (known == sex).sum() for sex in ("male", "female")}
        counts["non_binary"] = len(known) - sum(counts.values())
        counts["sex_not_said"] = annotators["sex"].isna().sum()
        rows += [fact_row(name, number, len(annotators)) for name, number in counts.items()]
    return rows


def _others(images: pd.DataFrame | None, perturbed: pd.DataFrame | None) -> list[dict[str, object]]:
    rows = []
    if images is not None and len(images):
        rows.append(fact_row("labels", images["label"].nunique()))  # a cat is a cat in two datasets
    if perturbed is not None:
        # A release has perturbed copies, but does not say how they were made.
        known = perturbed.loc[perturbed["magnitude"].notna(), "perturbation"]
        rows += [fact_row("perturbations", known.nunique())] if len(known) else []
    return rows


def _lowest(accuracy: pd.DataFrame | None) -> list[dict[str, object]]:
    if accuracy is None or accuracy.empty:
        return []
    own = accuracy[accuracy["measure"] == "accuracy"].dropna(subset="estimate")
    if own.empty:
        return []
    worst = own.sort_values("estimate").iloc[0]
    row = fact_row("lowest_accuracy", worst["estimate"], int(worst["n"]))
    return [row | {"low": worst["low"], "high": worst["high"]}]


def _kinds(votes: pd.DataFrame, samples: pd.DataFrame) -> list[dict[str, object]]:
    """Mean mode of each kind of explanation and dimension, as in P1's appendix B.4.

    The intervals allow for samples that share a technique or an image.
    """
    if votes.empty:
        return []
    labels = label_samples(votes)
    known = describe_samples(samples).reindex(labels.index)
    known = known[known[["kind", "technique", "image"]].notna().all(axis=1)]
    rows = []
    for kind, here in known.groupby("kind", sort=True):
        for dimension, questions in DIMENSIONS.items():
            asked = [name for name in questions if name in labels]
            values = labels.loc[here.index, asked].mean(axis=1)
            values = values[values.notna()] if asked else values[:0]
            shared = here.loc[values.index]
            codes = [codes_of(shared[name].to_numpy(object)) for name in ("technique", "image")]
            found = contrast_row(clustered_mean(values.to_numpy(np.float64), *codes))
            kept = {name: found[name] for name in ("n", "estimate", "low", "high", "note")}
            rows.append({"fact": f"{kind}_{dimension}"} | kept)
    return rows

"""What there is: images, techniques, perturbed copies, votes and those who gave them, counted."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from analysis.raters import FACTORS, demographics
from analysis.tables import Tables, list_missing
from analysis.votes import LIKERT
from pasta.studies.ratings.analyses.agreement import stars_used
from pasta.studies.ratings.analyses.names import (
    NO_VOTES,
    describe_samples,
    generic,
    some_anonymous,
    votes_of_people,
)

STATUSES = ("ok", "zero", "constant", "nan")
UNSTATED = "not stated"


def dataset_tables(
    images: pd.DataFrame | None = None,
    explanations: pd.DataFrame | None = None,
    perturbed: pd.DataFrame | None = None,
    votes: pd.DataFrame | None = None,
    annotators: pd.DataFrame | None = None,
    *,
    published: Collection[str] | None = None,
) -> Tables:
    """Count everything that a study has; what is not given is listed in ``missing``.

    Parameters
    ----------
    images
        Columns dataset, image_id, split, label.
    explanations
        Columns sample_id, dataset, image_id, method, backbone, kind, status.
    perturbed
        Columns sample_id, strength, perturbation, magnitude, changed, status.
    votes
        Columns sample_id, annotator_id, question, rating; submitted_at and simulated if known.
    annotators
        Columns annotator_id and any of age, sex, country, anonymous. Anonymous ones are no people
        and are not counted.
    published
        Techniques (method/backbone) of the papers; all others are extras. None: not known.

    Returns
    -------
    dict of DataFrames
        - ``splits``: dataset, split, n; ``classes``: dataset, label, n
        - ``techniques``: technique, method, backbone, kind, extra, n, one column for each status,
          rated (samples with votes)
        - ``perturbations``: strength, perturbation, n; ``strengths``: strength, n, changed (share
          of copies whose prediction is another), one column for each status
        - ``questions``: question, n (votes), samples, annotators, mean, sd
        - ``stars``: question, rating, n, share
        - ``plan``: of what, how many (levels), and the smallest, mean and largest number in each
        - ``people``: factor, group, n (annotators), votes, share (of votes)
        - ``study``: what, value; ``missing``: section, why
    """
    images, explanations, perturbed, votes, annotators = (
        None if frame is None or frame.empty else frame
        for frame in (images, explanations, perturbed, votes, annotators)
    )
    known = None if votes is None else votes_of_people(votes, annotators)
    anonymous = "" if votes is None or known is None else some_anonymous(votes, known)
    tables: Tables = {
        "splits": _count(images, ["dataset", "split"]),
        "classes": _count(images, ["dataset", "label"]),
        "techniques": _techniques(explanations, votes, published),
        "perturbations": _count(perturbed, ["strength", "perturbation"]).sort_values(
            ["strength", "perturbation"], ignore_index=True
        ),
        "strengths": _strengths(perturbed),
        **_votes(votes, explanations, count_people=not anonymous),
        "people": _people(known, annotators),
        "study": _study(images, explanations, votes, count_people=not anonymous),
    }
    lacks = {
        name: f"no table of {what} was given"
        for names, what, given in (
            (("splits", "classes"), "images", images),
            (("techniques",), "explanations", explanations),
            (("perturbations", "strengths"), "perturbed copies", perturbed),
        )
        for name in names
        if given is None
    }
    if votes is None:
        lacks |= dict.fromkeys(("questions", "stars", "plan"), "nobody has voted")
    if tables["people"].empty:
        lacks["people"] = anonymous or "nothing is known about the annotators"
    return list_missing(tables, lacks)


def _count(frame: pd.DataFrame | None, by: list[str]) -> pd.DataFrame:
    if frame is None:
        return pd.DataFrame(columns=[*by, "n"])
    return frame.groupby(by, sort=False).size().rename("n").reset_index()


def _techniques(
    explanations: pd.DataFrame | None, votes: pd.DataFrame | None, published: Collection[str] | None
) -> pd.DataFrame:
    head = ["technique", "method", "backbone", "kind", "extra", "n", *STATUSES, "rated"]
    if explanations is None:
        return pd.DataFrame(columns=head)
    known = describe_samples(explanations)
    known["status"] = explanations.drop_duplicates("sample_id")["status"].to_numpy()
    voted = [] if votes is None else votes["sample_id"].unique().tolist()
    rows = []
    for technique, here in known.groupby("technique", sort=False):
        row: dict[str, object] = {"technique": technique, "n": len(here)}
        row |= {name: here[name].iloc[0] for name in ("method", "backbone", "kind")}
        row["extra"] = None if published is None else technique not in published
        row |= _statuses(here)
        rows.append(row | {"rated": int(here.index.isin(voted).sum())})
    return pd.DataFrame(rows, columns=head)


def _statuses(frame: pd.DataFrame) -> dict[str, int]:
    return {name: int((frame["status"] == name).sum()) for name in STATUSES}


def _strengths(perturbed: pd.DataFrame | None) -> pd.DataFrame:
    rows = [
        {"strength": strength, "n": len(here), "changed": float(here["changed"].mean())}
        | _statuses(here)
        for strength, here in ([] if perturbed is None else perturbed.groupby("strength"))
    ]
    return pd.DataFrame(rows, columns=["strength", "n", "changed", *STATUSES])


def _votes(
    votes: pd.DataFrame | None, explanations: pd.DataFrame | None, count_people: bool
) -> Tables:
    given = None if votes is None else votes[votes["rating"].notna()]
    rows = []
    for question, here in [] if given is None else given.groupby("question", sort=True):
        row = {"question": question, "n": len(here), "samples": here["sample_id"].nunique()}
        number = here["annotator_id"].nunique() if count_people else np.nan
        row |= {"annotators": number, "mean": here["rating"].mean()}
        rows.append(row | {"sd": here["rating"].std(ddof=1)})
    columns = ["question", "n", "samples", "annotators", "mean", "sd"]
    return {
        "questions": pd.DataFrame(rows, columns=columns),
        "stars": stars_used(generic(NO_VOTES if given is None else given), LIKERT),
        "plan": _plan(given, explanations, count_people),
    }


def _plan(
    given: pd.DataFrame | None, explanations: pd.DataFrame | None, count_people: bool
) -> pd.DataFrame:
    """How evenly people and samples met; a person and a sample count once, whatever was asked."""
    columns = ["what", "of", "levels", "least", "mean", "most"]
    if given is None:
        return pd.DataFrame(columns=columns)
    met = given.drop_duplicates(["sample_id", "annotator_id"])
    rows = [_spread("ratings", "sample", met.groupby("sample_id").size())]
    if count_people:
        rows.append(_spread("samples", "annotator", met.groupby("annotator_id").size()))
        common = _in_common(met)
        if len(common):
            rows.append(_spread("samples in common", "pair of annotators", common))
    if explanations is not None:
        known = describe_samples(explanations).reindex(met["sample_id"].unique())
        for what, of in (("technique", "image"), ("image", "technique")):
            if known[of].notna().any():
                rows.append(_spread(f"rated {what}s", of, known.groupby(of)[what].nunique()))
    return pd.DataFrame(rows, columns=columns)


def _spread(what: str, of: str, counts: pd.Series) -> dict[str, object]:
    sizes = {"least": int(counts.min()), "mean": float(counts.mean()), "most": int(counts.max())}
    return {"what": what, "of": of, "levels": len(counts)} | sizes


def _in_common(met: pd.DataFrame) -> pd.Series:
    """Samples that each two annotators share."""
    annotator, names = pd.factorize(met["annotator_id"])
    sample, samples = pd.factorize(met["sample_id"])
    seen = np.zeros((len(names), len(samples)))
    seen[annotator, sample] = 1
    both = seen @ seen.T
    return pd.Series(both[np.triu_indices(len(names), 1)])


def _people(votes: pd.DataFrame | None, annotators: pd.DataFrame | None) -> pd.DataFrame:
    head = ["factor", "group", "n", "votes", "share"]
    if votes is None or votes.empty or annotators is None:
        return pd.DataFrame(columns=head)
    number = votes.groupby("annotator_id", sort=True).size()
    people, _ = demographics(generic(annotators), number.index)
    rows = []
    for factor in FACTORS:
        groups = people[factor].astype(object).where(people[factor].notna(), UNSTATED)
        if (groups == UNSTATED).all():
            continue
        for group in sorted(set(groups), key=_in_order):
            own = int(number[(groups == group).to_numpy()].sum())
            row = {"factor": factor, "group": group, "n": int((groups == group).sum())}
            rows.append(row | {"votes": own, "share": own / int(number.sum())})
    return pd.DataFrame(rows, columns=head)


def _in_order(group: object) -> tuple[bool, bool, str]:
    """Ages upwards ("under 25" comes first), those who said nothing last."""
    name = str(group)
    return name == UNSTATED, not name.startswith("under "), name


def _study(
    images: pd.DataFrame | None,
    explanations: pd.DataFrame | None,
    votes: pd.DataFrame | None,
    count_people: bool,
) -> pd.DataFrame:
    """The size of the study in a few numbers; what is not known is not there."""
    rows: list[dict[str, object]] = []

    def add(what: str, value: object) -> None:
        rows.append({"what": what, "value": str(value)})

    if images is not None:
        add("datasets", images["dataset"].nunique())
        add("images", len(images))
        add("classes", len(images[["dataset", "label"]].drop_duplicates()))
    if explanations is not None:
        known = describe_samples(explanations)
        add("techniques", known["technique"].nunique())
        add("explanations", len(known))
        add("explained images", known["image"].nunique())
    if votes is not None:
        add("votes", len(votes))
        add("samples", votes["sample_id"].nunique())
        if count_people:
            add("annotators", votes["annotator_id"].nunique())
        if "simulated" in votes:
            add("simulated votes", int(votes["simulated"].sum()))
        if "submitted_at" in votes and votes["submitted_at"].notna().any():
            add("first day", votes["submitted_at"].min().date())
            add("last day", votes["submitted_at"].max().date())
    return pd.DataFrame(rows, columns=["what", "value"])

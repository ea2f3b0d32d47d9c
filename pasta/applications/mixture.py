"""A mixture of methods: for each image the explanation with the best predicted score.

P2 (doi:10.48550/arXiv.2411.02470), "Mixture of XAI methods", Figure 7. By its making the mixture
scores at least as high as any single method on the same images, which says nothing about people:
so it is also compared by what was planted in the simulated raters, and on images whose
explanations the scorer has not seen.

Scores within ``TIE`` of the best are ties. They are counted, share the win, and what the mixture is
worth by any other measure is the mean over them, as if a coin were tossed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pasta.applications.paired import COLUMNS as DIFFERENCE
from pasta.applications.paired import paired_difference
from pasta.applications.settings import ApplicationsParams
from pasta.errors import PastaError

TIE = 1e-4  # stars: equal maps have equal vectors up to rounding
HELD_OUT, ALL, CROSSED = "held-out", "all", "cross-fitted"
MEAN, CEILING, ELSEWHERE = "mean of all methods", "best possible", "best on other images"
MEASURES = ("score", "faithfulness", "quality")


def candidates(
    scores: pd.DataFrame, backbone: str, measured: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The explanations of one classifier that have a score, with their faithfulness if known.

    ``measured`` has the columns sample_id and faithfulness.
    """
    own = scores[scores["backbone"] == backbone]
    if own.empty:
        known = ", ".join(dict.fromkeys(scores["backbone"]))
        raise PastaError(f"there is no explanation of {backbone!r} (there are some of {known})")
    usable: pd.DataFrame = own.dropna(subset=["good"])
    if usable.empty:
        raise PastaError(f"no explanation of {backbone} has a predicted score: all show nothing")
    if measured is None:
        return usable.assign(faithfulness=np.nan)
    return usable.merge(measured[["sample_id", "faithfulness"]], on="sample_id", how="left")


def choose(found: pd.DataFrame) -> pd.DataFrame:
    """One row for each image: who wins, by how much, and who shares the first place.

    ``margin`` is the distance in stars to the best that does not share the first place;
    ``undecided`` is true where all candidates have the same score, so the score cannot choose.
    """
    return pd.DataFrame([_choice(own) for _, own in found.groupby("image", sort=True)])


def _choice(own: pd.DataFrame) -> dict[str, Any]:
    ranked = own.sort_values(["good", "technique"], ascending=[False, True])
    stars = 4 * (ranked["good"].iloc[0] - ranked["good"].to_numpy())  # how far from the best
    first, rest = ranked[stars <= TIE], ranked[stars > TIE]
    return {
        "dataset": ranked["dataset"].iloc[0],
        "image_id": ranked["image_id"].iloc[0],
        "image": ranked["image"].iloc[0],
        "held_out": bool(ranked["held_out"].iloc[0]),
        "candidates": len(ranked),
        "technique": ranked["technique"].iloc[0],
        "sample_id": ranked["sample_id"].iloc[0],
        "tied": len(first),
        "winners": "; ".join(first["technique"]),
        "undecided": rest.empty and len(ranked) > 1,
        "score": float(ranked["score"].iloc[0]),
        "runner_up": "" if rest.empty else str(rest["technique"].iloc[0]),
        "margin": np.nan if rest.empty else float(stars[len(first)]),
        "faithfulness": float(first["faithfulness"].mean()),
        "quality": float(first["quality"].mean()),
    }


def wins(choices: pd.DataFrame, techniques: Sequence[str]) -> pd.DataFrame:
    """How often each technique has the best score (P2, Figure 7); a shared win counts in part."""
    rows = []
    for name, own in sets(choices):
        for technique in techniques:
            won = [technique in names.split("; ") for names in own["winners"]]
            tied = own.loc[won, "tied"].to_numpy(np.float64)
            rows.append(
                {
                    "images": name,
                    "technique": technique,
                    "n": len(own),
                    "wins": float((1 / tied).sum()),
                    "share": float((1 / tied).sum() / len(own)) if len(own) else np.nan,
                    "shared_wins": int((tied > 1).sum()),
                    "undecided": int(own["undecided"].sum()),
                }
            )
    return pd.DataFrame(rows)


def compare(
    found: pd.DataFrame,
    choices: pd.DataFrame,
    resamples: int,
    seed: int,
    images: str,
    group: str = "held_out",
) -> pd.DataFrame:
    """The mixture against every single method, their mean and the best that could be chosen.

    Columns images (the name given), measure (score, faithfulness, quality), against, and those of
    :func:`~pasta.applications.paired.paired_difference`: ``first`` is the mixture's mean,
    ``second`` the other's. "Best on other images" is what somebody would do without a choice for
    each image: always the method with the best mean score on images of another ``group``.
    """
    usual = best_elsewhere(found, group)
    rows = []
    for measure in MEASURES:
        mixture = choices.set_index("image")[measure]
        if not mixture.notna().any():
            continue  # no judge, or nothing was measured
        wide = found.pivot_table(measure, "image", "technique").reindex(mixture.index)
        others: dict[str, Any] = {str(one): wide[one] for one in wide.columns}
        others[MEAN] = wide.mean(axis=1)
        if measure == "quality":
            others[CEILING] = wide.max(axis=1)
        own = usual.reindex(mixture.index).dropna()
        if len(own) == len(mixture):
            others[ELSEWHERE] = [wide[name].get(image) for image, name in own.items()]
        tolerance = TIE if measure == "score" else 1e-9
        for against, values in others.items():
            difference = paired_difference(mixture, values, resamples, seed, tolerance)
            if against == ELSEWHERE:
                note = f"always {' or '.join(dict.fromkeys(own))}"
                difference["note"] = "; ".join(filter(None, (note, difference["note"])))
            rows.append({"images": images, "measure": measure, "against": against, **difference})
    return pd.DataFrame(rows, columns=["images", "measure", "against", *DIFFERENCE])


def best_elsewhere(found: pd.DataFrame, group: str) -> pd.Series[str]:
    """For each image the technique with the best mean score on images of other groups."""
    chosen = {}
    for value, own in found.groupby(group):
        others = found[found[group] != value]
        if len(others):
            best = str(others.groupby("technique")["good"].mean().idxmax())
            chosen.update(dict.fromkeys(own["image"], best))
    return pd.Series(chosen, dtype="str")


def sets(choices: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Images the scorer has not seen, and all images."""
    yield HELD_OUT, choices[choices["held_out"]]
    yield ALL, choices


def run_mixture(
    scores: pd.DataFrame,
    measured: pd.DataFrame | None,
    settings: ApplicationsParams,
    seed: int,
    crossed: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Tables ``choices``, ``wins`` and ``comparison`` of the mixture for one classifier.

    ``scores`` come from :func:`~pasta.applications.scores.score_stored`, ``measured`` from
    :func:`~pasta.applications.scores.read_faithfulness`, ``crossed`` from
    :func:`~pasta.applications.scores.cross_validate`: with them there is also a
    comparison on all images by scorers that have not seen them.
    """
    found = candidates(scores, settings.mixture.backbone, measured=measured)
    choices = choose(found)
    techniques = list(dict.fromkeys(found["technique"]))
    number = settings.resamples
    compared = [compare(found, own, number, seed, name) for name, own in sets(choices)]
    if crossed is not None:
        unseen = candidates(crossed, settings.mixture.backbone, measured=measured)
        compared.append(compare(unseen, choose(unseen), number, seed, CROSSED, "fold"))
    return {
        "choices": choices,
        "wins": wins(choices, techniques),
        "comparison": pd.concat(compared, ignore_index=True),
    }

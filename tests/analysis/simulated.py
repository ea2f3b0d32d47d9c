"""Small rating studies with known properties and planted effects, and the only row of a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

CUTS = np.array([-2.0, -0.6, 0.6, 2.0])
BRIDGE = 0.8


@dataclass(frozen=True)
class Study:
    """What a study is made of. Effects are log odds given the sample and the rater.

    Samples differ by draws of the bridge distribution (Wang & Louis 2003,
    doi:10.1093/biomet/90.4.765): averaged over samples the votes still follow a
    proportional-odds model exactly, with all effects times ``BRIDGE``.
    """

    raters: int = 14
    samples: int = 120
    votes: int = 5
    questions: int = 2
    sex: float = 0.0
    age: float = 0.0  # per ten years
    kind: float = 0.0  # of saliency over concepts
    technique: float = 0.0  # of each technique over the one before
    techniques: int = 6
    technique_spread: float = 0.0  # standard deviation of techniques, drawn anew for each study
    drift: float = 0.0  # log odds per 100 samples
    leniency: float = 0.4
    preference: float = 0.0  # spread between raters in the effect of kind


def simulate(study: Study, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Ratings, raters and samples."""
    rng = np.random.default_rng([20, seed])
    n = study.raters
    sex = np.arange(n) % 2
    age = rng.integers(19, 60, n)
    lenient = study.leniency * rng.standard_normal(n)
    lenient += study.sex * sex + study.age * (age - 40) / 10
    saliency = np.arange(study.samples) % 2
    technique = np.arange(study.samples) % study.techniques
    uniform = rng.random(study.samples)
    quality = np.log(np.sin(BRIDGE * np.pi * uniform) / np.sin(BRIDGE * np.pi * (1 - uniform)))
    drawn = study.technique_spread * np.random.default_rng([21, seed]).normal(size=study.techniques)
    quality = quality / BRIDGE + study.technique * technique + drawn[technique]
    slant = study.kind + study.preference * rng.standard_normal(n)
    keys = rng.random((study.samples, n)).argsort(axis=1)[:, : study.votes]
    sample, who = np.repeat(np.arange(study.samples), study.votes), keys.ravel()
    place = np.zeros(len(who))
    for one in range(n):
        mine = who == one
        place[mine] = rng.permutation(mine.sum())
    votes = np.column_stack([sample, who, place])
    rows = np.repeat(votes, study.questions, axis=0).T
    sample, who, place = rows[0].astype(np.intp), rows[1].astype(np.intp), rows[2]
    latent = quality[sample] + lenient[who] + slant[who] * saliency[sample]
    latent += study.drift * place / 100 + rng.logistic(size=len(who))
    start = pd.Timestamp("2024-01-01", tz="UTC")
    seconds = place * 60 + rng.random(len(place))
    ratings = pd.DataFrame(
        {
            "unit": np.char.mod("s%04d", sample),
            "rater": np.char.mod("a%02d", who),
            "item": np.char.mod("Q%d", 1 + np.arange(len(who)) % study.questions),
            "rating": 1 + np.digitize(latent, CUTS),
            "submitted_at": start + pd.to_timedelta(seconds, unit="s"),
        }
    )
    people = pd.DataFrame(
        {
            "rater": np.char.mod("a%02d", np.arange(n)),
            "age": age,
            "sex": np.where(sex, "female", "male"),
            "country": "India",
        }
    )
    shown = pd.DataFrame(
        {
            "unit": np.char.mod("s%04d", np.arange(study.samples)),
            "kind": np.where(saliency, "saliency", "concept"),
            "method": np.char.mod("m%d", technique),
            "backbone": "resnet",
            "image_id": np.char.mod("i%d", np.arange(study.samples) // study.techniques),
        }
    )
    return ratings, people, shown


def expected_stars(leniency: float, study: Study) -> float:
    """Mean stars of raters whose leniency is normal around a value, averaged over samples."""
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    shift: NDArray[np.float64] = leniency + study.leniency * points
    above = 1 / (1 + np.exp(-BRIDGE * (shift[:, None] - CUTS)))
    return float(1 + (weights / weights.sum()) @ above.sum(axis=1))


def study(
    samples: int = 120,
    raters: int = 8,
    questions: int = 3,
    noise: float = 0.7,
    votes: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Ratings of latent qualities; every sample is seen by ``votes`` random raters."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, (samples, questions))
    rows = []
    for sample in range(samples):
        for rater in sorted(rng.permutation(raters)[:votes]):
            seen = quality[sample] + rng.normal(0, noise, questions)
            for question, rating in enumerate(np.clip(np.rint(seen), 1, 5).astype(int)):
                rows.append((f"s{sample:03d}", f"p{rater}", f"Q{question + 1}", rating))
    frame = pd.DataFrame(rows, columns=["unit", "rater", "item", "rating"])
    number = frame["unit"].str[1:].astype(int)
    frame["image_id"] = "i" + (number // 6).astype(str)
    frame["kind"] = np.where(number % 2 == 0, "saliency", "concept")
    return frame


def one(frame: pd.DataFrame, **keys: object) -> dict[str, Any]:
    """The only row with these values."""
    here = frame
    for name, value in keys.items():
        here = here[here[name] == value]
    assert len(here) == 1, f"{len(here)} rows with {keys}"
    return {str(name): value for name, value in here.iloc[0].items()}

"""Annotators: who they are, and how that shows in their ratings.

Ages spread wider than in P1 (19 to 37 years, A.3), sexes are balanced and countries many, so that a
demographic effect can be found if it is planted. With an annotator's standard normal draws z ::

    leniency = leniency_sd * z1 + sex_leniency * (1/2 for women, -1/2 for men, 0 for others)
    noise    = noise * exp(noise_sd * z2 + age_noise * (age - 30) / 10)
    scale    = exp(scale_sd * z3)

An annotator is drawn from the seed and the annotator's name alone, whoever else takes part.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from pasta.seeds import generator
from pasta.studies.ratings.settings import RaterParams

AGE_MEAN, AGE_SD, YOUNGEST, OLDEST = 35.0, 12.0, 18, 75
REFERENCE_AGE = 30  # whose noise is the parameter
SEXES = {"female": 0.49, "male": 0.49, "non-binary": 0.02}
LENIENCY = {"female": 0.5, "male": -0.5, "non-binary": 0.0}
COUNTRIES = {
    "India": 0.30,
    "Brazil": 0.14,
    "Germany": 0.12,
    "Kenya": 0.12,
    "Indonesia": 0.12,
    "France": 0.10,
    "Canada": 0.10,
}
TRAITS = ("leniency", "noise", "scale")
DEMOGRAPHICS = ("age", "sex", "country")


def draw_raters(annotators: Iterable[str], params: RaterParams, seed: int) -> pd.DataFrame:
    """Columns annotator_id, age, sex, country, stated_*, leniency, noise, scale; sorted."""
    rows = [_rater(name, params, seed) for name in sorted(set(annotators))]
    return pd.DataFrame(rows).astype({"annotator_id": "str", "sex": "str", "country": "str"})


def annotators_table(raters: pd.DataFrame) -> pd.DataFrame:
    """The annotators as the study knows them: what they did not state is missing."""
    stated = {name: raters[name].where(raters[f"stated_{name}"]) for name in DEMOGRAPHICS}
    frame = pd.DataFrame({"annotator_id": raters["annotator_id"], **stated, "simulated": True})
    return frame.astype({"annotator_id": "str", "age": "Int64", "sex": "str", "country": "str"})


def _rater(name: str, params: RaterParams, seed: int) -> dict[str, object]:
    random = generator(seed, "simulation", "rater", name)
    age = _age(random)
    sex = str(random.choice(list(SEXES), p=list(SEXES.values())))
    country = str(random.choice(list(COUNTRIES), p=list(COUNTRIES.values())))
    lenient, noisy, wide = random.standard_normal(3)
    decades = (age - REFERENCE_AGE) / 10
    stated = random.random(len(DEMOGRAPHICS)) >= params.unstated
    return {
        "annotator_id": name,
        "age": age,
        "sex": sex,
        "country": country,
        **{
            f"stated_{what}": bool(is_stated)
            for what, is_stated in zip(DEMOGRAPHICS, stated, strict=True)
        },
        "leniency": params.leniency_sd * lenient + params.sex_leniency * LENIENCY[sex],
        "noise": params.noise * float(np.exp(params.noise_sd * noisy + params.age_noise * decades)),
        "scale": float(np.exp(params.scale_sd * wide)),
    }


def _age(random: np.random.Generator) -> int:
    """A normal draw within the bounds; drawn again rather than cut, so that no age piles up."""
    while True:
        age = round(float(random.normal(AGE_MEAN, AGE_SD)))
        if YOUNGEST <= age <= OLDEST:
            return age

"""What the papers' text says of the scorer's training, as it is here: sizes and settings."""

from __future__ import annotations

from statistics import fmean

import pandas as pd

from pasta.config import Params
from pasta.scoring.material import Material, split

FACTS = ["fact", "estimate"]


def scorer_facts(material: Material, params: Params) -> pd.DataFrame:
    """Sizes of the parts and settings of the linear scorer, P1's network.

    Parameters
    ----------
    material
        All rated explanations.
    params
        Those of the project.

    Returns
    -------
    DataFrame
        fact and estimate; of the parts the mean over all splits
    """
    scoring = params.scoring
    own = scoring.split
    _, rows = material.rated(params.embedding)
    places = material.places.iloc[rows].reset_index(drop=True)
    parts = [split(places, own.by, own.train, seed) for seed in range(own.seeds)]
    linear, loss = scoring.linear, scoring.linear.loss
    facts: dict[str, float] = {
        "training_samples": fmean(len(part.train) for part in parts),
        "validation_samples": fmean(len(part.validation) for part in parts),
        "test_samples": fmean(len(part.test) for part in parts),
        "learning_rate": linear.learning_rate,
        "batch_size": linear.batch_size,
        "epochs": linear.epochs,
        "alpha": loss.similarity,
        "beta": loss.squared_error,
        "gamma": loss.ranking,
        "runs": own.seeds,
        "hidden_units": scoring.baselines.mlp.hidden,
    }
    return pd.DataFrame([*facts.items()], columns=FACTS)

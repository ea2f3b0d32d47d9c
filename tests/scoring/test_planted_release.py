"""What is planted in a release is found again: by the analyses, and by a scorer that sees pictures.

The votes of a generated release follow effects of methods, backbones and kinds, and a residual of
each explanation that shows in its picture. The encoder of the pictures is a small CLIP with random
weights: it knows nothing, but tells looks apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from pasta.compute import limit_threads
from pasta.embedding.encoders import OpenClip
from pasta.embedding.inputs import with_label
from pasta.models.clip import ClipEncoder, open_model
from pasta.scoring.base import Rated
from pasta.scoring.evaluation import quadratic_kappa, star_counts
from pasta.scoring.material import split
from pasta.scoring.settings import By, OrdinalParams, PenaltyParams
from pasta.scoring.studies import fit_all
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.ratings.analyses.preference import preference_tables
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.study import rating_study
from pasta.studies.reading import read
from tests.release_generator import FILE, Planted, Settings, generate

limit_threads()
Q1 = 0
SIDE = 64
ORDINAL = OrdinalParams(strengths=(0.01, 0.001, 0.0001), sharing=(0.9,), members=2, steps=400)


@dataclass(frozen=True)
class Study:
    """A release as the analyses and the scorers see it."""

    planted: Planted
    votes: pd.DataFrame
    annotators: pd.DataFrame
    samples: pd.DataFrame
    labels: pd.DataFrame
    vectors: NDArray[np.float32]  # of the pictures that people saw, rows as in samples


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Forty images, each with 21 of 46 techniques."""
    out = tmp_path_factory.mktemp("planted") / "release"
    planted = generate(out, Settings(size=SIDE, perturbed=False))
    entries = json.loads((out / FILE).read_text())
    given = read(out, rating_study(load_protocol("p2"))).tables
    votes = given["votes"].reset_index(drop=True)
    votes = votes.assign(rating=votes["rating"].astype(int), simulated=False)
    annotators = given["annotators"].reset_index(drop=True)
    annotators = annotators.assign(anonymous=annotators["anonymous"] == "true")
    samples = pd.DataFrame({"sample_id": list(planted.samples)})
    names = ["dataset", "image_id", "method", "backbone"]
    samples[names] = samples["sample_id"].str.split("/", expand=True)
    maps = [entry["activations"].endswith(".npy") for entry in entries]
    samples["kind"] = np.where(maps, "saliency", "concept")
    samples["predicted"] = [entry["predictedclass"] for entry in entries]
    pictures = [Image.open(out / entry["explication"]) for entry in entries]
    vectors = encode([np.asarray(one.resize((SIDE, SIDE))) for one in pictures])
    return Study(planted, votes, annotators, samples, aggregate(votes), vectors)


def encode(pictures: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """Vectors of a small CLIP with random weights, each brought to mean 0 and deviation 1."""
    model, tokenizer = open_model("pasta-tiny", None, SIDE, seed=0)
    encoder = OpenClip(ClipEncoder(model, tokenizer, "pasta-tiny/random"), "tiny-clip")
    batch = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2)
    vectors = torch.cat([encoder.images(part) for part in torch.split(batch, 64)]).numpy()
    found: NDArray[np.float32] = (vectors - vectors.mean(0)) / (vectors.std(0) + 1e-9)
    return found


def rated(study: Study) -> Rated:
    """Vectors with the predicted class, and the votes on them."""
    row = pd.Index(study.samples["sample_id"]).get_indexer(pd.Index(study.labels["sample_id"]))
    question = pd.Index(QUESTIONS).get_indexer(pd.Index(study.labels["question"]))
    labels = np.full((len(study.samples), len(QUESTIONS)), np.nan, np.float32)
    labels[row, question] = study.labels["mode"]
    counts = np.zeros((*labels.shape, 5), np.int64)
    for star in range(5):
        counts[row, question, star] = study.labels[f"votes_{star + 1}"]
    predicted = study.samples["predicted"].tolist()
    features = with_label(study.vectors, predicted, sorted(set(predicted)))
    return Rated(features, counts, labels)


def kappas(study: Study, by: By) -> dict[str, float]:
    """Quadratic kappa of scorers for Q1 on explanations that they have not seen."""
    every, places = rated(study), study.samples[["dataset"]].copy()
    places["image"] = study.samples["dataset"] + "/" + study.samples["image_id"]
    places["technique"] = study.samples["method"] + "/" + study.samples["backbone"]
    parts = split(places, by, 0.7, 0)
    train, validation, test = map(every.at, (parts.train, parts.validation, parts.test))
    settings = {"ordinal": ORDINAL, "ridge": PenaltyParams(alpha=30.0), "constant": None}
    found = {}
    for name, own in settings.items():
        (fitted,) = fit_all(name, [train], [validation], own, [0])
        stars = fitted.predict(test.features).stars
        found[name] = float(quadratic_kappa(star_counts(test.labels[:, Q1], stars[:, Q1])))
    return found


def test_techniques_are_ordered_as_planted(study: Study) -> None:
    tables = preference_tables(
        study.votes, study.samples, annotators=study.annotators, resamples=200, seed=0
    )
    scores = tables["technique_scores"]
    fidelity = scores[scores["dimension"] == "fidelity"].set_index("technique")["estimate"]
    wanted = pd.Series(study.planted.techniques)
    assert set(fidelity.index) == set(wanted.index)
    assert fidelity.corr(wanted, method="spearman") > 0.9


def test_the_preference_for_saliency_is_found_with_its_size(study: Study) -> None:
    tables = preference_tables(
        study.votes, study.samples, annotators=study.annotators, resamples=200, seed=0
    )
    kinds = tables["kinds"].pivot_table("estimate", "question", "group")
    found = kinds["saliency"] - kinds["concept"]
    quality = pd.Series(study.planted.samples)
    maps = (study.samples["kind"] == "saliency").to_numpy()
    planted = study.planted.settings.spread * (quality[maps].mean() - quality[~maps].mean())
    assert planted > 0.2
    for question in ("Q1", "Q2", "Q3", "Q4"):
        assert found[question] == pytest.approx(planted, abs=0.2)


@pytest.mark.parametrize("by", ["image", "image_and_technique"])
def test_a_scorer_finds_the_preferences_in_pictures(study: Study, by: By) -> None:
    found = kappas(study, by)
    assert found["constant"] == pytest.approx(0, abs=1e-9)
    assert found["ordinal"] > 0.35
    assert found["ridge"] > 0.3

"""Scoring shows encoders what the embed stage has shown them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pasta.embedding.embed import embed_dataset
from pasta.embedding.stored import load_embeddings
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.scoring.encoding import ExplanationEncoder
from pasta.scoring.folder import PreprocessingCard
from pasta.scoring.given import concepts_given, images_given, maps_given
from tests.embedding import small


def test_scores_see_what_the_embed_stage_has_embedded(tmp_path: Path) -> None:
    """Else a scorer would be asked about other vectors than it has learned from."""
    dataset = small.write_dataset(tmp_path / "catsdogscars")
    settings = small.settings(n_top=3)
    embed_dataset(dataset, small.Counting(), settings, dataset / "embeddings", small.silent)
    stored, vectors = StoredExplanations(dataset), load_embeddings(dataset, settings)
    pixels = np.load(dataset / "images.npy")
    shown = PreprocessingCard(
        image="overlay", blur=0.1, text="sentence", n_top=3, template="", overlay={}
    )
    ours = ExplanationEncoder(small.Counting(), shown, batch_size=4)
    every = np.arange(small.NUMBER)
    for technique in [Technique(*key) for key in (*small.SALIENCY, *small.CONCEPT)]:
        rows = (vectors.table["method"] == technique.method).to_numpy()
        if technique.kind == "concept":
            names, values = stored.concepts(technique)
            given = [dict(zip(names, line, strict=True)) for line in values[every]]
            found = ours.concepts(concepts_given(given)[0], small.silent)
        else:
            images = images_given(pixels)
            maps, _ = maps_given(stored.shown(technique, every.tolist()), images, technique.signed)
            found = ours.pictures(images, maps, every, technique.signed, small.silent)
        assert np.allclose(found, vectors.vectors[rows], atol=1e-6), technique.key

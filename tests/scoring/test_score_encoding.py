"""Scoring shows encoders what the embed stage has shown them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from pasta.embedding.stage import embed_unit, units_of
from pasta.embedding.stored import load_embeddings, write_vectors
from pasta.explanations.stored import StoredExplanations
from pasta.scoring.encoding import ExplanationEncoder
from pasta.scoring.given import concepts_given, images_given, maps_given
from pasta.scoring.stored import PreprocessingCard
from tests.embedding import small
from tests.scoring.small_scorer import silent


def test_scores_see_what_the_embed_stage_has_embedded(tmp_path: Path) -> None:
    """Else a scorer would be asked about other vectors than it has learned from."""
    group = small.write_group(tmp_path)
    settings = small.settings(n_top=3)
    for unit in units_of([group], [settings], tmp_path):
        arrays = embed_unit(unit)
        known = json.loads(str(arrays.pop("known")))
        write_vectors(arrays, known["encoder"], group.embeddings / unit.name)
    stored, vectors = StoredExplanations(group.explanations), load_embeddings(group, settings)
    pixels = np.load(group.images / "images.npy")
    shown = PreprocessingCard(
        image="overlay", blur=0.1, text="sentence", n_top=3, template="", overlay={}
    )
    ours = ExplanationEncoder(small.Counting(), shown, batch_size=4)
    every = np.arange(small.NUMBER)
    for technique in stored.techniques:
        rows = (vectors.table["method"] == technique.method).to_numpy()
        if technique.kind == "concept":
            names, values = stored.concepts(technique)
            given = [dict(zip(names, line, strict=True)) for line in values[every]]
            found = ours.concepts(concepts_given(given)[0], silent)
        else:
            images = images_given(pixels)
            maps, _ = maps_given(stored.shown(technique, every.tolist()), images, technique.signed)
            found = ours.pictures(images, maps, every, technique.signed, silent)
        assert np.allclose(found, vectors.vectors[rows], atol=1e-6), technique.key

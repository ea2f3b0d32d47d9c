"""Scoring 200 heat maps at once beside encoding them one by one, as open_clip's users do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from open_clip import image_transform
from PIL import Image

from pasta.embedding import inputs
from pasta.embedding.encoders import OpenClip
from pasta.explanations import rendering
from pasta.models.clip import ClipEncoder, open_model
from pasta.scoring.score import PastaScore
from tests.benchmarks.conftest import Table
from tests.scoring.small_scorer import CLASSES, heat, labels, make_scorer, pictures

NUMBER, SCALE = 200, 3  # maps; 32 x 3 = 96 pixels, as in the demo


def larger(array: Any) -> Any:
    return array.repeat(SCALE, axis=1).repeat(SCALE, axis=2)


def test_heat_maps_are_scored_together(table: Table, tmp_path: Path) -> None:
    model, tokenizer = open_model("pasta-tiny", None)
    encoder = OpenClip(ClipEncoder(model, tokenizer, "pasta-tiny/random"), "tiny-clip")
    score: Any = PastaScore.load("Q1", make_scorer(tmp_path, encoder), encoder=encoder)
    images, maps, names = larger(pictures(NUMBER)), larger(heat(NUMBER)), labels(NUMBER)
    prepare = image_transform(encoder.size, False, model.visual.image_mean, model.visual.image_std)

    def together() -> Any:
        return score(image=images, saliency=maps, label=names).score

    @torch.no_grad()
    def one_by_one() -> Any:
        found = []
        for image, saliency, name in zip(images, maps, names, strict=True):
            shown = rendering.overlay(image, saliency, False, encoder.size)
            batch = prepare(Image.fromarray(shown))[None]
            vector = model.encode_image(batch, normalize=True).numpy()
            features = inputs.with_label(vector, [name], CLASSES)
            found.append(float(score.stored.fitted.predict(features).stars[0, 0]))
        return found

    score(image=images[:64], saliency=maps[:64], label="cat")  # warm up
    table.compare(
        f"score of {NUMBER} heat maps", "open_clip, one by one", one_by_one, together, times=3
    )

"""Scoring heat maps: beside encoding them one by one, and beside a large encoder's own time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from open_clip import image_transform
from PIL import Image

from pasta.commands.score import score_files
from pasta.embedding import inputs
from pasta.embedding.encoders import OpenClip
from pasta.explanations import rendering
from pasta.models.clip import ClipEncoder, open_model
from pasta.scoring.files import list_folder
from pasta.scoring.score import PastaScore
from tests.benchmarks.conftest import Table
from tests.scoring.small_scorer import CLASSES, heat, labels, make_scorer, pictures

NUMBER, SCALE = 200, 3  # maps; 32 x 3 = 96 pixels, as in the demo
LARGE, FEW = "ViT-B-16", 64  # a true encoder at its size, with random weights; maps


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


def test_a_folder_takes_little_longer_than_its_encoder(table: Table, tmp_path: Path) -> None:
    """Files to scores, intervals and notes: a ratio of 0.83 would be 1.2 times the encoder."""
    model, tokenizer = open_model(LARGE, None)
    encoder = OpenClip(ClipEncoder(model, tokenizer, f"{LARGE}/random"), "tiny-clip")
    score = PastaScore.load("Q1", make_scorer(tmp_path / "project", encoder), encoder=encoder)
    folder = tmp_path / "maps"
    folder.mkdir()
    side = (encoder.size, encoder.size)
    for row, (image, saliency) in enumerate(zip(pictures(FEW), heat(FEW), strict=True)):
        name = f"catsdogscars_{row}_cat"
        Image.fromarray(image).resize(side).save(folder / f"{name}.png")
        np.save(folder / f"{name}.npy", np.asarray(Image.fromarray(saliency).resize(side)))
    assert score.card.labels is not None
    listed = list_folder(folder, score.card.labels.datasets)
    shown = torch.randint(0, 256, (score.batch_size, 3, *side), dtype=torch.uint8)

    def encoder_alone() -> None:
        for start in range(0, FEW, len(shown)):
            encoder.images(shown[: FEW - start])

    encoder.images(shown[:2])  # warm up
    table.compare(
        f"`pasta score` of {FEW} heat maps, {LARGE}",
        "the encoder alone",
        encoder_alone,
        lambda: score_files(score, listed, signed=False) and None,
        more_right="it scores",
    )

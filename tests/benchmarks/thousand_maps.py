"""`pasta score` of 1,000 heat maps beside the encoder's own forward time, in processor seconds.

Images and maps are files at the encoder's size; the encoder has random weights, the scorer is a
small one behind it. Both run in this process on one thread, the encoder first. The smaller the
encoder, the more the rest shows. ::

    python -m tests.benchmarks.thousand_maps --encoder ViT-B-32 --maps 1000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from pasta.commands.score import score_files
from pasta.embedding.encoders import OpenClip
from pasta.models.clip import ClipEncoder, open_model
from pasta.scoring.files import list_folder
from pasta.scoring.score import PastaScore
from tests.scoring.small_scorer import heat, make_scorer, pictures


def processor_seconds(work: Callable[[], object]) -> float:
    """Of this process, in all its threads."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    """Write the files, measure both, print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--encoder", default="ViT-B-32", help="an architecture of open_clip")
    parser.add_argument("--maps", type=int, default=1000)
    given = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = open_model(given.encoder, None)
    encoder = OpenClip(ClipEncoder(model, tokenizer, f"{given.encoder}/random"), "tiny-clip")
    side = (encoder.size, encoder.size)
    with tempfile.TemporaryDirectory() as place:
        scorer = make_scorer(Path(place) / "project", encoder)
        score = PastaScore.load("Q1", scorer, encoder=encoder)
        folder = Path(place) / "maps"
        folder.mkdir()
        for row, (image, saliency) in enumerate(
            zip(pictures(given.maps), heat(given.maps), strict=True)
        ):
            name = f"catsdogscars_{row}_cat"
            Image.fromarray(image).resize(side).save(folder / f"{name}.png")
            np.save(folder / f"{name}.npy", np.asarray(Image.fromarray(saliency).resize(side)))
        assert score.card.labels is not None
        shown = torch.randint(0, 256, (score.batch_size, 3, *side), dtype=torch.uint8)

        def encoder_alone() -> None:
            for start in range(0, given.maps, len(shown)):
                encoder.images(shown[: given.maps - start])

        def scored() -> None:
            listed = list_folder(folder, score.card.labels.datasets if score.card.labels else {})
            score_files(score, listed, signed=False)

        encoder.images(shown[:2])  # warm up
        alone, whole = processor_seconds(encoder_alone), processor_seconds(scored)
    print(
        f"{given.maps:,} maps of {encoder.size} px, {given.encoder}: encoder {alone:.1f} s, "
        f"`pasta score` {whole:.1f} s, {whole / alone:.3f} times"
    )


if __name__ == "__main__":
    main()

"""A small rating study in a folder: one saliency map and one list of concepts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from pasta.seeds import generator
from pasta.studies.ratings.app_items import write_study
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.rateable import Pixels, Views
from pasta.studies.ratings.released import View

SIDE = 160
SAMPLES = ("made/cat/gradcam/resnet50", "made/house/cbm/clip")
CONCEPTS = {"roof": 0.82, "windows": 0.47, "chimney": 0.2, "fur": -0.31, "whiskers": -0.08}


def drawn(sample: str) -> Image.Image:
    """A cat or a house."""
    picture = Image.new("RGB", (SIDE, SIDE), (176, 196, 190))
    pen = ImageDraw.Draw(picture)
    pen.rectangle([0, 118, SIDE, SIDE], fill=(136, 142, 112))
    if "cat" in sample:
        fur, dark = (196, 142, 92), (62, 44, 34)
        pen.ellipse([48, 84, 118, 150], fill=fur)
        pen.polygon([(50, 62), (54, 22), (80, 48)], fill=fur)
        pen.polygon([(116, 62), (112, 22), (86, 48)], fill=fur)
        pen.ellipse([46, 38, 120, 104], fill=fur)
        for x in (66, 92):
            pen.ellipse([x, 60, x + 9, 72], fill=dark)
        pen.polygon([(79, 78), (88, 78), (83, 84)], fill=(150, 80, 78))
        for y in (80, 86):
            pen.line([(74, y), (40, y - 4)], fill=dark)
            pen.line([(92, y), (126, y - 4)], fill=dark)
    else:
        pen.rectangle([38, 70, 122, 132], fill=(206, 190, 166))
        pen.polygon([(28, 72), (80, 28), (132, 72)], fill=(132, 74, 62))
        pen.rectangle([98, 32, 110, 56], fill=(110, 84, 76))
        for x in (48, 94):
            pen.rectangle([x, 84, x + 18, 104], fill=(92, 116, 134))
        pen.rectangle([72, 96, 88, 132], fill=(88, 66, 54))
    return picture


def heat(picture: Pixels, x: float, y: float) -> Pixels:
    """A warm spot over a grey picture."""
    rows, columns = np.mgrid[0:SIDE, 0:SIDE]
    strength = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * 24**2))[..., None]
    grey = picture.mean(axis=2, keepdims=True) * 0.6 + 70
    warm = np.array([214, 92, 34])
    pixels: Pixels = (grey * (1 - 0.8 * strength) + warm * 0.8 * strength).astype(np.uint8)
    return pixels


class Drawn(Views):
    """Two samples without stored explanations behind them."""

    def __init__(self) -> None:
        super().__init__([])

    def __contains__(self, sample_id: str) -> bool:
        return sample_id in SAMPLES

    def predicted(self, sample_id: str, strength: str | None = None) -> str:
        """The class; another one after a strong change."""
        name = "cat" if "cat" in sample_id else "house"
        return {"cat": "dog", "house": "church"}[name] if strength == "strong" else name

    def view(self, sample_id: str, strength: str | None = None) -> View:
        """The picture, or a darker and noisier one, with what explains it."""
        pixels = np.asarray(drawn(sample_id)).astype(float)
        amount = {None: 0.0, "light": 0.35, "strong": 1.0}[strength]
        noise = generator(1, "changed", sample_id, str(strength)).normal(0, 70, pixels.shape)
        image = np.clip(pixels * (1 - 0.4 * amount) + amount * noise, 0, 255).astype(np.uint8)
        if "cbm" not in sample_id:
            strongest = np.zeros((SIDE, SIDE), np.float32)
            return View(image, strongest, heat(image, 83 - 50 * amount, 60 + 60 * amount))
        values = {name: value * (1 - 1.4 * amount) for name, value in CONCEPTS.items()}
        return View(image, values, image)


def ratings_study(folder: Path, people: int = 3) -> Path:
    """Two samples and the rankings for everybody."""
    folder.mkdir(parents=True)
    rows = [
        {"sample_id": sample, "annotator_id": f"n{number}", "position": position}
        for number in range(people)
        for position, sample in enumerate(SAMPLES, start=1)
    ]
    write_study(folder, pd.DataFrame(rows), Drawn(), load_protocol("p2"), seed=1)
    return folder

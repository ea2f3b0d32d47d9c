"""A group with a few made-up explanations, and an encoder that counts what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pasta import compute, store, tables
from pasta.datasets.vocabulary import vocabulary
from pasta.embedding.encoders import ENCODERS
from pasta.embedding.settings import EmbeddingParams, HandcraftedParams, VariantsParams
from pasta.explanations.catalog import technique
from pasta.explanations.stored import write_facts
from pasta.layout import Group
from pasta.seeds import generator

compute.limit_threads()
SIZE, NUMBER = 16, 6
SALIENCY = (("gradcam", "resnet50"), ("lime", "vit_b_16"))
CONCEPT = (("clip_qda", "clip_qda"),)
LABELS = ("cat", "dog", "cat", "dog", "cat", "dog")


def settings(**changes: Any) -> EmbeddingParams:
    plain: dict[str, Any] = {
        "encoder": "counting",
        "weights": "none",
        "image": "overlay",
        "blur": 0.1,
        "text": "sentence",
        "n_top": 5,
        "template": "",
        "batch_size": 4,
        "handcrafted": HandcraftedParams(ranks=(1, 2, 3), components=3, folds=3, shrinkage=0.5),
        "variants": VariantsParams(images=(), n_top=(), template="", weighted=False, encoders={}),
    }
    return EmbeddingParams(**{**plain, **changes})


class Counting:
    """Projects pictures and hashes texts; remembers how many it was asked for."""

    def __init__(self, md5: str = "0" * 32, name: str = "counting", room: int = 40) -> None:
        self.name, self.size, self.width, self.room = name, SIZE, 8, room
        self._md5 = md5
        self.pictures = 0
        self.read: list[str] = []
        random = generator(0, "projection", md5)
        self.matrix = torch.from_numpy(random.normal(size=(3 * SIZE * SIZE, self.width)))

    @property
    def md5(self) -> str:
        return self._md5

    def images(self, batch: Tensor) -> Tensor:
        self.pictures += len(batch)
        return (batch.double().flatten(1) @ self.matrix / 255).float()

    def texts(self, texts: Sequence[str]) -> Tensor:
        self.read += texts
        rows = [generator(0, self._md5, text).normal(size=self.width) for text in texts]
        return torch.tensor(np.array(rows)).float().reshape(-1, self.width)

    def fits(self, text: str) -> bool:
        return len(text) <= self.room


@ENCODERS.register("counting", title="an encoder for tests", weights="none")
def open_counting(weights: str, root: Path) -> Counting:
    """A new one; its weights are its md5."""
    del root
    return Counting("0" * 32 if weights == "none" else weights)


def write_group(root: Path, not_ok: str = "", key: str = "catsdogscars") -> Group:
    """Images and explanations; ``not_ok`` is a sample whose map is constant."""
    group = Group(key, "catsdogscars", root / "pipelines/data")
    folder, out = group.images, group.explanations
    words = vocabulary("catsdogscars")
    random = generator(0, "small")
    names = [f"{number:04d}" for number in range(NUMBER)]
    images = [
        {
            "dataset": "catsdogscars",
            "image_id": name,
            "source": "drawn",
            "split": "test",
            "label": label,
            "width": SIZE,
            "height": SIZE,
            "row": row,
        }
        for row, (name, label) in enumerate(zip(names, LABELS, strict=True))
    ]
    store.write(tables.IMAGES.frame(images), folder / "images.parquet", tables.IMAGES)
    pixels = random.integers(0, 256, (NUMBER, SIZE, SIZE, 3), dtype=np.uint8)
    store.write_array(pixels, folder / "images.npy")
    store.write_array(np.zeros((NUMBER, SIZE, SIZE), np.uint8), folder / "parts.npy")
    for method, backbone in SALIENCY:
        signs = (-1, 1) if method == "lime" else (0, 1)
        maps = random.uniform(*signs, (3 * NUMBER, SIZE, SIZE)).astype(np.float16)
        store.write_array(maps, out / f"{method}.{backbone}.npy")
    for method, backbone in CONCEPT:
        values = random.uniform(-1, 1, (3 * NUMBER, len(words.concepts)))
        rows = [
            {"row": row, "concept": concept, "value": value}
            for row, line in enumerate(values)
            for concept, value in zip(words.concepts, line, strict=True)
        ]
        file = out / f"{method}.{backbone}.parquet"
        store.write(tables.ATTRIBUTIONS.frame(rows), file, tables.ATTRIBUTIONS)
    write_tables(out, (*SALIENCY, *CONCEPT), not_ok)
    return group


def write_tables(out: Path, techniques: Sequence[tuple[str, str]], not_ok: str = "") -> None:
    """The tables of explanations and of perturbed copies."""
    explained: list[dict[str, Any]] = []
    copies: list[dict[str, Any]] = []
    for method, backbone in techniques:
        for row in range(NUMBER):
            sample = f"catsdogscars/{row:04d}/{method}/{backbone}"
            common = {"predicted": LABELS[row], "scale": 1.0}
            explained.append(
                {
                    **common,
                    "sample_id": sample,
                    "dataset": "catsdogscars",
                    "image_id": f"{row:04d}",
                    "method": method,
                    "backbone": backbone,
                    "kind": "concept" if (method, backbone) in CONCEPT else "saliency",
                    "status": "constant" if sample == not_ok else "ok",
                    "row": row,
                }
            )
            copies += [
                {
                    **common,
                    "sample_id": sample,
                    "strength": strength,
                    "perturbation": "color",
                    "magnitude": 0.3,
                    "changed": False,
                    "status": "ok",
                    "row": place * NUMBER + row,
                    "copy": (place - 1) * NUMBER + row,
                }
                for place, strength in enumerate(("light", "strong"), 1)
            ]
    write_facts(out, [technique(f"{method}/{backbone}") for method, backbone in techniques])
    frame = tables.EXPLANATIONS.frame(explained)
    store.write(frame, out / "explanations.parquet", tables.EXPLANATIONS)
    store.write(tables.PERTURBED.frame(copies), out / "perturbed.parquet", tables.PERTURBED)


def change_map(group: Group, row: int) -> None:
    """Another map of the first technique, in the place of the old one."""
    method, backbone = SALIENCY[0]
    file = group.explanations / f"{method}.{backbone}.npy"
    maps = np.array(store.read_array(file))
    maps[row] = np.flip(maps[row])
    store.write_array(maps, file)

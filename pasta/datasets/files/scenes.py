"""Scene labels of COCO: a Places365 network looks at every image, and six kinds of places remain.

P1 (A.1.1) takes the indoor images of COCO, 53,051, and labels them with a scene network trained on
MIT SUN; neither the network nor its output is published. Here a network of the same laboratory's
Places365 does both: an image is indoor if the indoor scenes have more than half of the probability,
and its label is the kind of place whose scenes have most of it together. Which scene is of which
kind is in ``places365.yaml``.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from ruamel.yaml import YAML
from torch import nn
from torchvision import models
from torchvision.transforms import v2

from pasta import compute, store
from pasta.datasets.files import annotating
from pasta.datasets.files.annotating import Picture
from pasta.datasets.files.check import LAYOUTS
from pasta.datasets.files.coco import PARTS, SCENES, annotation_file, list_annotated
from pasta.datasets.files.fetch import Remote, retrieve
from pasta.datasets.files.images import decode
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import InputError, PastaError
from pasta.processes import remember
from pasta.progress import bar
from pasta.registry import did_you_mean
from pasta.resume import Arrays
from pasta.seeds import entropy
from pasta.text_files import write_csv

MAPPING = Path(__file__).with_name("places365.yaml")
OUTDOOR = "outdoor"
ALL_SCENES = "scenes.csv"  # what the network saw in every image, to look over
RANDOM = "random"
NETWORKS = ("resnet18", "resnet50")
ADDRESS = "http://places2.csail.mit.edu/models_places365/{}_places365.pth.tar"
LITTLE = 64  # images: fewer are labelled in this process
# As the networks were trained: both sides to 256 pixels, then the centre.
PREPARE = v2.Compose(
    [
        v2.Resize((256, 256)),
        v2.CenterCrop(224),
        v2.PILToTensor(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
)


@lru_cache(maxsize=1)
def scene_groups() -> Mapping[str, str]:
    """The kind of place of each scene, in the order of the network's outputs."""
    return {str(scene): str(group) for scene, group in YAML(typ="safe").load(MAPPING).items()}


@dataclass(frozen=True)
class SceneNetwork:
    """Which network labels: an architecture, and a file of weights or ``random``."""

    architecture: str
    weights: str
    seed: int = 0

    @property
    def fingerprint(self) -> str:
        """The sha256 of the weights' file, or the seed of random ones."""
        if self.weights == RANDOM:
            return f"{RANDOM} {self.seed}"
        with Path(self.weights).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def find_weights(architecture: str, weights: str | None) -> str:
    """The file of the weights, which is downloaded if it is an address of the web.

    Parameters
    ----------
    architecture
        One of ``NETWORKS``.
    weights
        A file, an address, ``random``, or None for what the authors of Places365 publish.
    """
    if architecture not in NETWORKS:
        hint = did_you_mean(architecture, list(NETWORKS))
        raise PastaError(f"there is no scene network {architecture!r}. {hint}")
    chosen = weights or ADDRESS.format(architecture)
    if chosen == RANDOM or Path(chosen).is_file():
        return chosen
    if not chosen.startswith(("http://", "https://")):
        raise PastaError(
            f"{chosen}: there is no such file. Expected weights of {architecture} with 365 scenes: "
            f"a file, an address such as {ADDRESS.format(architecture)}, or `random`"
        )
    folder = Path(torch.hub.get_dir()) / "checkpoints" / "places365"
    return str(retrieve(Remote(chosen, chosen.rpartition("/")[2]), folder))


@remember
def open_network(network: SceneNetwork) -> nn.Module:
    """The network on the device of this process, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(entropy(network.seed, "scenes", "weights") % 2**63)
        model: nn.Module = models.get_model(
            network.architecture, weights=None, num_classes=len(scene_groups())
        )
    if network.weights != RANDOM:
        load_weights(model, Path(network.weights), network.architecture)
    return compute.place(model.eval())


def load_weights(model: nn.Module, file: Path, architecture: str) -> None:
    """Load a checkpoint of the Places365 authors, or a plain state dict, without running code."""
    expected = f"a checkpoint of {architecture} for the 365 scenes of Places365"
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, OSError, KeyError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"cannot be read as weights: {reason}", file=file, expected=expected
        ) from None
    state = content.get("state_dict", content) if isinstance(content, dict) else content
    if not isinstance(state, dict) or not all(torch.is_tensor(one) for one in state.values()):
        raise InputError("holds no weights", file=file, expected=expected)
    named = {str(name).removeprefix("module."): value for name, value in state.items()}
    try:
        model.load_state_dict(named)
    except RuntimeError as error:
        reason = "; ".join(line.strip() for line in str(error).splitlines()[1:3])
        problem = f"the weights are of another network: {reason[:300]}"
        raise InputError(problem, file=file, expected=expected) from None


@dataclass(frozen=True)
class SceneUnit:
    """Some images that a network sees at a time."""

    root: Path
    network: SceneNetwork
    pictures: tuple[Picture, ...]


def see_scenes(unit: SceneUnit) -> Arrays:
    """Return the probability of each scene for each image, and why an image cannot be read."""
    prepared: list[torch.Tensor] = []
    problems: list[str] = []
    for picture in unit.pictures:
        try:
            prepared.append(PREPARE(decode(unit.root / picture.name)))
            problems.append("")
        except InputError as error:
            problems.append(error.problem)
    seen = np.zeros((len(problems), len(scene_groups())), dtype=np.float32)
    if prepared:
        model = open_network(unit.network)
        where = compute.device_of(model)
        with torch.inference_mode(), compute.autocast(where):
            outputs = model(compute.place(torch.stack(prepared), where))
        readable = [not problem for problem in problems]
        seen[readable] = compute.to_numpy(outputs.float().softmax(1))
    return {"probabilities": seen.astype(np.float16), "problems": np.array(problems, dtype=np.str_)}


def group_scenes(
    probabilities: NDArray[np.floating[Any]], classes: Sequence[str], indoor: float
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return how indoor each image is, and its kind of place ("" where it is not indoor enough).

    Parameters
    ----------
    probabilities
        Images x scenes.
    classes
        The kinds of places; of two with the same probability the first is taken.
    indoor
        How much of the probability must be on indoor scenes for an image to be used.
    """
    groups = np.array(list(scene_groups().values()))
    masses = np.stack([probabilities[:, groups == name].sum(1, dtype=float) for name in classes], 1)
    inside = masses.sum(1)
    labels = np.array(classes)[masses.argmax(1)]
    return inside, np.where(inside > indoor, labels, "")


def label_coco(
    root: Path,
    network: SceneNetwork,
    *,
    indoor: float = 0.5,
    batch: int = 64,
    lenient: bool = False,
    overwrite: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Label every image of COCO 2017 that has objects; write ``scene_labels.csv``.

    ``scenes.csv`` beside it says of every image what the network saw.

    Returns
    -------
    table of all images (image_id, folder, scene, probability, indoor, label), and the images that
    were left out with the reason
    """
    annotating.require_folder(root, LAYOUTS["coco"])
    annotating.require_new(root / SCENES, overwrite)
    ids = {
        f"{folder}/{name}": (number, folder)
        for folder, _ in PARTS
        for number, name in list_annotated(annotation_file(root, folder))
    }
    if not ids:
        raise InputError("no image has an object", file=root / "annotations")
    pictures, missing = annotating.look_at(root, ids, lenient)
    settings = {"network": network.architecture, "weights": network.fingerprint, "batch": batch}
    with annotating.kept_beside(root / SCENES, settings) as kept:
        units = [SceneUnit(root, network, some) for some in annotating.divide(pictures, batch)]
        seen: dict[int, Arrays] = {}
        little = len(pictures) <= LITTLE
        with bar("scenes of coco", len(pictures), "images") as progress:
            for place, found in compute.map_units(see_scenes, units, kept, little):
                seen[place] = found
                progress.advance(len(units[place].pictures))
        probabilities = np.concatenate([seen[place]["probabilities"] for place in sorted(seen)])
        problems = np.concatenate([seen[place]["problems"] for place in sorted(seen)])
        bad = [
            f"{picture.name}: {problem}"
            for picture, problem in zip(pictures, problems, strict=True)
            if problem
        ]
        annotating.refuse(root, bad, len(pictures), lenient, "cannot be read")
        names = [picture.name for picture in pictures]
        table = _table([ids[name] for name in names], probabilities, indoor)[problems == ""]
        labelled = table.loc[table["label"] != "", ["image_id", "label"]]
        if labelled.empty:
            raise PastaError(
                f"none of {len(table):,} images is indoor with more than {indoor:g} of the "
                "probability; no table was written. A lower --indoor takes more images"
            )
        for file, content in ((ALL_SCENES, table), (SCENES, labelled)):
            with store.atomic(root / file) as temporary:
                write_csv(content, temporary)
    return table, [*missing, *bad]


def _table(
    images: Sequence[tuple[int, str]], probabilities: NDArray[Any], indoor: float
) -> pd.DataFrame:
    best = probabilities.argmax(1)
    inside, labels = group_scenes(probabilities, vocabulary("coco").classes, indoor)
    return pd.DataFrame(
        {
            "image_id": [number for number, _ in images],
            "folder": [folder for _, folder in images],
            "scene": np.array(list(scene_groups()))[best],
            "probability": probabilities[np.arange(len(best)), best].astype(float).round(4),
            "indoor": inside.round(4),
            "label": labels,
        }
    )

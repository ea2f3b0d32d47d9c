"""Trained models on disk: write them, load them, and ask them about image files.

A checkpoint is a folder with safetensors and a card; it never holds code or pickled objects.
Loading checks the card, the md5 of the weights, the classes and every tensor's name and shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from safetensors import SafetensorError
from safetensors.numpy import save_file
from safetensors.torch import load_file

from pasta import compute, store
from pasta.config import Params, load_params
from pasta.datasets.files.images import decode, fit
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import InputError, PastaError
from pasta.layout import every_group
from pasta.models.base import MODELS, Classifier, ConceptModel
from pasta.models.catalog import ORDER
from pasta.models.data import ModelContext, as_tensor
from pasta.models.settings import ModelsParams
from pasta.paths import DATA, project_root
from pasta.pinned import require_pinned
from pasta.registry import did_you_mean
from pasta.tracking import file_md5

WEIGHTS, CARD = "weights.safetensors", "model.json"
LoadContext = ModelContext  # without training data


def save(model: Classifier, folder: Path, card: Mapping[str, Any]) -> None:
    """Write a model as a checkpoint."""
    write(arrays(model), folder, card)


def arrays(model: Classifier) -> dict[str, NDArray[Any]]:
    """What a checkpoint holds of a model."""
    return {name: compute.to_numpy(value) for name, value in model.saved_state().items()}


def write(state: Mapping[str, NDArray[Any]], folder: Path, card: Mapping[str, Any]) -> None:
    """Write a checkpoint; its card comes last and has the md5 of the weights."""
    with store.atomic(folder / WEIGHTS) as temporary:
        save_file({name: np.asarray(value, order="C") for name, value in state.items()}, temporary)
    store.write_json({**card, "weights_md5": file_md5(folder / WEIGHTS)}, folder / CARD)


def trained_models(folder: Path) -> tuple[str, ...]:
    """The trained classifiers in a group's folder, in the papers' order."""
    return tuple(name for name in ModelsParams.model_fields if (folder / name / CARD).is_file())


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a checkpoint."""
    if not (folder / CARD).is_file():
        raise PastaError(f"{folder}: there is no trained model here; `dvc repro` trains it")
    card: dict[str, Any] = store.read_json(folder / CARD)
    return card


def load(
    folder: Path, params: Params, root: Path, shared: dict[str, Any] | None = None
) -> tuple[Classifier, dict[str, Any]]:
    """Build the model a card describes and fill it with the weights beside it."""
    card = read_card(folder)
    words = vocabulary(card["dataset"])
    if tuple(card["classes"]) != words.classes:
        raise InputError(
            f"was trained for the classes {', '.join(card['classes'])}",
            file=folder / CARD,
            expected=", ".join(words.classes),
        )
    context = LoadContext(
        words.dataset,
        words.classes,
        words.concepts,
        int(card["image_size"]),
        int(card["seed"]),
        params,
        root,
        {} if shared is None else shared,
    )
    kind: Any = ModelsParams.model_fields[card["model"]].annotation
    settings = TypeAdapter(kind).validate_python(card["settings"])
    model = MODELS[card["model"]].build(context, settings)
    _fill(model, folder, card["weights_md5"])
    return model.eval(), card


def _fill(model: Classifier, folder: Path, md5: str) -> None:
    file = folder / WEIGHTS
    if not file.is_file():
        raise InputError("there is no such file", file=file, expected="the model's weights")
    try:
        state = load_file(file)
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="safetensors") from error
    try:
        model.load_saved_state(state)
    except (RuntimeError, PastaError) as error:
        reason = str(error).splitlines()[-1].strip()
        raise InputError(
            f"holds the weights of another architecture: {reason}",
            file=file,
            expected=f"those of {type(model).__name__} as {folder / CARD} describes it",
        ) from error
    if file_md5(file) != md5:
        raise InputError("was changed after training", file=file, expected=f"the md5 {md5}")


BATCH = 32


def predict_files(
    files: Sequence[Path], dataset: str, model: str, top: int = 5
) -> list[dict[str, Any]]:
    """The most probable classes of each image and, for a concept model, its strongest concepts."""
    if vocabulary(dataset).modality != "image":
        kind = vocabulary(dataset).modality
        raise PastaError(f"{dataset} is a dataset of the modality {kind!r}; images are asked about")
    classifier, size = open_classifier(dataset, model)
    answers: list[dict[str, Any]] = []
    for start in range(0, len(files), BATCH):
        part = files[start : start + BATCH]
        pixels = np.stack([read_image(file, size) for file in part])
        answers += [
            {"image": str(file), "dataset": dataset, "model": model, **answer}
            for file, answer in zip(part, _answers(classifier, pixels, top), strict=True)
        ]
    return answers


def open_classifier(dataset: str, model: str) -> tuple[Classifier, int]:
    """A trained model of this project and the size of image it wants."""
    if model not in ORDER:
        raise PastaError(f"there is no model called {model!r}. {did_you_mean(model, list(ORDER))}")
    root, params = project_root(), load_params()
    homes = find_models(dataset, params, root)
    if model not in homes:
        raise PastaError(f"no group of the parameters has a model {model!r} of {dataset!r}")
    require_pinned([(DATA / "clip").as_posix()], root)  # its weights have no card with an md5
    classifier, card = load(homes[model], params, root)
    compute.place(classifier)
    return classifier, int(card["image_size"])


def find_models(dataset: str, params: Params, root: Path) -> dict[str, Path]:
    """The classifiers of a dataset by the parameters, and where each is stored."""
    homes: dict[str, Path] = {}
    for group in every_group(params, root):
        if group.dataset == dataset:
            for model in params.models[group.key].backbones:
                homes.setdefault(model, group.models / model)
    return homes


def read_image(file: Path, size: int) -> NDArray[np.uint8]:
    """Decode, convert to RGB and bring to size, exactly as the datasets are."""
    if not file.is_file():
        raise PastaError(f"{file}: there is no such file")
    return np.array(fit(decode(file), size), dtype=np.uint8)  # a copy: torch wants to write


def _answers(classifier: Classifier, pixels: NDArray[np.uint8], top: int) -> list[dict[str, Any]]:
    with torch.inference_mode():
        images = compute.place(as_tensor(pixels), compute.device_of(classifier))
        probabilities = classifier.probabilities(images)
        scores = classifier.concept_scores(images) if isinstance(classifier, ConceptModel) else None
    return [
        {
            "classes": _largest("class", "probability", classifier.classes, probabilities[n], top),
            "concepts": []
            if scores is None
            else _largest("concept", "score", getattr(classifier, "concepts", ()), scores[n], top),
        }
        for n in range(len(pixels))
    ]


def _largest(
    what: str, value: str, names: Sequence[str], numbers: torch.Tensor, top: int
) -> list[dict[str, Any]]:
    order = numbers.argsort(descending=True, stable=True)[:top].tolist()
    return [{what: names[index], value: round(float(numbers[index]), 6)} for index in order]

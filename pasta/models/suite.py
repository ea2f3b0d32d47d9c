"""All classifiers of one group: trained, written down, and asked about the test images."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.classification import classification_scores
from pasta import compute, store, tables
from pasta.config import Params
from pasta.datasets.stored import IMAGES, open_dataset
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.models import checkpoint
from pasta.models.base import MODELS, History, silent
from pasta.models.catalog import ORDER
from pasta.models.clip import FOLDER
from pasta.models.data import TrainingData
from pasta.models.settings import ModelsParams, is_random
from pasta.models.training import outputs
from pasta.resume import Arrays, kept_units
from pasta.tracking import LARGEST_ARTIFACT, Run, name_model, quiet, tracked_run

Score = dict[str, Any]
Say = Callable[..., None]  # model, a few words


@dataclass(frozen=True)
class TrainUnit:
    """Classifiers that one process trains one after the other; they may share an encoder."""

    group: Group
    names: tuple[str, ...]
    params: Params
    root: Path  # of the project


@dataclass
class Trained:
    """One classifier after its training."""

    name: str
    card: dict[str, Any]
    history: History
    kind: str
    seconds: float
    probabilities: NDArray[np.float32]  # of the test images
    score: Score


def train_group(group: Group, params: Params, root: Path, say: Say = silent) -> list[Trained]:
    """Train all classifiers of a group and write them, their predictions and their accuracies.

    Those that others start from come first, the rest side by side. After a kill the next attempt
    goes on with what is missing.
    """
    section = params.models[group.key]
    require_starts(group.key, section)
    require_modality(group, section)
    data = open_data(group, params, root)
    require_examples(data)
    started_from = {need for name in section.backbones for need in getattr(section, name).needs}
    first, rest = _waves(section, started_from)
    done: dict[str, Trained] = {}
    with kept_units(f"train@{group.key}", _inputs(group, section, root)) as kept:
        for wave in (first, rest):
            units = [TrainUnit(group, names, params, root) for names in wave]
            for place, arrays in compute.map_units(train_unit, units, kept):
                for name in units[place].names:
                    done[name] = own = _written(name, arrays, data, group)
                    right = own.score["accuracy"]["estimate"]
                    say(name, f"trained in {own.seconds:.1f} s, {right:.1%} of test images right")
        suite = [done[name] for name in ORDER if name in done]
        table, images = predictions(data, suite), data.dataset.images
        file = group.models / "predictions.parquet"
        store.write(table, file, tables.PREDICTIONS, {"images": images})
        scores = {trained.name: trained.score for trained in suite}
        store.write_json(scores, group.models / "accuracy.json")
    return suite


NOT_TRAINED = "the explanations of this dataset come from a release, without their classifiers"
REASON = "reason.json"  # why a stage has made nothing


def train_nothing(group: Group) -> None:
    """Leave what :func:`train_group` leaves, without a classifier and with the reason."""
    images = open_dataset(group.images).images
    file = group.models / "predictions.parquet"
    store.write(tables.PREDICTIONS.frame([]), file, tables.PREDICTIONS, {"images": images})
    store.write_json({}, group.models / "accuracy.json")
    store.write_json({"reason": NOT_TRAINED}, group.models / REASON)


def train_unit(unit: TrainUnit) -> Arrays:
    """Train the classifiers of a unit: weights, test probabilities and what else is known."""
    data = open_data(unit.group, unit.params, unit.root)
    found: Arrays = {}
    for name in unit.names:
        started = time.perf_counter()
        settings = getattr(unit.params.models[unit.group.key], name)
        for need in settings.needs:
            folder = unit.group.models / need
            data.shared[need], _ = checkpoint.load(folder, unit.params, unit.root, data.shared)
            compute.place(data.shared[need], data.where)
        model = MODELS[name].build(data, settings)
        compute.place(model, data.where)
        history = MODELS[name].fit(model, data, settings, silent)
        model.eval()
        seconds = time.perf_counter() - started
        probabilities = outputs(model.probabilities, data, data.rows("test"))
        card = {
            "model": name,
            "dataset": data.name,
            "classes": list(data.classes),
            "concepts": list(getattr(model, "concepts", ())),
            "image_size": data.size,
            "seed": data.seed,
            "settings": settings.model_dump(mode="json"),
            "random_weights": _starts_random(name, unit),
            "parameters": sum(value.numel() for value in model.parameters()),
            "best_epoch": history.best_epoch,
        }
        known = {"card": card, "history": asdict(history), "kind": model.kind, "seconds": seconds}
        found |= {f"{name}/state/{key}": value for key, value in checkpoint.arrays(model).items()}
        found[f"{name}/probabilities"] = compute.to_numpy(probabilities)
        found[f"{name}/known"] = np.array(json.dumps(known))
    return found


def open_data(group: Group, params: Params, root: Path) -> TrainingData:
    """The images that a group is trained on."""
    return TrainingData(open_dataset(group.images), params.seeds.training, params, root)


def predictions(data: TrainingData, suite: Sequence[Trained]) -> pd.DataFrame:
    """What each model says about each test image."""
    rows = data.rows("test").numpy()
    identity = data.dataset.images.iloc[rows]
    frames = []
    for trained in suite:
        predicted = trained.probabilities.argmax(1)
        frame = identity[["dataset", "image_id"]].assign(
            model=trained.name,
            predicted=[data.classes[index] for index in predicted],
            # rounding may lift a sum of floats a hair above one
            probability=trained.probabilities.max(1).astype(np.float64).clip(0, 1),
            correct=predicted == data.labels.numpy()[rows],
        )
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)[list(tables.PREDICTIONS.columns)]


def require_starts(key: str, section: ModelsParams) -> None:
    """A classifier and the one that it starts from belong to the same group."""
    for name in section.backbones:
        for need in getattr(section, name).needs:
            if need not in section.backbones:
                raise PastaError(
                    f"models.{key}.{name} starts from {need}, which the group {key!r} does not "
                    f"have. Add models.{key}.{need}, or let {name} start from 'scratch'."
                )


def require_modality(group: Group, section: ModelsParams) -> None:
    """A classifier of volumes cannot be trained on images."""
    own = vocabulary(group.dataset).modality
    for name in section.backbones:
        wanted = MODELS.entry(name).metadata.get("modality", "image")
        if wanted != own:
            raise PastaError(
                f"models.{group.key}.{name} is a model of the modality {wanted!r}; the dataset "
                f"{group.dataset} has {own!r}"
            )


def require_examples(data: TrainingData) -> None:
    """Every class needs images in every split: a score over missing classes means nothing."""
    images = data.dataset.images
    for split in ("train", "validation", "test"):
        there = set(images.loc[images["split"] == split, "label"])
        missing = [name for name in data.classes if name not in there]
        if missing:
            raise PastaError(
                f"{data.dataset.folder / IMAGES}: the split {split!r} of {data.name} has no "
                f"example of {', '.join(missing)}"
            )


Wave = list[tuple[str, ...]]  # names of each unit


def _waves(section: ModelsParams, started_from: set[str]) -> tuple[Wave, Wave]:
    """What is trained first and what then, the longest units first.

    Those that others start from come first. Beside them are the models on CLIP's encoder, which
    need nobody and share what they see in one unit.
    """
    clip = tuple(name for name in section.backbones if _sees_by_clip(name))
    first = [(name,) for name in section.backbones if name in started_from]
    long = [name for name in section.backbones if name not in clip and name not in started_from]
    long.sort(key=lambda name: -_effort(section, name))
    return [*first, *([clip] if clip else [])], [(name,) for name in long]


def _effort(section: ModelsParams, name: str) -> float:
    """How long the model's training takes compared with others', roughly."""
    training = getattr(section, name).training
    return float(training.epochs * MODELS.entry(name).metadata.get("effort", 1))


def _sees_by_clip(name: str) -> bool:
    return MODELS.entry(name).metadata.get("encoder") == "clip"


def _starts_random(name: str, unit: TrainUnit) -> bool:
    """Whether random weights took the place of pretrained ones."""
    shared = unit.params.clip.weights if _sees_by_clip(name) else None
    return is_random(unit.params.models[unit.group.key].weights.get(name, shared))


def _inputs(group: Group, section: ModelsParams, root: Path) -> Iterator[Path]:
    yield group.images
    if any(_sees_by_clip(name) for name in section.backbones):
        yield root / FOLDER


def _written(name: str, arrays: Arrays, data: TrainingData, group: Group) -> Trained:
    """Write one checkpoint; what is left to know of the model."""
    known, probabilities = json.loads(str(arrays[f"{name}/known"])), arrays[f"{name}/probabilities"]
    before = f"{name}/state/"
    state = {
        key.removeprefix(before): value for key, value in arrays.items() if key.startswith(before)
    }
    checkpoint.write(state, group.models / name, known["card"])
    score = _score(data, probabilities, known)
    history = History(**known["history"])
    return Trained(
        name, known["card"], history, known["kind"], known["seconds"], probabilities, score
    )


def _score(data: TrainingData, probabilities: NDArray[np.float32], known: dict[str, Any]) -> Score:
    """Accuracy and macro-F1 with intervals, kind and size of a model."""
    labels = data.labels[data.rows("test")].numpy()
    table = classification_scores(
        labels, probabilities.argmax(1), len(data.classes), seed=data.seed
    )
    measures = {
        str(row["measure"]): {key: round(float(row[key]), 4) for key in ("estimate", "low", "high")}
        for row in table.to_dict("records")
    }
    parameters = known["card"]["parameters"]
    return {**measures, "n": len(labels), "kind": known["kind"], "parameters": parameters}


SERVED = Path(__file__).with_name("served.py")


@contextmanager
def tracked(group: Group, trained: Trained) -> Iterator[Run]:
    """One run: settings, curves, scores, the data's md5s and the registered model.

    Figures are added by the caller.
    """
    name, card, score = trained.name, trained.card, trained.score
    with tracked_run(
        "classifiers",
        f"train@{group.key}",
        f"{group.key}-{name}",
        about=f"{_title(name)}, trained on {group.dataset} and tested on images it has not seen.",
        inputs=[group.images],
        params={"dataset": group.dataset, "model": name, **card["settings"]},
        tags={"group": group.key, "dataset": group.dataset, "model": name, "title": _title(name)},
        seconds=trained.seconds,
    ) as run:
        run.log_metrics(
            {
                **{
                    measure + suffix: score[measure][key]
                    for measure in ("accuracy", "macro_f1")
                    for key, suffix in {"estimate": "", "low": "_low", "high": "_high"}.items()
                },
                "seconds": trained.seconds,
                "parameters": card["parameters"],
            }
        )
        for curve, values in trained.history.curves.items():
            run.log_curve(curve, values)
        register(run, group, name)
        yield run


def register(run: Run, group: Group, name: str) -> None:
    """Register a checkpoint as ``{group}-{model}`` with a signature, an example and an alias.

    Large weights stay in DVC; then the run only carries the card with their md5.
    """
    import mlflow  # not before the run is open: its telemetry must be off by then
    from mlflow.models import ModelSignature
    from mlflow.types import Schema, TensorSpec

    folder, pixels = group.models / name, open_dataset(group.images).pixels
    if sum(file.stat().st_size for file in folder.iterdir()) > 20 * LARGEST_ARTIFACT:
        run.log_file(folder / "model.json")
        return
    classes = len(store.read_json(folder / "model.json")["classes"])
    signature = ModelSignature(
        Schema([TensorSpec(pixels.dtype, (-1, *pixels.shape[1:]))]),
        Schema([TensorSpec(np.dtype("float32"), (-1, classes))]),
    )
    registered = f"{group.key}-{name}"
    with quiet():
        logged = mlflow.pyfunc.log_model(
            name="model",
            python_model=str(SERVED),
            artifacts={"checkpoint": str(folder)},
            signature=signature,
            input_example=np.array(pixels[:1]),
            pip_requirements=["pasta-xai"],
            registered_model_name=registered,
        )
    name_model(registered, logged.registered_model_version)


def _title(name: str) -> str:
    return str(MODELS.entry(name).metadata["title"])

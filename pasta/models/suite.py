"""All models of one dataset: trained when something they depend on has changed, else reused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from pasta import store, tables
from pasta.datasets.stored import CONCEPTS, IMAGES, PIXELS, REGIONS
from pasta.errors import PastaError
from pasta.models import checkpoint
from pasta.models.base import MODELS, Classifier, History
from pasta.models.catalog import ORDER
from pasta.models.data import TrainingData
from pasta.models.fingerprint import code_digest, fingerprint
from pasta.models.training import outputs
from pasta.tracking import file_md5

CODE = Path(__file__).parent
THREADS = 2  # of torch, for a model that is trained alone


@dataclass
class Trained:
    """One model of the suite after its training, or as it was found."""

    name: str
    model: Classifier
    card: dict[str, Any]
    history: History | None  # None: nothing had to be trained
    probabilities: Tensor = field(default_factory=lambda: torch.empty(0))  # of the test images


Say = Callable[..., None]  # model, a few words and, if known, how much is done of how much


def train_suite(
    data: TrainingData,
    folder: Path,
    say: Say,
    names: Sequence[str] = ORDER,
    workers: int = 1,
    ready: Callable[[Trained], None] | None = None,
) -> list[Trained]:
    """Train what has changed, ``workers`` models at a time, and reuse the rest.

    Each model is saved as soon as it is ready, so a killed run continues where it was; ``ready``
    hears of it then, while others are still trained. Models that others start from come first and
    have torch's threads for themselves; the rest are trained side by side with one thread each.
    Both numbers are fixed, so that the result does not depend on the number of cores.
    """
    require_examples(data)
    prints = fingerprints(data, names)
    done: dict[str, Trained] = {}
    for name in names:
        stored = _reuse(folder / name, prints[name], data)
        if stored is not None:
            done[name] = _ready(stored, data)
    tell = ready or (lambda _: None)
    for found in done.values():
        tell(found)
    missing = [name for name in names if name not in done]
    models = {name: MODELS[name].build(data, settings(data, name)) for name in missing}
    torch.set_num_threads(THREADS)
    alone = [name for name in missing if _is_start(data, name, missing)]
    beside = {name: models[name] for name in missing if name not in alone}
    first = (_fit(data, name, models[name], say) for name in alone)
    for trained in chain(first, _trained(data, beside, say, workers)):
        card = {**trained.card, "fingerprint": prints[trained.name]}
        checkpoint.save(trained.model, folder / trained.name, card)
        done[trained.name] = trained
        tell(trained)
    return [done[name] for name in names]


def settings(data: TrainingData, name: str) -> Any:
    """The model's section of the parameters of this dataset."""
    return getattr(data.params.models[data.name], name)


def fingerprints(data: TrainingData, names: Sequence[str]) -> dict[str, str]:
    """One number per model over its settings, its data, its code and the models it starts from."""
    files = [data.dataset.folder / name for name in (IMAGES, REGIONS, CONCEPTS, PIXELS)]
    common = {
        "data": [file_md5(file) for file in files],
        "code": code_digest([CODE]),
        "seed": data.seed,
    }
    encoder = data.root / "pipelines/data/clip/clip.json"
    found: dict[str, str] = {}
    for name in names:
        parts: dict[str, Any] = {
            **common,
            "model": name,
            "settings": settings(data, name).model_dump(mode="json"),
            "needs": [found[other] for other in settings(data, name).needs],
        }
        if MODELS.entry(name).metadata.get("encoder") == "clip":
            parts["clip"] = store.read_json(encoder)["md5"]
        found[name] = fingerprint(parts)
    return found


def predictions(data: TrainingData, suite: Sequence[Trained]) -> pd.DataFrame:
    """What each model says about each test image."""
    rows = data.rows("test")
    identity = data.dataset.images.iloc[rows.numpy()]
    frames = []
    for trained in suite:
        probability, predicted = trained.probabilities.max(1)
        frame = identity[["dataset", "image_id"]].assign(
            model=trained.name,
            predicted=[data.classes[index] for index in predicted.tolist()],
            # rounding may lift a sum of floats a hair above one
            probability=probability.double().clamp(0, 1).numpy(),
            correct=(predicted == data.labels[rows]).numpy(),
        )
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)[list(tables.PREDICTIONS.columns)]


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


def _reuse(folder: Path, print_: str, data: TrainingData) -> Trained | None:
    """The stored model, if it was trained from exactly what there is now."""
    if not (folder / checkpoint.CARD).is_file():
        return None
    card = checkpoint.read_card(folder)
    if card.get("fingerprint") != print_:
        return None
    model, card = checkpoint.load(folder, data.params, data.root, data.shared)
    return Trained(folder.name, model, card, None)


def _is_start(data: TrainingData, name: str, others: Sequence[str]) -> bool:
    return any(name in settings(data, other).needs for other in others)


def _trained(
    data: TrainingData, models: Mapping[str, Classifier], say: Say, workers: int
) -> Iterator[Trained]:
    """Yield each model when it is trained.

    The longest begin first, so that no worker is idle at the end; one worker sees to the quick ones
    before, so that there is something to tell MLflow meanwhile.
    """
    efforts = {name: _effort(data, name) for name in models}
    long = sorted((name for name in models if efforts[name] > 0), key=lambda name: -efforts[name])
    quick = [name for name in models if efforts[name] == 0]
    order = [*long[: workers - 1], *quick, *long[workers - 1 :]]
    torch.set_num_threads(1)  # here too, where MLflow tries each model: more would only wait
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        jobs = [pool.submit(_fit, data, name, models[name], say) for name in order]
        for job in as_completed(jobs):
            yield job.result()


def _effort(data: TrainingData, name: str) -> float:
    """How long the model's training takes compared with others', roughly."""
    training = getattr(settings(data, name), "training", None)
    return training.epochs * MODELS.entry(name).metadata.get("effort", 1) if training else 0


def _fit(data: TrainingData, name: str, model: Classifier, say: Say) -> Trained:
    started = time.perf_counter()
    history = MODELS[name].fit(model, data, settings(data, name), partial(say, name))
    model.eval()
    card = {
        "model": name,
        "dataset": data.name,
        "classes": list(data.classes),
        "concepts": list(getattr(model, "concepts", ())),
        "image_size": data.size,
        "seed": data.seed,
        "settings": settings(data, name).model_dump(mode="json"),
        "parameters": sum(value.numel() for value in model.parameters()),
        "seconds": round(time.perf_counter() - started, 2),
        "best_epoch": history.best_epoch,
    }
    return _ready(Trained(name, model, card, history), data)


def _ready(trained: Trained, data: TrainingData) -> Trained:
    """Predict the test images, and let other models of the dataset start from this one."""
    model = trained.model
    trained.probabilities = outputs(model.probabilities, data, data.rows("test"))
    data.shared[trained.name] = model
    return trained

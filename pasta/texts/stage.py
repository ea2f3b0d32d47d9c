"""The work of the stage `texts`: a corpus, a classifier, its explanations, and their metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from pasta import compute, store
from pasta.errors import PastaError
from pasta.seeds import generator
from pasta.texts import corpus
from pasta.texts.classifier import TextModel
from pasta.texts.documents import Document, index_mask, join_indices
from pasta.texts.explain import TEXT_METHODS, explain_texts
from pasta.texts.faithfulness import measure_faithfulness
from pasta.texts.files import Corpus, read_imdb, read_newsgroups
from pasta.texts.hugging_face import open_hub_model
from pasta.texts.settings import TextsParams
from pasta.texts.tables import (
    DOCUMENTS,
    EXPLANATIONS,
    METRICS,
    MODEL,
    PROBLEMS,
    RANDOM,
    TEXT_DOCUMENTS,
    TEXT_EXPLANATIONS,
    TEXT_METRICS,
    TEXT_PROBLEMS,
    TEXT_VALUES,
    WEIGHTS,
    WORD_WEIGHTS,
)
from pasta.texts.training import TextHistory, save_network, train_network

Seeds = dict[str, int]  # drawing, splitting, training, explaining, measuring


@dataclass(frozen=True)
class TextStudy:
    """The tables of the stage, and how training went (of a network that is trained here)."""

    documents: pd.DataFrame
    explanations: pd.DataFrame
    weights: pd.DataFrame
    metrics: pd.DataFrame
    problems: pd.DataFrame
    history: TextHistory | None

    @property
    def accuracy(self) -> float:
        """Of the test texts."""
        test = self.documents[self.documents["split"] == "test"]
        return float((test["predicted"] == test["label"]).mean())


def study_texts(settings: TextsParams, root: Path, seeds: Seeds, out: Path) -> TextStudy:
    """Read or draw texts, classify and explain them, and write all tables to a folder.

    Parameters
    ----------
    settings
        The section ``texts`` of the parameters.
    root
        Of the project; relative paths start there.
    seeds
        Of drawing, splitting, training, explaining and measuring.
    out
        The folder of the stage.
    """
    for name in settings.methods:
        TEXT_METHODS.entry(name)
    texts = open_corpus(settings, root, seeds)
    model, history = find_model(settings, texts, root, seeds["training"], out / MODEL)
    documents, explained, targets = _classify(texts, model, settings.explained)
    found, known = explain_texts(
        model,
        explained,
        targets,
        settings.methods,
        settings=settings.explanations,
        seed=seeds["explaining"],
        budget=settings.budget,
        return_status=True,
    )
    explanations = [
        {
            "text_id": one.text_id,
            "method": method,
            "predicted": model.classes[target],
            "status": known[method][number],
            "words": len(one),
        }
        for method in settings.methods
        for number, (one, target) in enumerate(zip(explained, targets, strict=True))
    ]
    study = TextStudy(
        documents,
        TEXT_EXPLANATIONS.frame(explanations),
        _weight_table(explained, found),
        _measure(model, explained, targets, found, settings, seeds["measuring"]),
        TEXT_PROBLEMS.frame(one._asdict() for one in texts.problems),
        history,
    )
    _write(study, out)
    return study


def open_corpus(settings: TextsParams, root: Path, seeds: Seeds) -> Corpus:
    """The texts of the parameters."""
    counts = {"train": settings.train, "validation": settings.validation, "test": settings.test}
    if settings.source == "generated":
        drawn = {
            split: corpus.draw_reviews(count or 0, split, seeds["drawing"])
            for split, count in counts.items()
        }
        return Corpus(corpus.CLASSES, drawn, [])
    folder = root / str(settings.root)
    if settings.source == "imdb":
        return read_imdb(folder, counts, seeds["splitting"])
    return read_newsgroups(folder, counts, seeds["splitting"], settings.classes)


def find_model(
    settings: TextsParams, texts: Corpus, root: Path, seed: int, out: Path
) -> tuple[TextModel, TextHistory | None]:
    """A network trained on the texts, or a classifier of Hugging Face."""
    if settings.classifier == "network":
        train, validation = texts.splits["train"], texts.splits["validation"]
        network, history = train_network(train, validation, texts.classes, settings.network, seed)
        save_network(network, out)
        return network, history
    local = root / settings.classifier
    model = open_hub_model(str(local) if local.is_dir() else settings.classifier)
    if len(model.classes) != len(texts.classes):
        raise PastaError(
            f"texts.classifier {settings.classifier!r} knows {len(model.classes)} classes "
            f"({', '.join(model.classes)}), the texts have {len(texts.classes)}"
        )
    return _named(model, texts.classes), None


def _named(model: TextModel, classes: Sequence[str]) -> TextModel:
    """The model with the classes' names as the texts have them: NEGATIVE is negative.

    Names that say nothing (LABEL_0) are taken in order.
    """
    ours = {name.casefold(): name for name in classes}
    known = [ours.get(name.casefold()) for name in model.classes]
    if None in known and any(known):
        raise PastaError(
            f"the classifier's classes are {', '.join(model.classes)}, those of the texts "
            f"{', '.join(classes)}"
        )
    model.classes = tuple(classes) if None in known else tuple(str(one) for one in known)
    return model


def _classify(
    texts: Corpus, model: TextModel, most: int
) -> tuple[pd.DataFrame, list[Document], list[int]]:
    """The table of all texts, and the test texts to explain with their predicted classes."""
    rows, explained, targets = [], [], []
    for split, documents in texts.splits.items():
        scores = compute.to_numpy(model.probabilities(documents)).astype(np.float64)
        chosen = _spread(documents, texts.classes, most) if split == "test" else set()
        for number, one in enumerate(documents):
            best = int(scores[number].argmax())
            rows.append(
                {
                    "text_id": one.text_id,
                    "split": split,
                    "label": one.label,
                    "text": one.text,
                    "words": len(one),
                    "cues": join_indices(one.cues),
                    "predicted": model.classes[best],
                    "probability": float(np.clip(scores[number, best], 0, 1)),
                    "explained": number in chosen,
                }
            )
            if number in chosen:
                explained.append(one)
                targets.append(best)
    return TEXT_DOCUMENTS.frame(rows), explained, targets


def _spread(documents: Sequence[Document], classes: Sequence[str], most: int) -> set[int]:
    """The first texts of each class in turn, so many in all."""
    rooms = [[n for n, one in enumerate(documents) if one.label == name] for name in classes]
    longest = max((len(room) for room in rooms), default=0)
    turns = [room[place] for place in range(longest) for room in rooms if place < len(room)]
    return set(turns[:most])


def _weight_table(
    documents: Sequence[Document], found: dict[str, list[NDArray[np.float64]]]
) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "text_id": document.text_id,
                "method": method,
                "word": np.arange(len(document), dtype=np.int64),
                "weight": np.where(np.isfinite(weights), weights, np.nan),
            }
        )
        for method, every in found.items()
        for document, weights in zip(documents, every, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True)
    return table.astype({"text_id": "str", "method": "str"})


def _measure(
    model: TextModel,
    documents: Sequence[Document],
    targets: Sequence[int],
    found: dict[str, list[NDArray[np.float64]]],
    settings: TextsParams,
    seed: int,
) -> pd.DataFrame:
    """All metrics of all weights, and of words in random order."""
    floor = [
        generator(seed, "random words", one.text_id).permutation(len(one)).astype(np.float64)
        for one in documents
    ]
    rows: list[dict[str, object]] = []
    for method, every in [*found.items(), (RANDOM, floor)]:
        for document, weights, target in zip(documents, every, targets, strict=True):
            values = _values(model, document, weights, target, settings)
            for metric, (value, status) in values.items():
                rows.append(
                    {
                        "text_id": document.text_id,
                        "method": method,
                        "metric": metric,
                        "value": value,
                        "direction": TEXT_METRICS[metric],
                        "status": status,
                    }
                )
    return TEXT_VALUES.frame(rows)


def _values(
    model: TextModel,
    document: Document,
    weights: NDArray[np.float64],
    target: int,
    settings: TextsParams,
) -> dict[str, tuple[float, str]]:
    measured = measure_faithfulness(model, document, weights, target, settings.shares)
    return {
        "comprehensiveness": (measured.comprehensiveness, measured.status),
        "sufficiency": (measured.sufficiency, measured.status),
        "cue_precision": cue_precision(document, weights, model.classes[target], measured.status),
    }


def cue_precision(
    document: Document, weights: NDArray[np.float64], predicted: str, status: str
) -> tuple[float, str]:
    """Average precision of weights against the true cues, and ``ok`` or why there is none.

    Cues tell the label: where another class is predicted, its explanation cannot be asked for them.
    """
    if status != "ok":
        return float("nan"), status
    if predicted != document.label:
        return float("nan"), "wrong prediction"
    if not 0 < len(document.cues) < len(document):
        return float("nan"), "no cues"
    cues = index_mask(document.cues, len(document))
    return float(average_precision_score(cues, weights)), "ok"


def _write(study: TextStudy, out: Path) -> None:
    parents = {TEXT_DOCUMENTS.name: study.documents}
    store.write(study.documents, out / DOCUMENTS, TEXT_DOCUMENTS)
    for frame, file, table in (
        (study.explanations, EXPLANATIONS, TEXT_EXPLANATIONS),
        (study.weights, WEIGHTS, WORD_WEIGHTS),
        (study.metrics, METRICS, TEXT_VALUES),
        (study.problems, PROBLEMS, TEXT_PROBLEMS),
    ):
        store.write(frame, out / file, table, parents)

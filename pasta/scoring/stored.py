"""A trained scorer on disk: ``weights.safetensors`` and ``scorer.json``, nothing pickled.

An encoder that was trained here goes with it in ``encoder/``, so that the folder can be used
anywhere; public encoders are named by their tag.

The card says everything that a score depends on: the scorer and its questions, the encoder with
the md5 of its weights, how explanations are turned into pictures and sentences, the classes and
the order of the features, what is familiar and how well each question is predicted. Both files
carry the sha256 that they had when they were written, so a file that was changed or cut short is
found when the scorer is loaded, not in strange scores.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save_file

from pasta import store
from pasta.embedding import inputs
from pasta.embedding.settings import EmbeddingParams, Shown
from pasta.errors import InputError, PastaError
from pasta.explanations import rendering
from pasta.paths import DATA
from pasta.scoring import baselines, neural, ordinal  # noqa: F401 (they register themselves)
from pasta.scoring.base import SCORERS, Fitted
from pasta.scoring.ood import FamiliarRegion
from pasta.sections import Count, Positive, Section

FOLDER = DATA / "score/public"  # where the project keeps its own
BESIDE = DATA / "score/beside"  # and others that are trained like it, by name
WEIGHTS, CARD, VERSION = "weights.safetensors", "scorer.json", 4
ENCODER = "encoder"  # folder of the encoder that goes with a scorer
_FITTED, _FAMILIAR = "scorer.", "familiar."  # in front of the names of arrays


class EncoderCard(Section):
    """Which vectors the scorer knows."""

    name: str
    weights: str
    md5: str
    size: Count
    width: Count


class PreprocessingCard(Section):
    """What the encoder is shown of an explanation; see :class:`EmbeddingParams`."""

    image: Shown  # "seen": pictures as people saw them; what is scored later is an overlay
    blur: Positive
    text: Literal["sentence", "weighted"]
    n_top: Count
    template: str
    overlay: dict[str, Any]  # colours and strengths of the heat map


class LabelCard(Section):
    """The classes that a scorer knows, in the order of its features."""

    order: tuple[str, ...]
    datasets: dict[str, tuple[str, ...]]
    dropout: float  # share of the training samples without label; with 0 a label must be given


class ScorerCard(Section):
    """Everything about a scorer but its arrays."""

    version: int
    scorer: str
    questions: tuple[str, ...]
    directions: dict[str, Literal[1, -1]]  # by question: 1 if more stars are better, -1 if fewer
    origin: str  # what it learned from, as every answer says it; empty for people on real images
    encoder: EncoderCard
    preprocessing: PreprocessingCard
    labels: LabelCard | None  # None: the scorer does not look at the class
    features: dict[str, int]  # widths, in their order: the embedding, then the one-hot label
    settings: dict[str, Any]  # of the trained scorer, beside its arrays
    training: dict[str, str]  # md5 of each table or array it has learned from
    metrics: dict[str, Any]  # question: measure: mean over held-out sets
    techniques: dict[str, dict[str, float]]  # question: technique: mean predicted stars
    # image, or kind of explanation: distance from which on it is unfamiliar
    familiar: dict[str, float]
    weights_sha256: str
    card_sha256: str

    def kappa(self, question: str) -> float | None:
        """Quadratic kappa with people's labels on held-out samples; None if not known."""
        found = self.metrics.get(question, {}).get("qwk")
        return None if found is None else float(found)


@dataclass(frozen=True)
class StoredScorer:
    """A scorer as it was trained."""

    card: ScorerCard
    fitted: Fitted
    familiar: Mapping[str, FamiliarRegion]  # by kind, and of images


def save_scorer(
    folder: Path,
    scorer: str,
    fitted: Fitted,
    *,
    directions: Mapping[str, int],
    origin: str,
    encoder: Mapping[str, Any],
    preprocessing: EmbeddingParams,
    labels: Mapping[str, Sequence[str]] | None,
    label_dropout: float = 0.0,
    encoder_folder: Path | None = None,
    training: Mapping[str, str],
    metrics: Mapping[str, Any],
    techniques: Mapping[str, Mapping[str, float]],
    familiar: Mapping[str, FamiliarRegion],
) -> None:
    """Write a scorer whole: the folder is filled beside its place and then swapped in.

    ``directions`` names the questions, each with 1 if more stars are better or -1 if fewer are, and
    ``origin`` what the scorer learned from, if that was not people's votes on real images.
    ``labels`` are the classes of each dataset that the scorer was trained on, or None if labels are
    no input; ``label_dropout`` of the samples had none, and with 0 a score without one of these is
    refused. ``encoder`` is what :func:`pasta.embedding.encoders.about` says, and ``encoder_folder``
    is copied to go with the scorer. ``metrics`` has what was reached on held-out samples by
    question and measure. A place among the techniques needs ``techniques``, see
    :func:`technique_means`; ``familiar`` has what was learned by
    :func:`pasta.scoring.ood.fit_region` about images and about each kind of explanation.
    """
    arrays, settings = fitted.state()
    stored = {_FITTED + name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for kind, region in familiar.items():
        stored[f"{_FAMILIAR}{kind}.mean"] = np.ascontiguousarray(region.mean)
        stored[f"{_FAMILIAR}{kind}.whitening"] = np.ascontiguousarray(region.whitening)
    shown = {"image", "blur", "text", "n_top", "template"}
    features = {"embedding": int(encoder["width"])}
    known = None
    if labels is not None:
        order = inputs.label_order(labels)
        features["label"] = len(order)
        classes = {name: list(own) for name, own in labels.items()}
        known = {"order": list(order), "datasets": classes, "dropout": label_dropout}
    card: dict[str, Any] = {
        "version": VERSION,
        "scorer": scorer,
        "questions": list(directions),
        "directions": dict(directions),
        "origin": origin,
        "encoder": {
            "name": encoder["encoder"],
            "weights": preprocessing.weights,
            **{key: encoder[key] for key in ("md5", "size", "width")},
        },
        "preprocessing": {
            **preprocessing.model_dump(include=shown),
            "overlay": overlay_settings(),
        },
        "labels": known,
        "features": features,
        "settings": dict(settings),
        "training": dict(training),
        "metrics": dict(metrics),
        "techniques": {question: dict(means) for question, means in techniques.items()},
        "familiar": {kind: region.threshold for kind, region in familiar.items()},
    }
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        new.mkdir()
        if encoder_folder is not None:
            shutil.copytree(encoder_folder, new / ENCODER)
        save_file(stored, new / WEIGHTS)
        card["weights_sha256"] = _sha256((new / WEIGHTS).read_bytes())
        store.write_json({**card, "card_sha256": _card_sha256(card)}, new / CARD)
        load_scorer(new)  # what could not be loaded must not replace what can
        if folder.exists():
            folder.rename(old)
        new.rename(folder)


def load_scorer(folder: Path) -> StoredScorer:
    """A scorer from its folder, after a look at everything that could be wrong with it."""
    card = _read_card(folder / CARD)
    arrays = _read_arrays(folder / WEIGHTS, card.weights_sha256)
    own = {
        name.removeprefix(_FITTED): array
        for name, array in arrays.items()
        if name.startswith(_FITTED)
    }
    try:
        fitted = SCORERS[card.scorer].load(own, card.settings)
        answer = fitted.predict(np.zeros((1, sum(card.features.values())), np.float32))
        familiar = {
            kind: FamiliarRegion(
                arrays[f"{_FAMILIAR}{kind}.mean"], arrays[f"{_FAMILIAR}{kind}.whitening"], threshold
            )
            for kind, threshold in card.familiar.items()
        }
    except (PastaError, KeyError, TypeError, ValueError) as error:
        reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"does not fit its card: {reason}", file=folder / WEIGHTS, expected=_AGAIN
        ) from error
    if answer.stars.shape[1] != len(card.questions):
        raise InputError(
            f"answers {answer.stars.shape[1]} questions",
            file=folder / WEIGHTS,
            expected=f"{len(card.questions)}: {', '.join(card.questions)}",
        )
    if set(card.directions) != set(card.questions):
        found = ", ".join(sorted(card.directions))
        expected = f"those of {', '.join(card.questions)}"
        raise InputError(f"has directions of {found}", file=folder / CARD, expected=expected)
    return StoredScorer(card, fitted, familiar)


def technique_means(
    stars: NDArray[Any], questions: Sequence[str], techniques: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Mean predicted stars (samples x questions) of each technique, by question."""
    names, place = np.unique(np.asarray(techniques, dtype=str), return_inverse=True)
    sizes = np.bincount(place)
    return {
        question: {
            str(name): float(mean)
            for name, mean in zip(names, np.bincount(place, column) / sizes, strict=True)
        }
        for question, column in zip(questions, np.asarray(stars, np.float64).T, strict=True)
    }


def overlay_settings() -> dict[str, Any]:
    """How heat maps are drawn; a scorer has learned from pictures in these colours."""
    colours = _sha256(rendering.heat_colours().tobytes())
    return {
        "dim": rendering.DIM,
        "glow": rendering.GLOW,
        "strongest": rendering.STRONGEST,
        "for": list(rendering.FOR),
        "against": list(rendering.AGAINST),
        "colours_sha256": colours,
    }


_AGAIN = "the files of one scorer; train it again with `dvc repro score`, or copy its folder again"


def _read_card(file: Path) -> ScorerCard:
    if not file.is_file():
        raise PastaError(f"{file.parent}: there is no scorer here; `dvc repro score` trains it")
    values = store.read_json(file)
    if not isinstance(values, dict):
        raise InputError("is no card of a scorer", file=file, expected=_AGAIN)
    if values.get("version") != VERSION:
        raise InputError(
            f"has the version {values.get('version')!r}",
            file=file,
            expected=f"{VERSION}: train the scorer again, or use the release that wrote it",
        )
    try:
        # strict validation of JSON takes lists for tuples, that of Python objects does not
        card = ScorerCard.model_validate_json(json.dumps(values))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        problem = "is missing" if first["type"] == "missing" else f"is wrong: {first['msg']}"
        raise InputError(f"{path!r} {problem}", file=file, expected=_AGAIN) from None
    rest = {key: value for key, value in values.items() if key != "card_sha256"}
    if _card_sha256(rest) != card.card_sha256:
        raise InputError("was changed after it was written", file=file, expected=_AGAIN)
    if card.preprocessing.overlay != overlay_settings():
        raise InputError(
            "the scorer has learned from heat maps in other colours than this release draws",
            file=file,
            expected="the release that wrote it, or train it again with `dvc repro score`",
        )
    return card


def _read_arrays(file: Path, sha256: str) -> dict[str, NDArray[Any]]:
    if not file.is_file():
        raise InputError("there is no such file", file=file, expected="the scorer's weights")
    content = file.read_bytes()
    if _sha256(content) != sha256:
        raise InputError("was changed after it was written", file=file, expected=_AGAIN)
    try:
        arrays: dict[str, NDArray[Any]] = load(content)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="safetensors") from error
    return arrays


def _card_sha256(card: Mapping[str, Any]) -> str:
    return _sha256(json.dumps(card, sort_keys=True, allow_nan=False).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

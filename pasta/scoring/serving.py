"""The score as an MLflow model, from code: MLflow stores no pickled Python object.

A request is ``{"dataframe_records": [...]}``. A record has ``image`` (rows of pixels, or the bytes
of a picture file in base64) with ``saliency`` (rows of numbers, or a .npy file in base64), or it
has ``concepts`` (``{name: value}``); and if it is known ``label``, and if need be ``dataset`` and
``signed``. The parameter ``question`` chooses the question. ``notes`` of an answer say what to know
before trusting it. Whatever is wrong with a request is its sender's problem: the answer is HTTP 400
with the reason.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import ModelSignature
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.pyfunc.model import PythonModel, PythonModelContext
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from mlflow.types.schema import AnyType
from PIL import Image, UnidentifiedImageError

from pasta.errors import PastaError
from pasta.scoring.score import PastaScore, Score
from pasta.scoring.stored import load_scorer
from pasta.tracking import name_model, quiet

_KEYS = ("image", "saliency", "concepts", "label", "dataset", "signed")


class ServedScore(PythonModel):
    """Explanations in, scores out."""

    def load_context(self, context: PythonModelContext) -> None:
        """Open the scorer beside the code and the encoder that it was trained with."""
        folder = Path(context.artifacts["scorer"])
        questions = load_scorer(folder).card.questions
        first = PastaScore.load(questions[0], folder)
        self.scores = {name: PastaScore(name, first.stored, first.encoder) for name in questions}

    def predict(
        self,
        context: PythonModelContext,
        model_input: pd.DataFrame,
        params: dict[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """A score for each record."""
        del context
        try:
            question = (params or {}).get("question") or next(iter(self.scores))
            if question not in self.scores:
                raise PastaError(
                    f"there is no question {question!r}; known: {', '.join(self.scores)}"
                )
            return _answers(self.scores[question], _records(model_input))
        except PastaError as error:
            raise MlflowException(str(error), error_code=INVALID_PARAMETER_VALUE) from error


def _records(given: Any) -> list[dict[str, Any]]:
    """What is there of each record; a frame has NaN for what is not."""
    rows = given.to_dict("records") if hasattr(given, "to_dict") else given
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise PastaError('expected {"dataframe_records": [{"image": ..., "saliency": ...}, ...]}')
    return [{str(key): value for key, value in row.items() if not _nothing(value)} for row in rows]


def _nothing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _answers(score: PastaScore, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records of one kind are scored together."""
    checked = [_read(record, number) for number, record in enumerate(records)]
    groups: dict[tuple[bool, bool], list[int]] = {}
    for row, record in enumerate(checked):
        groups.setdefault(("concepts" in record, record["signed"]), []).append(row)
    answers: list[dict[str, Any]] = [{}] * len(checked)
    for (concepts, signed), rows in groups.items():
        names = ("concepts",) if concepts else ("image", "saliency")
        given = {name: [checked[row].get(name) for row in rows] for name in names}
        for name in ("label", "dataset"):
            found = [checked[row].get(name) for row in rows]
            if any(value is not None for value in found):
                given[name] = found
        for row, one in zip(rows, score.score(**given, signed=signed), strict=True):  # type: ignore[arg-type]
            answers[row] = _plain(one)
    return answers


def _read(record: dict[str, Any], number: int) -> dict[str, Any]:
    where = f"record {number}: "
    unknown = sorted(set(record) - set(_KEYS))
    if unknown:
        raise PastaError(f"{where}unknown key {unknown[0]!r} (expected {', '.join(_KEYS)})")
    signed = record.get("signed", False)
    if not isinstance(signed, (bool, np.bool_)):
        raise PastaError(f"{where}'signed' is {signed!r} (expected true or false)")
    found: dict[str, Any] = {
        key: record[key] for key in ("label", "dataset", "concepts") if key in record
    }
    found["signed"] = bool(signed)
    if ("concepts" in record) == ("saliency" in record):
        raise PastaError(f"{where}expected either image and saliency, or concepts")
    if "saliency" in record:
        if "image" not in record:
            raise PastaError(f"{where}there is a saliency map but no image")
        found["image"] = _image(record["image"], where)
        found["saliency"] = _map(record["saliency"], where)
    return found


def _image(given: Any, where: str) -> np.ndarray[Any, Any]:
    if isinstance(given, str):
        try:
            with Image.open(io.BytesIO(_decoded(given, f"{where}image"))) as picture:
                return np.asarray(picture.convert("RGB"))
        except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
            raise PastaError(f"{where}the image is no picture file: {error}") from error
    array = _numbers(given, f"{where}image")
    if array.dtype.kind in "iu":  # JSON does not tell bytes from other numbers
        if array.size and (array.min() < 0 or array.max() > 255):
            raise PastaError(f"{where}image: expected bytes from 0 to 255 or floats from 0 to 1")
        return array.astype(np.uint8)
    return array


def _map(given: Any, where: str) -> np.ndarray[Any, Any]:
    if not isinstance(given, str):
        return _numbers(given, f"{where}saliency")
    try:
        content = io.BytesIO(_decoded(given, f"{where}saliency"))
        return _numbers(np.load(content, allow_pickle=False), f"{where}saliency")
    except (ValueError, EOFError, OSError) as error:
        raise PastaError(f"{where}saliency is no .npy file: {error}") from error


def _numbers(given: Any, where: str) -> np.ndarray[Any, Any]:
    try:
        array = np.array(given.tolist() if hasattr(given, "tolist") else given)
    except ValueError as error:
        raise PastaError(f"{where}: rows of different lengths") from error
    if array.dtype.kind not in "fiub":
        raise PastaError(f"{where}: expected rows of numbers of equal length")
    return array


def _decoded(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise PastaError(f"{where} is text but no base64: {error}") from error


def _plain(one: Score) -> dict[str, Any]:
    """JSON has no NaN: what is not there is null."""
    rated = one.status == "ok"
    known = one.distribution is not None and rated
    return {
        "question": one.question,
        "score": one.score if rated else None,
        "distribution": [float(part) for part in one.distribution] if known else None,  # type: ignore[union-attr]
        "interval": [one.low, one.high] if rated and one.low is not None else None,
        "familiar": one.familiar,
        "informative": one.informative,
        "status": one.status,
        "notes": list(one.notes),
        "origin": one.origin or None,
    }


def save_served(scorer: Path, path: Path) -> None:
    """Write a scorer as an MLflow model that ``mlflow models serve --env-manager local`` serves."""
    with quiet():
        mlflow.pyfunc.save_model(path=str(path), **_described(scorer))


def log_served(scorer: Path, registered: str | None = "pasta-score") -> Any:
    """Add a scorer to the active run as the model ``model``, and register it by a name.

    ``models:/NAME@demo`` is then this version, in the profile ``demo``.
    """
    with quiet():
        logged = mlflow.pyfunc.log_model(
            name="model", registered_model_name=registered, **_described(scorer)
        )
    if registered is not None:
        name_model(registered, logged.registered_model_version)
    return logged


def _described(scorer: Path) -> dict[str, Any]:
    card = load_scorer(scorer).card
    anything: Any = AnyType()  # type: ignore[no-untyped-call]
    records = Schema([ColSpec(anything, name, required=False) for name in _KEYS])
    question = ParamSchema([ParamSpec("question", DataType.string, card.questions[0])])
    return {
        "python_model": __file__,
        "artifacts": {"scorer": str(scorer)},
        "signature": ModelSignature(inputs=records, params=question),
        "pip_requirements": ["pasta-xai"],
        "metadata": {"scorer": card.scorer, "origin": card.origin or "people's votes"},
    }


mlflow.models.set_model(ServedScore())

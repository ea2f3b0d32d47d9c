"""What MLflow gets to know about a trained scorer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pasta.scoring.folder import load_scorer
from pasta.tracking import quiet

SERVED = Path(__file__).with_name("served.py")
_COLUMNS = ("image", "saliency", "concepts", "label", "dataset", "signed")


def save_served(scorer: Path, path: Path) -> None:
    """Write a scorer as an MLflow model that ``mlflow models serve --env-manager local`` serves."""
    import mlflow

    with quiet():
        mlflow.pyfunc.save_model(path=str(path), **_described(scorer))


def log_served(scorer: Path, registered: str | None = "pasta-score") -> Any:
    """Add a scorer to the active run as the model ``model``, and register it by a name."""
    import mlflow

    with quiet():
        return mlflow.pyfunc.log_model(
            name="model", registered_model_name=registered, **_described(scorer)
        )


def _described(scorer: Path) -> dict[str, Any]:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import AnyType

    questions = load_scorer(scorer).card.questions
    anything: Any = AnyType()  # type: ignore[no-untyped-call]
    records = Schema([ColSpec(anything, name, required=False) for name in _COLUMNS])
    question = ParamSchema([ParamSpec("question", DataType.string, questions[0])])
    return {
        "python_model": str(SERVED),
        "artifacts": {"scorer": str(scorer)},
        "signature": ModelSignature(inputs=records, params=question),
        "pip_requirements": ["pasta-xai"],
    }

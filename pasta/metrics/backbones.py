"""The dataset's own classifiers for the measure stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pasta.explanations.engine import view_of
from pasta.metrics.sharing import Backbone
from pasta.models import checkpoint
from pasta.params import Params


def loader(folder: Path, params: Params, root: Path) -> Callable[[str], Backbone]:
    """A function that loads a trained classifier of the dataset in ``folder``."""
    shared: dict[str, Any] = {}

    def load(name: str) -> Backbone:
        model, card = checkpoint.load(folder / "models" / name, params, root, shared)
        weights = card["weights_md5"] + getattr(getattr(model, "encoder", None), "md5", "")
        return Backbone(name, view_of(model), weights)

    return load

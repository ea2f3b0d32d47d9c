"""All methods: importing this module fills the registry."""

from __future__ import annotations

from pasta.explanations import (  # noqa: F401 (imported for their registrations)
    ablation,
    cam,
    concept_perturbation,
    fullgrad,
    grad_cam,
    gradients,
    lime,
    lrp,
    rise,
    self_explaining,
    shap,
)
from pasta.explanations.base import METHODS

__all__ = ["METHODS"]

"""All methods: importing this module fills the registry."""

from __future__ import annotations

from pasta.explanations import (  # noqa: F401 (imported for their registrations)
    ablation,
    bcos,
    cam,
    concept_counterfactual,
    concept_linear,
    concept_perturbation,
    factorization,
    fullgrad,
    grad_cam,
    gradients,
    lime,
    rise,
    scorecam,
    shap,
)
from pasta.explanations.base import METHODS

__all__ = ["METHODS"]

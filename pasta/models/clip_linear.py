"""CLIP-linear: a linear classifier on similarities to concept prompts."""

from __future__ import annotations

from functools import partial

from pasta.models.base import MODELS, History, Progress
from pasta.models.clip.concepts import ClipConceptModel, choose, examples, fit_line
from pasta.models.concept_parts import LinearHead, line_logits
from pasta.models.data import ModelContext, TrainingData
from pasta.models.settings import ClipLinearParams


class ClipLinear(ClipConceptModel):
    """Weights say what each concept speaks for."""

    head: LinearHead

    def __init__(self, context: ModelContext) -> None:
        super().__init__(context, LinearHead(len(context.concepts), len(context.classes)))


@MODELS.register(
    "clip_linear",
    title="CLIP-linear",
    family="concept",
    encoder="clip",
    doi="10.48550/arXiv.2308.03685",
)
class ClipLinearRecipe:
    """Penalised logistic regression; the penalty is chosen on the validation images."""

    @staticmethod
    def build(context: ModelContext, settings: ClipLinearParams) -> ClipLinear:  # noqa: ARG004
        """All weights zero."""
        return ClipLinear(context)

    @staticmethod
    def fit(
        model: ClipLinear, data: TrainingData, settings: ClipLinearParams, progress: Progress
    ) -> History:
        """Fit the layer on the similarities of the training images."""
        train, validation = examples(model, data)
        fit = partial(fit_line, train, len(data.classes))
        line, history = choose(settings.inverse_penalty, fit, line_logits, validation, progress)
        model.head.take(line)
        return history

"""Settings of the classifiers, group by group."""

from __future__ import annotations

from pasta.params.base import Section
from pasta.params.clip import ClipLinearParams, ClipQdaParams, ClipZeroShotParams, LaboParams
from pasta.params.concepts import ConceptBottleneckParams, XnesylParams
from pasta.params.networks import BcosParams, ResNetParams, TransformerParams


class ModelsParams(Section):
    """Classifiers of one dataset that are trained, explained and measured by one stage each."""

    resnet50: ResNetParams | None = None
    vit_b_16: TransformerParams | None = None
    resnet50_bcos: BcosParams | None = None
    clip_zero_shot: ClipZeroShotParams | None = None
    clip_linear: ClipLinearParams | None = None
    clip_qda: ClipQdaParams | None = None
    labo: LaboParams | None = None
    concept_bottleneck: ConceptBottleneckParams | None = None
    xnesyl: XnesylParams | None = None

    @property
    def backbones(self) -> tuple[str, ...]:
        """The classifiers that have settings here, in the papers' order."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)

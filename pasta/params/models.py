"""Settings of the nine classifiers, dataset by dataset."""

from __future__ import annotations

from pasta.params.base import Section
from pasta.params.clip import ClipLinearParams, ClipQdaParams, ClipZeroShotParams, LaboParams
from pasta.params.concepts import ConceptBottleneckParams, XnesylParams
from pasta.params.networks import BcosParams, ResNetParams, TransformerParams


class ModelsParams(Section):
    """The classifiers of one dataset."""

    resnet50: ResNetParams
    vit_b_16: TransformerParams
    resnet50_bcos: BcosParams
    clip_zero_shot: ClipZeroShotParams
    clip_linear: ClipLinearParams
    clip_qda: ClipQdaParams
    labo: LaboParams
    concept_bottleneck: ConceptBottleneckParams
    xnesyl: XnesylParams


class AllModelsParams(Section):
    """The classifiers of every dataset; a profile may share one section among them."""

    catsdogscars: ModelsParams
    pascalpart: ModelsParams
    monumai: ModelsParams
    coco: ModelsParams

    def __getitem__(self, dataset: str) -> ModelsParams:
        section: ModelsParams = getattr(self, dataset)
        return section

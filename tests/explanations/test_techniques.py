"""The 46 techniques of the papers, their numbers, and what a wrong name is answered."""

from __future__ import annotations

import pytest

from pasta.errors import PastaError
from pasta.explanations.base import METHODS
from pasta.explanations.catalog import technique, techniques

KEYS = (
    "gradcam hirescam gradcam_elementwise gradcam++ xgradcam ablationcam scorecam eigencam "
    "eigengradcam layercam fullgrad dff shap lime rise bcos xnesyl clip_linear clip_qda labo "
    "lime_cbm shap_cbm rise_cbm"
)
# Computed by captum, zennit and grad-cam, for any model: not part of the experiment.
EXTRAS = (
    "saliency input_x_gradient integrated_gradients smoothgrad guided_backprop deeplift "
    "gradient_shap occlusion lrp kpca_cam finer_cam shapley_cam random_cam expected_gradients "
    "deeplift_shap raw_attention attention_rollout lrp_attention"
)


def test_there_are_forty_six_techniques_with_different_released_numbers() -> None:
    papers = techniques(extras=False)
    assert len(papers) == 46
    numbers = [one.released_id for one in papers]
    assert len(set(numbers)) == 46 and None not in numbers
    assert not any(one.extra for one in papers)


def test_all_methods_are_there_and_each_says_where_it_comes_from() -> None:
    assert set(METHODS) == {*KEYS.split(), *EXTRAS.split()}
    assert {one.method for one in techniques()} == set(KEYS.split())
    for entry in METHODS.entries():
        assert entry.metadata["doi"].startswith("10.")
        assert entry.metadata["title"]


@pytest.mark.parametrize(
    ("key", "number"),
    [
        ("gradcam/resnet50", 0),
        ("lime/clip_zero_shot", 5),
        ("scorecam/vit_b_16", 31),
        ("dff/clip_zero_shot", 38),
        ("clip_qda/clip_qda", 39),
        ("shap_cbm/concept_bottleneck", 44),
        ("xnesyl/xnesyl", 45),
        ("bcos/resnet50_bcos", 46),
        ("rise_cbm/concept_bottleneck", 49),
    ],
)
def test_released_numbers_are_those_of_the_dataset(key: str, number: int) -> None:
    assert technique(key).released_id == number
    assert not technique(key).extra


def test_techniques_that_the_table_of_the_paper_lacks_are_extras() -> None:
    extras = {one.key for one in techniques() if one.extra}
    assert {"layercam/resnet50", "rise/vit_b_16", "labo/labo", "fullgrad/clip_zero_shot"} <= extras
    assert {one.key for one in techniques() if one.backbone == "vgg19"} < extras
    papers = [one for one in techniques() if one.backbone != "vgg19"]
    assert not any(one.extra for one in papers if one.method in ("gradcam", "bcos", "xnesyl"))


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("rise_cbm/vit_b_16", "RISE-CBM needs a concept model; vit_b_16 is not one"),
        ("gradcam/clip_qda", "GradCAM needs a black box; clip_qda is a concept model"),
        ("bcos/resnet50", "only to resnet50_bcos"),
        ("gradcamm/resnet50", "Did you mean 'gradcam"),
        ("gradcam/resnet5", "Did you mean 'resnet50'"),
        ("gradcam", "method/backbone"),
    ],
)
def test_a_wrong_technique_is_refused_with_the_reason(key: str, answer: str) -> None:
    with pytest.raises(PastaError, match=answer):
        technique(key)

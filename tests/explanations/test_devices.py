"""Methods compute where their model is: on meta, which no CPU tensor may touch, and on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pasta import explain
from pasta.explanations.api import DEFAULTS
from pasta.explanations.base import Given, View
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import Work, attributions, computed, predicted_classes
from pasta.explanations.layers import Tokens
from pasta.explanations.perturbation_search import find_pairs
from pasta.models.bcos import BcosClassifier
from pasta.models.concept_bottleneck import LinearHead
from tests.explanations.families import residual_view, transformer_view
from tests.explanations.networks import SmallNet, pictures
from tests.explanations.small_concepts import SETTINGS as CONCEPT_SETTINGS
from tests.explanations.small_concepts import SmallModel, gaussians
from tests.explanations.small_group import small_params

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
DIFFERENTIABLE = ("gradient", "interpretable latent space", "counterfactual")
# Why a method cannot run on meta, where tensors have no values.
LOOKS_AT_VALUES = {
    "ablationcam": "asks whether zero is the smallest activation, and tries its shortcut out",
    "scorecam": "scores equal channels once",
    "eigencam": "NumPy decomposes the activations: the sign is that of the authors' code",
    "eigengradcam": "NumPy decomposes the activations: the sign is that of the authors' code",
    "dff": "scikit-learn factorises the activations",
    "lime": "scikit-image segments the image",
    "shap": "scikit-image segments the image",
    "rise": "the image's pixels are the seed of its masks",
    "lime_cbm": "the image's pixels are the seed of its masks",
    "shap_cbm": "the image's pixels are the seed of its masks",
    "rise_cbm": "the image's pixels are the seed of its masks",
    "occlusion": "captum counts on the CPU where its window goes",
}
# Why a library's method cannot, though it is differentiable.
LIBRARIES = {
    "smoothgrad": "the image's pixels are the seed of its noise",
    "gradient_shap": "the image's pixels are the seed of its samples",
    "expected_gradients": "the image's pixels are the seed of its samples",
    "finer_cam": "grad-cam computes with NumPy",
    "shapley_cam": "grad-cam computes with NumPy",
    "random_cam": "grad-cam computes with NumPy",
    "kpca_cam": "grad-cam computes with NumPy",
}
META = [key for key in METHODS if key not in LOOKS_AT_VALUES | LIBRARIES]
SETTINGS = {
    **dict(DEFAULTS),
    **CONCEPT_SETTINGS,
    "dff": SimpleNamespace(components=2),
    "lime": SimpleNamespace(
        samples=30, segmenter="slic", segments=8, kernel_width=0.25, penalty=1.0
    ),
    "shap": SimpleNamespace(samples=30, segments=6),
    "rise": SimpleNamespace(masks=20, cells=4, keep=0.5),
}


def concept_view(head: nn.Module) -> View:
    model = SmallModel(head, 32, 4).eval()
    return View(model, concepts=model)


def bcos_view() -> View:
    settings = SimpleNamespace(bottleneck=False, blocks=(1, 1, 1, 1), width=8)
    torch.manual_seed(0)
    model = BcosClassifier(["a", "b", "c", "d"], settings).eval()  # type: ignore[arg-type]
    return View(model, model.cam_layers()[-1])


def views(key: str) -> list[Callable[[], View]]:
    about = METHODS.entry(key).metadata
    if about["network"] is BcosClassifier:
        return [bcos_view]
    if key == "clip_qda":
        return [lambda: concept_view(gaussians(32, 4).float())]
    if about["attribution"] == "concepts":
        return [lambda: concept_view(LinearHead(32, 4))]
    return [transformer_view] if about["needs_attention"] else [residual_view, transformer_view]


def given_on(view: View, images: Tensor, targets: Tensor, device: torch.device) -> Given:
    view.network.to(device)
    others = pictures(2, images.shape[-1], seed=8).to(device)
    return Given(view, images.to(device), targets.to(device), SETTINGS, references=others)


def test_what_cannot_run_on_meta_is_not_differentiable() -> None:
    kinds = {key: METHODS.entry(key).metadata["functioning"] for key in METHODS}
    stiff = {key for key in kinds if kinds[key] not in DIFFERENTIABLE}
    assert set(LOOKS_AT_VALUES) == stiff - set(LIBRARIES)


@pytest.mark.parametrize("key", META)
def test_differentiable_methods_stay_on_the_device(key: str) -> None:
    meta = torch.device("meta")
    for make in views(key):
        given = given_on(make(), pictures(3, 32), torch.tensor([0, 1, 3]), meta)
        found = computed(given, key)
        assert found.device == meta and len(found) == 3


def test_all_methods_of_a_batch_share_a_pass_on_meta() -> None:
    view = transformer_view()
    meta = torch.device("meta")
    given = given_on(view, pictures(2, 32), torch.tensor([0, 1]), meta)
    given.run_pass = METHODS.entry("fullgrad").metadata["own_pass"]
    assert {computed(given, key).device for key in ("fullgrad", "gradcam", "xgradcam")} == {meta}


@pytest.mark.gpu
@NO_GPU
@pytest.mark.parametrize("key", METHODS)
def test_every_method_says_the_same_on_a_gpu(key: str) -> None:
    for make in views(key):
        images, targets = pictures(3, 32), torch.tensor([0, 1, 3])
        here = computed(given_on(make(), images, targets, torch.device("cpu")), key)
        there = computed(given_on(make(), images, targets, torch.device("cuda")), key)
        assert there.device.type == "cuda"
        room = 1e-2 * float(here.abs().max())
        torch.testing.assert_close(there.cpu(), here, rtol=0, atol=room)


@pytest.mark.gpu
@NO_GPU
def test_explain_follows_the_model_on_a_gpu() -> None:
    network = SmallNet().cuda()
    found = explain(network, pictures(2).numpy(), [0, 1], target_layer="last")["gradcam"]
    here = explain(SmallNet(), pictures(2), [0, 1], target_layer="last")["gradcam"]
    np.testing.assert_allclose(found, here, atol=1e-2)
    assert next(network.parameters()).is_cuda


@pytest.mark.gpu
@NO_GPU
def test_perturbed_copies_are_searched_on_a_gpu(tmp_path: Path) -> None:
    view, images = residual_view(), pictures(2, 32).cuda()
    view.network.cuda()
    settings = small_params(tmp_path, "small").explanations.perturbations
    pairs = find_pairs(
        lambda part: predicted_classes(view, part), images, ["a", "b"], 0, settings, budget=4
    )
    assert all(pair.light.image.is_cuda and not pair.light.changed for pair in pairs)


def test_images_go_where_the_model_is() -> None:
    """Neither images nor targets need to be there: what has no values cannot be stored, though."""
    view = residual_view()
    view.network.to("meta")
    images = pictures(2, 32)
    work = Work(view, lambda part: images[part], torch.tensor([0, 1]), DEFAULTS)
    with pytest.raises(NotImplementedError, match="meta"):
        list(attributions(work, ["gradcam"]))
    tokens = Tokens(prefix=1)(torch.empty(2, 17, 4, device="meta"))
    assert tokens.shape == (2, 4, 4, 4)

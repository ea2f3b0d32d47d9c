"""Explanations for anybody's classifier: ``from pasta import explain``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from pasta import compute
from pasta.errors import PastaError
from pasta.explanations.attribution import Status, shown_maps, statuses
from pasta.explanations.base import Place, Reshape, View, require_inputs, require_network
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import Work, attributions, predicted_classes, view_of
from pasta.explanations.hooks import evaluating, hooked
from pasta.explanations.image import IMAGE
from pasta.explanations.layers import AnyLayout, find_tokens, place_tokens, resolve_layer
from pasta.explanations.methods.grad_cam import Backend
from pasta.explanations.modality import Modality, find_modality
from pasta.explanations.settings import MethodsParams
from pasta.models.base import Classifier
from pasta.progress import late_bar
from pasta.registry import did_you_mean

DEFAULTS = MethodsParams()
Maps = dict[str, NDArray[np.float32]]
Statuses = dict[str, list[Status]]


@overload
def explain(
    model: nn.Module,
    images: Tensor | ArrayLike,
    targets: Tensor | ArrayLike | None = None,
    methods: Sequence[str] = ...,
    target_layer: nn.Module | str | None = None,
    reshape: Reshape | None = None,
    batch_size: int | None = None,
    *,
    settings: MethodsParams = ...,
    seed: int = 0,
    backend: Backend = ...,
    budget: int = 256,
    modality: Modality | str = ...,
    references: Tensor | ArrayLike | None = ...,
    place: Place | None = ...,
    return_status: Literal[False] = False,
) -> Maps: ...


@overload
def explain(
    model: nn.Module,
    images: Tensor | ArrayLike,
    targets: Tensor | ArrayLike | None = None,
    methods: Sequence[str] = ...,
    target_layer: nn.Module | str | None = None,
    reshape: Reshape | None = None,
    batch_size: int | None = None,
    *,
    settings: MethodsParams = ...,
    seed: int = 0,
    backend: Backend = ...,
    budget: int = 256,
    modality: Modality | str = ...,
    references: Tensor | ArrayLike | None = ...,
    place: Place | None = ...,
    return_status: Literal[True],
) -> tuple[Maps, Statuses]: ...


def explain(
    model: nn.Module,
    images: Tensor | ArrayLike,
    targets: Tensor | ArrayLike | None = None,
    methods: Sequence[str] = ("gradcam",),
    target_layer: nn.Module | str | None = None,
    reshape: Reshape | None = None,
    batch_size: int | None = None,
    *,
    settings: MethodsParams = DEFAULTS,
    seed: int = 0,
    backend: Backend = "shared pass",
    budget: int = 256,
    modality: Modality | str = IMAGE,
    references: Tensor | ArrayLike | None = None,
    place: Place | None = None,
    return_status: bool = False,
) -> Maps | tuple[Maps, Statuses]:
    """Explain any torch image classifier by several methods that share their passes.

    What takes more than two seconds shows its progress on a terminal.

    Parameters
    ----------
    model
        Maps images (n, channels, height, width) to logits (n, classes). It is explained where it
        is, on any device, in evaluation mode, and left as it was found.
    images
        The images as the model wants them, normalised or not.
    targets
        The class to explain for each image; None explains the predicted ones.
    methods
        Keys as listed by ``pasta techniques`` (gradcam, eigencam, lime, ...); captum's saliency,
        input_x_gradient, integrated_gradients, smoothgrad, guided_backprop, deeplift,
        gradient_shap, occlusion; zennit's lrp (plain CNNs, ours elsewhere); and grad-cam's
        kpca_cam, finer_cam, shapley_cam, random_cam. expected_gradients and deeplift_shap compare
        with ``references``; raw_attention, attention_rollout and lrp_attention explain
        transformers.
    target_layer
        Where CAM methods look, a module or its dotted name; None finds it for the torchvision and
        timm families.
    reshape
        From the layer's output to (n, channels, h, w); None finds it for token layers.
    batch_size
        Images at a time, 16 by default.
    settings, seed
        Parameters of the methods that have some, and the seed of their randomness.
    backend
        Who computes CAM methods: one pass that all of them share, or ``grad-cam``, whose classes
        make a pass for each. Their maps are equal but for rounding, except FullGrad's: grad-cam's
        knows only the biases of convolutions and batch norms.
    budget
        The most images in one pass of a method that makes copies of them (LIME, Integrated
        Gradients, ...): less where memory is short.
    modality
        What the inputs are, if not images: ``volume`` (n, channels, depth, height, width), ``point
        cloud`` (n, 3, points), or a modality of your own. Not every method knows every modality.
        Texts have no common size: :func:`pasta.explain_texts` explains them.
    references
        Inputs (m, channels, *spatial) that expected_gradients and deeplift_shap compare with, for
        instance some of the training images.
    place
        From attention (n, queries, keys) and inputs to maps (n, *any), for transformers whose
        tokens are no grid but points; see :mod:`pasta.explanations.methods.attention_maps`.
    return_status
        Also say what is the matter with each map.

    Returns
    -------
    For each method its maps (n, height, width), or (n, *spatial), as people see them: from 0 to 1
    and, for methods with a sign, from -1 to 1. In the readings *paper* and *released* of LATEC's
    methods they have a value for each channel (n, channels, *spatial). A map that is constant or
    not a number is all zero. With ``return_status`` also a list for each method: ``ok``, ``zero``,
    ``constant`` or ``nan``.

    Examples
    --------
    A network that adds up all pixels finds the bright one:

    >>> import torch
    >>> from torch import nn
    >>> from pasta import explain
    >>> network = nn.Sequential(
    ...     nn.Conv2d(3, 1, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 2)
    ... )
    >>> for weights in network.parameters():
    ...     _ = nn.init.ones_(weights)
    >>> image = torch.zeros(1, 3, 3, 3)
    >>> image[..., 1, 2] = 1
    >>> explain(network, image, targets=[0], target_layer="0")["gradcam"]
    array([[[0., 0., 0.],
            [0., 0., 1.],
            [0., 0., 0.]]], dtype=float32)

    A network of volumes that looks at one voxel, and one of point clouds that adds up heights:

    >>> class Looks(nn.Module):
    ...     def forward(self, volumes):
    ...         return torch.stack([volumes[:, 0, 1, 0, 1], volumes[:, 0, 0, 0, 0]], 1)
    >>> volume = torch.rand(1, 1, 2, 2, 2)
    >>> maps = explain(Looks(), volume, [0], ["saliency"], modality="volume")["saliency"]
    >>> maps.shape, maps[0, 1, 0, 1].item()
    ((1, 2, 2, 2), 1.0)
    >>> class Heights(nn.Module):
    ...     def forward(self, clouds):
    ...         return torch.stack([clouds[:, 2].sum(1), clouds[:, 0].sum(1)], 1)
    >>> cloud = torch.tensor([[[0.1, 0.2], [0.0, 0.5], [1.0, 0.5]]])
    >>> explain(Heights(), cloud, [0], ["input_x_gradient"], modality="point cloud")
    {'input_x_gradient': array([[1. , 0.5]], dtype=float32)}
    """
    modality = find_modality(modality)
    if isinstance(model, torch.jit.ScriptModule):
        raise PastaError(
            "a TorchScript model cannot be explained: nothing can be watched inside it; pass the "
            "module that it was made of"
        )
    if backend not in get_args(Backend):
        hint = did_you_mean(backend, list(get_args(Backend)))
        raise PastaError(f"there is no backend called {backend!r}. {hint}")
    # The caller may be in inference mode, where nothing can be differentiated.
    with torch.inference_mode(False), evaluating(model):
        pictures = _checked_images(images, modality)
        others = _checked_references(references)
        view = _view(model, methods, target_layer, reshape, modality, pictures)
        view = view if place is None else replace(view, place=place)
        for name in methods:
            require_inputs(name, view, others, pictures.shape[1:])
        pictures = pictures.to(compute.device_of(model))
        classes = _checked_targets(view, pictures, targets, batch_size or 16)
        work = Work(
            view,
            lambda part: pictures[part],
            classes,
            settings,
            seed,
            batch_size or 16,
            budget,
            backend,
            modality,
            others,
        )
        found: Maps = {}
        known: Statuses = {name: [] for name in methods}
        with late_bar("explain", len(pictures) * len(known)) as line:
            for part in attributions(work, methods):
                sign = METHODS.entry(part.method).metadata["sign"]
                stop = part.start + len(part.raw)
                if part.method not in found:
                    shape = (len(pictures), *part.raw.shape[1:])
                    found[part.method] = np.empty(shape, np.float32)
                found[part.method][part.start : stop] = shown_maps(part.raw, sign)
                known[part.method] += statuses(part.raw)
                line.advance(len(part.raw), words=part.method)
    return (found, known) if return_status else found


def _view(
    model: nn.Module,
    methods: Sequence[str],
    layer: nn.Module | str | None,
    reshape: Reshape | None,
    modality: Modality,
    images: Tensor,
) -> View:
    """The model as methods see it, after a look at what they need: nothing is computed before."""
    for name in methods:
        about, kind = METHODS.entry(name).metadata, type(model).__name__
        if about["attribution"] == "concepts":
            title = about["title"]
            raise PastaError(f"{title} explains by concepts, not by maps; {kind} gives none")
        require_network(name, model, modality)
    needs = [name for name in methods if METHODS.entry(name).metadata["needs_layer"]]
    if isinstance(model, Classifier) and layer is None and reshape is None:
        return view_of(model)
    attends = any(METHODS.entry(name).metadata["needs_attention"] for name in methods)
    if not needs and layer is None:
        own = place_tokens(find_tokens(model), *images.shape[2:]) if attends else None
        return View(model, reshape=reshape or own)
    found, own = resolve_layer(model, layer, images.shape[1], images.ndim - 2)
    if own is None and attends:
        own = AnyLayout(find_tokens(model), last=False)
    if own is not None and images.ndim > 3:
        own = place_tokens(own, *images.shape[2:])
    return View(model, found, reshape or own)


def _checked_images(images: Any, modality: Modality) -> Tensor:
    pictures = torch.as_tensor(np.asarray(images) if not isinstance(images, Tensor) else images)
    anybody = replace(modality, channels=None) if modality is IMAGE else modality
    if not anybody.fits(pictures.shape):
        raise PastaError(
            f"the images have the shape {tuple(pictures.shape)}, expected {anybody.form}"
        )
    if not pictures.is_floating_point():
        raise PastaError(f"the images are {pictures.dtype}, expected floats")
    return pictures.clone() if pictures.is_inference() else pictures.detach()


def _checked_references(references: Any) -> Tensor | None:
    if references is None:
        return None
    found = references if isinstance(references, Tensor) else np.asarray(references)
    checked = torch.as_tensor(found)
    if not checked.is_floating_point():
        raise PastaError(f"the references are {checked.dtype}, expected floats")
    return checked.clone() if checked.is_inference() else checked.detach()


def _checked_targets(view: View, images: Tensor, targets: Any, batch_size: int) -> Tensor:
    """One class index for each image, after a look at what the model says of the first one."""
    calls = 0

    def count(_layer: nn.Module, _inputs: tuple[Tensor, ...], _output: Tensor) -> None:
        nonlocal calls
        calls += 1

    try:
        with torch.no_grad(), hooked(view.layer or nn.Identity(), count):
            outputs = view.logits(images[:1])
    except (RuntimeError, AssertionError) as error:
        size = " x ".join(map(str, images.shape[2:]))
        raise PastaError(f"the model cannot take images of {size} pixels: {error}") from error
    if not isinstance(outputs, Tensor) or outputs.ndim != 2:
        found = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise PastaError(
            f"the model returns {found} for one image, expected (1, classes); wrap it in a module "
            "that returns the logits"
        )
    if view.layer is not None and calls != 1:
        kind = type(view.layer).__name__
        raise PastaError(
            f"the target layer, a {kind}, runs {calls} times in one pass, expected once; name "
            "another layer"
        )
    classes = outputs.shape[-1]
    if targets is None:
        return torch.cat([predicted_classes(view, one) for one in torch.split(images, batch_size)])
    chosen = torch.as_tensor(targets)
    if chosen.shape != (len(images),) or chosen.is_floating_point():
        raise PastaError(
            f"the targets have the shape {tuple(chosen.shape)} and are {chosen.dtype}, expected "
            f"one class index for each of {len(images)} images"
        )
    for index in (int(chosen.min()), int(chosen.max())):
        if not 0 <= index < classes:
            raise PastaError(f"there is no class {index}: the model has {classes}, from 0 on")
    return chosen.long()

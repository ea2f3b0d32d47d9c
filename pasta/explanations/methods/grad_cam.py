"""Class activation maps computed by pytorch-grad-cam's classes.

``explain(..., backend="grad-cam")`` sends the CAM methods here. Four of grad-cam's methods have no
version of our own and always come from here: KPCA-CAM, Finer-CAM, Shapley-CAM and RandomCAM.

Maps come back as grad-cam makes them: rectified, as large as the images, from 0 to 1.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pytorch_grad_cam import (
    KPCA_CAM,
    AblationCAM,
    AblationLayer,
    AblationLayerVit,
    EigenCAM,
    EigenGradCAM,
    FinerCAM,
    FullGrad,
    GradCAM,
    GradCAMElementWise,
    GradCAMPlusPlus,
    HiResCAM,
    LayerCAM,
    RandomCAM,
    ScoreCAM,
    ShapleyCAM,
    XGradCAM,
)
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from pasta.errors import PastaError
from pasta.explanations.base import Given, Passes, method
from pasta.explanations.hooks import hooked
from pasta.explanations.masking import batch_rows
from pasta.explanations.methods.ablation import channel_axis
from pasta.explanations.settings import FinerCamParams, KpcaCamParams

Backend = Literal["shared pass", "grad-cam"]
Maps = NDArray[np.float32]
cam = partial(method, backbones=(), needs_layer=True)

# Classes that need nothing but the network, its layer and what makes maps of the layer's output.
_PLAIN: dict[str, Callable[..., Any]] = {
    "gradcam": GradCAM,
    "hirescam": HiResCAM,
    "gradcam_elementwise": GradCAMElementWise,
    "gradcam++": GradCAMPlusPlus,
    "xgradcam": XGradCAM,
    "layercam": LayerCAM,
    "eigencam": EigenCAM,
    "eigengradcam": EigenGradCAM,
    "scorecam": ScoreCAM,
}
BOTH = frozenset({*_PLAIN, "ablationcam", "fullgrad"})  # computed by grad-cam if asked to
ONLY = frozenset({"kpca_cam", "finer_cam", "shapley_cam", "random_cam"})  # always


def goes_through_grad_cam(name: str, backend: Backend) -> bool:
    """Say whether grad-cam computes a method."""
    return name in ONLY or (backend == "grad-cam" and name in BOTH)


def compute_by_grad_cam(given: Given, name: str) -> Tensor:
    """Compute a CAM method that this project has, too, by grad-cam's class.

    Parameters
    ----------
    given
        The images, their targets and the layer to look at.
    name
        One of ``BOTH``.

    Returns
    -------
    Maps (n, height, width) from 0 to 1, on the device of the images.
    """
    view = given.view
    if name == "fullgrad":
        return run_cam(given, FullGrad(view.network, [], view.reshape))
    layers = [view.require_layer()]
    if name == "ablationcam":
        ablate = AblationLayerVit() if _gives_channels_last(given) else AblationLayer()
        rows = batch_rows(given)
        return run_cam(given, AblationCAM(view.network, layers, view.reshape, ablate, rows))
    return run_cam(given, _PLAIN[name](view.network, layers, view.reshape))


@cam(
    "kpca_cam",
    passes=lambda *_: Passes(forward=1),
    functioning="factorization",
    doi="10.48550/arXiv.2410.00267",
)
def kpca_cam(given: Given) -> Tensor:
    """Project activations on the first component of a kernel PCA (Karmani 2024)."""
    settings: KpcaCamParams = given.settings["kpca_cam"]
    view = given.view
    layers = [view.require_layer()]
    return run_cam(
        given, KPCA_CAM(view.network, layers, view.reshape, settings.kernel, settings.gamma)
    )


@cam("finer_cam", functioning="gradient", doi="10.48550/arXiv.2501.11309")
def finer_cam(given: Given) -> Tensor:
    """Show by GradCAM what sets the class apart from those with the nearest scores (Zhang 2025)."""
    settings: FinerCamParams = given.settings["finer_cam"]
    view, maps = given.view, []
    others = list(range(1, 1 + settings.comparisons))  # the nearest class is the target itself
    for one in given.one_by_one():
        run = FinerCAM(view.network, [view.require_layer()], view.reshape)
        call = partial(
            run,
            alpha=settings.strength,
            comparison_categories=others,
            target_idx=int(one.targets),
        )
        maps.append(run_cam(one, run, call))
    return torch.cat(maps)


@cam("shapley_cam", functioning="gradient", doi="10.48550/arXiv.2501.06261")
def shapley_cam(given: Given) -> Tensor:
    """Weigh channels by their gradient less half their Hessian-vector product (Cai 2025)."""
    view = given.view
    run = TokenShapleyCAM(view.network, [view.require_layer()], view.reshape)
    with sdpa_kernel(SDPBackend.MATH):  # other ways of attention have no second derivative
        return run_cam(given, run, frozen=False)  # nor has a linear head that is frozen


@cam("random_cam", functioning="gradient", doi="10.48550/arXiv.1810.03292")
def random_cam(given: Given) -> Tensor:
    """Weigh channels at random, from -1 to 1: what any other CAM method should do better than."""
    view, maps = given.view, []
    for one in given.one_by_one():
        with one.seeded("random_cam"):
            run = RandomCAM(view.network, [view.require_layer()], view.reshape)
            maps.append(run_cam(one, run))
    return torch.cat(maps)


class TokenShapleyCAM(ShapleyCAM):
    """Shapley-CAM for transformers, too.

    Grad-cam's class reshapes tokens for the weights, but not for the activations that they weigh,
    and ends with an error; another one follows when it detaches gradients that are views.
    """

    def get_cam_image(
        self,
        input_tensor: Tensor,
        target_layer: nn.Module,
        targets: list[Any],
        activations: Tensor,
        grads: Tensor,
        eigen_smooth: bool = False,  # noqa: ARG002 (grad-cam passes it)
    ) -> NDArray[Any]:
        """Weigh the activations, as maps."""
        weights = self.get_cam_weights(input_tensor, target_layer, targets, activations, grads)
        maps = (
            activations if self.reshape_transform is None else self.reshape_transform(activations)
        )
        found: NDArray[Any] = np.einsum("nc,nchw->nhw", weights, maps.detach().cpu().numpy())
        self.activations_and_grads.activations.clear()
        self.activations_and_grads.gradients.clear()
        return found


def run_cam(
    given: Given, run: Any, call: Callable[[Tensor], Maps] | None = None, *, frozen: bool = True
) -> Tensor:
    """Let one of grad-cam's objects compute the maps, and leave no trace of it in the network.

    Parameters
    ----------
    given
        The images and their targets.
    run
        The object; its hooks are removed.
    call
        What to call instead of ``run(images, targets)``.
    frozen
        Whether parameters need no gradients meanwhile, which saves time and memory.
    """
    asked = [ClassifierOutputTarget(int(one)) for one in given.targets]
    images, maps = given.images.detach().clone().requires_grad_(), None
    with run, torch.enable_grad(), kept_parameters(given.view.network, not frozen), _quiet():
        maps = run(images, asked) if call is None else call(images)
    if maps is None:  # its context manager prints errors of indices and swallows them
        raise PastaError(f"{type(run).__name__} of grad-cam cannot explain this model, see above")
    return torch.as_tensor(maps, dtype=torch.float32, device=given.images.device)


@contextmanager
def kept_parameters(network: nn.Module, needy: bool) -> Iterator[None]:
    """Say whether parameters need gradients; afterwards they do and have what they did before.

    Grad-cam sets the gradients of all parameters to none before it computes its own.
    """
    before = [(one, one.grad, one.requires_grad) for one in network.parameters()]
    try:
        for parameter, _, _ in before:
            parameter.requires_grad_(needy and parameter.is_floating_point())
        yield
    finally:
        for parameter, gradient, was_needy in before:
            parameter.requires_grad_(was_needy)
            parameter.grad = gradient


def _gives_channels_last(given: Given) -> bool:
    """Look whether the layer gives tokens, or maps whose channels come last."""
    shapes: list[bool] = []

    def look(_layer: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        shapes.append(channel_axis(given.view, output) > 1)

    with hooked(given.view.require_layer(), look), torch.no_grad():
        given.view.logits(given.images[:1])
    return shapes[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide progress bars, which grad-cam draws without asking."""
    with redirect_stderr(io.StringIO()):
        yield

"""Gradient methods and occlusion, computed by captum.

They explain any torch classifier that ``pasta.explain`` is given. None of them is a technique of
the experiment: they are registered for no backbone, so that the pipeline does not run them.

Captum attributes the target's logit to every value (n, 3, height, width) of the images. Methods
that say how much a value adds to the logit keep their sign and are summed over the colours;
methods that say how sensitive the logit is show the largest absolute value of the three.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import torch
from captum.attr import (
    DeepLift,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    NoiseTunnel,
    Occlusion,
    Saliency,
)
from torch import Tensor, nn

from pasta.explanations.base import Given, Passes, Sizes, method
from pasta.explanations.hooks import frozen
from pasta.explanations.masking import batch_rows, halve_until_it_fits
from pasta.explanations.settings import (
    DeepLiftParams,
    GradientShapParams,
    IntegratedGradientsParams,
    OcclusionParams,
    SmoothGradParams,
)

Attribute = Callable[[Tensor, Tensor, int], Tensor]  # images, their targets, rows of one pass
extra = partial(method, backbones=(), any_modality=True)


@extra("saliency", functioning="gradient", doi="10.48550/arXiv.1312.6034")
def saliency(given: Given) -> Tensor:
    """Compute the absolute gradient, the largest of the three colours (Simonyan 2013)."""
    run = Saliency(given.view.logits)
    found = attribute(given, lambda images, targets, _: run.attribute(images, targets))
    return largest_colour(found)


@extra(
    "input_x_gradient",
    functioning="gradient",
    doi="10.48550/arXiv.1605.01713",
    sign="signed",
)
def input_x_gradient(given: Given) -> Tensor:
    """Multiply the image by its gradient (Shrikumar 2016)."""
    run = InputXGradient(given.view.logits)
    return attribute(given, lambda images, targets, _: run.attribute(images, targets)).sum(1)


@extra(
    "integrated_gradients",
    passes=lambda settings, _: Passes(settings.steps, settings.steps),
    functioning="gradient",
    doi="10.48550/arXiv.1703.01365",
    sign="signed",
)
def integrated_gradients(given: Given) -> Tensor:
    """Integrate gradients on the way from a baseline to the image (Sundararajan 2017).

    The pixels of a map sum to the logit of the image - the logit of the baseline, but for the error
    of so many steps.
    """
    settings: IntegratedGradientsParams = given.settings["integrated_gradients"]
    run = IntegratedGradients(given.view.logits)

    def integrate(images: Tensor, targets: Tensor, rows: int) -> Tensor:
        found: Tensor = run.attribute(
            images,
            settings.baseline,
            targets,
            n_steps=settings.steps,
            internal_batch_size=max(rows, len(images)),
        )
        return found

    return attribute(given, integrate).sum(1)


@extra(
    "smoothgrad",
    functioning="gradient",
    doi="10.48550/arXiv.1706.03825",
    passes=lambda settings, _: Passes(settings.samples, settings.samples),
)
def smoothgrad(given: Given) -> Tensor:
    """Average the gradients of noisy copies (Smilkov 2017), then show them like saliency."""
    settings: SmoothGradParams = given.settings["smoothgrad"]
    run = NoiseTunnel(Saliency(given.view.logits))

    def smooth(image: Tensor, target: Tensor, rows: int) -> Tensor:
        low, high = image.detach().aminmax()
        found: Tensor = run.attribute(
            image,
            nt_samples=settings.samples,
            nt_samples_batch_size=min(settings.samples_at_once, rows),
            stdevs=float(settings.noise * (high - low)),
            target=target,
            abs=False,
        )
        return found

    return largest_colour(attribute_with_draws(given, "smoothgrad", smooth))


@extra(
    "guided_backprop",
    functioning="gradient",
    doi="10.48550/arXiv.1412.6806",
)
def guided_backprop(given: Given) -> Tensor:
    """Let only positive gradients through the ReLUs (Springenberg 2014), shown like saliency.

    Captum finds ReLUs that are modules. In networks without any it is the plain gradient.
    """
    run = GuidedBackprop(given.view.network)
    found = attribute(given, lambda images, targets, _: run.attribute(images, targets))
    return largest_colour(found)


@extra(
    "deeplift",
    passes=lambda *_: Passes(forward=2, backward=2),  # the image and its baseline
    functioning="gradient",
    doi="10.48550/arXiv.1704.02685",
    sign="signed",
)
def deeplift(given: Given) -> Tensor:
    """Share out how the logit differs from a baseline's, by the rescale rule (Shrikumar 2017).

    If all that is not linear is a ReLU, another activation or a pooling that captum knows and finds
    as a module, the pixels of a map sum to this difference. What it does not know (GELU, norms of
    tokens, attention, functions instead of modules) is replaced by its gradient at the image.
    """
    settings: DeepLiftParams = given.settings["deeplift"]
    run = DeepLift(split_shared_modules(given.view.network, given.images[:1]))
    found = attribute(
        given,
        lambda images, targets, _: run.attribute(images, settings.baseline, targets),
        copies=2,  # the image and its baseline
    )
    return found.sum(1)


@extra(
    "gradient_shap",
    passes=lambda settings, _: Passes(settings.samples, settings.samples),
    functioning="gradient",
    doi="10.1038/s42256-021-00343-w",
    sign="signed",
)
def gradient_shap(given: Given) -> Tensor:
    """Average gradients at random points between a baseline and the image (Erion 2021)."""
    settings: GradientShapParams = given.settings["gradient_shap"]
    run = GradientShap(given.view.logits)

    def expect(image: Tensor, target: Tensor, rows: int) -> Tensor:
        baseline = torch.full_like(image, settings.baseline)
        at_once, found = min(settings.samples_at_once, rows), torch.zeros_like(image)
        for start in range(0, settings.samples, at_once):
            number = min(at_once, settings.samples - start)
            part = run.attribute(image, baseline, number, settings.noise, target)
            found = found + part * (number / settings.samples)
        return found

    return attribute_with_draws(given, "gradient_shap", expect).sum(1)


def _count_squares(settings: OcclusionParams, sizes: Sizes) -> Passes:
    window, stride = _square(settings, sizes.image)
    places = (1 + math.ceil((length - window) / stride) for length in sizes.image)
    return Passes(forward=1 + math.prod(places))


def _square(settings: OcclusionParams, size: tuple[int, ...]) -> tuple[int, int]:
    """Side of the square in pixels, and by how many it moves."""
    window = max(1, round(settings.window * min(size)))
    return window, max(1, round(settings.stride * window))


@extra(
    "occlusion",
    passes=_count_squares,
    functioning="perturbation",
    doi="10.1007/978-3-319-10590-1_53",
    sign="signed",
)
def occlusion(given: Given) -> Tensor:
    """Measure how the logit drops behind a square, averaged over all squares (Zeiler 2014)."""
    settings: OcclusionParams = given.settings["occlusion"]
    window, stride = _square(settings, given.size)
    run = Occlusion(given.view.logits)

    def occlude(images: Tensor, targets: Tensor, rows: int) -> Tensor:
        found: Tensor = run.attribute(
            images,
            (images.shape[1], *[window] * len(given.size)),
            (images.shape[1], *[stride] * len(given.size)),
            settings.baseline,
            targets,
            perturbations_per_eval=max(1, rows // len(images)),
        )
        return found

    return attribute(given, occlude)[:, 0]  # the square hides all colours: they are equal


def attribute(given: Given, run: Attribute, copies: int = 1) -> Tensor:
    """Call captum for as many images at a time as the budget allows.

    Parameters
    ----------
    given
        The images and the classes to explain.
    run
        Calls captum; it is told how many images may be in one pass.
    copies
        Of each image that the method puts into one pass.

    Returns
    -------
    Attributions (n, 3, height, width). Where memory runs out, fewer images are tried at a time.
    """

    def run_parts(rows: int) -> Tensor:
        found = []
        for start in range(0, len(given), max(1, rows // copies)):
            part = slice(start, start + max(1, rows // copies))
            leaf = given.images[part].detach().clone().requires_grad_()
            found.append(run(leaf, given.targets[part], rows).detach())
        return torch.cat(found)

    with torch.enable_grad(), frozen(given.view.network), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Setting (forward, )?backward hooks")
        return halve_until_it_fits(run_parts, batch_rows(given))


def attribute_with_draws(given: Given, purpose: str, run: Attribute) -> Tensor:
    """Call captum for each image alone, with randomness that depends on the image and the seed.

    What captum draws comes from the global generators of torch and NumPy, which are set for the
    image and put back afterwards.
    """

    def run_seeded(one: Given, image: Tensor, target: Tensor, rows: int) -> Tensor:
        with one.seeded(purpose):
            return run(image, target, rows)

    return torch.cat([attribute(one, partial(run_seeded, one)) for one in given.one_by_one()])


def largest_colour(found: Tensor) -> Tensor:
    """Reduce attributions (n, 3, height, width) to the largest absolute value of each pixel."""
    return found.abs().amax(1)


class CalledInTurn(nn.Module):
    """A module for each call during one forward pass of the network that it is a part of."""

    def __init__(self, module: nn.Module, calls: int) -> None:
        super().__init__()
        self.each = nn.ModuleList(copy.deepcopy(module) for _ in range(calls))
        self.turn = 0

    def forward(self, *inputs: Tensor) -> Tensor:
        """Call the next one."""
        found: Tensor = self.each[self.turn % len(self.each)](*inputs)
        self.turn += 1
        return found


def split_shared_modules(network: nn.Module, image: Tensor) -> nn.Module:
    """Copy a network and give each call of a shared activation a module of its own.

    Captum's DeepLIFT keeps what goes through a module at the module, hence refuses those that are
    called twice; torchvision's residual blocks have one ReLU for three places. On a copy nothing
    that captum leaves at the modules reaches the user's network.
    """
    copied = copy.deepcopy(network)
    calls: Counter[nn.Module] = Counter()
    with ExitStack() as stack, torch.no_grad():
        for module in copied.modules():
            if not list(module.parameters()) and not list(module.children()):
                hook = module.register_forward_pre_hook(lambda one, _: calls.update([one]))
                stack.callback(hook.remove)
        copied(image)
    for parent in list(copied.modules()):
        for name, module in list(parent.named_children()):
            if calls[module] > 1:
                setattr(parent, name, CalledInTurn(module, calls[module]))
    return copied

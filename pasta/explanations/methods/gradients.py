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
    IntegratedGradients,
    NoiseTunnel,
    Occlusion,
    Saliency,
)
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.explanations.base import Given, Passes, Sizes, View, method
from pasta.explanations.entries import repeat
from pasta.explanations.equivalences import with_modules
from pasta.explanations.hooks import frozen
from pasta.explanations.masking import batch_rows, halve_until_it_fits
from pasta.explanations.rescale import mean_difference
from pasta.explanations.settings import (
    DeepLiftParams,
    DeepLiftShapParams,
    ExpectedGradientsParams,
    GradientShapParams,
    IntegratedGradientsParams,
    OcclusionParams,
    SmoothGradParams,
)
from pasta.readings import Reading

Attribute = Callable[[Tensor, Tensor, int], Tensor]  # images, their targets, rows of one pass
extra = partial(method, backbones=(), any_modality=True)


@extra("saliency", functioning="gradient", doi="10.48550/arXiv.1312.6034")
def saliency(given: Given) -> Tensor:
    """Compute the absolute gradient, the largest of the three colours (Simonyan 2013)."""
    return sensitivity(given, "saliency", shared_gradients(given))


@extra(
    "input_x_gradient",
    functioning="gradient",
    doi="10.48550/arXiv.1605.01713",
    sign="signed",
)
def input_x_gradient(given: Given) -> Tensor:
    """Multiply the image by its gradient (Shrikumar 2016)."""
    return contribution(given, "input_x_gradient", given.images * shared_gradients(given))


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

    return contribution(given, "integrated_gradients", attribute(given, integrate))


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

    Captum finds ReLUs that are modules. ReLUs that are functions become modules of a copy, where
    the network can be traced (not in the released reading). In networks without any ReLU it is the
    plain gradient, see :func:`pasta.explanations.equivalences.known_equivalences`.
    """
    run = GuidedBackprop(captum_network(given, "guided_backprop"))
    found = attribute(given, lambda images, targets, _: run.attribute(images, targets))
    if reading_of(given, "guided_backprop") != "corrected":
        return found.relu()
    return largest_colour(found)


@extra(
    "deeplift",
    passes=lambda *_: Passes(forward=1, backward=1),  # the baseline's is shared
    functioning="gradient",
    doi="10.48550/arXiv.1704.02685",
    sign="signed",
)
def deeplift(given: Given) -> Tensor:
    """Share out how the logit differs from a baseline's, by the rescale rule (Shrikumar 2017).

    The pixels of a map sum to this difference (:mod:`pasta.explanations.rescale`). In the
    readings of LATEC captum computes it, which finds ReLUs, some other activations and poolings
    that are modules; what it does not find (SiLU, GELU, norms of tokens, attention) is replaced by
    its gradient at the image.
    """
    settings: DeepLiftParams = given.settings["deeplift"]
    if settings.reading == "corrected":
        baseline = torch.full_like(given.images[:1], settings.baseline)
        return attribute(given, partial(_lift, given, baseline)).sum(1)
    network = captum_network(given, "deeplift")
    run = DeepLift(split_shared_modules(network, given.images[:1]))
    found = attribute(
        given,
        lambda images, targets, _: run.attribute(images, settings.baseline, targets),
        copies=2,  # the image and its baseline
    )
    return found.relu()


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


@extra(
    "expected_gradients",
    passes=lambda settings, _: Passes(settings.samples, settings.samples),
    functioning="gradient",
    doi="10.1038/s42256-021-00343-w",
    sign="signed",
    needs_references=True,
)
def expected_gradients(given: Given) -> Tensor:
    """Average gradients at random points between references and the image (Erion 2021).

    A sample is (image + noise - reference) times the gradient at a random place of the straight
    way between both: captum's GradientShap with a distribution of baselines. In the released
    reading each sample is cut at zero before the mean, in the paper's the mean is.
    """
    settings: ExpectedGradientsParams = given.settings["expected_gradients"]
    references, number = given.require_references(), settings.samples

    def average(rows: int) -> Tensor:
        found, together = [], max(1, rows // number)  # images whose samples make a full pass
        for start in range(0, len(given), together):
            images = given.images[start : start + together]
            draws = [
                _draw_points(image, references, settings, given.generator(place, purpose))
                for place, image in enumerate(images, start)
            ]
            points, ways = (torch.cat(part) for part in zip(*draws, strict=True))
            targets = given.targets[start : start + together].repeat_interleave(number)
            pairs = zip(torch.split(points, rows), torch.split(targets, rows), strict=True)
            gradients = torch.cat([input_gradients(given.view, *pair) for pair in pairs])
            samples = (gradients * ways).view(len(images), number, *images.shape[1:])
            samples = samples.relu() if settings.reading == "released" else samples
            found.append(samples.mean(1))
        return torch.cat(found)

    purpose = "expected_gradients"
    with frozen(given.view.network):
        found = halve_until_it_fits(average, batch_rows(given))
    return contribution(given, "expected_gradients", found)


def _draw_points(
    image: Tensor,
    references: Tensor,
    settings: ExpectedGradientsParams,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Points (samples, ...) between references and the image, and the ways between both."""
    number, kind = settings.samples, {"generator": generator, "dtype": torch.double}
    chosen = torch.randint(len(references), (number,), generator=generator)
    share = torch.rand(number, *[1] * image.ndim, **kind).to(image)  # type: ignore[call-overload]
    begin = references[chosen.to(references.device)]
    end = image.expand(number, *image.shape)
    if settings.noise:
        noise = torch.randn(number, *image.shape, **kind)  # type: ignore[call-overload]
        end = end + settings.noise * noise.to(image)
    return begin + share * (end - begin), end - begin


@extra(
    "deeplift_shap",
    passes=lambda settings, sizes: Passes(
        forward=1, backward=min(settings.references, sizes.references or settings.references)
    ),
    functioning="gradient",
    doi="10.48550/arXiv.1705.07874",
    sign="signed",
    needs_references=True,
)
def deeplift_shap(given: Given) -> Tensor:
    """Average DeepLIFT over references (Lundberg & Lee 2017).

    The pixels of a map sum to the logit - the mean of the references' logits. In LATEC's readings
    captum's rules hold, and released maps are cut at zero for each reference, before the mean.
    """
    settings: DeepLiftShapParams = given.settings["deeplift_shap"]
    references = given.require_references()[: settings.references]
    if settings.reading == "corrected":
        return attribute(given, partial(_lift, given, references)).sum(1)
    network = captum_network(given, "deeplift_shap")
    run = DeepLift(split_shared_modules(network, given.images[:1]))

    def average(images: Tensor, targets: Tensor, _rows: int) -> Tensor:
        total = torch.zeros_like(images)
        for reference in references:
            found = run.attribute(images, reference.expand_as(images), targets).detach()
            total += found.relu() if settings.reading == "released" else found
        return total / len(references)

    return contribution(given, "deeplift_shap", attribute(given, average, copies=2))


def _lift(given: Given, references: Tensor, images: Tensor, targets: Tensor, _rows: int) -> Tensor:
    return mean_difference(given.view.network, images, targets, references)


def _count_squares(settings: OcclusionParams, sizes: Sizes) -> Passes:
    windows, strides = _square(settings, sizes.image)
    sides = zip(sizes.image, windows, strides, strict=True)
    places = (1 + math.ceil((length - window) / stride) for length, window, stride in sides)
    return Passes(forward=1 + math.prod(places))


def _square(
    settings: OcclusionParams, size: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sides of the square in pixels, and by how many it moves, for each axis."""
    window = max(1, round(settings.window * min(size)))
    stride = max(1, round(settings.stride * window))
    windows = _of_each_axis("window_pixels", settings.window_pixels, window, size)
    if settings.window_pixels is not None:
        halves = tuple(max(1, round(settings.stride * one)) for one in windows)
        return windows, _of_each_axis("stride_pixels", settings.stride_pixels, halves, size)
    return windows, _of_each_axis("stride_pixels", settings.stride_pixels, stride, size)


def _of_each_axis(
    name: str, given: int | list[int] | None, default: int | tuple[int, ...], size: tuple[int, ...]
) -> tuple[int, ...]:
    chosen = default if given is None else given
    found = (chosen,) * len(size) if isinstance(chosen, int) else tuple(chosen)
    if len(found) != len(size):
        raise PastaError(
            f"occlusion.{name} has {len(found)} numbers, expected one for each of {len(size)} axes"
        )
    return tuple(min(one, length) for one, length in zip(found, size, strict=True))


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
    windows, strides = _square(settings, given.size)
    run = Occlusion(given.view.logits)

    def occlude(images: Tensor, targets: Tensor, rows: int) -> Tensor:
        found: Tensor = run.attribute(
            images,
            (images.shape[1], *windows),
            (images.shape[1], *strides),
            settings.baseline,
            targets,
            perturbations_per_eval=max(1, rows // len(images)),
        )
        return found

    found = attribute(given, occlude)[:, 0]  # the square hides all colours: they are equal
    if settings.reading == "corrected":
        return found
    return repeat(found.relu(), given.images.shape[1])


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


def shared_gradients(given: Given) -> Tensor:
    """Derivative (n, channels, *spatial) of the targets' logits by the inputs, computed once."""

    def run(images: Tensor, targets: Tensor, _rows: int) -> Tensor:
        return input_gradients(given.view, images, targets)

    return given.once("input gradients", lambda: attribute(given, run))


def input_gradients(view: View, images: Tensor, targets: Tensor) -> Tensor:
    """Derivative of the targets' logits by the inputs; parameters should be frozen."""
    with torch.enable_grad():
        leaf = images.detach().requires_grad_()
        (found,) = torch.autograd.grad(view.target_logits(leaf, targets).sum(), leaf)
    return found


def reading_of(given: Given, key: str) -> Reading:
    """Which reading of a method is asked for."""
    found = given.settings.get(key)
    return "corrected" if found is None else getattr(found, "reading", "corrected")


def contribution(given: Given, key: str, found: Tensor) -> Tensor:
    """Sum what entries (n, channels, *spatial) add to the logit over channels, sign and all; in
    LATEC's readings the entries themselves, cut at zero."""
    return found.sum(1) if reading_of(given, key) == "corrected" else found.relu()


def sensitivity(given: Given, key: str, gradients: Tensor) -> Tensor:
    """The largest absolute gradient of each place; as LATEC's code has it that of each entry, and
    as its text has it the positive part."""
    reading = reading_of(given, key)
    if reading == "corrected":
        return largest_colour(gradients)
    return gradients.abs() if reading == "released" else gradients.relu()


def captum_network(given: Given, key: str) -> nn.Module:
    """The network that captum's hooks see: with modules for functions, but for the released
    reading."""
    network = given.view.network
    if reading_of(given, key) == "released":
        return network
    return with_modules(network, given.images[:1]) or network


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

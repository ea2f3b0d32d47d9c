"""Layer-wise relevance propagation (Bach et al. 2015, doi:10.1371/journal.pone.0130140).

The logit of a class is shared out backwards, layer by layer, until every value of the image has its
relevance; but for what biases and stabilisers take, all relevance together is the logit.

Two implementations follow the same rules. Zennit explains plain convolutional networks
(:func:`is_plain`). For all others, whose functions it does not see or whose layers it does not know
(attention, norms of tokens, gates, additions outside of modules), :class:`RelevanceMode` changes
how functions are differentiated, so that input x gradient is the relevance.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F  # noqa: N812 (as everywhere)
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torchvision.models import VGG, AlexNet, ResNet
from torchvision.models.resnet import BasicBlock, Bottleneck
from zennit.attribution import Gradient
from zennit.composites import SpecialFirstLayerMapComposite, layer_map_base
from zennit.core import Composite
from zennit.rules import Epsilon, Flat, Gamma, Pass, ZPlus
from zennit.torchvision import ResNetCanonizer
from zennit.types import Activation, AvgPool, BatchNorm, Convolution, Linear, MaxPool

from pasta.errors import PastaError
from pasta.explanations.attention import (
    PRODUCTS,
    Trace,
    attention_weights,
    has_attention,
    no_attention,
)
from pasta.explanations.base import Given, method
from pasta.explanations.entries import repeat
from pasta.explanations.methods.gradients import attribute
from pasta.explanations.settings import LrpParams
from pasta.models.base import Normalise
from pasta.models.resnet import ResNetClassifier

Function = Callable[..., Tensor]
Rule = Literal["epsilon", "gamma", "plus"]
Apply = Callable[[Tensor, Tensor, Tensor | None], Tensor]  # of input, weight and bias
_SMALL = 1e-9  # added to denominators that are not a rule's
_HALVES = ((0, None), (None, 0))  # of all numbers, as bounds

# Networks and blocks whose forward calls nothing but modules, or what zennit's canoniser replaces.
_PLAIN_FORWARDS = {
    nn.Sequential.forward,
    AlexNet.forward,
    VGG.forward,
    ResNet.forward,
    BasicBlock.forward,
    Bottleneck.forward,
    ResNetClassifier.forward,
}
_PLAIN_LAYERS = (
    *(Linear, BatchNorm, Activation, AvgPool, MaxPool),
    *(nn.Identity, nn.Dropout, nn.Dropout2d, nn.Flatten, Normalise),
)


@method(
    "lrp",
    title="LRP",
    functioning="gradient",
    doi="10.1371/journal.pone.0130140",
    sign="signed",
    backbones=(),
    any_modality=True,
)
def lrp(given: Given) -> Tensor:
    """Share the logit out backwards, layer by layer (Bach 2015); summed over the colours.

    The relevance of a pixel is that of its normalised value.
    """
    settings: LrpParams = given.settings["lrp"]
    network = given.view.network
    if settings.reading != "corrected":
        return _lrp_of_latec(given, settings)
    relevance = relevance_by_zennit if is_plain(network) else relevance_by_mode

    def run(images: Tensor, targets: Tensor, _rows: int) -> Tensor:
        return relevance(network, images, targets, settings)

    return attribute(given, run).sum(1)


def _lrp_of_latec(given: Given, settings: LrpParams) -> Tensor:
    """Entries (n, channels, *spatial) cut at zero; of transformers their sums over channels."""
    network = given.view.network
    transformer = settings.architecture == "transformer"
    if settings.architecture == "auto":
        transformer = has_attention(network, given.images[:1])
    rules = rules_of(settings, transformer)

    def run(images: Tensor, targets: Tensor, _rows: int) -> Tensor:
        return relevance_by_mode(network, images, targets, rules)

    found = attribute(given, run)
    if transformer:
        return repeat(found.sum(1).relu(), given.images.shape[1])
    return found.relu()


@dataclass(frozen=True)
class Rules:
    """Rules by the type of a layer: a composite."""

    convolutions: Rule
    linear: Rule
    first: Literal["flat", "same", "box"] = "same"
    gamma: float = 0.25
    epsilon: float = 1e-4
    merged: bool = True  # a batch norm is a part of the layer before it
    centred: bool = True  # a norm of tokens is linear but for its deviation; or passes all on
    shared: bool = True  # factors of products share relevance; or have their gradients


_LATEC = {  # by reading, and whether a network is a transformer
    ("paper", False): Rules("gamma", "epsilon"),
    ("released", False): Rules("epsilon", "gamma", merged=False, shared=False),
    ("paper", True): Rules("plus", "plus", centred=False),
    ("released", True): Rules("plus", "plus", "box", centred=False),
}


def rules_of(settings: LrpParams, transformer: bool = False) -> Rules:
    """The composite of a reading.

    The corrected one is what the settings say. LATEC's text has gamma for convolutions (with their
    batch norms; poolings of positive values have the same relevance by either rule) and epsilon for
    linear layers, its code the reverse and rules of their own for batch norms, which take a large
    part of the relevance; for transformers both have z+ (alpha 1, beta 0), norms and activations
    that pass relevance on, and the code bounds for the values of the first layer.
    """
    if settings.reading == "corrected":
        named = ("convolutions", "linear", "first", "gamma", "epsilon")
        return Rules(**{name: getattr(settings, name) for name in named})
    own = {key: getattr(settings, key) for key in ("gamma", "epsilon")}
    chosen = {key: value for key, value in own.items() if key in settings.model_fields_set}
    return replace(_LATEC[settings.reading, transformer], **chosen)


def is_plain(network: nn.Module) -> bool:
    """Say whether zennit sees all that a network computes, and knows its layers.

    Sequences of convolutions, linear layers, batch norms, activations and poolings are plain, and
    so are torchvision's AlexNet, VGG and ResNet.
    """
    return all(_is_plain_module(module) for module in network.modules())


def _is_plain_module(module: nn.Module) -> bool:
    if list(module.children()):
        return type(module).forward in _PLAIN_FORWARDS
    return isinstance(module, _PLAIN_LAYERS) and not isinstance(module, nn.MultiheadAttention)


def relevance_by_zennit(
    network: nn.Module, images: Tensor, targets: Tensor, settings: LrpParams
) -> Tensor:
    """Compute the relevance (n, 3, height, width) for the targets' logits by zennit."""

    def chosen(logits: Tensor) -> Tensor:
        return logits.detach() * F.one_hot(targets, logits.shape[1])

    with Gradient(network, zennit_composite(settings)) as attributor:
        _, relevance = attributor(images, chosen)
    found: Tensor = relevance
    return found


def zennit_composite(settings: LrpParams) -> Composite:
    """The rules of the settings for zennit's layers. By default this is its EpsilonPlusFlat."""
    rules = {
        "epsilon": Epsilon(settings.epsilon),
        "gamma": Gamma(settings.gamma, settings.epsilon),
        "plus": ZPlus(settings.epsilon),
    }
    layers = [
        (Normalise, Pass()),
        *layer_map_base(settings.epsilon),
        (Convolution, rules[settings.convolutions]),
        (nn.Linear, rules[settings.linear]),
    ]
    first = [(Linear, Flat(settings.epsilon))] if settings.first == "flat" else []
    return SpecialFirstLayerMapComposite(layers, first, canonizers=[ResNetCanonizer()])


def relevance_by_mode(
    network: nn.Module, images: Tensor, targets: Tensor, settings: LrpParams | Rules
) -> Tensor:
    """Compute the relevance (n, 3, height, width) for the targets' logits by our own mode."""
    with RelevanceMode(images, settings) as mode:
        logits = network(images)
    chosen = logits.gather(1, targets[:, None]).sum()
    if not chosen.requires_grad:
        raise PastaError(
            f"LRP finds no way from the output of {type(network).__name__} back to its input: "
            "it explains logits, not probabilities"
        )
    gradients = torch.autograd.grad(chosen, mode.sources, allow_unused=True)
    parts = [
        source * gradient
        for source, gradient in zip(mode.sources, gradients, strict=True)
        if gradient is not None
    ]
    return torch.stack(parts).sum(0)


def attention_relevance(
    network: nn.Module, images: Tensor, targets: Tensor, settings: LrpParams | Rules
) -> tuple[Tensor, ...]:
    """Compute the relevance of each block's attention (n, heads, queries, keys).

    A logit counts as 1, whatever its value. Where attention multiplies values both have the same
    relevance, half of that of the product each (Chefer et al. 2021, arXiv:2012.09838).
    """
    leaf = images.detach().clone().requires_grad_()
    trace = Trace()
    with RelevanceMode(leaf, settings, trace):
        logits = network(leaf)
    chosen = logits.gather(1, targets[:, None])[:, 0]
    kept = [weights for weights, _ in trace.found]
    if not kept:
        raise no_attention(network)
    seeds = 1 / _away_from_zero(chosen.detach())
    gradients = torch.autograd.grad(chosen, kept, seeds, allow_unused=True)
    found = [
        torch.zeros_like(weights) if gradient is None else weights * gradient / 2
        for weights, gradient in zip(kept, gradients, strict=True)
    ]
    return trace.in_order(found, len(images))


def _away_from_zero(values: Tensor) -> Tensor:
    return values + _SMALL * torch.where(values < 0, -1.0, 1.0).to(values.dtype)


@dataclass(frozen=True)
class Layer:
    """One call of a convolution or a linear layer."""

    rule: str
    apply: Apply
    x: Tensor
    weight: Tensor
    bias: Tensor | None


class RelevanceMode(TorchFunctionMode):
    """Forward passes inside have their usual outputs, but input x gradient is the relevance.

    - Convolutions and linear layers follow the rules of the settings; a batch norm is merged with
      the layer whose output it takes.
    - An activation, or another function of single values, passes relevance on as it is.
    - Attention weights and the deviations of norms are constants (Ali et al. 2022,
      arXiv:2202.07304), and so is a gate between 0 and 1. The factors of any other product share
      its relevance equally (Achtibat et al. 2024, arXiv:2402.05602).

    All else is linear (sums, means, paddings) or picks values (maxima, indices): its gradient is
    right as it is.

    Parameters
    ----------
    images
        What the network is given; they need gradients.
    settings
        The rules.
    trace
        Keeps attention, if it is wanted: then it is a tensor that has relevance, too.

    Attributes
    ----------
    sources
        Tensors of the images' shape: the relevance is the sum of each times its gradient.
    """

    def __init__(
        self, images: Tensor, settings: LrpParams | Rules, trace: Trace | None = None
    ) -> None:
        super().__init__()
        self.settings = settings if isinstance(settings, Rules) else rules_of(settings)
        self.trace = trace
        self.sources = [images]
        self._is_first = True  # no layer with weights has been called yet
        self._newest: tuple[Tensor, Layer] | None = None  # output of the layer called last
        self._gate: Tensor | None = None  # output of the sigmoid called last

    def __torch_function__(
        self,
        function: Function,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call the changed version of a function, if it has one."""
        changed = _CHANGED.get(function)
        if changed is None or not torch.is_grad_enabled():
            output = function(*args, **(kwargs or {}))
        else:
            output = changed(self, function, *args, **(kwargs or {}))
        if self.trace is not None:
            self.trace.follow(function, args, output)
        return output

    def _convolution(
        self,
        function: Function,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        *rest: Any,
        **named: Any,
    ) -> Tensor:
        def apply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
            return function(x, weight, bias, *rest, **named)

        return self._weighted(Layer(self.settings.convolutions, apply, x, weight, bias))

    def _linear(
        self, function: Function, x: Tensor, weight: Tensor, bias: Tensor | None = None
    ) -> Tensor:
        return self._weighted(Layer(self.settings.linear, function, x, weight, bias))

    def _weighted(self, layer: Layer) -> Tensor:
        if self._is_first and layer.x.shape == self.sources[0].shape:
            self.sources = [layer.x]  # the images, perhaps normalised
            first = self.settings.first
            layer = layer if first == "same" else replace(layer, rule=first)
        self._is_first = False
        output = self._follow_rule(layer)
        has_channels = layer.weight.ndim > 2 or output.ndim == 2  # and no tokens
        self._newest = (output, layer) if has_channels else None
        return output

    def _follow_rule(self, layer: Layer) -> Tensor:
        """Compute the output; its relevance goes where contributions that a rule chooses come from.

        The rules are those of zennit, also for inputs of any sign and for biases.
        """
        apply, x, weight, gamma = layer.apply, layer.x, layer.weight, self.settings.gamma
        bias = weight.new_zeros(len(weight)) if layer.bias is None else layer.bias
        output = shared = apply(x, weight, bias)
        high, low = x.clamp(min=0), x.clamp(max=0)
        if layer.rule == "flat":
            ones = torch.ones_like(x, requires_grad=True)
            self.sources = [self.sources[0], ones]
            shared = apply(ones, torch.ones_like(weight), None)
        elif layer.rule == "box":
            axes = tuple(range(1, x.ndim))
            low, high = (
                bound(x.detach(), axes, keepdim=True).expand_as(x).clone().requires_grad_()
                for bound in (torch.amin, torch.amax)
            )
            self.sources = [self.sources[0], low, high]
            shared = apply(x, weight, None) - apply(low, weight.clamp(min=0), None)
            shared = shared - apply(high, weight.clamp(max=0), None)
        elif layer.rule == "plus":
            positive = apply(high, weight.clamp(min=0), bias.clamp(min=0))
            shared = positive + apply(low, weight.clamp(max=0), None)
        elif layer.rule == "gamma":
            up, down = (weight + gamma * weight.clamp(*bounds) for bounds in _HALVES)
            up_bias, down_bias = (bias + gamma * bias.clamp(*bounds) for bounds in _HALVES)
            raising = apply(high, up, up_bias) + apply(low, down, None)
            lowering = apply(high, down, down_bias) + apply(low, up, None)
            shared = torch.where(output > 0, raising, lowering)
        return carry(shared, output, self.settings.epsilon)

    def _batch_norm(
        self,
        function: Function,
        x: Tensor,
        mean: Tensor | None,
        variance: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        if not self.settings.merged and mean is not None and variance is not None:
            own = function(x, mean, variance, weight, bias, training, momentum, eps)
            return carry(own, own, self.settings.epsilon)
        output, layer = self._newest or (None, None)
        if layer is None or x is not output or mean is None or variance is None:
            return carry(x, function(x, mean, variance, weight, bias, training, momentum, eps))
        scale = (variance + eps).rsqrt() * (1 if weight is None else weight)
        shift = scale * ((0 if layer.bias is None else layer.bias) - mean)
        shift = shift + (0 if bias is None else bias)
        scaled = layer.weight * scale.view(-1, *[1] * (layer.weight.ndim - 1))
        return self._follow_rule(replace(layer, weight=scaled, bias=shift))

    def _single_values(self, function: Function, x: Any, *rest: Any, **named: Any) -> Tensor:
        if not _needs_gradient(x):
            return function(x, *rest, **named)
        return carry(x, function(x.clone(), *rest, **named))  # it may work in place

    def _sigmoid(self, function: Function, *args: Any, **named: Any) -> Tensor:
        self._gate = self._single_values(function, *args, **named)
        return self._gate

    def _softmax(self, function: Function, *args: Any, **named: Any) -> Tensor:
        found = function(*args, **named).detach()
        if self.trace is not None:
            self.trace.offer(found.requires_grad_())
        return found

    def _log_softmax(self, function: Function, x: Tensor, *rest: Any, **named: Any) -> Tensor:
        return replace_value(x, function(x, *rest, **named))

    def _multiply(self, _function: Function, a: Any, b: Any) -> Tensor:
        return self._product(torch.mul, a, b)  # also if it was meant to work in place

    def _product(self, function: Function, a: Any, b: Any) -> Tensor:
        if self.trace is not None and function in PRODUCTS and self.trace.multiply(a, b):
            return function(a, b)
        if not (_needs_gradient(a) and _needs_gradient(b)) or not self.settings.shared:
            return function(a, b)
        if a is self._gate:
            return function(self._gate.detach(), b)
        if b is self._gate:
            return function(a, self._gate.detach())
        return (function(a, b.detach()) + function(a.detach(), b)) / 2

    def _einsum(self, function: Function, equation: str, *operands: Any) -> Tensor:
        if len(operands) == 2:
            return self._product(partial(function, equation), *operands)
        return function(equation, *operands)

    def _quotient(self, function: Function, a: Any, b: Any, **named: Any) -> Tensor:
        divisor = b.detach() if _needs_gradient(a) and isinstance(b, Tensor) else b
        return function(a, divisor, **named)

    def _layer_norm(
        self,
        function: Function,
        x: Tensor,
        shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        if not self.settings.centred:
            return carry(x, function(x, shape, weight, bias, eps))
        axes = tuple(range(-len(shape), 0))
        deviation = (x.var(axes, correction=0, keepdim=True) + eps).sqrt().detach()
        centred = (x - x.mean(axes, keepdim=True)) / deviation
        shared = centred if weight is None else centred * weight
        return replace_value(shared, function(x, shape, weight, bias, eps))

    def _attention(
        self, function: Function, query: Tensor, key: Tensor, *rest: Any, **named: Any
    ) -> Tensor:
        if self.trace is None:
            return function(query.detach(), key.detach(), *rest, **named)
        weights, value = attention_weights(query.detach(), key.detach(), *rest, **named)
        weights = weights.detach()
        self.trace.keep(weights)
        return weights @ value

    def _multi_head_attention(
        self, function: Callable[..., Any], *args: Any, **named: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Torch computes the attention weights, and the values follow the rule of linear layers."""
        asked = inspect.signature(function).bind(*args, **named)
        asked.apply_defaults()
        got, needs_weights = dict(asked.arguments), asked.arguments["need_weights"]
        if got["bias_k"] is not None or got["static_v"] is not None or got["add_zero_attn"]:
            raise PastaError("LRP does not know attention to keys that are no tokens")
        with torch.no_grad():
            asked.arguments.update(need_weights=True, average_attn_weights=False)
            weights = function(*asked.args, **asked.kwargs)[1]  # (n, heads, queries, keys)
        value, bias = got["value"], got["in_proj_bias"]  # (keys, n, features)
        weight = got["v_proj_weight"]
        if not got["use_separate_proj_weight"]:
            weight = got["in_proj_weight"][2 * got["embed_dim_to_check"] :]
        shift = None if bias is None else bias[2 * got["embed_dim_to_check"] :]
        values = self._linear(F.linear, value, weight, shift)
        values = values.view(*values.shape[:2], got["num_heads"], -1).permute(1, 2, 0, 3)
        if self.trace is not None:
            self.trace.keep(weights)
        mixed = (weights @ values).permute(2, 0, 1, 3).flatten(2)
        output = self._linear(F.linear, mixed, got["out_proj_weight"], got["out_proj_bias"])
        return output, weights.mean(1) if needs_weights else None


def carry(shared: Tensor, output: Tensor, epsilon: float = _SMALL) -> Tensor:
    """Give the output, whose relevance goes to ``shared`` in full: R = shared x gradient.

    Parameters
    ----------
    shared
        The value that the output's relevance is attributed to, element by element.
    output
        What the function really computes.
    epsilon
        Takes its part of the relevance where ``shared`` is small.
    """
    sign = torch.where(shared < 0, -1.0, 1.0).to(shared.dtype)
    ratio = (output / (shared + epsilon * sign)).detach()
    return output.detach() + (shared - shared.detach()) * ratio


def replace_value(shared: Tensor, output: Tensor) -> Tensor:
    """Give the output with the gradient of ``shared``."""
    return output.detach() + (shared - shared.detach())


def _needs_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


_CHANGED: dict[Callable[..., Any], Callable[..., Any]] = {
    **dict.fromkeys((F.conv1d, F.conv2d, F.conv3d), RelevanceMode._convolution),
    F.linear: RelevanceMode._linear,
    F.batch_norm: RelevanceMode._batch_norm,
    F.layer_norm: RelevanceMode._layer_norm,
    F.scaled_dot_product_attention: RelevanceMode._attention,
    F.multi_head_attention_forward: RelevanceMode._multi_head_attention,
    torch.einsum: RelevanceMode._einsum,
    **dict.fromkeys(
        (torch.relu, Tensor.relu, F.relu, torch.relu_, Tensor.relu_, F.relu6, F.leaky_relu,
         F.prelu, F.elu, F.selu, F.celu,
         F.gelu, F.silu, F.mish, F.hardswish, F.hardtanh, F.softplus, F.tanh, torch.tanh,
         Tensor.tanh, torch.square, Tensor.square, torch.pow, Tensor.pow, Tensor.__pow__,
         F.normalize, F.rms_norm, F.group_norm, F.instance_norm),
        RelevanceMode._single_values,
    ),
    **dict.fromkeys(
        (torch.sigmoid, Tensor.sigmoid, F.sigmoid, F.hardsigmoid), RelevanceMode._sigmoid
    ),
    **dict.fromkeys((torch.softmax, Tensor.softmax, F.softmax), RelevanceMode._softmax),
    **dict.fromkeys(
        (torch.log_softmax, Tensor.log_softmax, F.log_softmax), RelevanceMode._log_softmax
    ),
    **dict.fromkeys(
        (torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__imul__, Tensor.mul_),
        RelevanceMode._multiply,
    ),
    **dict.fromkeys(
        (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm),
        RelevanceMode._product,
    ),
    **dict.fromkeys(
        (torch.div, Tensor.div, Tensor.__truediv__, Tensor.__itruediv__, Tensor.div_),
        RelevanceMode._quotient,
    ),
}  # fmt: skip

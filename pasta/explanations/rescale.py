"""DeepLIFT's rescale rule for any torch network (Shrikumar et al. 2017, arXiv:1704.02685).

How a logit differs from that of a reference is shared out among the values of the input, so that
the shares sum to the difference. Captum's DeepLIFT hangs hooks on modules of a few kinds; whatever
else is not linear (SiLU, GELU, functions, norms, attention, gates) it replaces by its gradient, and
the sum is another one. A mode of torch sees functions instead:

- a function of single values has the slope between reference and input (captum's rule);
- a product has the gradient at the middle of both, which is exact: its factors share equally;
- a quotient, a softmax, a norm of tokens or groups is made of sums, products and functions of
  single values;
- of a maximum, what it rises above the reference belongs to the input's largest value, what it
  falls to the reference's (captum's rule for poolings).

Where all is linear, a ReLU or a pooling the result is captum's; but with captum 0.9 shares get lost
where windows of a pooling overlap (their maximum counts once) and where an activation stands right
before or behind a pooling (both hang on the same tensor), as in every ResNet.

One forward pass of the inputs serves all references: for each there is one forward pass of the
reference alone and one backward pass, where captum makes two of both for each pair.

What picks values by indices that depend on the input (neighbours of points) is taken as it is at
the input; there the shares need not sum to the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as everywhere)
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from pasta.errors import PastaError
from pasta.explanations.attention import MultiHead
from pasta.explanations.hooks import frozen

Function = Callable[..., Any]
_TINY = 1e-10  # smaller differences are none, for functions made of straight pieces


@dataclass(frozen=True)
class Reference:
    """What a function was given at the reference, and what it gave."""

    inputs: tuple[Tensor, ...]
    output: Tensor


# From the gradient of an output to those of the inputs: gradient, inputs, output, reference.
Share = Callable[[Tensor, Sequence[Tensor], Tensor, Reference], Sequence[Tensor | None]]


@dataclass
class Walk:
    """The functions of one forward pass, in order, and what they gave at the reference."""

    depends: list[bool] = field(default_factory=list)  # whether a call depends on the input
    constants: list[Tensor] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)


def mean_difference(
    network: nn.Module,
    images: Tensor,
    targets: Tensor,
    references: Tensor,
) -> Tensor:
    """Share out how the targets' logits differ from those of references, averaged over these.

    Parameters
    ----------
    network
        Inputs to logits, in evaluation mode.
    images, targets
        The inputs (n, channels, *spatial) and their classes.
    references
        What they are compared with (m, channels, *spatial).

    Returns
    -------
    Shares (n, channels, *spatial).
    """
    leaf, walk, total = images.detach().clone().requires_grad_(), Walk(), torch.zeros_like(images)
    with torch.enable_grad(), frozen(network):
        with RescaleMode(walk, at_reference=False):
            logits = network(leaf)
        chosen = logits.gather(1, targets[:, None]).sum()
        if not chosen.requires_grad:
            raise PastaError(
                f"DeepLIFT finds no way from the output of {type(network).__name__} to its input"
            )
        for reference in torch.split(references, 1):
            # what is taken from the inputs' pass has as many rows as they
            rows = reference.expand_as(images) if walk.constants else reference
            with torch.no_grad(), RescaleMode(walk, at_reference=True):
                network(rows)
            (gradient,) = torch.autograd.grad(chosen, leaf, retain_graph=True)
            total += gradient * (images - reference)
    return total / len(references)


class RescaleMode(TorchFunctionMode):
    """Forward passes inside have their usual outputs, but functions remember what they were given.

    Parameters
    ----------
    walk
        Where it is remembered. The pass of the inputs comes first, then one or more of references.
    at_reference
        Which of them this is.
    """

    def __init__(self, walk: Walk, *, at_reference: bool) -> None:
        super().__init__()
        self.walk, self.at_reference = walk, at_reference
        self._call = self._constant = 0
        if at_reference:
            walk.references.clear()

    def __torch_function__(
        self,
        function: Function,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the changed version of a function, if it has one."""
        changed = _CHANGED.get(function)
        if changed is None:
            return function(*args, **(kwargs or {}))
        named = {key: value for key, value in (kwargs or {}).items() if key != "dropout_p"}
        return changed(self, function, *args, **named)

    def _visit(self, call: Function, share: Share, *inputs: Tensor) -> Tensor:
        """Call a function; its way back is that of the rule."""
        if not self.at_reference:
            depends = all(one.requires_grad for one in inputs)
            self.walk.depends.append(depends)
            if not depends:
                output: Tensor = call(*inputs)
                return output
            place = sum(self.walk.depends) - 1
            changed: Tensor = _Step.apply(call, share, self.walk, place, *inputs)
            return changed
        output = call(*inputs)
        if self._call >= len(self.walk.depends):
            raise PastaError("the network takes another way for a reference than for an input")
        if self.walk.depends[self._call]:
            self.walk.references.append(Reference(inputs, output))
        self._call += 1
        return output

    def _keep(self, value: Tensor) -> Tensor:
        """The value of the inputs' pass, also at the reference."""
        if not self.at_reference:
            self.walk.constants.append(value.detach())
            return value.detach()
        self._constant += 1
        return self.walk.constants[self._constant - 1]

    def _single(self, function: Function, x: Any, *rest: Any, **named: Any) -> Tensor:
        if not isinstance(x, Tensor):
            result: Tensor = function(x, *rest, **named)
            return result

        def call(value: Tensor) -> Tensor:  # it may work in place
            output: Tensor = function(value.clone(), *rest, **named)
            return output

        return self._visit(call, partial(_rescale, call, function in _STRAIGHT), x)

    def _power(self, function: Function, x: Any, exponent: Any) -> Any:
        if isinstance(exponent, Tensor):
            return function(x, exponent)
        return self._single(function, x, exponent)

    def _outside(self, function: Function, *args: Any, **named: Any) -> Any:
        return _OUT_OF_PLACE[function](*args, **named)

    def _multiply(self, function: Function, a: Any, b: Any) -> Any:
        return self._product(_OUT_OF_PLACE.get(function, function), a, b)

    def _product(self, function: Function, a: Any, b: Any, **named: Any) -> Any:
        if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
            return function(a, b, **named)
        call = partial(function, **named) if named else function
        return self._visit(call, partial(_middle, call), a, b)

    def _einsum(self, function: Function, equation: str, *operands: Any) -> Any:
        if len(operands) == 2:
            return self._product(partial(function, equation), *operands)
        return function(equation, *operands)

    def _quotient(self, function: Function, a: Any, b: Any, **named: Any) -> Any:
        if named.get("rounding_mode") is not None or not isinstance(b, Tensor):
            return _OUT_OF_PLACE.get(function, function)(a, b, **named)
        return self._product(torch.mul, a, self._single(torch.reciprocal, b))

    def _softmax(self, _function: Function, x: Tensor, dim: int | None = None, **_: Any) -> Tensor:
        exponents = self._exponents(x, dim)[1]
        total = exponents.sum(_last(dim), keepdim=True)
        shares: Tensor = self._product(torch.mul, exponents, self._single(torch.reciprocal, total))
        return shares

    def _log_softmax(
        self, _function: Function, x: Tensor, dim: int | None = None, **_: Any
    ) -> Tensor:
        shifted, exponents = self._exponents(x, dim)
        return shifted - self._single(torch.log, exponents.sum(_last(dim), keepdim=True))

    def _exponents(self, x: Tensor, dim: int | None) -> tuple[Tensor, Tensor]:
        shifted = x - self._keep(x.amax(_last(dim), keepdim=True))
        return shifted, self._single(torch.exp, shifted)

    def _layer_norm(
        self,
        _function: Function,
        x: Tensor,
        shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        found = self._standardised(x, tuple(range(-len(shape), 0)), eps)
        found = found if weight is None else found * weight
        return found if bias is None else found + bias

    def _group_norm(
        self,
        _function: Function,
        x: Tensor,
        groups: int,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        parted = x.reshape(len(x), groups, -1)
        found = self._standardised(parted, (2,), eps).reshape(x.shape)
        behind = (-1, *[1] * (x.ndim - 2))
        found = found if weight is None else found * weight.view(behind)
        return found if bias is None else found + bias.view(behind)

    def _norm(
        self,
        function: Function,
        x: Tensor,
        p: Any = "fro",
        dim: Any = None,
        keepdim: bool = False,
        **named: Any,
    ) -> Tensor:
        if p not in (2, "fro", None) or dim is None:
            other: Tensor = function(x, p, dim, keepdim, **named)
            return other
        return self._single(torch.sqrt, self._single(torch.square, x).sum(dim, keepdim))

    def _normalize(
        self, _function: Function, x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12
    ) -> Tensor:
        length = self._norm(torch.norm, x, p, dim, keepdim=True).clamp_min(eps)
        found: Tensor = self._quotient(torch.div, x, length)
        return found

    def _standardised(self, x: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
        centred = x - x.mean(axes, keepdim=True)
        variance = self._single(torch.square, centred).mean(axes, keepdim=True)
        found: Tensor = self._product(torch.mul, centred, self._single(torch.rsqrt, variance + eps))
        return found

    def _pool(self, function: Function, x: Tensor, *rest: Any, **named: Any) -> Any:
        def call(value: Tensor) -> Tensor:
            output: Tensor = function(value, *rest, **named)
            return output

        if named.get("return_indices"):
            return function(x, *rest, **named)
        axes = 3 if function in _POOLS_3D else 2 if function in _POOLS_2D else 1
        with_indices = partial(_pool_places, function, axes, rest, named)
        return self._visit(call, partial(_largest, call, with_indices, axes), x)

    def _amax(
        self, function: Function, x: Tensor, dim: Any = (), keepdim: bool = False, **_: Any
    ) -> Any:
        chosen = (dim,) if isinstance(dim, int) else tuple(dim)
        axes = sorted(axis % x.ndim for axis in chosen) or list(range(x.ndim))
        if 0 in axes:  # over the inputs, too
            return function(x, dim, keepdim)
        flat = x.movedim(axes, list(range(-len(axes), 0))).flatten(-len(axes))
        largest = self._visit(
            partial(torch.amax, dim=-1), partial(_largest, partial(torch.amax, dim=-1), _top, 1),
            flat,
        )  # fmt: skip
        for axis in axes if keepdim else ():
            largest = largest.unsqueeze(axis)
        return largest

    def _max(self, function: Function, x: Tensor, *rest: Any, **named: Any) -> Any:
        dim = rest[0] if rest else named.get("dim")
        keepdim = rest[1] if len(rest) > 1 else named.get("keepdim", False)
        if not isinstance(dim, int):
            return function(x, *rest, **named)
        indices = x.detach().max(dim, keepdim).indices
        return torch.return_types.max((self._amax(torch.amax, x, dim, keepdim), indices))

    def _attend(
        self,
        _function: Function,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        _dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        **named: Any,
    ) -> Tensor:
        if is_causal or named.get("enable_gqa"):
            raise PastaError("DeepLIFT does not know causal or grouped attention")
        scores = self._product(torch.matmul, query, key.mT)
        scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, -torch.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        found: Tensor = self._product(torch.matmul, self._softmax(F.softmax, scores, -1), value)
        return found

    def _multi_head(
        self, _function: Function, *args: Any, **named: Any
    ) -> tuple[Tensor, Tensor | None]:
        call = MultiHead(args, named)
        query, key, value = (
            call.heads(call.project(name, F.linear)) for name in ("query", "key", "value")
        )
        mixed = self._attend(_function, query, key, value, call["attn_mask"])
        joined = mixed.permute(2, 0, 1, 3).flatten(2)
        if call["need_weights"]:
            raise PastaError("DeepLIFT does not know networks that use attention weights")
        return F.linear(joined, call["out_proj_weight"], call["out_proj_bias"]), None


class _Step(torch.autograd.Function):
    """A function with another way back."""

    @staticmethod
    def forward(
        ctx: Any, call: Function, share: Share, walk: Walk, place: int, *inputs: Tensor
    ) -> Tensor:
        output: Tensor = call(*inputs)
        ctx.share, ctx.walk, ctx.place = share, walk, place
        ctx.save_for_backward(*inputs, output)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        *inputs, output = ctx.saved_tensors
        if ctx.place >= len(ctx.walk.references):
            raise PastaError("the network takes another way for a reference than for an input")
        reference = ctx.walk.references[ctx.place]
        return None, None, None, None, *ctx.share(gradients[0], inputs, output, reference)


def _rescale(
    call: Function,
    straight: bool,
    gradient: Tensor,
    inputs: Sequence[Tensor],
    output: Tensor,
    reference: Reference,
) -> list[Tensor]:
    (x,) = inputs
    difference = x - reference.inputs[0]
    middle = x if straight else x - difference / 2
    with torch.enable_grad():
        leaf = middle.detach().requires_grad_()
        (slope,) = torch.autograd.grad(call(leaf).sum(), leaf)
    # Of a smooth function the derivative in the middle is better than a ratio of tiny differences.
    near = _TINY if straight else torch.finfo(x.dtype).eps ** (1 / 3)
    far = difference.abs() > near
    ratio = (output - reference.output) / torch.where(far, difference, 1)
    return [gradient * torch.where(far, ratio, slope)]


def _middle(
    call: Function,
    gradient: Tensor,
    inputs: Sequence[Tensor],
    _output: Tensor,
    reference: Reference,
) -> Sequence[Tensor]:
    with torch.enable_grad():
        leaves = [
            ((one + other) / 2).detach().requires_grad_()
            for one, other in zip(inputs, reference.inputs, strict=True)
        ]
        found: Sequence[Tensor] = torch.autograd.grad(call(*leaves), leaves, gradient)
    return found


def _largest(
    call: Function,
    places_of: Callable[[Tensor], Tensor],
    axes: int,
    gradient: Tensor,
    inputs: Sequence[Tensor],
    output: Tensor,
    reference: Reference,
) -> list[Tensor]:
    (x,) = inputs
    base = reference.inputs[0].expand_as(x)
    before = reference.output.expand_as(output)
    higher = torch.maximum(output, before)
    gained = torch.zeros_like(x).flatten(-axes)
    for value, change in ((x, higher - before), (base, output - higher)):
        moved = (gradient * change).flatten(-axes) if output.ndim == x.ndim else None
        moved = (gradient * change)[..., None] if moved is None else moved
        gained = gained.scatter_add(-1, places_of(value).reshape(moved.shape), moved)
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(call(leaf), leaf, gradient)
    difference = x - base
    far = difference.abs() > _TINY
    return [torch.where(far, gained.view(x.shape) / torch.where(far, difference, 1), slope)]


def _top(value: Tensor) -> Tensor:
    return value.argmax(-1, keepdim=True)


def _pool_places(
    function: Function, axes: int, rest: Sequence[Any], named: Mapping[str, Any], value: Tensor
) -> Tensor:
    indices: Tensor = function(value, *rest, **{**named, "return_indices": True})[1]
    return indices.flatten(-axes)


def _last(dim: int | None) -> int:
    return -1 if dim is None else dim


_STRAIGHT: frozenset[Function] = frozenset(
    {
        *(torch.relu, Tensor.relu, F.relu, torch.relu_, Tensor.relu_, F.relu6, F.leaky_relu),
        *(F.prelu, F.hardtanh, torch.abs, Tensor.abs, torch.clamp, Tensor.clamp, F.hardsigmoid),
    }
)
_POOLS_2D: frozenset[Function] = frozenset({F.max_pool2d, torch.max_pool2d, F.adaptive_max_pool2d})
_POOLS_3D: frozenset[Function] = frozenset({F.max_pool3d, torch.max_pool3d, F.adaptive_max_pool3d})
_POOLS: tuple[Function, ...] = (
    *(F.max_pool1d, F.adaptive_max_pool1d),
    *_POOLS_2D,
    *_POOLS_3D,
)
_OUT_OF_PLACE: dict[Function, Function] = {
    **dict.fromkeys((Tensor.add_, Tensor.__iadd__), torch.add),
    **dict.fromkeys((Tensor.sub_, Tensor.__isub__), torch.sub),
    **dict.fromkeys((Tensor.mul_, Tensor.__imul__), torch.mul),
    **dict.fromkeys((Tensor.div_, Tensor.__itruediv__), torch.div),
}
_CHANGED: dict[Function, Function] = {
    **dict.fromkeys(
        (*_STRAIGHT, F.elu, F.selu, F.celu, F.gelu, F.silu, F.mish, F.hardswish, F.softplus,
         F.tanh, torch.tanh, Tensor.tanh, torch.sigmoid, Tensor.sigmoid, F.sigmoid, torch.exp,
         Tensor.exp, torch.log, Tensor.log, torch.sqrt, Tensor.sqrt, torch.rsqrt, Tensor.rsqrt,
         torch.square, Tensor.square, torch.reciprocal, Tensor.reciprocal),
        RescaleMode._single,
    ),
    **dict.fromkeys((torch.pow, Tensor.pow, Tensor.__pow__), RescaleMode._power),
    **dict.fromkeys(
        (torch.mul, Tensor.mul, Tensor.__mul__, Tensor.mul_, Tensor.__imul__),
        RescaleMode._multiply,
    ),
    **dict.fromkeys(
        (Tensor.add_, Tensor.__iadd__, Tensor.sub_, Tensor.__isub__), RescaleMode._outside
    ),
    **dict.fromkeys(
        (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm),
        RescaleMode._product,
    ),
    **dict.fromkeys(
        (torch.div, Tensor.div, Tensor.__truediv__, Tensor.div_, Tensor.__itruediv__),
        RescaleMode._quotient,
    ),
    torch.einsum: RescaleMode._einsum,
    **dict.fromkeys((torch.softmax, Tensor.softmax, F.softmax), RescaleMode._softmax),
    **dict.fromkeys(
        (torch.log_softmax, Tensor.log_softmax, F.log_softmax), RescaleMode._log_softmax
    ),
    **dict.fromkeys((torch.norm, Tensor.norm), RescaleMode._norm),
    F.normalize: RescaleMode._normalize,
    F.layer_norm: RescaleMode._layer_norm,
    F.group_norm: RescaleMode._group_norm,
    **dict.fromkeys(_POOLS, RescaleMode._pool),
    **dict.fromkeys((torch.amax, Tensor.amax), RescaleMode._amax),
    **dict.fromkeys((torch.max, Tensor.max), RescaleMode._max),
    F.scaled_dot_product_attention: RescaleMode._attend,
    F.multi_head_attention_forward: RescaleMode._multi_head,
}  # fmt: skip

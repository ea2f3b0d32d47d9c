"""Every constant that is added between image and logits, and what it gives to the logit.

A mode of torch watches the functions a network calls, not its modules: so it also sees what no
module's hook shows, a position embedding that is just added, or the projections inside attention.
While the parameters are frozen, whatever needs a gradient depends on the image, and what is added
to it without needing one is a bias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from pasta.errors import PastaError


@dataclass(frozen=True)
class Constant:
    """Something added to a tensor."""

    value: Callable[[], Tensor]  # broadcastable to the tensor; made when it is needed
    channels: int | None  # the axis of channels; None: its places are not places of the image
    images: int | None = None  # the axis of images, if it is known


@dataclass(frozen=True)
class Contribution:
    """What one constant gives to the logit of each image."""

    values: Tensor  # gradient times constant, images (or their windows, image by image) first
    channels: int | None  # 1, -1, or None: its places are not places of the image


Hear = Callable[[Contribution], None]
Rule = Callable[..., Constant | None]
_ATTENTION = signature(functional.multi_head_attention_forward)


class Watch(TorchFunctionMode):
    """Tells ``hear`` of each constant's contribution, during the backward pass.

    Nothing is hung on modules. The tensors' own hooks die with the graph.
    """

    def __init__(self, images: int, hear: Hear) -> None:
        super().__init__()
        self.images, self.hear = images, hear

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the function, and remember what it adds."""
        options = kwargs or {}
        if function is functional.multi_head_attention_forward:
            return self._attention(*args, **options)
        rule = RULES.get(function)
        # asked first: an in-place function makes both operands look alike
        constant = rule(*args, **options) if rule else None
        output = function(*args, **options)
        if constant is not None:
            self._remember(output, constant)
        return output

    def _remember(self, output: Tensor, constant: Constant) -> None:
        if not output.requires_grad:
            return

        def heard(gradient: Tensor) -> None:
            value = constant.value()
            axis = constant.images
            if axis is None:
                axis = _axis_of_images(gradient.shape, value.shape, self.images)
            values = (gradient * value).movedim(axis, 0)
            self.hear(Contribution(values, constant.channels))

        output.register_hook(heard)  # type: ignore[no-untyped-call]

    def _attention(self, *args: Any, **kwargs: Any) -> Any:
        """Attention with its projections in the open, where their gradients can be had.

        What vision towers never use (masks, extra keys, returned weights) goes to torch as it is;
        there only the last projection's bias is seen.
        """
        bound = _ATTENTION.bind(*args, **kwargs)
        bound.apply_defaults()
        call = bound.arguments
        if _is_plain(call):
            query, key, value = self._heads(call)
            mixed = functional.scaled_dot_product_attention(query, key, value)
            joined = mixed.permute(2, 0, 1, 3).flatten(2)  # tokens, images, channels
            output = self._projected(joined, call["out_proj_weight"], call["out_proj_bias"])
            return output, None
        result = functional.multi_head_attention_forward(*args, **kwargs)
        self._remember_projection(result[0], call["out_proj_bias"])
        return result

    def _heads(self, call: Mapping[str, Any]) -> Iterator[Tensor]:
        """Query, key and value of each head."""
        bias = call["in_proj_bias"]
        biases = [None] * 3 if bias is None else bias.chunk(3)
        weights = call["in_proj_weight"].chunk(3)
        for name, weight, shift in zip(("query", "key", "value"), weights, biases, strict=True):
            projected = self._projected(call[name], weight, shift)
            parted = projected.reshape(*projected.shape[:2], call["num_heads"], -1)
            yield parted.permute(1, 2, 0, 3)  # images, heads, tokens, channels

    def _projected(self, tokens: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        output = functional.linear(tokens, weight, bias)
        self._remember_projection(output, bias)
        return output

    def _remember_projection(self, output: Tensor, bias: Tensor | None) -> None:
        if bias is not None:  # the function has tokens first, whatever the module had
            self._remember(output, Constant(lambda: bias, channels=-1, images=1))


def _is_plain(call: Mapping[str, Any]) -> bool:
    """Whether a call of torch's attention is a simple one: unmasked, exact, one batch."""
    flags = ("add_zero_attn", "need_weights", "is_causal", "use_separate_proj_weight")
    extras = ("bias_k", "bias_v", "key_padding_mask", "attn_mask", "static_k", "static_v")
    random = call["training"] and call["dropout_p"] > 0
    known = not any(call[name] for name in flags) and all(call[name] is None for name in extras)
    return known and not random and call["query"].ndim == 3


def _axis_of_images(shape: Sequence[int], constant: Sequence[int], images: int) -> int:
    """Nearly always the first; the second where tokens stand first."""
    padded = (1,) * (len(shape) - len(constant)) + tuple(constant)
    divides = shape[0] % images == 0
    if divides and padded[0] == 1:
        return 0
    if len(shape) > 1 and shape[1] == images and (padded[1] == 1 or not divides):
        return 1
    if not divides:
        raise PastaError(f"a tensor {tuple(shape)} does not tell which of {images} images is where")
    return 0


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Constant | None:
    del input, weight
    return None if bias is None else Constant(lambda: bias, channels=-1)


def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *_: Any, **__: Any
) -> Constant | None:
    del weight
    return None if bias is None else Constant(lambda: _by_channel(bias, input.ndim), channels=1)


def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Constant | None:
    del momentum
    if not input.requires_grad:  # weights that are standardised, as in NFNets
        return None
    if training or running_mean is None or running_var is None:
        raise PastaError("the network must be in evaluation mode: its images must not mix")
    mean, spread = running_mean, (running_var + eps).sqrt()
    return Constant(lambda: _by_channel(_shift(mean / spread, weight, bias), input.ndim), 1)


def _layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Constant:
    axes = tuple(range(-len(normalized_shape), 0))
    variance, mean = torch.var_mean(input.detach(), axes, correction=0, keepdim=True)
    ratio = mean / (variance + eps).sqrt()
    return Constant(lambda: _shift(ratio, weight, bias), channels=-1 if len(axes) == 1 else None)


def _group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Constant:
    parted = input.detach().reshape(len(input), num_groups, -1)
    variance, mean = torch.var_mean(parted, 2, correction=0)
    ratio = (mean / (variance + eps).sqrt()).repeat_interleave(input.shape[1] // num_groups, 1)
    ratio = ratio.reshape(*ratio.shape, *[1] * (input.ndim - 2))
    scale, shift = (None if one is None else _by_channel(one, input.ndim) for one in (weight, bias))
    return Constant(lambda: _shift(ratio, scale, shift), channels=1)


def _shift(ratio: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """What a norm adds if its statistics are constants: bias - weight * mean / spread."""
    scaled = ratio if weight is None else ratio * weight
    return -scaled if bias is None else bias - scaled


def _by_channel(values: Tensor, dimensions: int) -> Tensor:
    return values.reshape(-1, *[1] * (dimensions - 2))


def _added(sign: float, reverse: bool = False) -> Rule:
    """The rule of ``input + other`` and its relatives; ``reverse``: ``other - input``."""

    def rule(input: Any, other: Any, *, alpha: float = 1, **_: Any) -> Constant | None:
        if _depends(input) == _depends(other):
            return None
        constant, factor = (other, sign * alpha) if _depends(input) else (input, 1.0)
        if reverse:
            factor = 1.0 if _depends(input) else -alpha
        tensor = input if _depends(input) else other
        value = torch.as_tensor(constant, dtype=tensor.dtype, device=tensor.device)
        value = value.nan_to_num(0, 0, 0)  # infinite: a mask, not a bias
        return Constant(lambda: factor * value, _channels_of_sum(tensor, value))

    return rule


def _channels_of_sum(tensor: Tensor, constant: Tensor) -> int | None:
    """Tokens have their channels last. A map may be the logits of an attention: only one that is
    shifted channel by channel surely is a map of the image."""
    if max(tensor.ndim, constant.ndim) == 4:
        uniform = constant.ndim == 0 or constant.shape[-2:] == (1, 1)
        return 1 if uniform else None
    return -1


def _joined_constants(
    tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None, **_: Any
) -> Constant | None:
    if all(map(_depends, tensors)) or not any(map(_depends, tensors)):
        return None
    parts = [torch.zeros_like(one) if _depends(one) else one for one in tensors]
    along = dim if axis is None else axis
    return Constant(lambda: torch.cat(parts, along), channels=-1 if parts[0].ndim == 3 else None)


def _depends(operand: Any) -> bool:
    return isinstance(operand, Tensor) and operand.requires_grad


RULES: dict[Any, Rule] = {
    functional.linear: _linear,
    **dict.fromkeys((torch.conv1d, torch.conv2d, torch.conv3d), _convolution),
    torch.conv_transpose2d: _convolution,
    functional.batch_norm: _batch_norm,
    functional.layer_norm: _layer_norm,
    functional.group_norm: _group_norm,
    **dict.fromkeys((torch.cat, torch.concat, torch.concatenate), _joined_constants),
    torch.rsub: _added(-1.0, reverse=True),
    Tensor.__rsub__: _added(-1.0, reverse=True),
    **dict.fromkeys((torch.add, Tensor.add, Tensor.add_), _added(1.0)),
    **dict.fromkeys((torch.sub, Tensor.sub, Tensor.sub_), _added(-1.0)),
}

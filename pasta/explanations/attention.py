"""The attention of a transformer, whoever wrote it, with its derivative.

A mode of torch watches the functions that a network calls: torch's own attention
(``nn.MultiheadAttention`` of torchvision and open_clip, ``scaled_dot_product_attention`` of timm
and Hugging Face), and attention that is written out, a softmax whose result multiplies values.
Nothing is hung on modules, and none is replaced.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (as everywhere)
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from pasta.errors import PastaError
from pasta.explanations.hooks import frozen

Function = Callable[..., Any]
SOFTMAX = frozenset({torch.softmax, Tensor.softmax, F.softmax})
PRODUCTS = frozenset(
    {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm, torch.einsum}
)
# What may stand between the softmax and the values.
_BETWEEN = frozenset(
    {
        *(F.dropout, torch.div, Tensor.div, Tensor.__truediv__, Tensor.__itruediv__, F.normalize),
        *(torch.mul, Tensor.mul, Tensor.__mul__, Tensor.to, Tensor.type_as, Tensor.contiguous),
        *(Tensor.float, Tensor.half, Tensor.clone),
    }
)


@dataclass(frozen=True)
class AttentionPass:
    """What one forward and one backward pass leave behind."""

    weights: tuple[Tensor, ...]  # of each block (n, heads, queries, keys), what a query takes
    gradients: tuple[Tensor, ...]  # of the targets' logits, same shapes


class Trace:
    """Recognises attention among the tensors of one forward pass.

    Attributes
    ----------
    found
        The attention of each block as the network has it, and whether its queries are columns.
    """

    def __init__(self) -> None:
        self.found: list[tuple[Tensor, bool]] = []
        self._candidates: list[Tensor] = []

    def offer(self, softmax: Any) -> None:
        """Remember the result of a softmax that could be attention."""
        if isinstance(softmax, Tensor) and softmax.ndim >= 3:
            self._candidates.append(softmax)

    def is_candidate(self, value: Any) -> bool:
        """Whether something comes from such a softmax."""
        return any(value is one for one in self._candidates)

    def follow(self, function: Function, args: Sequence[Any], output: Any) -> None:
        """Remember what has been made of a candidate, if it is still attention."""
        if function in _BETWEEN and args and self.is_candidate(args[0]):
            self.offer(output)

    def multiply(self, left: Any, right: Any) -> bool:
        """Whether a product has attention as a factor; then it is kept."""
        for factor, by_columns in ((left, False), (right, True)):
            if self.is_candidate(factor):
                self.keep(factor, by_columns)
                return True
        return False

    def keep(self, weights: Tensor, by_columns: bool = False) -> None:
        """Keep the attention of a block."""
        if not weights.requires_grad and weights.is_leaf:
            weights.requires_grad_()
        self.found.append((weights, by_columns))

    def in_order(self, values: Sequence[Tensor], images: int) -> tuple[Tensor, ...]:
        """Tensors like those that were found, as (n, heads, queries, keys)."""
        return tuple(
            _by_heads(value.mT if by_columns else value, images)
            for value, (_, by_columns) in zip(values, self.found, strict=True)
        )


def _by_heads(value: Tensor, images: int) -> Tensor:
    if value.ndim == 4 and len(value) == images:
        return value.detach()
    if value.ndim == 3 and len(value) % images == 0:
        return value.detach().reshape(images, -1, *value.shape[1:])
    raise PastaError(
        f"the attention of a block has the shape {tuple(value.shape)}, expected (n, heads, tokens, "
        "tokens): attention within windows is no attention between all tokens"
    )


class AttentionMode(TorchFunctionMode):
    """Forward passes inside have their usual outputs, and attention is a tensor among others.

    Attributes
    ----------
    trace
        What has been found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.trace = Trace()

    def __torch_function__(
        self,
        function: Function,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Write attention out, and watch what is written out already."""
        named = dict(kwargs or {})
        if function is F.scaled_dot_product_attention:
            return self._attend(*args, **named)
        if function is F.multi_head_attention_forward:
            return self._multi_head(*args, **named)
        if function in PRODUCTS:
            factors = args[1:3] if function is torch.einsum else args[:2]
            if len(factors) == 2:
                self.trace.multiply(*factors)
        output = function(*args, **named)
        if function in SOFTMAX:
            self.trace.offer(output)
        else:
            self.trace.follow(function, args, output)
        return output

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, *rest: Any, **named: Any) -> Any:
        weights, value = attention_weights(query, key, value, *rest, **named)
        self.trace.keep(weights)
        return weights @ value

    def _multi_head(self, *args: Any, **named: Any) -> tuple[Tensor, Tensor | None]:
        call = MultiHead(args, named)
        query, key, value = (
            call.heads(call.project(name, F.linear)) for name in ("query", "key", "value")
        )
        weights = attention_weights(query, key, value, call["attn_mask"])[0]
        self.trace.keep(weights)
        joined = (weights @ value).permute(2, 0, 1, 3).flatten(2)
        output = F.linear(joined, call["out_proj_weight"], call["out_proj_bias"])
        return output, call.returned(weights)


class MultiHead:
    """One call of torch's multi-head attention, taken apart."""

    def __init__(self, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        bound = inspect.signature(F.multi_head_attention_forward).bind(*args, **named)
        bound.apply_defaults()
        self.bound = bound
        unknown = ("bias_k", "bias_v", "static_k", "static_v", "key_padding_mask")
        if self["add_zero_attn"] or any(self[name] is not None for name in unknown):
            raise PastaError("attention to keys that are no tokens, or masked ones, is not known")

    def __getitem__(self, name: str) -> Any:
        return self.bound.arguments[name]

    def project(self, name: str, linear: Function) -> Tensor:
        """Query, key or value (tokens, n, features) behind its linear layer."""
        place, size = ("query", "key", "value").index(name), self["embed_dim_to_check"]
        part = slice(place * size, (place + 1) * size)
        apart = self["use_separate_proj_weight"]
        weight = self[f"{name[0]}_proj_weight"] if apart else self["in_proj_weight"][part]
        bias = self["in_proj_bias"]
        found: Tensor = linear(self[name], weight, None if bias is None else bias[part])
        return found

    def heads(self, projected: Tensor) -> Tensor:
        """Tokens first to (n, heads, tokens, features)."""
        parted = projected.reshape(*projected.shape[:2], self["num_heads"], -1)
        return parted.permute(1, 2, 0, 3)

    def returned(self, weights: Tensor) -> Tensor | None:
        """What the function returns of the weights."""
        if not self["need_weights"]:
            return None
        return weights.mean(1) if self["average_attn_weights"] else weights


def attention_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """What torch's scaled dot product attention multiplies, written out: weights and values."""
    del dropout_p  # networks are explained in evaluation mode
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1), value


def attention_pass(network: nn.Module, images: Tensor, targets: Tensor) -> AttentionPass:
    """Run a network forward and back, and keep the attention of every block.

    Parameters
    ----------
    network
        Inputs to logits.
    images, targets
        The inputs, and the classes whose logits are differentiated.

    Raises
    ------
    PastaError
        If there is no attention, or none between all tokens.
    """
    leaf = images.detach().clone().requires_grad_()
    with torch.enable_grad(), frozen(network):
        with AttentionMode() as mode:
            logits = network(leaf)
        kept = [weights for weights, _ in mode.trace.found]
        if not kept:
            raise no_attention(network)
        chosen = logits.gather(1, targets[:, None]).sum()
        found = torch.autograd.grad(chosen, kept, allow_unused=True)
    gradients = [
        torch.zeros_like(weights) if gradient is None else gradient
        for weights, gradient in zip(kept, found, strict=True)
    ]
    weights = mode.trace.in_order(kept, len(images))
    require_same_tokens(network, weights)
    return AttentionPass(weights, mode.trace.in_order(gradients, len(images)))


def has_attention(network: nn.Module, image: Tensor) -> bool:
    """Whether a network attends to anything, by one pass of one input (1, channels, *spatial)."""
    with torch.enable_grad(), AttentionMode() as mode:
        network(image.detach().clone().requires_grad_())
    return bool(mode.trace.found)


def no_attention(network: nn.Module) -> PastaError:
    """What to say of a network without any."""
    return PastaError(
        f"{type(network).__name__} has no attention: methods that explain by attention need a "
        "transformer"
    )


def require_same_tokens(network: nn.Module, blocks: Sequence[Tensor]) -> None:
    """An error unless the tokens of all blocks are the same."""
    shapes = {tuple(one.shape[2:]) for one in blocks}
    if len(shapes) != 1 or any(queries != keys for queries, keys in shapes):
        found = ", ".join(f"{queries} x {keys}" for queries, keys in sorted(shapes))
        raise PastaError(
            f"the blocks of {type(network).__name__} attend to other tokens each ({found}), "
            "expected all tokens to all tokens in every block"
        )

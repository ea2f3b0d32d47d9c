"""Constants on the way from image to logits: all are heard of, each at its own positions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from pasta.explanations.base import View
from pasta.explanations.biases import Contribution, Watch
from pasta.explanations.hooks import frozen
from pasta.explanations.methods.fullgrad import whole_pass
from tests.explanations.families import lively, transformer
from tests.explanations.networks import pictures


def test_the_biases_of_a_transformer_are_those_that_its_parameters_gradients_say() -> None:
    """The gradient of a parameter is the sum over all places; the terms must add up to it."""
    network = transformer().double()
    image = pictures(1, 32).double().requires_grad_()
    implicit: list[tuple[nn.LayerNorm, Tensor, Tensor]] = []

    def keep(norm: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(norm, nn.LayerNorm)
        implicit.append((norm, inputs[0].detach(), output))

    norms = [one for one in network.modules() if isinstance(one, nn.LayerNorm)]
    handles = [one.register_forward_hook(keep) for one in norms]
    named = dict(network.named_parameters())
    added = [
        value
        for name, value in named.items()
        if name.endswith(("bias", "pos_embedding", "class_token"))
    ]
    score = network(image)[0, 3]
    outputs = [output for *_, output in implicit]
    gradients = torch.autograd.grad(score, [image, *added, *outputs])
    for handle in handles:
        handle.remove()
    pairs = zip(gradients, [image, *added], strict=False)
    expected = sum((gradient * value).sum() for gradient, value in pairs)
    for (norm, tokens, _), gradient in zip(implicit, gradients[-len(outputs) :], strict=True):
        mean, spread = tokens.mean(-1, keepdim=True), tokens.var(-1, correction=0, keepdim=True)
        expected = expected - (gradient * norm.weight * mean / (spread + norm.eps).sqrt()).sum()
    found = whole_pass(View(network), image.detach(), torch.tensor([3])).found
    assert len(added) == 5 + 2 * 6  # two embeddings, patches, norm and head; and of both layers
    torch.testing.assert_close(found.total, torch.as_tensor(expected).detach()[None])


def test_each_position_has_its_own_share_of_the_biases_inside_attention() -> None:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).double().eval()
    lively(attention)
    tokens = torch.randn(2, 5, 8, dtype=torch.double)
    readout = torch.randn(2, 5, 8, dtype=torch.double)
    heard: list[Contribution] = []
    leaf = tokens.clone().requires_grad_()
    with frozen(attention):
        with Watch(2, heard.append):
            output = attention(leaf, leaf, leaf, need_weights=False)[0]
        torch.autograd.grad((output * readout).sum(), leaf)
    # once more by hand, with a copy of each bias for each position
    bias = attention.in_proj_bias.detach()
    copies = [part.expand(2, 5, 8).clone().requires_grad_() for part in bias.chunk(3)]
    parts = zip(attention.in_proj_weight.chunk(3), copies, strict=True)
    query, key, value = (
        (tokens @ weight.T + copy).reshape(2, 5, 2, 4).transpose(1, 2) for weight, copy in parts
    )
    shares = (query @ key.transpose(2, 3) / 2).softmax(-1)
    mixed = (shares @ value).transpose(1, 2).reshape(2, 5, 8)
    last = attention.out_proj.bias.detach().expand(2, 5, 8).clone().requires_grad_()
    by_hand = mixed @ attention.out_proj.weight.T + last
    torch.testing.assert_close(output, by_hand)
    copies.append(last)
    gradients = torch.autograd.grad((by_hand * readout).sum(), copies)
    expected = [gradient * copy.detach() for gradient, copy in zip(gradients, copies, strict=True)]
    # torch's attention has tokens first; what is heard has images first
    ours = sorted((one.values for one in heard), key=lambda one: float(one.sum()))
    for mine, yours in zip(ours, sorted(expected, key=lambda one: float(one.sum())), strict=True):
        torch.testing.assert_close(mine, yours)


def test_attention_that_gives_its_weights_away_is_left_to_torch() -> None:
    attention = nn.MultiheadAttention(8, 2).eval()
    lively(attention)
    heard: list[Contribution] = []
    leaf = torch.randn(5, 2, 8).requires_grad_()
    with frozen(attention):
        with Watch(2, heard.append):
            output, weights = attention(leaf, leaf, leaf, need_weights=True)
        torch.autograd.grad(output.sum(), leaf)
    torch.testing.assert_close(output, attention(leaf, leaf, leaf)[0])
    assert weights.shape == (2, 5, 5)
    (only,) = heard
    torch.testing.assert_close(only.values, attention.out_proj.bias.expand(2, 5, 8))


@pytest.mark.parametrize("kind", ["layer", "group"])
def test_a_norm_adds_what_is_left_if_its_statistics_are_constants(kind: str) -> None:
    norm: nn.Module = nn.LayerNorm(6) if kind == "layer" else nn.GroupNorm(2, 6)
    lively(norm).double()
    shape = (2, 5, 6) if kind == "layer" else (2, 6, 3, 4)
    leaf = torch.randn(shape, dtype=torch.double).requires_grad_()
    heard: list[Contribution] = []
    with frozen(norm):
        with Watch(2, heard.append):
            output = norm(leaf)
        torch.autograd.grad(output.sum(), leaf)  # a gradient of one everywhere
    values, weight = leaf.detach(), norm.weight
    assert isinstance(weight, Tensor)
    if kind == "layer":
        spread = (values.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    else:
        parted = values.reshape(2, 2, 3, 3, 4)
        spread = (parted.var((2, 3, 4), correction=0) + 1e-5).sqrt()
        spread = spread.repeat_interleave(3, 1)[:, :, None, None]
        weight = weight[:, None, None]
    (only,) = heard
    torch.testing.assert_close(only.values, (output - weight * values / spread).detach())


def test_a_mask_is_no_bias() -> None:
    leaf = torch.randn(2, 4).requires_grad_()
    heard: list[Contribution] = []
    with Watch(2, heard.append):
        masked = leaf + torch.tensor([0.0, -torch.inf, 0.0, 0.0])
    torch.autograd.grad(masked.softmax(1)[:, 0].sum(), leaf)
    assert not any(one.values.any() for one in heard)

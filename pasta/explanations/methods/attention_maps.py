"""Attention as explanation: of the last block, rolled out over blocks, and weighed by relevance.

All of them start from the attention of every block (n, heads, queries, keys) and end with how much
each query takes from each key (n, queries, keys), all blocks together. Two seams lead from there to
the places of the input:

- The view's ``reshape``, which makes maps of tokens, also places what the class token takes from
  the others; of a network that has no such token (all tokens have a place) it is what all tokens
  take on average. The modality enlarges the map, linearly along each axis.
- Where tokens are no grid (points, for instance) the view's ``place`` gets attention and inputs and
  gives maps. :func:`near_points` is its usual part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.attention import AttentionPass, attention_pass
from pasta.explanations.base import Given, Passes, method
from pasta.explanations.entries import enlarge, repeat, stretch
from pasta.explanations.hooks import frozen
from pasta.explanations.masking import batch_rows, halve_until_it_fits
from pasta.explanations.methods.gradients import reading_of
from pasta.explanations.methods.lrp import Rules, attention_relevance

attending = partial(
    method, functioning="gradient", backbones=(), any_modality=True, needs_attention=True
)
RELEVANCE = Rules("plus", "plus", epsilon=1e-9, centred=False)  # Chefer's: alpha 1, beta 0


@attending("raw_attention", doi="10.48550/arXiv.2010.11929")
def raw_attention(given: Given) -> Tensor:
    """What the last block attends to, the mean of its heads (Dosovitskiy 2021)."""
    return placed(given, "raw_attention", attention_of(given).weights[-1].mean(1))


@attending(
    "attention_rollout",
    doi="10.18653/v1/2020.acl-main.385",
    passes=lambda *_: Passes(1, 1),
)
def attention_rollout(given: Given) -> Tensor:
    """Multiply the attention of all blocks, half of it and half of what they skip (Abnar 2020).

    The released reading multiplies relevance instead of attention, without making rows sum to one.
    """
    if reading_of(given, "attention_rollout") == "released":
        blocks = [one.clamp_min(0).mean(1) for one in relevance_of(given)]
        joint = roll_out([one + torch.eye(one.shape[-1]).to(one) for one in blocks])
    else:
        blocks = [one.mean(1) for one in attention_of(given).weights]
        halves = [(one + torch.eye(one.shape[-1]).to(one)) / 2 for one in blocks]
        joint = roll_out([one / one.sum(-1, keepdim=True) for one in halves])
    return placed(given, "attention_rollout", joint)


@attending(
    "lrp_attention",
    doi="10.1109/CVPR46437.2021.00084",
    passes=lambda *_: Passes(2, 2),
)
def lrp_attention(given: Given) -> Tensor:
    """Multiply over blocks what is relevant of their attention (Chefer 2021).

    A block counts as identity + mean over heads of (gradient x relevance)+. Gradients are those of
    the target's logit. Relevance follows the z+ rule of LRP and passes through the values, not
    through queries and keys. The identity is taken from the product again: a class token's row
    loses nothing by it, and where all tokens are pooled it would drown the rest of the map.
    """
    blocks = [
        (gradient * relevance).clamp_min(0).mean(1)
        for gradient, relevance in zip(
            attention_of(given).gradients, relevance_of(given), strict=True
        )
    ]
    itself = torch.eye(blocks[0].shape[-1]).to(blocks[0])
    joint = roll_out([one + itself for one in blocks])
    return placed(given, "lrp_attention", joint - itself)


def roll_out(blocks: Sequence[Tensor]) -> Tensor:
    """The product of matrices (n, tokens, tokens), the last block's on the left."""
    joint = blocks[0]
    for block in blocks[1:]:
        joint = block @ joint
    return joint


def attention_of(given: Given) -> AttentionPass:
    """Attention of every block and its gradient, computed once for all methods."""

    def run(images: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
        found = attention_pass(given.view.network, images, targets)
        return found.weights + found.gradients

    both = given.once("attention", lambda: _in_parts(given, run))
    blocks = len(both) // 2
    return AttentionPass(both[:blocks], both[blocks:])


def relevance_of(given: Given) -> tuple[Tensor, ...]:
    """The relevance of every block's attention, computed once for all methods."""

    def run(images: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
        return attention_relevance(given.view.network, images, targets, RELEVANCE)

    return given.once("attention relevance", lambda: _in_parts(given, run))


def _in_parts(
    given: Given, run: Callable[[Tensor, Tensor], tuple[Tensor, ...]]
) -> tuple[Tensor, ...]:
    """As many inputs at a time as the budget and the memory allow."""

    def run_parts(rows: int) -> tuple[Tensor, ...]:
        pairs = zip(torch.split(given.images, rows), torch.split(given.targets, rows), strict=True)
        return tuple(map(torch.cat, zip(*(run(*pair) for pair in pairs), strict=True)))

    with torch.enable_grad(), frozen(given.view.network):
        return halve_until_it_fits(run_parts, batch_rows(given))


def placed(given: Given, key: str, joint: Tensor) -> Tensor:
    """Put what queries take from keys (n, queries, keys) in its place in the input.

    Returns maps at the resolution of the tokens; in LATEC's readings as large as the input and
    repeated over channels, and in the released one each from 0 to 1.
    """
    maps = place_tokens_of(given, joint)
    reading = reading_of(given, key)
    if reading == "corrected":
        return maps
    large = maps if maps.shape[1:] == given.size else enlarge(maps, given.size)
    return repeat(stretch(large) if reading == "released" else large, given.images.shape[1])


def place_tokens_of(given: Given, joint: Tensor) -> Tensor:
    """Maps (n, *any) of attention, by the view's ``place`` or its ``reshape``."""
    view = given.view
    if view.place is not None:
        return view.place(joint, given.images)
    if view.reshape is None:
        raise PastaError(
            "it is not known where the tokens of this network are: pass a reshape (tokens to "
            "maps), or a place for tokens that are no grid"
        )
    every = view.reshape(joint.mean(1)[:, :, None])[:, 0]
    if math.prod(every.shape[1:]) == joint.shape[-1]:
        return every  # no token without a place: all of them are pooled
    return view.reshape(joint[:, 0, :, None])[:, 0]


def near_points(values: Tensor, centres: Tensor, points: Tensor, neighbours: int = 3) -> Tensor:
    """Give each point the mean of its nearest tokens, weighed by 1 / squared distance.

    Parameters
    ----------
    values
        Of the tokens (n, tokens).
    centres, points
        Where tokens (n, axes, tokens) and points (n, axes, points) are.
    neighbours
        How many tokens count.

    Returns
    -------
    Values of the points (n, points).
    """
    squared = torch.cdist(points.mT, centres.mT).square()
    near = squared.topk(min(neighbours, squared.shape[-1]), largest=False)
    weights = 1 / near.values.clamp_min(1e-16)
    chosen = values[:, None].expand(-1, squared.shape[1], -1).gather(2, near.indices)
    found: Tensor = (chosen * weights).sum(-1) / weights.sum(-1)
    return found

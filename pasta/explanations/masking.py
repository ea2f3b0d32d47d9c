"""Scores of many masked copies of images: the work that perturbation methods have in common.

Copies are built when their batch is due, never all at once, and a batch may hold copies of several
images, so that a few masks per image still make full batches. Where memory is short, batches
become smaller.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, fx, nn

from pasta.errors import PastaError
from pasta.explanations.base import Given

# Scores (rows,) of masked images (rows, 3, height, width) that are copies of the images with these
# numbers (rows,).
Score = Callable[[Tensor, Tensor], Tensor]

# On a CPU an image takes up to a third longer in batches of more pixels than these, which are 10
# images of 224 x 224 or 56 of 96 x 96: large feature maps are costly to get memory for.
_PIXELS_ON_CPU = 2**19
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
_TOLERANCE = 1e-4  # by which a folded network may differ, as a part of the largest logit


@dataclass(frozen=True)
class Masked:
    """Masked copies of one image."""

    count: int
    build: Callable[[slice], Tensor]  # which copies -> (copies, 3, height, width)


def target_scores(given: Given, copies: Sequence[Masked], logits: bool = False) -> list[Tensor]:
    """The target's probability (or logit) for the masked copies of each image.

    Returns one tensor (count,) per image.
    """
    view = replace(given.view, network=forward_only(given.view.network, given.images[:1]))
    score_of = view.logits if logits else view.probabilities

    def score(images: Tensor, owners: Tensor) -> Tensor:
        return score_of(images).gather(1, given.targets[owners][:, None])[:, 0]

    return masked_scores(score, copies, batch_rows(given))


def superpixel_scores(
    given: Given, labels: Sequence[Tensor], hidden: Sequence[Tensor], switches: Sequence[Tensor]
) -> list[Tensor]:
    """The target's probability where only some superpixels of an image can be seen.

    For each image: ``labels`` (height, width) says to which superpixel a pixel belongs, ``hidden``
    (3, height, width) what it looks like where its superpixel is switched off, ``switches``
    (rows, superpixels) is true where one is on. Rows that are equal are computed once.
    """
    copies, places = [], []
    for image, label, other, rows in zip(given.images, labels, hidden, switches, strict=True):
        different, place = torch.unique(rows, dim=0, return_inverse=True)
        copies.append(switched_copies(image, label, other, different))
        places.append(place)
    found = target_scores(given, copies)
    return [scores[place] for scores, place in zip(found, places, strict=True)]


def switched_copies(image: Tensor, labels: Tensor, hidden: Tensor, switches: Tensor) -> Masked:
    """Copies of an image whose superpixels are switched on or off."""
    pixels = labels.flatten()

    def build(rows: slice) -> Tensor:
        seen = switches[rows].index_select(1, pixels).view(-1, 1, *labels.shape)
        return torch.where(seen, image, hidden)

    return Masked(len(switches), build)


def batch_rows(given: Given) -> int:
    """How many images one forward pass should have: the budget at most."""
    if given.images.device.type != "cpu":
        return given.budget
    height, width = given.size
    return max(1, min(given.budget, _PIXELS_ON_CPU // (height * width)))


def masked_scores(score: Score, copies: Sequence[Masked], budget: int) -> list[Tensor]:
    """Score all copies of all images, ``budget`` of them at a time at most.

    If memory runs out, half as many are tried, and so on; if there is none even for one image,
    this is an error.
    """
    counts = [masked.count for masked in copies]
    total, start, parts = sum(counts), 0, []
    while start < total:
        rows = list(_rows(counts, start, min(start + budget, total)))
        scores = _tried(score, copies, rows)
        if scores is not None:
            parts.append(scores)
            start += len(scores)
        elif budget == 1:
            raise PastaError("there is not enough memory for a forward pass of one image")
        else:
            budget = min(budget, total - start) // 2 or 1
    return list(torch.split(torch.cat([torch.empty(0), *parts]), counts))


def _rows(counts: Sequence[int], start: int, stop: int) -> Iterator[tuple[int, slice]]:
    """Which copies of which images have the numbers ``start`` to ``stop``, counted through."""
    first = 0
    for number, count in enumerate(counts):
        low, high = max(start - first, 0), min(stop - first, count)
        if low < high:
            yield number, slice(low, high)
        first += count


def _tried(
    score: Score, copies: Sequence[Masked], rows: Sequence[tuple[int, slice]]
) -> Tensor | None:
    """Scores of one batch, or nothing if memory ran out."""
    lengths = torch.tensor([part.stop - part.start for _, part in rows])
    owners = torch.tensor([number for number, _ in rows]).repeat_interleave(lengths)
    try:
        with torch.inference_mode():
            return score(torch.cat([copies[number].build(part) for number, part in rows]), owners)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether this is one of torch's ways to say that memory ran out."""
    words = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or any(text in words for text in _NO_MEMORY)


def forward_only(network: nn.Module, sample: Tensor) -> nn.Module:
    """The same function made for forward passes, if there is one that is faster, else the network.

    Batch normalisation is folded into the convolutions before it, and ReLU and residual additions
    are computed together with convolutions. Whether the result is the same is tried out on
    ``sample``.
    """
    modules = list(network.modules())
    if network.training or not any(isinstance(module, nn.BatchNorm2d) for module in modules):
        return network
    try:
        folded = _folded(network)
        with torch.inference_mode():
            expected, found = network(sample), folded(sample)
    except Exception:  # what cannot be traced or copied says so in many ways
        return network
    limit = _TOLERANCE * float(expected.abs().max())
    return folded if torch.allclose(found, expected, rtol=0, atol=limit) else network


def _folded(network: nn.Module) -> fx.GraphModule:
    """A traced copy of a network, with fewer and larger steps."""
    from torch.fx.experimental.optimization import fuse

    traced: Any = fuse(network)
    # Weights with channels last make all maps so.
    return _joined(traced.to(memory_format=torch.channels_last))


class _Convolution(nn.Module):
    """A convolution, then perhaps an addition, then perhaps ReLU, as one step of oneDNN."""

    def __init__(self, layer: nn.Conv2d, relu: bool, in_place: bool) -> None:
        super().__init__()
        self.layer = layer
        self.shape = (layer.padding, layer.stride, layer.dilation, layer.groups)
        self.relu, self.in_place = relu, in_place

    def forward(self, maps: Tensor, other: Tensor | None = None) -> Tensor:
        steps: Any = torch.ops.mkldnn
        numbers = (self.layer.weight, self.layer.bias, *self.shape)
        after: tuple[Any, ...] = ("add", 1.0, "relu" if self.relu else None, [], None)
        if other is None:
            after = ("relu" if self.relu else "none", [], None)
            result: Tensor = steps._convolution_pointwise.default(maps, *numbers, *after)
        elif self.in_place:
            result = steps._convolution_pointwise_.binary(other, maps, *numbers, *after)
        else:
            result = steps._convolution_pointwise.binary(maps, other, *numbers, *after)
        return result


def _joined(network: fx.GraphModule) -> fx.GraphModule:
    """Put convolutions together with what follows them."""
    graph, layers = network.graph, dict(network.named_modules())
    for node in list(graph.nodes):
        layer = _called(node, layers)
        if not isinstance(layer, nn.Conv2d) or not _is_one_step(layer):
            continue
        chain = _chain(node, layers)
        others = [one for part in chain for one in part.args if one not in chain]
        name = f"joined_{node.name}"
        in_place = len(others) == 2 and _is_free(others[1], chain, layers)
        layers[name] = _Convolution(layer, _is_relu(_called(chain[-1], layers)), in_place)
        network.add_submodule(name, layers[name])
        with graph.inserting_before(chain[-1]):
            chain[-1].replace_all_uses_with(graph.call_module(name, tuple(others)))
        for part in reversed(chain):
            graph.erase_node(part)
    network.recompile()
    return network


def _chain(node: fx.Node, layers: Mapping[str, nn.Module]) -> list[fx.Node]:
    """A convolution, and the addition and ReLU behind it if nothing else looks at its output."""
    chain = [node]
    user = _only_user(node)
    if user is not None and user.target in (operator.add, operator.iadd):
        others = [one for one in user.args if one is not node]  # none, if added to itself
        chain += [user] if others and isinstance(others[0], fx.Node) else []
    user = _only_user(chain[-1])
    return chain if user is None or not _is_relu(_called(user, layers)) else [*chain, user]


def _is_free(node: Any, chain: Sequence[fx.Node], layers: Mapping[str, nn.Module]) -> bool:
    """Whether the sum may be written over a summand: it is the output of a convolution, and only
    other convolutions have looked at it, and before."""
    convolutions = (nn.Conv2d, _Convolution)
    readers = [user for user in node.users if user is not chain[1]]
    return isinstance(_called(node, layers), convolutions) and all(
        isinstance(_called(user, layers), convolutions) and user is not chain[0] and user < chain[1]
        for user in readers
    )


def _only_user(node: fx.Node) -> fx.Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _called(node: fx.Node, layers: Mapping[str, nn.Module]) -> nn.Module | None:
    return layers.get(str(node.target)) if node.op == "call_module" else None


def _is_relu(layer: nn.Module | None) -> bool:
    return type(layer) is nn.ReLU


def _is_one_step(layer: nn.Conv2d) -> bool:
    """Whether oneDNN can do it: on CPUs, in single precision, with zeros around the maps."""
    weight = layer.weight
    plain = type(layer) is nn.Conv2d and layer.padding_mode == "zeros"
    numbers = isinstance(layer.padding, tuple) and weight.dtype == torch.float32
    return plain and numbers and weight.device.type == "cpu"

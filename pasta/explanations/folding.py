"""Networks made for forward passes alone: fewer and larger steps, the same result."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, fx, nn

_DEPTH = 4  # so deep inside a network a part is looked for that can be folded
_FOLDED: WeakKeyDictionary[nn.Module, nn.Module] = WeakKeyDictionary()
_TOLERANCE = 1e-4  # by which a folded network may differ, as a part of the largest logit


def forward_only(network: nn.Module, sample: Tensor) -> nn.Module:
    """The same function made for forward passes, if there is one that is faster, else the network.

    Batch normalisation is folded into the convolutions before it, and ReLU and residual additions
    are computed together with convolutions, in the whole network or, where that cannot be traced,
    in parts of it. Whether the result is the same is tried out on ``sample``. The answer is
    remembered as long as it stays right.
    """
    if network.training or not _can_gain(network):
        return network
    for make in _attempts(network):
        folded = _made(make)
        if folded is not None and _same(folded, network, sample):
            _FOLDED[network] = folded
            return folded
    return network


def _attempts(network: nn.Module) -> list[Callable[[], nn.Module]]:
    remembered = partial(_FOLDED.__getitem__, network)
    return [remembered, *(partial(_folded, network, depth) for depth in range(_DEPTH))]


def _made(make: Callable[[], nn.Module]) -> nn.Module | None:
    try:
        return make()
    except Exception:  # what cannot be traced or copied says so in many ways
        return None


def _same(folded: nn.Module, network: nn.Module, sample: Tensor) -> bool:
    """Whether both give the same."""
    try:
        with torch.inference_mode():
            expected, found = network(sample), folded(sample)
    except Exception:  # a part may be called by other names than that of its forward pass
        return False
    limit = _TOLERANCE * float(expected.abs().max())
    return torch.allclose(found, expected, rtol=0, atol=limit)


def _can_gain(network: nn.Module) -> bool:
    """Whether there are convolutions, and normalisations to fold into them."""
    kinds = {type(module) for module in network.modules()}
    return nn.BatchNorm2d in kinds and nn.Conv2d in kinds


def _folded(network: nn.Module, depth: int) -> nn.Module:
    """A copy of a network with fewer and larger steps, in the parts that are so deep inside."""
    from torch.fx.experimental.optimization import fuse

    if depth:
        inside = ((name, part) for name, part in network.named_children() if _can_gain(part))
        tried = {name: _made(partial(_folded, part, depth - 1)) for name, part in inside}
        parts = {name: part for name, part in tried.items() if part is not None}
        if not parts:
            raise LookupError("nothing to fold so deep inside")
        shell = copy.copy(network)  # all other parts are shared
        shell._modules = {**network._modules, **parts}
        return shell
    fx.symbolic_trace(network)  # fails before anything is copied
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

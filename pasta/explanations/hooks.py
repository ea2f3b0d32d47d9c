"""Changes to a network as context managers: they are undone whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

Forward = Callable[[nn.Module, tuple[Tensor, ...], Tensor], Tensor | None]


@contextmanager
def hooked(layer: nn.Module, hook: Forward) -> Iterator[None]:
    """Call ``hook(layer, inputs, output)`` after each forward of the layer; what it returns, if
    anything, takes the place of the output."""
    handle = layer.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def frozen(network: nn.Module) -> Iterator[None]:
    """Parameters need no gradient meanwhile."""
    needy = [parameter for parameter in network.parameters() if parameter.requires_grad]
    try:
        for parameter in needy:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in needy:
            parameter.requires_grad_(True)

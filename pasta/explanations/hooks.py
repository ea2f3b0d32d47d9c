"""Changes to a network as context managers: they are undone whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

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
def all_hooked(layers: Sequence[nn.Module], hook: Forward) -> Iterator[None]:
    """The same hook on several layers."""
    with ExitStack() as stack:
        for layer in layers:
            stack.enter_context(hooked(layer, hook))
        yield


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

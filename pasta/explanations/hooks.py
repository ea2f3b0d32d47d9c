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
def evaluating(model: object) -> Iterator[None]:
    """Put every module of a model into evaluation mode, then each back into its own.

    A network may be in training with its batch norms frozen, or the other way round. What is no
    module has no mode.
    """
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    training = [module.training for module in modules]
    try:
        for module in modules:
            module.training = False
        yield
    finally:
        for module, mode in zip(modules, training, strict=True):
            module.training = mode


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

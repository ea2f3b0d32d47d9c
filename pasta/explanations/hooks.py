"""Forward hooks as context managers: they come off whatever happens."""

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

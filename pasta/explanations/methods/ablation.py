"""Ablation-CAM: a channel weighs as much as the score drops without it (Desai & Ramaswamy 2020).

The weight of channel c is (y - y_c) / y, with y the target's logit and y_c the logit after the
channel is ablated (doi:10.1109/WACV45572.2020.9093360). Only what lies behind the target layer runs
again, for many channels at once, by :class:`Tail`:

One ordinary pass of an image records what all modules gave that were done before the layer was; of
nested ones the outermost. Later these return views of it instead of computing, the layer returns
the activations it is given, and everything behind it runs as usual. Ways around the layer, residual
connections for instance, carry recorded tensors.

Whether a network allows this is tried out. If it takes another way each time, or changes recorded
tensors in place, the whole of it runs, with the layer's output replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.explanations.base import Given, Passes, View, method
from pasta.explanations.hooks import hooked

_TOLERANCE = 1e-4  # of the largest logit: so near both ways of running the network must be
_BELOW = 1e7  # the value of an ablated channel lies so far below the smallest activation
_NUMBERS = 2**23  # of activations in one batch, lest wide layers need too much memory


@method(
    "ablationcam",
    functioning="perturbation",
    doi="10.1109/WACV45572.2020.9093360",
    needs_layer=True,
    passes=lambda _, sizes: Passes(forward=1, behind=sizes.channels),
)
def ablationcam(given: Given) -> Tensor:
    """Activations, weighed by how much the score drops without their channel."""
    view, layer = given.view, given.view.require_layer()
    maps, short = [], None
    for one in given.one_by_one():
        behind = Tail(view.network, layer, one.images, short)
        short = behind.short  # tried out once
        weights = channel_weights(view, behind, int(one.targets), given.budget)
        maps.append(torch.einsum("c,chw->hw", weights, view.maps(behind.activations)[0]))
    return torch.stack(maps)


def channel_weights(view: View, behind: Tail, target: int, budget: int) -> Tensor:
    """The share of the target's logit that is lost without each channel."""
    activations = behind.activations[0]
    axis = channel_axis(view, behind.activations) - 1
    channels, device = activations.shape[axis], activations.device
    value = ablated_value(activations)
    rows = max(1, min(budget, _NUMBERS // activations.numel()))
    scores = []
    for start in range(0, channels, rows):
        chosen = torch.arange(start, min(start + rows, channels), device=device)
        batch = activations.expand(len(chosen), *activations.shape).clone()
        batch.movedim(axis + 1, 1)[chosen - start, chosen] = value
        scores.append(behind(batch)[:, target])
    score = behind.logits[0, target]
    return (score - torch.cat(scores)) / score


def ablated_value(activations: Tensor) -> float:
    """Zero, as in the paper, if zero is the smallest activation there is. Where activations can be
    negative a zero does not mean absence, and a very negative value takes its place, as in
    pytorch-grad-cam."""
    lowest = float(activations.min())
    return 0.0 if lowest == 0 else lowest - _BELOW


def channel_axis(view: View, output: Tensor) -> int:
    """Where the channels of the layer's output are: second in maps, last in tokens."""
    return 1 if view.maps(output).shape == output.shape else output.ndim - 1


class Tail:
    """Logits of one image (1, 3, height, width), had a layer said something else.

    ``short`` says whether only what lies behind the layer has to run; None tries it out.
    """

    def __init__(
        self, network: nn.Module, layer: nn.Module, image: Tensor, short: bool | None = None
    ) -> None:
        self.network, self.layer, self.image = network, layer, image
        self.before: list[tuple[nn.Module, Any]] = []  # what was done before, and its output
        self.logits, self.activations = self._record()
        self.short = self._agrees() if short is None else short

    @torch.no_grad()
    def __call__(self, activations: Tensor) -> Tensor:
        """Logits (k, classes) for activations (k, ...) of the layer."""
        return self._behind(activations) if self.short else self._whole(activations)

    def _record(self) -> tuple[Tensor, Tensor]:
        starts: list[int] = []
        outputs: list[Tensor] = []

        def start(_module: nn.Module, _inputs: Any) -> None:
            starts.append(len(self.before))

        def finish(module: nn.Module, _inputs: Any, output: Any) -> None:
            begun = starts.pop()
            if module is self.layer:
                if not isinstance(output, Tensor):
                    raise PastaError(f"the layer gives a {type(output).__name__}, not a tensor")
                outputs.append(output.clone())  # what follows may change it in place
                del self.before[begun:]  # what the layer is made of does not run again
            elif not outputs:
                self.before[begun:] = [
                    (module, output.clone() if isinstance(output, Tensor) else output)
                ]

        with ExitStack() as stack, torch.no_grad():
            for module in self.network.modules():
                stack.callback(module.register_forward_pre_hook(start).remove)
                stack.callback(module.register_forward_hook(finish).remove)
            logits: Tensor = self.network(self.image)
        if not outputs:
            raise PastaError(f"{self.layer} has no part in the network's forward pass")
        return logits, outputs[0]

    def _whole(self, activations: Tensor) -> Tensor:
        with hooked(self.layer, lambda *_: activations.clone()):
            logits: Tensor = self.network(repeated(self.image, len(activations)))
        return logits

    def _behind(self, activations: Tensor) -> Tensor:
        waiting = self.before[::-1]

        def instead(module: nn.Module, compute: Callable[..., Any]) -> Callable[..., Any]:
            def forward(*args: Any, **kwargs: Any) -> Any:
                if module is self.layer:
                    return activations
                if not waiting:  # behind the layer
                    return compute(*args, **kwargs)
                expected, output = waiting.pop()
                if expected is not module:
                    raise RuntimeError("modules before the layer were called in another order")
                return repeated(output, len(activations))

            return forward

        with ExitStack() as stack:
            for module in {self.layer, *(module for module, _ in self.before)}:
                stack.callback(_restore, module, module.__dict__.get("forward"))
                module.__dict__["forward"] = instead(module, module.forward)
            logits: Tensor = self.network(repeated(self.image, len(activations)))
        if waiting:
            raise RuntimeError("a module that ran before the layer was not called again")
        return logits

    @torch.no_grad()
    def _agrees(self) -> bool:
        """Whether both ways say the same, for true and for other activations."""
        trial = torch.cat([self.activations, 1 - 2 * self.activations])
        expected = self._whole(trial)
        try:
            found = self._behind(trial.clone())
        except (RuntimeError, TypeError, ValueError, IndexError):  # recorded tensors do not fit
            return False
        room = _TOLERANCE * float(expected.abs().max())
        return found.shape == expected.shape and torch.allclose(found, expected, rtol=0, atol=room)


def repeated(recorded: Any, times: int) -> Tensor:
    """What was recorded for one image, its row or its column beside the tokens, for a batch."""
    if not isinstance(recorded, Tensor) or 1 not in recorded.shape[:2]:
        raise ValueError("what was recorded does not tell where the image is")
    if recorded.shape[0] == 1:
        return recorded.expand(times, *recorded.shape[1:])
    return recorded.expand(-1, times, *recorded.shape[2:])


def _restore(module: nn.Module, own: Any) -> None:
    module.__dict__.pop("forward", None)
    if own is not None:
        module.__dict__["forward"] = own

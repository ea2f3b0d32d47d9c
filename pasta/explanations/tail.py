"""Run again only what lies behind a layer, for other activations of that layer.

One ordinary pass of an image records the outputs of all modules that were done before the layer
was; of nested ones the outermost. In every later run these modules return their recorded output
instead of computing it, the layer returns the activations it is given, and everything behind it
runs as usual. Ways around the layer, a residual connection for instance, need no special care: they
carry recorded tensors.

Behind the attention of its last block a transformer may look at nothing but its first token, the
class token. If a gradient shows that it does, only this token goes on.

This works for any network whose forward pass takes the same way each time. Whether it does is
tried out; if not, the whole network runs each time, and a warning says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.explanations.hooks import hooked

Forward = Callable[..., Any]
# What modules before the layer do: give a view of what is recorded (or of one token of it), give a
# copy (some networks change tensors in place), or compute all again.
Mode = Literal["first token", "views", "copies", "whole"]
_TOLERANCE = 1e-4
# what networks say to recorded tensors that do not fit
_MISFITS = (RuntimeError, TypeError, ValueError, IndexError)


class _AstrayError(RuntimeError):
    """The forward pass took another way than the recorded one."""


@dataclass(frozen=True)
class Recording:
    """An image's pass through the network up to a layer."""

    image: Tensor  # (1, 3, height, width)
    logits: Tensor  # (1, classes)
    activations: Tensor  # the layer's output, as it is
    before: Sequence[tuple[nn.Module, Any]]  # what was done before, in this order, and its output
    calls: int  # of the layer
    following: nn.Module | None = None  # what was called next, behind the layer

    @property
    def residual(self) -> int | None:
        """The last of those before that gave tokens like the layer's: the way around it."""
        if self.activations.ndim != 3:
            return None
        shapes = [getattr(output, "shape", None) for _, output in self.before]
        alike = [place for place, shape in enumerate(shapes) if shape == self.activations.shape]
        return alike[-1] if alike else None

    def kept(self, mode: Mode) -> list[tuple[nn.Module, Any]]:
        """What modules before the layer say in a mode."""
        before = [] if mode == "whole" else list(self.before)
        if mode == "first token" and self.residual is not None:
            module, output = before[self.residual]
            before[self.residual] = (module, output[:, :1])
        return before


@dataclass
class Tail:
    """From the layer's activations to logits."""

    network: nn.Module
    layer: nn.Module
    recording: Recording
    mode: Mode
    _given: Tensor = field(default_factory=lambda: torch.empty(0))
    _waiting: list[tuple[nn.Module, Any]] = field(default_factory=list)

    def __call__(self, activations: Tensor) -> Tensor:
        """Logits (k, classes) of the image, had the layer said ``activations`` (k, ...)."""
        self._given = activations
        self._waiting = self.recording.kept(self.mode)[::-1]
        image = self.recording.image
        logits: Tensor = self.network(image.expand(len(activations), *image.shape[1:]))
        if self._waiting:
            raise _AstrayError("a module that ran before the layer was not called again")
        return logits

    @contextmanager
    def patched(self) -> Iterator[None]:
        """Let the layer and the modules before it say what they are told to.

        They are as before in the end, also after an exception.
        """
        modules = {self.layer, *(module for module, _ in self.recording.kept(self.mode))}
        if self.mode == "first token" and self.recording.following is not None:
            modules.add(self.recording.following)
        with ExitStack() as stack:
            for module in modules:
                replacement = self._replacement(module, module.forward)
                stack.callback(_restore, module, module.__dict__.get("forward"))
                module.__dict__["forward"] = replacement
            yield

    def _replacement(self, module: nn.Module, compute: Forward) -> Forward:
        def forward(*args: Any, **kwargs: Any) -> Any:
            if module is self.layer:
                return self._given
            if not self._waiting:  # behind the layer
                return self._behind(module, compute, args, kwargs)
            expected, output = self._waiting.pop()
            if expected is not module:
                raise _AstrayError("the modules before the layer were called in another order")
            return _mapped(self._for_batch, output)

        return forward

    def _behind(self, module: nn.Module, compute: Forward, args: Any, kwargs: Any) -> Any:
        if self.mode != "first token" or module is not self.recording.following:
            return compute(*args, **kwargs)
        if isinstance(module, nn.MultiheadAttention) and module.batch_first and args:
            args = (args[0][:, :1], *args[1:])  # only one query is needed
        return _mapped(lambda tokens: tokens[:, :1], compute(*args, **kwargs))

    def _for_batch(self, recorded: Tensor) -> Tensor:
        batch = repeated(recorded, len(self._given))
        return batch.clone() if self.mode == "copies" else batch


@contextmanager
def tail(
    network: nn.Module, layer: nn.Module, image: Tensor, mode: Mode | None = None
) -> Iterator[Tail]:
    """What lies behind ``layer``, for one image (1, 3, height, width).

    The fastest mode that works is tried out, unless it is known from another image. While the
    context lasts, parts of the network are patched: it can do nothing else.
    """
    recording = record(network, layer, image)
    found = Tail(network, layer, recording, mode or _working_mode(network, layer, recording))
    with found.patched():
        yield found


def record(network: nn.Module, layer: nn.Module, image: Tensor) -> Recording:
    """Run the network and keep what was done before the layer was."""
    done: list[tuple[nn.Module, Any]] = []
    outputs: list[Tensor] = []
    starts: list[int] = []
    behind: list[nn.Module] = []

    def start(module: nn.Module, _inputs: Any) -> None:
        starts.append(len(done))
        if outputs:
            behind.append(module)

    def finish(module: nn.Module, _inputs: Any, output: Any) -> None:
        begun = starts.pop()
        if module is layer:
            if not isinstance(output, Tensor):
                raise PastaError(f"the layer gives a {type(output).__name__}, not a tensor")
            outputs.append(output.clone())  # what follows may change it in place
            del done[begun:]  # what the layer is made of does not run again
        elif not outputs:
            done[begun:] = [(module, _mapped(torch.clone, output))]

    with ExitStack() as stack, torch.no_grad():
        for module in network.modules():
            stack.callback(module.register_forward_pre_hook(start).remove)
            stack.callback(module.register_forward_hook(finish).remove)
        logits: Tensor = network(image)
    if not outputs:
        raise PastaError(f"the {type(layer).__name__} has no part in the network's forward pass")
    following = behind[0] if behind else None
    return Recording(image, logits, outputs[0], tuple(done), len(outputs), following)


def repeated(recorded: Tensor, times: int) -> Tensor:
    """What was recorded for one image as it would be for a batch of equal ones.

    No memory is copied where an image is one row, or one column beside its tokens; several rows,
    the windows of one image, are repeated as a whole.
    """
    shape = recorded.shape
    if recorded.ndim == 0:
        return recorded
    if shape[0] == 1:
        return recorded.expand(times, *shape[1:])
    if recorded.ndim > 1 and shape[1] == 1:
        return recorded.expand(-1, times, *shape[2:])
    return recorded.expand(times, *shape).reshape(-1, *shape[1:])


def _working_mode(network: nn.Module, layer: nn.Module, recording: Recording) -> Mode:
    """The first mode that says the same as the whole network, for true and for other
    activations."""
    true = recording.activations
    trial = torch.cat([true, 1 - 2 * true])
    with torch.no_grad():
        whole = Tail(network, layer, recording, "whole")
        with whole.patched():
            expected = torch.cat([recording.logits, whole(trial.clone())[1:]])
        for mode in _possible_modes(network, layer, recording):
            if _agrees(Tail(network, layer, recording, mode), trial.clone(), expected):
                return mode
    warnings.warn(
        f"{type(network).__name__} cannot be run from its {type(layer).__name__} on: the whole of "
        "it runs for each change of the activations, which takes longer",
        stacklevel=5,
    )
    return "whole"


def _possible_modes(network: nn.Module, layer: nn.Module, recording: Recording) -> list[Mode]:
    if recording.calls > 1:
        return []
    first: list[Mode] = ["first token"] if _one_token_goes_on(network, layer, recording) else []
    return [*first, "views", "copies"]


def _one_token_goes_on(network: nn.Module, layer: nn.Module, recording: Recording) -> bool:
    """Whether all tokens but the first have no gradient at what follows the layer."""
    if recording.residual is None or recording.following is None:
        return False
    leaves: list[Tensor] = []

    def leaf(tokens: Tensor) -> Tensor:
        leaves.append(tokens.detach().requires_grad_())
        return leaves[-1]

    def cut(_module: nn.Module, _inputs: tuple[Tensor, ...], output: Any) -> Any:
        return _mapped(leaf, output)

    views = Tail(network, layer, recording, "views")
    try:
        with torch.enable_grad(), views.patched(), hooked(recording.following, cut):
            logits = views(recording.activations.clone())
            (gradients,) = torch.autograd.grad(logits.square().sum(), leaves[:1])
    except _MISFITS:
        return False
    return gradients.shape == recording.activations.shape and not gradients[:, 1:].any()


def _agrees(found: Tail, activations: Tensor, expected: Tensor) -> bool:
    try:
        with found.patched():
            logits = found(activations)
    except _MISFITS:
        return False
    room = _TOLERANCE * float(expected.abs().max())
    return logits.shape == expected.shape and torch.allclose(logits, expected, rtol=0, atol=room)


def _mapped(function: Callable[[Tensor], Tensor], output: Any) -> Any:
    """A module's output with a function applied to all tensors in it."""
    if isinstance(output, Tensor):
        return function(output)
    if isinstance(output, dict):
        return {name: _mapped(function, value) for name, value in output.items()}
    if isinstance(output, list | tuple):
        values = [_mapped(function, value) for value in output]
        return type(output)(*values) if hasattr(output, "_fields") else type(output)(values)
    return output


def _restore(module: nn.Module, own: Forward | None) -> None:
    if own is None:
        module.__dict__.pop("forward", None)
    else:
        module.__dict__["forward"] = own

"""The model as metrics see it: images in, one number per image out, many images at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.explanations.base import Given, View
from pasta.explanations.layers import resolve_layer
from pasta.explanations.masking import Masked, batch_rows, masked_scores
from pasta.models.base import Classifier

Model = Callable[[Tensor], Tensor]
# The target's score, what the model gives for it before that becomes a probability, or 1 where the
# target has the largest score.
Answer = Literal["score", "logit", "correct"]
_ROUNDING = 1e-3  # by which probabilities may miss 1 when they are added up


@dataclass(frozen=True)
class Scorer:
    """A model that has been looked at: it gives one row of at least two finite numbers."""

    network: Model
    convert: Callable[[Tensor], Tensor]
    classes: int
    module: nn.Module | None = None  # the network itself, for metrics that look at its layers
    _layers: dict[str | None, nn.Module] = field(default_factory=dict, compare=False, repr=False)

    def outputs(self, images: Tensor) -> Tensor:
        """Probabilities, or whatever the model gives, (n, classes)."""
        with torch.inference_mode():
            return self.convert(self.network(images))

    def logits(self, images: Tensor) -> Tensor:
        """What the model itself gives (n, classes)."""
        with torch.inference_mode():
            return self.network(images)

    def layer(self, name: str | None, channels: int) -> nn.Module:
        """A layer by its dotted name, or the one that CAM methods look at; it is found once."""
        if self.module is None:
            raise PastaError("the model is no torch module: it has no layers to look at")
        if name not in self._layers:
            self._layers[name] = resolve_layer(self.module, name, channels)[0]
        return self._layers[name]

    def predicted(self, images: Tensor, rows: int) -> Tensor:
        """The class with the largest output of each image."""
        return torch.cat([self.outputs(part).argmax(1) for part in torch.split(images, rows)])

    def copies(
        self, copies: Sequence[Masked], targets: Tensor, rows: int, answer: Answer = "score"
    ) -> list[Tensor]:
        """An answer for all copies of each image, ``rows`` copies at a time."""

        def ask(images: Tensor, owners: Tensor) -> Tensor:
            give = self.logits if answer == "logit" else self.outputs
            outputs, wanted = give(images), targets[owners]
            if answer == "correct":
                # A comparison with something that is not a number must not look like an answer.
                broken = torch.where(outputs.isfinite().all(1), 0.0, torch.nan)
                return (outputs.argmax(1) == wanted).float() + broken
            return outputs.gather(1, wanted[:, None])[:, 0].float()

        return [precise(scores) for scores in masked_scores(ask, copies, rows)]


def scorer_of(model: Any, images: Tensor, softmax: bool | None, probabilities: bool) -> Scorer:
    """Look at a model by one image, before any work.

    Parameters
    ----------
    model
        Images to outputs (n, classes).
    images
        At least one image.
    softmax
        Whether outputs are logits that become probabilities. None takes them as they are;
        classifiers of this project say themselves how logits become probabilities.
    probabilities
        Whether it is an error if the outputs are no probabilities.

    Returns
    -------
    The model as metrics see it.
    """
    if not callable(model):
        raise PastaError(f"the model is a {type(model).__name__}, expected something to call")
    convert, own = _find_conversion(model, softmax)
    network = _in_its_precision(model)
    outputs = convert(_try_model(network, images[:1]))
    if not bool(outputs.isfinite().all()):
        raise PastaError("the model's outputs are not finite for the first image")
    if probabilities and softmax is None and not own and not _are_probabilities(outputs):
        low, high = float(outputs.min()), float(outputs.max())
        raise PastaError(
            f"the metric needs probabilities, but the model returns numbers from {low:.3g} to "
            f"{high:.3g} that add up to {float(outputs.sum(1)[0]):.3g}. If they are logits, say "
            "softmax=True; softmax=False takes them as they are"
        )
    module = model if isinstance(model, nn.Module) else None
    return Scorer(network, convert, outputs.shape[1], module)


def forward_rows(images: Tensor, batch_size: int | None) -> int:
    """How many images one forward pass has: those asked for, or as many as fit the memory well."""
    if batch_size is not None:
        return batch_size
    return batch_rows(Given(View(nn.Identity()), images[:1], torch.zeros(1, dtype=torch.long)))


def _find_conversion(model: Any, softmax: bool | None) -> tuple[Callable[[Tensor], Tensor], bool]:
    if softmax is None and isinstance(model, Classifier):
        return model.to_probabilities, True
    if softmax:
        return lambda logits: logits.softmax(1), True
    return lambda outputs: outputs, False


def _in_its_precision(model: Any) -> Model:
    """The model on images of single precision, whatever precision its parameters have."""
    parameters = model.parameters() if isinstance(model, nn.Module) else ()
    kind = next((one.dtype for one in parameters if one.is_floating_point()), torch.float32)
    if kind == torch.float32:
        return model  # type: ignore[no-any-return]

    def run(images: Tensor) -> Tensor:
        outputs = model(images.to(kind))
        half = isinstance(outputs, Tensor) and outputs.dtype in (torch.float16, torch.bfloat16)
        return outputs.float() if half else outputs  # type: ignore[no-any-return]

    return run


def _try_model(network: Model, image: Tensor) -> Tensor:
    size = " x ".join(map(str, image.shape[1:]))
    try:
        with torch.inference_mode():
            outputs = network(image)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise PastaError(f"the model cannot take images of {size}: {error}") from error
    if not isinstance(outputs, Tensor) or outputs.ndim != 2 or len(outputs) != 1:
        found = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise PastaError(f"the model returns {found} for one image, expected (1, classes)")
    if outputs.shape[1] < 2:
        raise PastaError(
            "the model has one class only: no class can be compared with another. A model with one "
            "probability p should return (1 - p, p)"
        )
    return outputs


def _are_probabilities(outputs: Tensor) -> bool:
    inside = bool((outputs >= -_ROUNDING).all()) and bool((outputs <= 1 + _ROUNDING).all())
    return inside and bool((outputs.sum(1) - 1).abs().max() <= _ROUNDING)


def precise(values: Tensor) -> Tensor:
    """In double precision; Apple's devices have none, so that it is main memory there."""
    return values.cpu().double() if values.device.type == "mps" else values.double()

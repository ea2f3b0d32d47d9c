"""Metrics of anybody's explanations: ``pasta.metrics.evaluate``."""

from __future__ import annotations

from typing import Any, Literal, overload

from numpy.typing import ArrayLike
from torch import Tensor

from pasta.errors import PastaError
from pasta.metrics.base import Cost, Explainer
from pasta.metrics.catalog import METRICS
from pasta.metrics.inputs import Images, Inputs
from pasta.metrics.measuring import Floats, Wanted, measure, settings_of
from pasta.metrics.settings import DEFAULTS, MetricsParams

__all__ = ["cost", "curves", "evaluate", "measure"]

Maps = Tensor | ArrayLike


@overload
def evaluate(name: str, *, return_status: Literal[False] = ..., **given: Any) -> Floats: ...


@overload
def evaluate(
    name: str, *, return_status: Literal[True], **given: Any
) -> tuple[Floats, list[str]]: ...


def evaluate(
    name: str,
    *,
    maps: Maps | None = None,
    model: Any = None,
    images: Images | None = None,
    targets: Tensor | ArrayLike | None = None,
    explainer: Explainer | None = None,
    masks: Maps | None = None,
    seed: int = 0,
    batch_size: int | None = None,
    softmax: bool | None = None,
    return_status: bool = False,
    **options: Any,
) -> Floats | tuple[Floats, list[str]]:
    """One metric of many explanations, one value per sample.

    Parameters
    ----------
    name
        A key as listed by ``pasta metrics``: faithfulness, sparseness, ...
    maps
        Relevance (n, height, width), of the images' size. Robustness can do without: the explainer
        gives them.
    model
        Maps images to (n, classes). A module is used in evaluation mode and left as it was found.
    images
        Floats (n, channels, height, width) as the model wants them, normalised or not, or a
        function that loads those of a slice.
    targets
        The class that was explained, for each image; None takes the predicted ones.
    explainer
        Images and targets to maps, for metrics that explain again.
    masks
        Where the object is, (n, height, width), true or 1 inside, for localisation.
    seed
        Of what is random, which otherwise depends on an image's content only.
    batch_size
        Images in one forward pass; None takes as many as fit the memory well.
    softmax
        Whether the model's outputs are logits that must be made probabilities. None takes them as
        they are, and it is an error if a metric needs probabilities and they are none.
    return_status
        Also return why there is no value, for each sample: "ok", or "zero", "constant", "nan" (what
        the map is), "nan output", "constant output", "empty mask", ... Without it, maps that hold
        NaN are an error.
    **options
        The metric's settings, where they should differ from the defaults.

    Returns
    -------
    Values (n,), NaN where there is none; with ``return_status`` also the statuses.
    """
    inputs = Inputs(maps, images, targets, masks, model, explainer)
    [found] = measure(
        [Wanted(name, options)],
        inputs,
        seed=seed,
        batch_size=batch_size,
        softmax=softmax,
        finite=not return_status,
    )
    return (found.values, found.statuses) if return_status else found.values


def curves(name: str, *, maps: Maps, seed: int = 0, **rest: Any) -> Floats:
    """The curves (n, points) behind a metric's values, for metrics that look at curves.

    Takes what :func:`evaluate` takes; rows of samples without a value are NaN.
    """
    own = {key: rest.pop(key) for key in list(rest) if key in Inputs.__dataclass_fields__}
    how = {key: rest.pop(key) for key in ("batch_size", "softmax") if key in rest}
    [found] = measure([Wanted(name, rest)], Inputs(maps, **own), seed=seed, **how)
    if found.curves is None:
        raise PastaError(f"{name} does not look at curves")
    return found.curves


def cost(name: str, images: int = 1, base: MetricsParams = DEFAULTS, **options: Any) -> Cost:
    """How many forward passes, and how many maps from the explainer, a metric needs.

    The look at the model before any work and the search for predicted classes, where no targets
    are given, come on top: one image, and one pass per image.
    """
    settings = settings_of(name, options, base)
    count = METRICS.entry(name).metadata["cost"]
    if count is None:
        raise PastaError(f"nobody knows how many passes {name} makes; a dry run counts them")
    each: Cost = count(settings)
    return each.times(images)

"""Metrics of anybody's explanations: ``pasta.metrics.api.evaluate``.

What a caller gives is checked before any work and taken a few samples at a time. Several metrics of
the same samples share the forward passes that they have in common.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError
from torch import Tensor, nn

from pasta.compute import to_numpy
from pasta.errors import PastaError
from pasta.explanations.attribution import Status
from pasta.explanations.attribution import statuses as map_statuses
from pasta.explanations.hooks import evaluating
from pasta.explanations.image import IMAGE
from pasta.explanations.modality import Modality, find_modality
from pasta.metrics.base import Batch, Cost, Explainer, Result, Sign, variant_name
from pasta.metrics.catalog import METRICS
from pasta.metrics.copies import ask_explainer
from pasta.metrics.forward import Scorer, forward_rows, scorer_of
from pasta.metrics.settings import DEFAULTS, MetricsParams
from pasta.progress import late_bar
from pasta.registry import did_you_mean
from pasta.sections import Section

CHUNK = 16  # samples that are in memory at a time
Images = Tensor | ArrayLike | Callable[[slice], Tensor]  # or a function that loads some of them


@dataclass(frozen=True)
class Inputs:
    """Everything a metric may need, not yet in memory where it comes from a file."""

    maps: Any
    images: Any = None
    targets: Any = None
    masks: Any = None
    model: Any = None
    explainer: Explainer | None = None
    memory: dict[Hashable, Any] | None = None  # what other maps of the same images left behind
    modality: Modality = IMAGE

    def __len__(self) -> int:
        given = self.maps if self.maps is not None else self.targets
        return len(given) if given is not None else len(self.images)

    @property
    def layers(self) -> nn.Module | None:
        """The model, if it can be looked into."""
        return self.model if isinstance(self.model, nn.Module) else None

    @cached_property
    def device(self) -> torch.device:
        """That of the model, or of the images or maps where there is none."""
        model = self.model if isinstance(self.model, nn.Module) else nn.Identity()
        given = chain(model.parameters(), model.buffers(), (self.images, self.maps))
        return next((one.device for one in given if isinstance(one, Tensor)), torch.device("cpu"))

    def part(self, rows: slice) -> Inputs:
        """Some of the samples."""

        def some(values: Any) -> Any:
            if values is None:
                return None
            return values(rows) if callable(values) else values[rows]

        names = ("maps", "images", "targets", "masks")
        return replace(self, **{name: some(getattr(self, name)) for name in names})

    def chunks(self) -> Iterator[slice]:
        """Which samples go together."""
        for start in range(0, len(self), CHUNK):
            yield slice(start, min(start + CHUNK, len(self)))

    def maps_of(self, part: slice) -> Tensor:
        """Maps (n, *spatial), or (n, channels, *spatial) with a number for each entry."""
        return self.modality.drop_channel(_tensor(self.maps[part]).float().to(self.device))

    def images_of(self, part: slice) -> Tensor:
        """Images (n, channels, *spatial)."""
        images = _tensor(self.images(part) if callable(self.images) else self.images[part])
        if images.ndim != len(self.modality.axes) + 2 or not images.is_floating_point():
            raise PastaError(
                f"the images are {images.dtype} of the shape {tuple(images.shape)}, expected "
                f"floats (n, channels, {', '.join(self.modality.axes)})"
            )
        if callable(self.images) and len(images) != part.stop - part.start:
            raise PastaError(
                f"{len(images)} images were loaded for the samples {part.start} to "
                f"{part.stop - 1}, expected {part.stop - part.start}"
            )
        if not bool(images.isfinite().all()):
            raise PastaError(f"images {part.start} to {part.stop - 1} hold NaN or infinity")
        return images.float().to(self.device)

    def targets_of(self, part: slice) -> Tensor:
        """Class numbers (n,)."""
        return _tensor(self.targets)[part].long().to(self.device)

    def masks_of(self, part: slice) -> Tensor:
        """Masks (n, *spatial) from 0 to 1."""
        masks = _tensor(self.masks[part]).float()
        if not bool(((masks >= 0) & (masks <= 1)).all()):
            raise PastaError("the masks hold other numbers than 0 to 1")
        return masks.to(self.device)


def check_inputs(inputs: Inputs, names: list[str]) -> None:
    """Raise an error that says what is missing or does not fit, before anything is computed."""
    for name in names:
        _check_needs(inputs, name)
    if inputs.maps is None and inputs.targets is None and callable(inputs.images):
        raise PastaError("without maps or targets nobody knows how many images there are to load")
    if not len(inputs):
        raise PastaError("there are no samples")
    size = _check_maps(inputs, names)
    used = {need for name in names for need in METRICS.entry(name).metadata["needs"]}
    if "images" in used:
        first = inputs.images_of(slice(0, 1))
        if not callable(inputs.images):
            _same_number(inputs, "images", inputs.images)
        check_same_size("images", tuple(first.shape[2:]), size)
        _check_channels(inputs, first.shape[1])
    if "targets" in used and inputs.targets is not None:
        _check_targets(inputs)
    if "masks" in used:
        shape = tuple(np.shape(inputs.masks))
        if len(shape) != len(inputs.modality.axes) + 1:
            form = inputs.modality.map_form
            raise PastaError(f"the masks have the shape {shape}, expected {form}")
        _same_number(inputs, "masks", inputs.masks)
        check_same_size("masks", shape[1:], size)


def check_finite(inputs: Inputs) -> None:
    """Raise an error that names the maps that hold NaN or infinity."""
    wrong = [
        part.start + int(number)
        for part in inputs.chunks()
        for number in (~inputs.maps_of(part).isfinite().flatten(1).all(1)).nonzero()
    ]
    if wrong:
        shown = ", ".join(map(str, wrong[:10])) + (", ..." if len(wrong) > 10 else "")
        raise PastaError(
            f"{len(wrong)} of {len(inputs)} maps hold NaN or infinity: {shown}. With "
            "return_status=True they get a status, and the others a value"
        )


def _check_needs(inputs: Inputs, name: str) -> None:
    about = METRICS.entry(name).metadata
    for need in about["needs"]:
        if getattr(inputs, need) is not None:
            continue
        if need == "targets" and inputs.model is not None:
            continue  # those that the model predicts
        if need == "maps" and "explainer" in about["needs"] and inputs.explainer is not None:
            continue  # those that the explainer gives
        if need == "layers" and inputs.model is not None:
            kind = type(inputs.model).__name__
            raise PastaError(f"{name} looks at a layer: the model is a {kind}, expected a module")
        raise PastaError(
            f"{name} needs {need}: it is a metric of {about['category']} that looks at "
            f"{', '.join(about['needs'])}"
        )
    if about["changes_model"] and not _takes_model(inputs.explainer):
        raise PastaError(
            f"{name} explains changed copies of the model: it needs an explainer with a parameter "
            "`model`, as in explainer(images, targets, model)"
        )


def _takes_model(explainer: Any) -> bool:
    return "model" in inspect.signature(explainer).parameters


def _check_maps(inputs: Inputs, names: Sequence[str]) -> tuple[int, ...] | None:
    if inputs.maps is None:
        return None
    shape = tuple(np.shape(inputs.maps))
    axes = len(inputs.modality.axes)
    entries = all(METRICS.entry(name).metadata["entries"] for name in names)
    if len(shape) == axes + 2 and (entries or shape[1] == 1):
        shape = (shape[0], *shape[2:])
    if len(shape) != axes + 1 or 0 in shape:
        form = inputs.modality.map_form
        raise PastaError(
            f"the maps have the shape {shape}, expected {form}: one number per pixel. "
            "Maps with channels must be added up first"
        )
    return shape[1:]


def _check_channels(inputs: Inputs, channels: int) -> None:
    shape = tuple(np.shape(inputs.maps)) if inputs.maps is not None else ()
    if len(shape) == len(inputs.modality.axes) + 2 and shape[1] not in (1, channels):
        raise PastaError(
            f"the maps have {shape[1]} channels and the images {channels}, expected one number per "
            "pixel or the same channels"
        )


def _check_targets(inputs: Inputs) -> None:
    targets = _tensor(inputs.targets)
    _same_number(inputs, "targets", targets)
    if targets.ndim != 1 or targets.is_floating_point() or targets.dtype == torch.bool:
        raise PastaError(
            f"the targets are {targets.dtype} of the shape {tuple(targets.shape)}, expected one "
            "class number for each image"
        )


def _same_number(inputs: Inputs, what: str, values: Any) -> None:
    if len(values) != len(inputs):
        raise PastaError(f"there are {len(inputs)} maps and {len(values)} {what}")


def check_same_size(what: str, found: tuple[int, ...], size: tuple[int, ...] | None) -> None:
    """Raise an error if something does not have the maps' size."""
    if size is not None and found != size:
        one, other = (" x ".join(map(str, shape)) for shape in (size, found))
        raise PastaError(f"the maps have {one} pixels and the {what} {other}, expected the same")


def _tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values.detach()
    return torch.from_numpy(np.array(values))  # a copy: a memory-mapped file cannot be written


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Wanted:
    """A metric and the options that make its variant."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Measured:
    """A metric of all samples: NaN where the status is not ok."""

    name: str
    variant: str
    direction: str
    values: Floats
    statuses: list[str]
    seconds: Floats  # per sample; what metrics share is counted for the first one
    curves: Floats | None = None  # (n, points), for metrics that look at curves


def measure(
    wanted: Sequence[Wanted],
    inputs: Inputs,
    *,
    seed: int = 0,
    batch_size: int | None = None,
    softmax: bool | None = None,
    finite: bool = False,
    base: MetricsParams = DEFAULTS,
) -> list[Measured]:
    """Measure several metrics of the same samples, sharing the forward passes they have in common.

    Parameters
    ----------
    wanted
        Metrics by name, with the options that differ from ``base``.
    inputs
        Maps, images and whatever else the metrics need.
    seed
        Of what is random, which otherwise depends on an image's content only.
    batch_size
        Images in one forward pass; None takes as many as fit the memory well.
    softmax
        As in :func:`evaluate`.
    finite
        Whether maps that hold NaN are an error before any work; else they get a status.
    base
        Settings of all metrics.

    Returns
    -------
    Values and statuses of each metric, in the order of ``wanted``.
    """
    names = [one.name for one in wanted]
    settings = [get_settings(one.name, one.options, base) for one in wanted]
    if batch_size is not None and batch_size < 1:
        raise PastaError(f"the batch size is {batch_size}, expected at least 1")
    check_inputs(inputs, names)
    if finite and inputs.maps is not None:
        check_finite(inputs)
    asking = [METRICS.entry(name).metadata["request"] for name in names]
    requests = tuple(ask(own) for ask, own in zip(asking, settings, strict=True) if ask is not None)
    found = [
        Measured(
            one.name,
            variant_name(one.name, own),
            METRICS.entry(one.name).metadata["direction"],
            np.full(len(inputs), np.nan),
            [""] * len(inputs),
            np.zeros(len(inputs)),
        )
        for one, own in zip(wanted, settings, strict=True)
    ]
    with evaluating(inputs.model), late_bar("measure", len(inputs) * len(found)) as line:
        scorer = _look_at_model(inputs, names, softmax)
        pairs = list(zip(found, settings, strict=True))
        sets = [pair for pair in pairs if _compares_maps(pair[0].name)]
        each = [pair for pair in pairs if not _compares_maps(pair[0].name)]
        parts = [(part, each) for part in inputs.chunks() if each]
        # Metrics of a set of maps see all of them at once.
        for part, some in parts + [(slice(0, len(inputs)), sets)] * bool(sets):
            whole = _make_batch(
                inputs, part, [one.name for one, _ in some], scorer, seed, batch_size
            )
            whole.requests = requests
            batches: dict[tuple[Any, ...], Batch] = {}
            for one, own in some:
                _measure_part(one, own, whole, part, batches)
                line.advance(part.stop - part.start, words=one.name)
    return found


def _compares_maps(name: str) -> bool:
    return bool(METRICS.entry(name).metadata["whole_set"])


def _look_at_model(inputs: Inputs, names: Sequence[str], softmax: bool | None) -> Scorer | None:
    """The model, looked at before any work, if a metric needs it or targets are to be found."""
    needing = [name for name in names if "model" in METRICS.entry(name).metadata["needs"]]
    targets = any("targets" in METRICS.entry(name).metadata["needs"] for name in names)
    if not needing and (not targets or inputs.targets is not None):
        return None
    probabilities = any(METRICS.entry(name).metadata["probabilities"] for name in needing)
    scorer = scorer_of(inputs.model, inputs.images_of(slice(0, 1)), softmax, probabilities)
    if inputs.targets is not None:
        chosen = inputs.targets_of(slice(None))
        wrong = chosen[(chosen < 0) | (chosen >= scorer.classes)]
        if len(wrong):
            raise PastaError(
                f"a target is {int(wrong[0])}, but the model has {scorer.classes} classes, "
                f"expected 0 to {scorer.classes - 1}"
            )
    return scorer


def _make_batch(
    inputs: Inputs,
    part: slice,
    names: Sequence[str],
    scorer: Scorer | None,
    seed: int,
    batch_size: int | None,
) -> Batch:
    """The samples of a chunk with what any of the metrics needs."""
    needs = {need for name in names for need in METRICS.entry(name).metadata["needs"]}
    images = inputs.images_of(part) if "images" in needs else None
    rows = 1 if images is None else forward_rows(images, batch_size)
    targets = None
    if images is not None:
        targets = inputs.targets_of(part) if inputs.targets is not None else None
        if targets is None and scorer is not None:
            targets = scorer.predicted(images, rows)
    if inputs.maps is not None:
        maps = inputs.maps_of(part)
        if images is not None:
            axes = len(inputs.modality.axes)
            check_same_size("images", tuple(images.shape[2:]), tuple(maps.shape[-axes:]))
    else:
        maps = _explain_all(inputs, images, targets, rows)
    masks = inputs.masks_of(part) if "masks" in needs else None
    given = (maps, seed, rows, images, targets, masks, scorer, inputs.explainer)
    return Batch(*given, modality=inputs.modality, memory=inputs.memory)


def _explain_all(inputs: Inputs, images: Any, targets: Any, rows: int) -> Tensor:
    explainer: Any = inputs.explainer
    parts = zip(torch.split(images, rows), torch.split(targets, rows), strict=True)
    return torch.cat([ask_explainer(explainer, one, of, images.shape[2:]) for one, of in parts])


def _measure_part(
    found: Measured,
    settings: Any,
    whole: Batch,
    part: slice,
    batches: dict[tuple[Any, ...], Batch],
) -> None:
    """Measure the samples of a chunk that the metric has something to say about."""
    started = time.perf_counter()
    maps, seen, keep = find_usable(whole.maps, found.name)
    found.statuses[part] = seen
    if keep:
        key = (METRICS.entry(found.name).metadata["sign"], keep)
        if key not in batches:
            batches[key] = _choose(whole, maps, list(keep))
        result = METRICS[found.name](batches[key], settings)
        _write(found, result, [part.start + number for number in keep])
    found.seconds[part] = (time.perf_counter() - started) / len(whole)


def _write(found: Measured, result: Result, places: Sequence[int]) -> None:
    values = to_numpy(result.values)
    found.values[list(places)] = np.where(np.isfinite(values), values, np.nan)
    for place, status in zip(places, result.statuses(), strict=True):
        found.statuses[place] = status
    if result.curves is not None:
        if found.curves is None:
            found.curves = np.full((len(found.values), result.curves.shape[1]), np.nan)
        found.curves[list(places)] = to_numpy(result.curves)


def find_usable(maps: Tensor, name: str) -> tuple[Tensor, list[Status], tuple[int, ...]]:
    """Find the maps that a metric has something to say about.

    Parameters
    ----------
    maps
        Relevance (n, height, width).
    name
        The metric's key.

    Returns
    -------
    Maps with signs as the metric looks at them, the status of each, and the numbers of those to
    measure.
    """
    about = METRICS.entry(name).metadata
    sign: Sign = about["sign"]
    if sign != "signed":
        maps = maps.abs() if sign == "absolute" else maps.clamp_min(0)
    seen = map_statuses(to_numpy(maps))
    return maps, seen, tuple(n for n, status in enumerate(seen) if status not in about["refuses"])


def _choose(whole: Batch, maps: Tensor, keep: list[int]) -> Batch:
    names = ("images", "targets", "masks")
    some = {name: getattr(whole, name) for name in names if getattr(whole, name) is not None}
    chosen = {name: values[keep] for name, values in some.items()}
    return replace(whole, maps=maps[keep], shared={}, **chosen)


def get_settings(name: str, options: Mapping[str, Any], base: MetricsParams = DEFAULTS) -> Any:
    """Get the settings of a metric, or raise an error that names the wrong option.

    Parameters
    ----------
    name
        The metric's key.
    options
        Settings that replace those of ``base``.
    base
        Settings of all metrics.

    Returns
    -------
    A section of the parameters, None where there is nothing to set, or a dictionary for the metrics
    of Quantus.
    """
    about = METRICS.entry(name).metadata
    if about["check_options"] is not None:
        return about["check_options"]({**base.quantus.get(name.partition("/")[2], {}), **options})
    section_name = about["settings"]
    section: Section | None = None
    if isinstance(section_name, str):
        section = getattr(base, section_name)
    elif section_name is not None:
        section = base.section(name, section_name)
    known = dict(section) if section is not None else {}
    for option in options:
        if option not in known:
            hint = did_you_mean(option, known)
            raise PastaError(f"{name} has no option {option!r}. {hint}")
    if section is None or not options:
        return section
    try:
        return type(section).model_validate({**known, **options})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        expected = first["msg"].replace("Input should be", "expected")
        raise PastaError(f"{name}: {place} is {first['input']!r}, {expected}") from None


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
    modality: Modality | str = IMAGE,
    return_status: bool = False,
    **options: Any,
) -> Floats | tuple[Floats, list[str]]:
    """Measure one metric of many explanations, with one value per sample.

    Parameters
    ----------
    name
        A key as listed by ``pasta metrics``: faithfulness, sparseness, ... or quantus/ and the
        name of a class of Quantus, as in quantus/MaxSensitivity.
    maps
        Relevance (n, height, width), of the images' size, or for many metrics (n, channels, height,
        width) with a number for each channel of a pixel. Robustness can do without: the explainer
        gives them.
    model
        Maps images to (n, classes). A module is used in evaluation mode and left as it was found.
    images
        Floats (n, channels, height, width) as the model wants them, normalised or not, or a
        function that loads those of a slice.
    targets
        The class that was explained, for each image; None takes the predicted ones.
    explainer
        Images and targets to maps, for metrics that explain again. With a parameter ``model`` it
        also serves the metrics of Quantus that change the model.
    masks
        Where the object is, (n, height, width), true or 1 inside, for localisation.
    seed
        Of what is random, which otherwise depends on an image's content only.
    batch_size
        Images in one forward pass; None takes as many as fit the memory well.
    softmax
        Whether the model's outputs are logits that must be made probabilities. None takes them as
        they are, and it is an error if a metric needs probabilities and they are none.
    modality
        What the inputs are, if not images: ``volume`` (n, channels, depth, height, width), ``point
        cloud`` (n, 3, points), or one of your own. They and the maps have its spatial axes. Weights
        of words are for :func:`pasta.evaluate_texts`.
    return_status
        Also return why there is no value, for each sample: "ok", or "zero", "constant", "nan" (what
        the map is), "nan output", "constant output", "empty mask", ..., or what Quantus says.
        Without it, maps that hold NaN are an error.
    **options
        The metric's settings, where they should differ from the defaults.

    Returns
    -------
    Values (n,), NaN where there is none; with ``return_status`` also the statuses. Without, a
    warning counts what Quantus could not measure, and why.

    Examples
    --------
    Gini's index of a map with one or two of four pixels:

    >>> from pasta import evaluate
    >>> evaluate("sparseness", maps=[[[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]])
    array([0.75, 0.5 ])

    A model that looks for a bright pixel. The first map removes it first, the second one last, so
    that the model's probability is 1, 0, 0, 0, 0 or 1, 1, 1, 1, 0:

    >>> import torch
    >>> def probabilities(images):
    ...     bright = images.amax(dim=(1, 2, 3))
    ...     return torch.stack([1 - bright, bright], dim=1)
    >>> images = torch.tensor([[0.0, 0.0], [0.0, 1.0]]).expand(2, 3, 2, 2)
    >>> maps = [[[0.0, 1.0], [2.0, 3.0]], [[3.0, 2.0], [1.0, 0.0]]]
    >>> evaluate("deletion", maps=maps, model=probabilities, images=images, steps=4)
    array([0.125, 0.875])

    The same with a volume of two slices, and with a cloud of two points, the first of which is the
    highest and is moved to the centre first or last:

    >>> volume = torch.zeros(1, 1, 2, 2, 2)
    >>> volume[0, 0, 1, 1, 0] = 1
    >>> def brightness(volumes):
    ...     bright = volumes.amax(dim=(1, 2, 3, 4))
    ...     return torch.stack([1 - bright, bright], dim=1)
    >>> given = {"model": brightness, "images": volume, "targets": [1], "steps": 8}
    >>> evaluate("deletion", maps=volume[:, 0], modality="volume", **given).item()
    0.0625
    >>> cloud = torch.tensor([[[0.0, 0.0], [0.0, 0.0], [1.0, 0.5]]])
    >>> def height(clouds):
    ...     highest = clouds[:, 2].amax(1)
    ...     return torch.stack([1 - highest, highest], dim=1)
    >>> given = {"model": height, "images": cloud.repeat(2, 1, 1), "targets": [1, 1], "steps": 2}
    >>> evaluate("deletion", maps=[[1.0, 0.0], [0.0, 1.0]], modality="point cloud", **given)
    array([0.5 , 0.75])
    """
    inputs = Inputs(
        maps, images, targets, masks, model, explainer, modality=find_modality(modality)
    )
    [found] = measure(
        [Wanted(name, options)],
        inputs,
        seed=seed,
        batch_size=batch_size,
        softmax=softmax,
        finite=not return_status,
    )
    if return_status:
        return found.values, found.statuses
    without = Counter(status for status in found.statuses if status != "ok")
    if name.startswith("quantus/") and without:
        counted = "; ".join(f"{number} {status}" for status, number in without.items())
        warnings.warn(f"{name} has no value for some samples: {counted}", stacklevel=2)
    return found.values


def curves(name: str, *, maps: Maps, seed: int = 0, **rest: Any) -> Floats:
    """Compute the curves behind a metric's values, for metrics that look at curves.

    Parameters
    ----------
    name, maps, seed, **rest
        As in :func:`evaluate`.

    Returns
    -------
    Curves (n, points); rows of samples without a value are NaN.
    """
    own = {key: rest.pop(key) for key in list(rest) if key in Inputs.__dataclass_fields__}
    own["modality"] = find_modality(own.get("modality", IMAGE))
    how = {key: rest.pop(key) for key in ("batch_size", "softmax") if key in rest}
    [found] = measure([Wanted(name, rest)], Inputs(maps, **own), seed=seed, **how)
    if found.curves is None:
        raise PastaError(f"{name} does not look at curves")
    return found.curves


def cost(
    name: str,
    images: int = 1,
    base: MetricsParams = DEFAULTS,
    shape: tuple[int, ...] | None = None,
    **options: Any,
) -> Cost:
    """Count the forward passes and the maps from the explainer that a metric needs.

    The look at the model before any work and the search for predicted classes, where no targets
    are given, come on top: one image, and one pass per image.

    Parameters
    ----------
    name
        The metric's key; the cost of the metrics of Quantus is not known.
    images
        How many samples there are.
    base
        Settings of all metrics.
    shape
        That of an image (channels, *spatial), for metrics whose steps are a number of features.
    **options
        Settings that replace those of ``base``.

    Returns
    -------
    The cost for all images.
    """
    settings = get_settings(name, options, base)
    about = METRICS.entry(name).metadata
    if about["cost"] is None:
        raise PastaError(f"nobody knows how many passes {name} makes; a dry run counts them")
    if about["sized_cost"] is None:
        each: Cost = about["cost"](settings)
    elif shape is not None:
        each = about["sized_cost"](settings, shape)
    else:
        raise PastaError(
            f"how many passes {name} makes depends on the size of the images, expected their shape "
            "(channels, *spatial)"
        )
    return each.times(images)

"""The metrics of Quantus, called ``quantus/<class name>``, e.g. ``quantus/MaxSensitivity``.

Quantus (Hedström et al. 2023, doi:10.48550/arXiv.2202.06861) does the work through its public
interface, one sample per call: a value depends on neither the batch nor the order of samples, and
an error of Quantus becomes the status of one sample. Importing Quantus takes seconds, so this
module is only imported when a name that starts with ``quantus/`` is looked up.

Which metrics are there comes from ``quantus.AVAILABLE_METRICS``, higher or lower is better from
``score_direction``, the options and their defaults from the constructors. Differences from a direct
call:

- A map that is all zero, constant or not finite gets a status and is not passed on. A value that is
  not finite has the status "not finite". An error has its type and message as the status.
- Global random state is seeded from (seed, metric, sample) and restored afterwards. Where a metric
  has a ``seed`` of its own, null (the default here) takes the same number.
- ``num_classes`` is by default the number of classes of the model.
- The model's outputs are those of :func:`pasta.metrics.api.evaluate`: ``softmax`` says there
  whether they become probabilities.
- A metric that returns a curve (PixelFlipping, RegionPerturbation, Selectivity) has the area below
  it as its value, by the trapezoidal rule with a distance of 1 as in Quantus. One that returns
  several numbers by name (ROAD by percentage, MPRT by layer) has their mean. The numbers themselves
  are what :func:`pasta.metrics.api.curves` returns.

Not available, because they have no value for a single sample:

- SensitivityN: correlates over the samples of a batch, step by step.
- Sufficiency and Consistency: compare the explanations of a batch with each other.
- Focus: scores explanations of mosaics of four images, which is not what is given here.

MPRT, SmoothMPRT, EfficientMPRT and InputInvariance explain changed copies of the model. They need
an explainer with a parameter ``model``, so the measure stage does not have them.

Known faults of Quantus 0.6 that show up as statuses: ROAD and IROF fail on colour images with maps
of one channel (use ``road``); IROF also needs ``numpy.trapz``, which numpy 2.4 does not have;
NonSensitivity fails with ``features_in_step`` above 1 on colour images.
"""

from __future__ import annotations

import inspect
import math
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import quantus
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pasta.compute import to_numpy
from pasta.errors import PastaError
from pasta.metrics.base import (
    EXPLANATION,
    MASKS,
    MODEL,
    MODEL_AND_EXPLAINER,
    Batch,
    Metric,
    Need,
    Result,
    require,
)
from pasta.metrics.copies import ask_explainer
from pasta.metrics.forward import Scorer
from pasta.registry import Entry, Registry, did_you_mean
from pasta.seeds import entropy

PREFIX = "quantus/"
NO_VALUE_PER_SAMPLE = {
    "SensitivityN": "it correlates over the samples of a batch",
    "Sufficiency": "it compares the explanations of a batch with each other",
    "Consistency": "it compares the explanations of a batch with each other",
    "Focus": "it scores explanations of mosaics of four images",
}
# Look at the layers of the model, and of its outputs at most at which is the largest.
_LOOKS_INSIDE = ("InputInvariance", "RelativeRepresentationStability")
CHANGES_MODEL = ("MPRT", "SmoothMPRT", "EfficientMPRT", "InputInvariance")
_NEEDS: dict[str, tuple[Need, ...]] = {
    "Complexity": EXPLANATION,
    "Localisation": MASKS,
    "Faithfulness": MODEL,
    "Axiomatic": MODEL,
    "Robustness": MODEL_AND_EXPLAINER,
    "Randomisation": MODEL_AND_EXPLAINER,
}
# Options that would change how results are returned or shown, and not what they are.
_NOT_OPTIONS = {
    *("self", "kwargs", "return_aggregate", "aggregate_func", "default_plot_func"),
    *("disable_warnings", "display_progressbar", "return_auc_per_sample"),
}
_FUNCTIONS: dict[str, Mapping[str, Any]] = {
    "similarity_func": quantus.AVAILABLE_SIMILARITY_FUNCTIONS,
    "normalise_func": quantus.AVAILABLE_NORMALISATION_FUNCTIONS,
    "perturb_func": quantus.AVAILABLE_PERTURBATION_FUNCTIONS,
}
_FILLED_IN = ("seed", "num_classes")  # where the option is None
_LONGEST = 160  # characters of a status
_DOI = "10.48550/arXiv.2202.06861"


class _Network(nn.Module):
    """A model whose outputs are those that our own metrics see.

    Quantus removes a softmax that is the last of all modules; here an identity is.
    """

    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.network, self.convert = scorer.network, scorer.convert
        self.outputs = nn.Identity()
        self.training = False  # of this module only: the model has been put into evaluation mode

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.outputs(self.convert(self.network(images)))
        return outputs


def find_metric(name: str) -> Entry[Metric]:
    """Look up a metric of Quantus.

    Parameters
    ----------
    name
        ``quantus/`` and the name of a class.

    Returns
    -------
    The metric with what there is to know about it. An unknown name is an error that has the nearest
    one, and a metric without values per sample is an error that says why.
    """
    reason = NO_VALUE_PER_SAMPLE.get(name.removeprefix(PREFIX))
    if reason is not None:
        raise PastaError(f"{name} has no value for a single sample: {reason}")
    return _REGISTRY.entry(name)


def list_metrics() -> list[Entry[Metric]]:
    """All metrics of Quantus that have a value per sample."""
    return _REGISTRY.entries()


def check_options(kind: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the options of a metric, or raise an error that names the wrong one.

    Parameters
    ----------
    kind
        A class of Quantus.
    options
        Those that differ from the defaults; functions may be given by their names in Quantus.

    Returns
    -------
    All options by name.
    """
    name, known = PREFIX + kind.__name__, _defaults(kind)
    for option in options:
        if option not in known:
            raise PastaError(f"{name} has no option {option!r}. {did_you_mean(option, known)}")
    own = {option: _find_function(option, value) for option, value in options.items()}
    whole = {**known, **own}
    try:
        _make(kind, {option: value for option, value in whole.items() if option not in _FILLED_IN})
    except Exception as error:  # whatever Quantus raises
        raise PastaError(f"{name}: {_first_line(error)}") from error
    return whole


def _defaults(kind: Any) -> dict[str, Any]:
    parameters = inspect.signature(kind.__init__).parameters.values()
    return {
        one.name: None if one.name in _FILLED_IN else one.default
        for one in parameters
        if one.name not in _NOT_OPTIONS
    }


def _find_function(option: str, value: Any) -> Any:
    functions = _FUNCTIONS.get(option)
    if functions is None or not isinstance(value, str):
        return value
    if value not in functions:
        raise PastaError(f"there is no {option} called {value!r}. {did_you_mean(value, functions)}")
    return functions[value]


def _make(kind: Any, options: Mapping[str, Any]) -> Any:
    return kind(**options, return_aggregate=False, disable_warnings=True, display_progressbar=False)


def _measure_batch(kind: Any, batch: Batch, options: Mapping[str, Any]) -> Result:
    """Call Quantus for each sample."""
    values = torch.full((len(batch),), torch.nan, dtype=torch.float64)
    why: dict[str, Tensor] = {}
    curves: dict[int, NDArray[np.float64]] = {}

    def note(number: int, status: str) -> None:
        why.setdefault(status, torch.zeros(len(batch), dtype=torch.bool))[number] = True

    network = None if batch.scorer is None else _Network(batch.scorer)
    for number in range(len(batch)):
        if batch.masks is not None and not bool((batch.masks[number] >= 0.5).any()):
            note(number, "empty mask")
            continue
        try:
            value, curve = _measure_sample(kind, batch, number, network, options)
        except PastaError:
            raise
        except Exception as error:  # whatever Quantus or the explainer raises
            note(number, f"{type(error).__name__}: {_first_line(error)}"[:_LONGEST])
            continue
        values[number] = value
        if curve is not None:
            curves[number] = curve
        if not math.isfinite(value):
            note(number, "not finite")
    return Result(values, why, _stack(curves, len(batch)))


def _measure_sample(
    kind: Any, batch: Batch, number: int, network: _Network | None, options: Mapping[str, Any]
) -> tuple[float, NDArray[np.float64] | None]:
    """The value of one sample, and the numbers that it is made of if there are several."""
    seed = entropy(batch.seed, "metric", PREFIX + kind.__name__, batch.digests[number]) % 2**32
    filled = {"seed": seed, "num_classes": None if batch.scorer is None else batch.scorer.classes}
    own = {
        name: filled[name] if name in _FILLED_IN and value is None else value
        for name, value in options.items()
    }
    relevance = to_numpy(batch.maps[number])[None, None].copy()
    call: dict[str, Any] = {
        "model": network,
        "x_batch": relevance.copy(),  # metrics without images look at its shape
        "y_batch": np.zeros(1, np.int64),
        "a_batch": relevance,
        "channel_first": True,
        "softmax": False,
        "device": str(batch.maps.device),
    }
    if network is not None and kind.__name__ in _LOOKS_INSIDE:
        call["model"] = network.network
    if batch.images is not None:
        call["x_batch"] = to_numpy(batch.images[number])[None].copy()
    if batch.targets is not None:
        call["y_batch"] = to_numpy(batch.targets[number])[None].astype(np.int64)
    if batch.masks is not None:
        call["s_batch"] = (to_numpy(batch.masks[number]) >= 0.5)[None, None]
    if batch.explainer is not None:
        call["explain_func"] = _explain_func(batch, kind.__name__ in CHANGES_MODEL)
    with _seeded(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _make(kind, own)(**call)
    if isinstance(found, Mapping):
        curve = np.array([float(np.mean(one)) for one in found.values()])
        return float(curve.mean()), curve
    numbers = np.asarray(found[0], np.float64)
    if numbers.ndim == 0:
        return float(numbers), None
    return float(np.trapezoid(numbers)), numbers


def _explain_func(batch: Batch, gives_model: bool) -> Callable[..., NDArray[np.float32]]:
    """The explainer as Quantus calls it."""
    explainer: Any = require(batch.explainer)

    def explain(model: Any, inputs: Any, targets: Any, **_: Any) -> NDArray[np.float32]:
        device = batch.maps.device
        images = torch.as_tensor(np.asarray(inputs, np.float32), device=device)
        classes = torch.as_tensor(np.asarray(targets, np.int64), device=device)

        def ask(noisy: Tensor, wanted: Tensor) -> Any:
            if not gives_model:
                return explainer(noisy, wanted)
            given = model.network if isinstance(model, _Network) else model
            return explainer(noisy, wanted, model=given)

        maps = ask_explainer(ask, images, classes, batch.maps.shape[1:])
        return np.array(to_numpy(maps)[:, None], np.float32)

    return explain


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global random state, which Quantus draws from, and restore it afterwards."""
    numbers, plain = np.random.get_state(), random.getstate()  # noqa: NPY002 (what Quantus uses)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            np.random.set_state(numbers)  # noqa: NPY002
            random.setstate(plain)


def _stack(curves: Mapping[int, NDArray[np.float64]], number: int) -> Tensor | None:
    """Curves (number, points), NaN where there is none, if all are equally long."""
    if len({len(one) for one in curves.values()}) != 1:
        return None
    whole = np.full((number, len(next(iter(curves.values())))), np.nan)
    for place, one in curves.items():
        whole[place] = one
    return torch.from_numpy(whole)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")


def _register(category: str, kind: Any) -> None:
    def measure(batch: Batch, options: Mapping[str, Any]) -> Result:
        return _measure_batch(kind, batch, options)

    measure.__doc__ = (inspect.getdoc(kind) or "").partition("\nAttributes:")[0]
    changes = kind.__name__ in CHANGES_MODEL
    _REGISTRY.register(
        PREFIX + kind.__name__,
        title=f"{kind.name} (Quantus)",
        category=category.lower(),
        direction=kind.score_direction.value,
        span=(-math.inf, math.inf),
        sign="signed",  # each metric takes absolute values itself, or does not
        needs=MODEL_AND_EXPLAINER if changes else _NEEDS[category],
        doi=_DOI,
        settings=None,
        variant=(),
        refuses=("nan", "zero", "constant"),
        probabilities=False,
        same_questions=False,
        entries=False,
        whole_set=False,
        cost=None,
        request=None,
        sized_cost=None,
        check_options=lambda options: check_options(kind, options),
        changes_model=changes,
    )(measure)


_REGISTRY: Registry[Metric] = Registry("metric")
for _category, _kinds in quantus.AVAILABLE_METRICS.items():
    for _kind in _kinds.values():
        if _kind.__name__ not in NO_VALUE_PER_SAMPLE:
            _register(_category, _kind)

"""Which methods say the same of a network as a simpler one, and networks made of modules.

Captum's guided backpropagation changes the gradient of ``nn.ReLU`` modules, and its DeepLIFT that
of a few kinds of modules. Where a network's activations are of another kind, or functions that are
called instead of modules, nothing is changed: the first is the plain gradient, the second
Input x Gradient. Nobody is told; here a warning says so before any work.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import torch
import torch.nn.functional as F  # noqa: N812 (as everywhere)
from torch import Tensor, fx, nn
from torch.overrides import TorchFunctionMode

from pasta.explanations.hooks import evaluating

GUIDED = (nn.ReLU,)
LIFTED = (nn.ReLU, nn.ELU, nn.LeakyReLU, nn.Sigmoid, nn.Tanh, nn.Softplus, nn.Softmax)  # by captum
_NAMES: dict[Callable[..., Any], str] = {
    **dict.fromkeys((F.relu, torch.relu, Tensor.relu, torch.relu_, Tensor.relu_), "ReLU"),
    **dict.fromkeys((F.sigmoid, torch.sigmoid, Tensor.sigmoid), "Sigmoid"),
    **dict.fromkeys((F.tanh, torch.tanh, Tensor.tanh), "Tanh"),
    **{F.gelu: "GELU", F.silu: "SiLU", F.mish: "Mish", F.hardswish: "Hardswish", F.elu: "ELU"},
    **{F.selu: "SELU", F.leaky_relu: "LeakyReLU", F.softplus: "Softplus", F.relu6: "ReLU6"},
}
_MODULES: dict[str, type[nn.Module]] = {
    **{"ReLU": nn.ReLU, "Sigmoid": nn.Sigmoid, "Tanh": nn.Tanh, "ELU": nn.ELU},
    **{"LeakyReLU": nn.LeakyReLU, "Softplus": nn.Softplus},
}
_ACTIVATIONS = (
    *(nn.ReLU, nn.Sigmoid, nn.Tanh, nn.GELU, nn.SiLU, nn.Mish, nn.Hardswish, nn.ELU, nn.SELU),
    *(nn.LeakyReLU, nn.Softplus, nn.ReLU6, nn.PReLU, nn.CELU, nn.Hardsigmoid),
)
Activation = tuple[str, bool]  # its name, and whether it is a module of exactly this kind


class EquivalenceWarning(UserWarning):
    """A method says the same as a simpler one."""


def known_equivalences(
    network: nn.Module,
    methods: Iterable[str],
    image: Tensor | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[str]:
    """Say which methods are a simpler one under another name, and what of a network causes this.

    Parameters
    ----------
    network
        The network that is to be explained.
    methods
        Keys of methods; those that know no such case are ignored.
    image
        One input (1, channels, *spatial). One pass of it shows functions, too; without it only
        modules are known, and functions of networks that torch.fx can trace.
    settings
        Of the methods, by their keys: the corrected DeepLIFT has no such case.

    Returns
    -------
    A sentence for each case.
    """
    found, kind, chosen = [], type(network).__name__, set(methods)
    readings = {key: _reading(settings, key) for key in chosen}
    if "guided_backprop" in chosen:
        seen = _as_seen(network, image, readings["guided_backprop"])
        found += _sentence(seen, GUIDED, "Guided backpropagation", "the plain gradient", kind)
    for key, title in (("deeplift", "captum's DeepLIFT"), ("deeplift_shap", "captum's DeepLIFT")):
        if key in chosen and readings[key] != "corrected":
            seen = _as_seen(network, image, readings[key])
            simple = "Input x Gradient" if key == "deeplift" else "(input - reference) x gradient"
            found += _sentence(seen, LIFTED, title, simple, kind)
    return found


def warn_of_equivalences(
    network: nn.Module,
    methods: Iterable[str],
    image: Tensor | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Warn of each case by an :class:`EquivalenceWarning`."""
    for sentence in known_equivalences(network, methods, image, settings):
        warnings.warn(sentence, EquivalenceWarning, stacklevel=2)


def _reading(settings: Mapping[str, Any] | None, key: str) -> str:
    found = None if settings is None else settings.get(key)
    return "corrected" if found is None else getattr(found, "reading", "corrected")


def _as_seen(network: nn.Module, image: Tensor | None, reading: str) -> Counter[Activation]:
    """The activations that captum's hooks meet."""
    made = None if reading == "released" else with_modules(network, image)
    return activations(made or network, image)


def _sentence(
    seen: Counter[Activation], known: tuple[type, ...], title: str, simple: str, kind: str
) -> list[str]:
    names = {one.__name__ for one in known}
    total = sum(seen.values())
    missed = Counter(
        {one: times for one, times in seen.items() if not one[1] or one[0] not in names}
    )
    if not missed:
        return []
    what = ", ".join(
        f"{times} {name}" + ("" if module else " that are functions, no modules")
        for (name, module), times in sorted(missed.items())
    )
    left = total - sum(missed.values())
    if left == 0:
        return [
            f"{title} equals {simple} on {kind}: it changes nothing at its activations ({what})"
        ]
    return [
        f"{title} is near {simple} on {kind}: it changes {left} of {total} activations and leaves "
        f"the others as they are ({what})"
    ]


_SEEN: WeakKeyDictionary[nn.Module, Counter[Activation]] = WeakKeyDictionary()
_COMPARED: WeakSet[nn.Module] = WeakSet()  # that were seen to say the same
_MADE: WeakKeyDictionary[nn.Module, list[nn.Module | None]] = WeakKeyDictionary()


def activations(network: nn.Module, image: Tensor | None = None) -> Counter[Activation]:
    """Count the calls of activations in one pass: modules by kind, and functions.

    Without an image modules are counted, and functions where torch.fx can trace the network.
    """
    if network in _SEEN:
        return _SEEN[network]
    if image is None:
        modules = [one for one in network.modules() if isinstance(one, _ACTIVATIONS)]
        counted = Counter((type(one).__name__, True) for one in modules)
        return counted + Counter((name, False) for name in _traced_functions(network))
    mode, by_modules = _Count(), Counter[Activation]()

    def count(module: nn.Module, *_: Any) -> None:
        exact = type(module) in _ACTIVATIONS
        by_modules[type(module).__name__, exact] += 1

    with ExitStack() as stack, torch.no_grad(), evaluating(network):
        for module in network.modules():
            if isinstance(module, _ACTIVATIONS):
                stack.callback(module.register_forward_hook(count).remove)
        with mode:
            network(image)
    inside = Counter[str]()
    for (name, _), times in by_modules.items():
        inside[name] += times
    functions = {name: times - inside[name] for name, times in mode.seen.items()}
    found = by_modules + Counter({(name, False): times for name, times in functions.items()})
    _SEEN[network] = found
    return found


class _Count(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function in _NAMES:
            self.seen[_NAMES[function]] += 1
        return function(*args, **(kwargs or {}))


def _trace(network: nn.Module) -> fx.GraphModule | None:
    """The network as a graph, or nothing where its way depends on values."""
    try:
        with evaluating(network):
            return fx.symbolic_trace(network)
    except Exception:  # whatever a network's own code says to a tensor without values
        return None


def _name_of(node: fx.Node) -> str | None:
    if node.op == "call_function" and callable(node.target):
        return _NAMES.get(node.target)
    method = getattr(Tensor, str(node.target), None) if node.op == "call_method" else None
    return None if method is None else _NAMES.get(method)


def _traced_functions(network: nn.Module) -> list[str]:
    traced = _trace(network)
    names = [] if traced is None else [_name_of(node) for node in traced.graph.nodes]
    return [name for name in names if name is not None]


def with_modules(network: nn.Module, image: Tensor | None = None) -> nn.Module | None:
    """A network that says the same, whose activations are modules instead of functions.

    It shares all weights with the network, which is not changed.

    Parameters
    ----------
    network
        In evaluation mode.
    image
        One input (1, channels, *spatial): both must say the same of it.

    Returns
    -------
    The network made of modules, or None where there is nothing to replace, where torch.fx cannot
    trace it, or where a function works in place on what is used again.
    """
    if network not in _MADE:
        _MADE[network] = [_with_modules(network)]
    (made,) = _MADE[network]
    if made is None or image is None or made in _COMPARED:
        return made
    with torch.no_grad(), evaluating(network):
        expected, found = network(image), made(image)
    same = expected.shape == found.shape and (
        expected.is_meta or torch.allclose(found, expected, rtol=1e-4, atol=1e-6, equal_nan=True)
    )
    if not same:
        _MADE[network] = [None]
        return None
    _COMPARED.add(made)
    return made


def _with_modules(network: nn.Module) -> nn.Module | None:
    traced = _trace(network)
    if traced is None:
        return None
    nodes = [node for node in traced.graph.nodes if _name_of(node) in _MODULES]
    for number, node in enumerate(nodes):
        options = dict(node.kwargs)
        in_place = options.pop("inplace", False) or str(node.target).endswith("_")
        if in_place and len(node.args[0].users) > 1:
            return None
        try:
            module = _MODULES[str(_name_of(node))](*node.args[1:], **options)
        except TypeError:
            return None
        name = f"pasta_activation_{number}"
        traced.add_module(name, module)
        with traced.graph.inserting_before(node):
            replaced = traced.graph.call_module(name, (node.args[0],))
        node.replace_all_uses_with(replaced)
        traced.graph.erase_node(node)
    if not nodes:
        return None
    traced.recompile()
    return traced

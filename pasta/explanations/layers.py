"""Which layer of a network CAM methods look at, and how its output becomes maps.

A small table knows the families of torchvision, timm and open_clip, with the layers that
pytorch-grad-cam recommends. For other networks one forward pass of an empty image finds the last
module that still gives a map.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from pasta import compute
from pasta.errors import PastaError
from pasta.explanations.base import Reshape
from pasta.explanations.hooks import evaluating
from pasta.models.base import BlackBox
from pasta.registry import did_you_mean

# The first path that exists in a network is its layer. "maps" (n, channels, h, w) are as they are
# wanted, "tokens" (n, tokens, channels) are not, "any" has to look: some names are used for both.
# A transformer's last block only mixes image tokens into the class token: hence its first norm.
TABLE: dict[str, str] = {
    "layer4.-1": "maps",  # ResNet, ResNeXt, Wide ResNet; timm's resnets; open_clip's towers
    "encoder.layers.-1.ln_1": "tokens",  # torchvision: ViT
    "transformer.resblocks.-1.ln_1": "tokens",  # open_clip: ViT
    "blocks.-1.norm1": "tokens",  # timm: ViT, DeiT, BEiT, EVA, CaiT
    "features.-1.-1.norm1": "any",  # torchvision: Swin
    "layers.-1.blocks.-1.norm1": "any",  # timm: Swin
    "encoder.layers.-1.blocks.-1.layernorm_before": "any",  # Hugging Face: Swin
    "layers.-1.layernorm_before": "tokens",  # Hugging Face: ViT, DeiT
    "encoder.layer.-1.layernorm_before": "tokens",  # Hugging Face: BEiT, and ViT before 5.0
    "encoder.layer.-1.norm1": "tokens",  # Hugging Face: DINOv2
    "features.-1": "maps",  # torchvision: VGG, DenseNet, MobileNet, EfficientNet, ConvNeXt, ...
    "trunk_output.-1": "maps",  # torchvision: RegNet
    "inception5b": "maps",  # GoogLeNet
    "Mixed_7c": "maps",  # Inception v3
    "conv5": "maps",  # ShuffleNet
    "stages.-1": "any",  # timm: ConvNeXt and many others
    "layers.-1": "any",  # MNASNet
}
_WRAPPERS = ("trunk", "network", "model", "backbone", "encoder", "module")
_SIZES = (224, 96, 64, 32)
_PROBES = 2  # empty images: what a layer gives for each of them has their number first
# a layer in the first third of the modules that run, with many behind, is no summary
_EARLY, _MANY = 1 / 3, 10


@dataclass(frozen=True)
class Tokens:
    """Tokens (n, tokens, channels) to maps (n, channels, h, w), or (n, channels, d, h, w).

    The first ``prefix`` tokens (class, registers) have no place. If their number is not known, it
    is the smallest that leaves a grid. The grid has the proportions of the ``image``, height and
    width in pixels (or the size of a volume); where these are not known it is that of the network,
    or a square (a cube).
    """

    prefix: int | None = None
    grid: tuple[int, ...] | None = None
    image: tuple[int, ...] | None = None

    def __call__(self, tokens: Tensor) -> Tensor:
        """Drop the prefix, put the others in rows."""
        grid = self._places(tokens.shape[1])
        places = tokens[:, tokens.shape[1] - math.prod(grid) :]
        return places.transpose(1, 2).reshape(len(tokens), -1, *grid)

    @property
    def _axes(self) -> int:
        return len(self.image or self.grid or (0, 0))

    def _places(self, count: int) -> tuple[int, ...]:
        proportional = self._proportional(count)
        if proportional is not None:
            return proportional
        axes = self._axes
        if self.prefix is None:
            known = self.grid is not None and math.prod(self.grid) <= count
            return self.grid if known and self.grid else (_root(count, axes),) * axes
        for places in (count - self.prefix, count):  # some blocks have no prefix yet
            if self.grid and math.prod(self.grid) == places:
                return self.grid
            side = _root(max(places, 0), axes)
            if side > 0 and side**axes == places:
                return (side,) * axes
        raise self._not_a_grid(count)

    def _proportional(self, count: int) -> tuple[int, ...] | None:
        """The grid with the proportions of an image that is no square, if the tokens make one."""
        if self.image is None or len(set(self.image)) == 1:
            return None
        common = math.gcd(*self.image)
        ratio, axes = [length // common for length in self.image], self._axes
        exact = () if self.prefix is None else (count - self.prefix, count)
        for places in exact or (count,):
            times = _root(max(places, 0) // math.prod(ratio), axes)
            if times > 0 and (not exact or times**axes * math.prod(ratio) == places):
                return tuple(times * length for length in ratio)
        return None

    def _not_a_grid(self, count: int) -> PastaError:
        return PastaError(
            f"{count} tokens, {self.prefix} of them without a place, are not a "
            f"{'square' if self._axes == 2 else 'cube'}; pass a reshape of your own"
        )


def _root(value: int, power: int) -> int:
    """The largest whole number whose power is not above the value."""
    if power == 2:
        return math.isqrt(value)
    root: int = round(value ** (1 / power))
    return root if root**power <= value else root - 1


def channels_last(output: Tensor) -> Tensor:
    """Maps (n, h, w, channels) to (n, channels, h, w)."""
    return output.permute(0, 3, 1, 2)


@dataclass(frozen=True)
class AnyLayout:
    """Maps from whatever a layer gives: for layers that a user chooses."""

    tokens: Tokens
    last: bool  # channels of four-dimensional outputs are known to be last

    def __call__(self, output: Tensor) -> Tensor:
        """Look at the shape."""
        if output.ndim == 3:
            return self.tokens(output)
        if output.ndim == 5:  # maps of volumes
            return output
        if output.ndim != 4:
            raise PastaError(
                f"the layer's output has the shape {tuple(output.shape)}, which is neither maps "
                "nor tokens; choose another layer or pass a reshape of your own"
            )
        return channels_last(output) if self.last or _looks_channels_last(output.shape) else output


def place_tokens(reshape: Reshape, *size: int) -> Reshape:
    """The same, for images or volumes of a known size: a token's place follows from it."""
    if isinstance(reshape, Tokens):
        return replace(reshape, image=size)
    if isinstance(reshape, AnyLayout):
        return replace(reshape, tokens=replace(reshape.tokens, image=size))
    return reshape


def find_tokens(model: nn.Module) -> Tokens:
    """What a transformer says about its tokens, or as good as nothing."""
    return _tokens(_token_network(model))


def find_layer(
    model: nn.Module, channels: int = 3, axes: int = 2
) -> tuple[nn.Module, Reshape | None]:
    """The layer CAM methods look at, and what makes maps of its output.

    ``channels`` are those of the images that the model takes, ``axes`` how many spatial ones they
    have: networks for volumes are known by the names of their layers only.
    """
    if isinstance(model, BlackBox):
        grid = model.token_grid
        return model.cam_layers()[-1], None if grid is None else Tokens(grid=grid)
    for part in _parts(model):
        for path, layout in TABLE.items():
            layer = _follow(part, path)
            if layer is not None:
                return layer, _reshape(part, layer, layout)
    if axes != 2:
        raise PastaError(f"no target layer of {type(model).__name__} is known; name it")
    return _last_map(model, channels)


def resolve_layer(
    model: nn.Module,
    layer: nn.Module | str | None = None,
    channels: int = 3,
    axes: int = 2,
) -> tuple[nn.Module, Reshape | None]:
    """A layer given as a module, by its dotted name (``layer4.-1`` also counts from the end), or
    None to find it; and what makes maps of its output."""
    if layer is None:
        return find_layer(model, channels, axes)
    if isinstance(layer, str):
        found = _follow(model, layer)
        if found is None:
            raise PastaError(
                f"{type(model).__name__} has no layer {layer!r}. {_hint(model, layer)}"
            )
        layer = found
    elif not any(module is layer for module in model.modules()):
        raise PastaError(
            f"the {type(layer).__name__} given as target layer is no part of the "
            f"{type(model).__name__}"
        )
    return layer, _reshape(_token_network(model), layer, "any")


def _parts(model: nn.Module) -> Iterator[nn.Module]:
    """The model, and what it may be wrapped around, the image tower of a CLIP first."""
    waiting, seen = [model], set[int]()
    while waiting:
        part = waiting.pop(0)
        if id(part) in seen:
            continue
        seen.add(id(part))
        tower = getattr(part, "visual", None)
        if isinstance(tower, nn.Module):  # what else is there reads texts
            waiting = [tower]
            continue
        yield part
        if isinstance(part, nn.Sequential):
            waiting += list(part)
        else:
            # Hugging Face's classifiers say how their network is called
            names = (*_WRAPPERS, getattr(part, "base_model_prefix", "") or "")
            inner = [getattr(part, name, None) for name in names]
            waiting += [one for one in inner if isinstance(one, nn.Module)]


def _token_network(model: nn.Module) -> nn.Module:
    """The part that knows about its tokens, or the model itself."""
    known = (part for part in _parts(model) if _tokens(part) != Tokens())
    return next(known, model)


def _hint(model: nn.Module, name: str) -> str:
    """The nearest name, or those of the outermost layers: a network has hundreds."""
    names = [known for known, _ in model.named_modules() if known]
    near = difflib.get_close_matches(name, names, n=1)
    return did_you_mean(name, near or [known for known, _ in model.named_children()])


def _follow(model: nn.Module, path: str) -> nn.Module | None:
    """The module at the end of a dotted path, whose numbers may count from the end."""
    part: Any = model
    for name in path.split("."):
        if isinstance(part, nn.Sequential | nn.ModuleList) and not hasattr(part, name):
            counted = name.startswith("-") and name[1:].isdigit() and int(name[1:]) <= len(part)
            part = list(part)[int(name)] if counted else None
        else:
            part = getattr(part, name, None)
        if not isinstance(part, nn.Module):
            return None
    found: nn.Module = part
    return found


def _reshape(part: nn.Module, layer: nn.Module, layout: str) -> Reshape | None:
    if layout == "maps":
        return None
    if layout == "tokens":
        return _tokens(part)
    if isinstance(layer, nn.Conv3d | nn.BatchNorm3d | nn.Conv1d | nn.BatchNorm1d):
        return None
    # Both work on the last axis, except for norms of maps that are derived from them.
    last = isinstance(layer, nn.LayerNorm | nn.Linear) and "2d" not in type(layer).__name__
    return AnyLayout(_tokens(part), last)


def _tokens(part: Any) -> Tokens:
    """What a network says about its tokens."""
    prefix = getattr(part, "num_prefix_tokens", None)
    grid = getattr(getattr(part, "patch_embed", part), "grid_size", None)
    lengths = None
    if isinstance(grid, tuple) and len(grid) in (2, 3):
        lengths = tuple(int(one) for one in grid)
    return Tokens(prefix if isinstance(prefix, int) else None, lengths)


def _last_map(model: nn.Module, channels: int) -> tuple[nn.Module, Reshape | None]:
    """The last module whose output has four dimensions and more than one cell.

    Modules that run several times in one pass, such as a shared activation, have no single output.
    If most of the network lies behind the module, maps say little, and a warning says so.
    """
    outputs = _outputs(model, channels)
    calls = Counter(module for module, _ in outputs)
    for place, (module, shape) in reversed([*enumerate(outputs)]):
        if calls[module] > 1 or shape[:1] != (_PROBES,):  # windows, or tables of biases
            continue
        last = _looks_channels_last(shape)
        if last or (len(shape) == 4 and shape[2] == shape[3] > 1):
            _warn_if_early(model, module, place + 1, len(outputs))
            return module, channels_last if last else None
    raise PastaError(
        f"no layer with maps was found in {type(model).__name__}; name the target layer"
    )


def _warn_if_early(model: nn.Module, layer: nn.Module, place: int, count: int) -> None:
    if place >= _EARLY * count or count - place < _MANY:
        return
    name = next(name for name, module in model.named_modules() if module is layer)
    warnings.warn(
        f"the last layer of {type(model).__name__} that gives maps, {name}, lies at its beginning: "
        "maps of CAM methods say little about the decision. Name a target_layer and, for tokens, "
        "a reshape",
        stacklevel=2,
    )


def _looks_channels_last(shape: torch.Size) -> bool:
    """Whether rows and columns, equal for a square image, come before the channels."""
    return len(shape) == 4 and shape[1] == shape[2] > 1 and shape[3] != shape[2]


def _outputs(model: nn.Module, channels: int) -> list[tuple[nn.Module, torch.Size]]:
    """All modules in the order in which they are done, with the shapes of what they give."""
    found: list[tuple[nn.Module, torch.Size]] = []

    def look(module: nn.Module, _inputs: Any, output: Any) -> None:
        # these change nothing, but often stand among the heads of attention
        if isinstance(output, Tensor) and not isinstance(module, nn.Identity | nn.Dropout):
            found.append((module, output.shape))

    with ExitStack() as stack, torch.no_grad(), evaluating(model):
        for module in model.modules():
            stack.callback(module.register_forward_hook(look).remove)
        problems = []
        own = (getattr(model, "default_cfg", None) or {}).get("input_size", (224,))[-1]
        for size in (int(own), *_SIZES):
            found.clear()
            try:
                probe = torch.full((_PROBES, channels, size, size), 0.5)
                model(probe.to(compute.device_of(model)))
            except (RuntimeError, AssertionError, ValueError) as error:
                problems.append(str(error))
            else:
                return list(found)
    raise PastaError(f"{type(model).__name__} takes no image; name the target layer. {problems[0]}")

"""A method of a user, ``module:function``, beside the 17.

The function takes the model, images (n, channels, *spatial) and the classes to explain (n,), and
returns maps (n, *spatial); of negative values the benchmark takes no notice, as of those of the
others.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.base import METHODS, Given, method
from pasta.metrics.given import import_object


def register_own(reference: str) -> str:
    """Make a user's function a method of the registry, in this process; returns its key.

    The key is the name of the function. A second method of that name is an error, unless it is the
    same.
    """
    function: Any = import_object(reference, "method")
    key = reference.rpartition(":")[2]
    if key in METHODS:
        known = METHODS.entry(key).metadata
        if known["title"] == reference:
            return key
        raise PastaError(f"{reference}: there is a method called {key!r}; name yours differently")

    @method(
        key,
        title=reference,
        functioning="gradient",
        doi="",
        sign="signed",
        backbones=(),
        any_modality=True,
    )
    def explain_own(given: Given) -> Tensor:
        with torch.enable_grad():
            found = function(given.view.network, given.images, given.targets)
        maps = torch.as_tensor(found, device=given.images.device).detach().float()
        if maps.ndim == given.images.ndim:
            maps = maps.sum(1)
        if len(maps) != len(given) or maps.ndim != given.images.ndim - 1:
            size = " x ".join(map(str, given.size))
            raise PastaError(
                f"{reference} returns {tuple(maps.shape)} for {len(given)} images, expected a map "
                f"of {size}, or one that can be enlarged to it, for each"
            )
        return maps

    return key

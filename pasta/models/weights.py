"""Weights from outside: torchvision's, with a clear word when they cannot be had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.error import URLError

import torch.hub
from torch import Tensor, nn
from torchvision.models import get_model_weights

from pasta.errors import PastaError


def load_torchvision_weights(
    network: nn.Module, architecture: str, name: str, skip: Sequence[str]
) -> None:
    """Load torchvision's weights by their name, all but the layers in ``skip``.

    They are taken from torch's cache or downloaded there; without network the error says which
    file to put where.
    """
    known = get_model_weights(architecture)
    if name not in known.__members__:
        raise PastaError(f"{architecture} has no weights {name!r}: {', '.join(known.__members__)}")
    weights = known[name]
    try:
        state = weights.get_state_dict(progress=True, check_hash=True)
    except (URLError, OSError) as error:
        raise PastaError(
            f"the weights {weights} cannot be downloaded ({error}). Download {weights.url} by hand "
            f"and put it into {Path(torch.hub.get_dir()) / 'checkpoints'}."
        ) from error
    take_over(network, state, skip)


def take_over(network: nn.Module, state: Mapping[str, Tensor], skip: Sequence[str]) -> None:
    """Copy a state dict except the named layers; anything else that does not fit is an error."""
    own = network.state_dict()
    kept = {key: value for key, value in own.items() if key.split(".")[0] in skip}
    others = {key: value for key, value in state.items() if key.split(".")[0] not in skip}
    try:
        network.load_state_dict({**others, **kept})
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise PastaError(f"the weights are of another architecture: {reason}") from error

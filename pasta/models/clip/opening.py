"""Opening of CLIP models through open_clip's own factory, whatever they are and wherever from."""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import open_clip
import torch
from safetensors import SafetensorError
from timm.models import register_model
from torch import nn

from pasta.errors import PastaError
from pasta.models.resnet import ScaledResNet
from pasta.registry import did_you_mean
from pasta.seeds import entropy

CONFIGS = Path(__file__).parent / "configs"
WIDTH = 16  # of the small tower; a multiple of 16 suits the vector units
_FAILURES = (
    RuntimeError,
    OSError,
    ValueError,
    KeyError,
    AttributeError,
    pickle.UnpicklingError,
    SafetensorError,
)


class Tower(ScaledResNet):
    """Our slim residual network with the few names that open_clip expects of timm's networks.

    Its last stage keeps stride 16, 6 x 6 cells for 96 pixels: explanations look at it, and
    stride 32 would leave them nine cells.
    """

    def __init__(self) -> None:
        super().__init__(WIDTH, (1, 1, 1, 1), 1, bottleneck=False, keep_last=True)
        self.num_features = self.stage_channels[-1]
        self.default_cfg: dict[str, Any] = {"pool_size": (6, 6)}

    def reset_classifier(self, num_classes: int, global_pool: str = "avg") -> None:
        """Give pooled features instead of logits; open_clip adds its own projection."""
        if num_classes or global_pool != "avg":
            raise ValueError("the small tower gives averaged features only")
        self.fc = nn.Identity()


@register_model
def pasta_tiny_resnet(pretrained: bool = False, **options: Any) -> Tower:
    """A new tower with random weights, which open_clip builds by this name."""
    del pretrained, options
    return Tower()


open_clip.add_model_config(CONFIGS)


def open_model(
    architecture: str, weights: str | None, image_size: int | None = None, seed: int = 0
) -> tuple[Any, Any]:
    """A CLIP model in evaluation mode and its tokenizer.

    ``weights`` is a file or an open_clip tag; None draws random weights from ``seed``.
    """
    known = open_clip.list_models()
    if architecture not in known:
        hint = did_you_mean(architecture, known)
        raise PastaError(f"open_clip knows no architecture {architecture!r}. {hint}")
    _require_known(architecture, weights)
    tag = open_clip.get_pretrained_cfg(architecture, weights) if weights else {}
    try:
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(entropy(seed, "clip", "weights") % 2**63)
            model, _, _ = open_clip.create_model_and_transforms(
                architecture,
                pretrained=weights,
                force_image_size=image_size,
                force_quick_gelu=bool(tag.get("quick_gelu", False)),
                weights_only=True,
            )
            tokenizer = open_clip.get_tokenizer(architecture)
    except _FAILURES as error:
        raise PastaError(_explain(architecture, weights, tag, error)) from error
    return model.eval(), tokenizer


@contextmanager
def quiet() -> Iterator[None]:
    """Keep open_clip's chatter, which goes to the root logger, off the screen."""
    before, handlers = logging.root.manager.disable, list(logging.root.handlers)
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        logging.root.handlers[:] = handlers  # the first words bring one that prints everything


def _require_known(architecture: str, weights: str | None) -> None:
    """A tag or a file must exist before anything large is built."""
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if weights is None or weights in tags or Path(weights).is_file():
        return
    raise PastaError(
        f"there is no file {weights} with weights of {architecture}, and open_clip has no weights "
        f"of that name. Give the path of a file, or one of: {', '.join(tags) or 'none'}."
    )


def _explain(architecture: str, weights: str | None, tag: dict[str, Any], error: Exception) -> str:
    if not tag:
        reason = str(error).splitlines()[0]
        return (
            f"{weights}: cannot be loaded as weights of {architecture} ({reason}). "
            "Expected a .safetensors file or a plain state dict of that architecture."
        )
    places = [f"https://huggingface.co/{tag['hf_hub'].rstrip('/')}"] if tag.get("hf_hub") else []
    places += [tag["url"]] if tag.get("url") else []
    return (
        f"the weights {weights!r} of {architecture} are not on this machine and cannot be "
        f"downloaded. On a machine with network, download open_clip_model.safetensors from "
        f"{' or '.join(places)}, put it anywhere and write its path as clip.weights into "
        "params.yaml (or fill the Hugging Face cache that HF_HOME names)."
    )

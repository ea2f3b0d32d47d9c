"""Opening of CLIP models through open_clip's own factory, whatever they are and wherever from."""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from pasta import quick_start
from pasta.errors import PastaError
from pasta.registry import did_you_mean
from pasta.seeds import entropy

CONFIGS = Path(__file__).parent / "configs"


def open_model(
    architecture: str, weights: str | None, image_size: int | None = None, seed: int = 0
) -> tuple[Any, Any]:
    """A CLIP model in evaluation mode and its tokenizer.

    ``weights`` is a file or an open_clip tag; None draws random weights from ``seed``.
    """
    quick_start.import_open_clip()
    import open_clip
    from safetensors import SafetensorError

    _add_own_architectures()
    if not (CONFIGS / f"{architecture}.json").is_file():
        quick_start.with_transformers()
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
    except (
        RuntimeError,
        OSError,
        ValueError,
        KeyError,
        AttributeError,
        pickle.UnpicklingError,
        SafetensorError,
    ) as error:
        raise PastaError(_explain(architecture, weights, tag, error)) from error
    return model.eval(), tokenizer


@contextmanager
def quiet() -> Iterator[None]:
    """Keep open_clip's chatter, which goes to the root logger, off the screen."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _add_own_architectures() -> None:
    import open_clip

    from pasta.models.clip import tower

    del tower  # imported for its effect: timm now knows the image tower
    if not {config.stem for config in CONFIGS.glob("*.json")} <= set(open_clip.list_models()):
        open_clip.add_model_config(CONFIGS)


def _require_known(architecture: str, weights: str | None) -> None:
    """A tag or a file must exist before anything large is built."""
    import open_clip

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

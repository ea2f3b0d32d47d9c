"""All methods and the techniques made of them: importing this module fills the registry."""

from __future__ import annotations

from typing import Any

from pasta.errors import PastaError
from pasta.explanations import cloud, methods, volume  # noqa: F401 (two register modalities)
from pasta.explanations.base import METHODS
from pasta.explanations.techniques import Kind, Technique
from pasta.models.base import MODELS
from pasta.models.catalog import ORDER
from pasta.registry import did_you_mean, import_modules

__all__ = ["METHODS", "refusal", "technique", "technique_row", "techniques"]

import_modules(methods)


def techniques(extras: bool = True) -> list[Technique]:
    """All techniques: by released number, then the extras."""
    found = [
        _technique(entry.key, backbone)
        for entry in METHODS.entries()
        for backbone in entry.metadata["backbones"]
    ]
    found.sort(key=lambda one: one.place)
    return [technique for technique in found if extras or not technique.extra]


def technique(key: str) -> Technique:
    """The technique called ``method/backbone``, or an error that says what is wrong with it."""
    known = {one.key: one for one in techniques()}
    if key in known:
        return known[key]
    method, _, backbone = key.partition("/")
    if not backbone:
        raise PastaError(
            f"a technique is written method/backbone, for instance gradcam/resnet50, not {key!r}"
        )
    entry = METHODS.entry(method)
    if backbone not in ORDER:
        hint = did_you_mean(backbone, list(ORDER))
        raise PastaError(f"there is no backbone called {backbone!r}. {hint}")
    raise PastaError(refusal(entry.metadata["title"], entry.metadata["backbones"], backbone))


def technique_row(technique: Technique) -> dict[str, Any]:
    """One line of `pasta techniques`."""
    about = METHODS.entry(technique.method).metadata
    return {
        "technique": technique.key,
        "method": technique.method,
        "backbone": technique.backbone,
        "kind": technique.kind,
        "functioning": about["functioning"],
        "attribution": about["attribution"],
        "stage": technique.stage,
        "released_id": technique.released_id,
        "extra": technique.extra,
    }


def refusal(title: str, backbones: tuple[str, ...], backbone: str) -> str:
    """Why a method is not applied to a backbone."""
    if not backbones:
        return f"{title} is no technique of the experiment; pasta.explain computes it for any model"
    family = {name: MODELS.entry(name).metadata["family"] for name in ORDER}
    concept = all(family[name] == "concept" for name in backbones)
    if concept and family[backbone] != "concept":
        return f"{title} needs a concept model; {backbone} is not one"
    if not concept and family[backbone] == "concept":
        return f"{title} needs a black box; {backbone} is a concept model"
    return f"{title} is not applied to {backbone}, only to {', '.join(backbones)}"


def _technique(method: str, backbone: str) -> Technique:
    about = METHODS.entry(method).metadata
    kind: Kind = "saliency" if about["attribution"] == "image" else "concept"
    return Technique(
        method, backbone, about["title"], kind, sign=about["sign"], stage=about["stage"]
    )

"""Techniques: a method applied to a backbone, as people rate them.

The 46 techniques of the papers carry the numbers of the released dataset. Techniques that P1's
Table 7 does not list, LayerCAM and others, are extras.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pasta.errors import PastaError
from pasta.explanations.catalog import METHODS
from pasta.models.base import MODELS
from pasta.models.catalog import ORDER
from pasta.registry import did_you_mean

# The release numbers black-box techniques by threes: ResNet50, ViT-B, CLIP zero-shot.
_BY_THREES = (
    "gradcam lime shap ablationcam eigencam eigengradcam fullgrad gradcam++ gradcam_elementwise "
    "hirescam scorecam xgradcam dff"
)
_BLACK_BOXES = ("resnet50", "vit_b_16", "clip_zero_shot")
RELEASED = {
    f"{method}/{backbone}": 3 * three + place
    for three, method in enumerate(_BY_THREES.split())
    for place, backbone in enumerate(_BLACK_BOXES)
} | {
    "clip_qda/clip_qda": 39,
    "clip_linear/clip_linear": 40,
    "lime_cbm/clip_qda": 41,
    "shap_cbm/clip_qda": 42,
    "lime_cbm/concept_bottleneck": 43,
    "shap_cbm/concept_bottleneck": 44,
    "xnesyl/xnesyl": 45,
    "bcos/resnet50_bcos": 46,
    "rise_cbm/clip_qda": 48,
    "rise_cbm/concept_bottleneck": 49,
}
# Released numbers of techniques that P1's Table 7 does not have.
_NOT_IN_TABLE = {"fullgrad/clip_zero_shot", "scorecam/clip_zero_shot", "rise_cbm/clip_qda"}


@dataclass(frozen=True)
class Technique:
    """A method on a backbone."""

    method: str
    backbone: str

    @property
    def key(self) -> str:
        """``method/backbone``, as in sample identifiers."""
        return f"{self.method}/{self.backbone}"

    @property
    def released_id(self) -> int | None:
        """The number in the released dataset's file names."""
        return RELEASED.get(self.key)

    @property
    def extra(self) -> bool:
        """Whether it is not among the papers' 46."""
        return self.key not in RELEASED or self.key in _NOT_IN_TABLE

    @property
    def kind(self) -> str:
        """``saliency`` or ``concept``, as in the explanations table."""
        return "saliency" if self.about["attribution"] == "image" else "concept"

    @property
    def signed(self) -> bool:
        """Whether negative values mean something."""
        return bool(self.about["sign"] == "signed")

    @property
    def title(self) -> str:
        """For people: ``GradCAM on ResNet50``."""
        return f"{self.about['title']} on {MODELS.entry(self.backbone).metadata['title']}"

    @property
    def about(self) -> Any:
        """What is registered about the method."""
        return METHODS.entry(self.method).metadata

    def row(self) -> dict[str, Any]:
        """One line of `pasta techniques`."""
        return {
            "technique": self.key,
            "method": self.method,
            "backbone": self.backbone,
            "kind": self.kind,
            "functioning": self.about["functioning"],
            "attribution": self.about["attribution"],
            "stage": self.about["stage"],
            "released_id": self.released_id,
            "extra": self.extra,
        }


def techniques(extras: bool = True) -> list[Technique]:
    """All techniques: by released number, then the extras."""
    found = [
        Technique(entry.key, backbone)
        for entry in METHODS.entries()
        for backbone in entry.metadata["backbones"]
    ]
    number = {technique: technique.released_id for technique in found}
    found.sort(key=lambda one: (one.extra, number[one] is None, number[one] or 0))
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

"""Names for people come from the catalogue that the registries share."""

from __future__ import annotations

from pasta.explanations.catalog import METHODS
from pasta.explanations.techniques import BACKBONE_TITLES, METHOD_TITLES
from pasta.models.base import MODELS
from reports.source.names import model_name, scorer_name, technique_name


def test_the_catalogue_has_exactly_the_registered_methods_and_models() -> None:
    assert {one.key: one.metadata["title"] for one in METHODS.entries()} == METHOD_TITLES
    assert {one.key: one.metadata["title"] for one in MODELS.entries()} == BACKBONE_TITLES


def test_unknown_names_are_shown_as_they_are() -> None:
    assert technique_name("own method") == "own method"
    assert technique_name("own/vit_b_16") == "own on ViT-B"
    assert technique_name("dff/concept_bottleneck", short=True) == "DFF · CBM"
    assert model_name("other") == "other" and scorer_name("other") == "other"
